"""What conditions.py runs and prints, with a program in the place of cress-eval. Run by ./cress check."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
PROGRAM = """#!/usr/bin/python3
import json, sys
tcp = "--cross" in sys.argv
result = {"frames_displayed": 1400, "frames_captured": 1500, "frozen_s": 1.25, "frame_delay_p50_ms": 60,
          "frame_delay_p95_ms": 100 * int(sys.argv[sys.argv.index("--seed") + 1]), "bitrate_kbps": 800,
          "ssim_db": 17.5, "live_ssim_db": None, "audio_concealed": 0.012}
if tcp:
    result["sharing"] = {"flows": [{"goodput_kbps": 1000}, {"goodput_kbps": 2000}]}
if "broken" in sys.argv:
    sys.exit("cress-eval: what is wrong")
print(json.dumps([result]))
"""
REFERENCE = """system,link,queue_packets,path,tcp_in_the_same_queue,window_s,delay_p50_ms,delay_p95_ms,captured,displayed,\
freezes,frozen_s,ssim_db,media_kbps,tcp_kbps
chromium-1,constant-6Mbit,64,,1 cubic,10-60,1,2,1500,1499,1,0.22,17.1,1242,4570
chromium-1,constant-12Mbit,unlimited,"jitter 0-10 ms, reorders",,10-60,3,4,1500,1501,0,0.0,17.4,2962,
other,constant-6Mbit,64,,1 cubic,10-60,5,6,1500,1,1,0.22,17.1,1242,4570
"""


class Conditions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.program = f"{self.folder}/program"
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        os.chmod(self.program, 0o755)
        os.makedirs(f"{self.folder}/reference")
        with open(f"{self.folder}/reference/chromium-conditions.csv", "w", encoding="utf-8") as file:
            file.write(REFERENCE)

    def run_tool(self, *arguments):
        return subprocess.run([sys.executable, f"{FOLDER}/conditions.py", self.program, "--data", self.folder,
                               *arguments], capture_output=True, text=True, check=False)

    def test_rows_have_the_schemes_and_chromium(self):
        rows = json.loads(self.run_tool("--scheme", "a,b", "--only", "1,6,8", "--json").stdout)
        self.assertEqual([(row["condition"], row["who"]) for row in rows],
                         [("one Cubic", "a"), ("one Cubic", "b"), ("one Cubic", "chromium"),
                          ("jitter 10 ms", "a"), ("jitter 10 ms", "b"), ("jitter 10 ms", "chromium"),
                          ("loss bursts", "a"), ("loss bursts", "b")])
        self.assertEqual(rows[0]["others"], 3000)
        self.assertIsNone(rows[3]["others"])
        self.assertEqual(rows[0]["concealed"], 1.2)
        self.assertEqual(rows[2]["displayed"], 1499)
        self.assertEqual(rows[5]["p95"], 4)

    def test_seeds_are_averaged(self):
        rows = json.loads(self.run_tool("--only", "5", "--seed", "1,2,6", "--json").stdout)
        self.assertEqual(rows[0]["p95"], 300)

    def test_print_runs_nothing(self):
        printed = self.run_tool("--print").stdout
        self.assertEqual(printed.count(" --one-way "), 24)
        self.assertIn("--rate 6Mbit/s --queue droptail:64 --cross cubic:4@12s+40s", printed)

    def test_a_failed_run_is_one_line(self):
        ran = self.run_tool("--only", "1", "--extra", "broken")
        self.assertEqual((ran.returncode, ran.stderr), (1, "cress-eval: what is wrong\n"))

    def test_wrong_numbers_are_refused(self):
        for arguments in (["--only", "999"], ["--only", "x"], ["--seed", "1,"]):
            self.assertEqual(self.run_tool(*arguments).returncode, 2, arguments)


if __name__ == "__main__":
    unittest.main()
