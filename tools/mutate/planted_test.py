"""python3 -m unittest discover -s tools/mutate -p '*_test.py'"""

import os
import sys
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import planted


class Planted(unittest.TestCase):
    def test_every_bug_has_its_place(self):
        for bugs, switch in (
                (planted.PLANTED, b"(::cress_mutants::on(1) ? (false) : (source.key_frames.is_due(now)))"),
                (planted.INSIDER, b"(::cress_mutants::on(1) ? (std::ranges::any_of(over_")):
            texts = {}
            for bug in bugs:
                with open(f"{ROOT}/{bug.path}", "rb") as file:
                    texts[bug.path] = file.read()
            self.assertIn(switch, planted.with_switches(texts, bugs)[bugs[0].path])

    def test_a_place_that_is_not_there_once_is_refused(self):
        bug = planted.Bug("", "a.cc", "x > 1", "true")
        for text in (b"", b"x > 1; x > 1"):
            with self.assertRaises(ValueError):
                planted.with_switches({"a.cc": text}, [bug])


if __name__ == "__main__":
    unittest.main()
