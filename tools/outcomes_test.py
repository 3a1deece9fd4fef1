"""What outcomes.py makes of gtest's reports. Run by ./cress check."""

import os
import subprocess
import sys
import tempfile
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
REPORT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites><testsuite name="Part">
  <testcase name="Passes" status="run" result="completed" classname="Part" />
  <testcase name="Fails" status="run" result="completed" classname="Part"><failure message="x" /></testcase>
  <testcase name="First" status="run" result="skipped" classname="Part">
    <skipped message="/a/b_test.cc:12&#x0A;no data: recorded links" /></testcase>
  <testcase name="Second" status="run" result="skipped" classname="Part">
    <skipped message="/a/c_test.cc:7&#x0A;no data: recorded links" /></testcase>
  <testcase name="NotAsked" status="notrun" result="suppressed" classname="Part" />
</testsuite></testsuites>
"""


class Outcomes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.makedirs(f"{self.folder}/reports")
        with open(f"{self.folder}/reports/part-test.xml", "w", encoding="utf-8") as file:
            file.write(REPORT)
        with open(f"{self.folder}/reports/crashed-test.xml", "w", encoding="utf-8") as file:
            file.write("<testsuites>")

    def run_on(self, data, *more):
        return subprocess.run([sys.executable, f"{FOLDER}/outcomes.py", f"{self.folder}/reports", "--data", data, *more],
                              capture_output=True, text=True, check=False)

    def test_skips_are_counted_by_reason(self):
        done = self.run_on(f"{self.folder}/nowhere")
        self.assertEqual(done.stdout.splitlines(),
                         ["skipped 2: no data: recorded links", "  Part.First", "  Part.Second",
                          "1 passed, 1 failed, 2 skipped"])
        self.assertEqual(done.returncode, 0)

    def test_want_of_data_fails_where_the_data_is(self):
        os.makedirs(f"{self.folder}/data/traces/cellular")
        done = self.run_on(f"{self.folder}/data")
        self.assertEqual(done.returncode, 1)
        self.assertIn("2 skipped for want of data", done.stderr)

    def test_a_program_that_crashed_is_counted(self):
        with open(f"{self.folder}/failed.log", "w", encoding="utf-8") as file:
            file.write("3:part\n7:crashed\n9:layers\n")
        done = self.run_on(f"{self.folder}/nowhere", "--failed", f"{self.folder}/failed.log")
        self.assertIn("1 passed, 1 failed, 2 failed without a report, 2 skipped", done.stdout)
        self.assertIn("gtest's): crashed\n", done.stdout)


if __name__ == "__main__":
    unittest.main()
