"""python3 -m unittest discover -s tools/mutate -p '*_test.py'"""

import os
import random
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mutate
import sites

SOURCE = b"""#include "limits.hh"
constexpr int kLimit = 3;
static_assert(kLimit < 9);
enum class Kind { kFirst = 1 };
int twice(int value) {
  check(value >= 0, "negative");
  int sum = 0;
  if (value < kLimit && !is_full(sum)) {
    sum += value;
    ++sum;
  }
  return sum == 7 ? static_cast<int>(2L) : sum;
}
"""
HEADER = b"""inline void check(bool, const char*) {}
inline bool is_full(int count) { return count > 64; }
"""


class Sites(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name, text in (("part.cc", SOURCE), ("limits.hh", HEADER)):
            with open(f"{self.folder.name}/{name}", "wb") as file:
                file.write(text)
        finder = sites.Finder(self.folder.name, ["part.cc", "limits.hh"])
        finder.parse(f"{self.folder.name}/part.cc", ["-std=c++20"])
        self.sites = finder.sites()

    def of_line(self, line, path="part.cc"):
        return {(site.what, site.text) for site in self.sites if (site.path, site.line) == (path, line)}

    def test_operators_take_their_operands_along(self):
        found = self.of_line(8)
        self.assertIn(("< is <=: value < kLimit", "value <= kLimit"), found)
        self.assertIn(("&& is ||: value < kLimit && !is_full(sum)", "value < kLimit || !is_full(sum)"), found)
        self.assertIn(("right of && is left out: value < kLimit && !is_full(sum)",
                       "static_cast<bool>(value < kLimit )"), found)
        self.assertIn(("! is left out: !is_full(sum)", "static_cast<bool>(is_full(sum))"), found)
        self.assertIn(("condition negated: value < kLimit && !is_full(sum)",
                       "!(value < kLimit && !is_full(sum))"), found)

    def test_statements_are_left_out_or_turned_round(self):
        self.assertEqual(self.of_line(9), {("statement left out: sum += value;", ";"),
                                           ("+= is -=: sum += value;", "sum -= value;")})
        self.assertEqual(self.of_line(10), {("statement left out: ++sum;", ";"), ("++ is --: ++sum;", "--sum;")})

    def test_constants_are_marked_as_such(self):
        constants = [site for site in self.sites if site.is_constant]
        self.assertEqual({site.line for site in constants}, {2})
        self.assertEqual({site.text for site in constants}, {"(3 + 1)", "(3 - 1)", "(3 * 2)"})

    def test_nothing_is_put_where_it_means_nothing(self):
        for line in (1, 3, 4, 6):
            self.assertEqual(self.of_line(line), set(), f"line {line}")

    def test_headers_of_the_folder_are_read_too(self):
        self.assertIn(("> is >=: count > 64", "count >= 64"), self.of_line(2, "limits.hh"))

    def test_octal_numbers_are_numbers(self):
        self.assertEqual(sites._literals("0600", "="), [("(0600 + 1)", "one more"), ("(0600 - 1)", "one less"),
                                                        ("(0600 * 2)", "twice as much")])

    def test_a_float_stays_a_float(self):
        self.assertEqual(sites._literals("20.0F", "("), [("(20.0F * 1.25F)", "a quarter more"),
                                                         ("(20.0F * 0.5F)", "half as much")])

    def test_twice_nothing_is_no_bug(self):
        self.assertEqual(sites._literals("0.0F", "("), [("(0.0F + 1.0F)", "one more")])
        self.assertEqual(sites._literals("0ms", "("), [("(0ms + 1ms)", "one more")])
        self.assertEqual(sites._literals("10ms", "("), [("(10ms * 2)", "twice as long"),
                                                        ("(10ms / 2)", "half as long")])

    def test_template_arguments_are_no_comparison(self):
        self.assertFalse([site for site in self.sites if "static_cast<=" in site.text])


class Draw(unittest.TestCase):
    SITES = [sites.Site("a.cc", line, 10 * line, 10 * line + 15, "x", "bug") for line in range(1, 40)]

    def test_the_same_seed_draws_the_same(self):
        first = mutate.draw(self.SITES, random.Random(5), 8)
        self.assertEqual(first, mutate.draw(self.SITES, random.Random(5), 8))
        self.assertNotEqual(first, mutate.draw(self.SITES, random.Random(6), 8))

    def test_no_two_overlap(self):
        drawn = mutate.draw(self.SITES, random.Random(1), 100)
        self.assertTrue(all(a.end <= b.start for a, b in zip(drawn, drawn[1:])))
        self.assertGreater(len(drawn), 5)

    def test_a_switch_keeps_the_rest_and_knows_its_place(self):
        site = sites.Site("a.cc", 1, 7, 12, "a > b", "bug")
        text, spans = mutate.with_mutants(b"return a < b;", [(4, site)])
        self.assertEqual(text, b"return (::cress_mutants::on(4) ? (a > b) : (a < b));")
        self.assertEqual(text[spans[0][0]:spans[0][1]], b"(::cress_mutants::on(4) ? (a > b) : (a < b))")


if __name__ == "__main__":
    unittest.main()
