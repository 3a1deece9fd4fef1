"""What tutorial.py notices. Run by ./cress check."""

import os
import pathlib
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tutorial  # noqa: E402  (its folder has to be known first)

FENCE = "```"
BIN = pathlib.Path("/bin")


def block(kind, text):
    return f"{FENCE}{kind}\n{text}\n{FENCE}\n"


def complaints(page):
    return tutorial.check(page, BIN, "/tmp")[0]


class Tutorial(unittest.TestCase):
    def test_what_a_command_prints_is_compared(self):
        page = block("sh", "build/release/bin/echo one")
        self.assertEqual(complaints(page + block("text", "one")), [])
        self.assertEqual(len(complaints(page + block("text", "two"))), 1)

    def test_after_an_ellipsis_more_may_follow(self):
        page = block("sh", "cat cmake/folders.cmake")
        first = (tutorial.ROOT / "cmake/folders.cmake").read_text(encoding="utf-8").splitlines()[0]
        self.assertEqual(complaints(page + block("text", f"{first}\n…")), [])
        self.assertEqual(len(complaints(page + block("text", first))), 1)
        self.assertEqual(len(complaints(page + block("text", "else\n…"))), 1)

    def test_a_failing_command_ends_the_run(self):
        with self.assertRaisesRegex(SystemExit, "`false` exits with 1"):
            complaints(block("sh", "false"))

    def test_the_changed_line_exists_in_the_file_named_before(self):
        change = "In `transport/control/cress/cress_control.hh`:\n"
        real = "    double caution_normal = -0.674;"
        self.assertEqual(complaints(change + block("diff", f"-{real}\n+    double caution_normal = 0;")), [])
        self.assertEqual(len(complaints(change + block("diff", "-    double caution = 1;"))), 1)

    def test_commands_are_counted(self):
        self.assertEqual(tutorial.check(block("sh", "true\ntrue"), BIN, "/tmp"), ([], 2))


if __name__ == "__main__":
    unittest.main()
