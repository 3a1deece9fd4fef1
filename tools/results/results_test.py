#!/usr/bin/env python3
"""Every table of the results pages stands between markers, every marker has a definition, every definition a marker.
No program is run."""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import pages  # noqa: E402
import results  # noqa: E402
import tables  # noqa: E402

ROOT = results.ROOT
TABLE_RULE = re.compile(r"^\s*\|?(\s*:?-+:?\s*\|)+\s*(:?-+:?)?\s*$", re.MULTILINE)


class Markers(unittest.TestCase):
    def setUp(self):
        self.found = pages.blocks(ROOT)  # ValueError where a name occurs twice

    def test_no_table_stands_outside_markers(self):
        for page in pages.result_pages(ROOT):
            rest = pages.without_blocks(page.read_text())
            self.assertIsNone(TABLE_RULE.search(rest), f"{page} holds a table outside markers")

    def test_every_marker_belongs_to_a_whole_block(self):
        for page in pages.all_pages(ROOT):
            left = pages.ANY_MARKER.findall(pages.without_blocks(page.read_text()))
            self.assertEqual(left, [], f"{page}: a marker without its other half, or not as pages.py says")

    def test_every_marker_has_a_definition_of_its_kind(self):
        for name, block in self.found.items():
            self.assertIn(name, tables.REGISTRY, f"{block.page}: no definition")
            self.assertEqual(block.kind, tables.REGISTRY[name].kind, name)

    def test_every_definition_has_a_marker(self):
        self.assertEqual(set(tables.REGISTRY) - set(self.found), set())

    def test_every_block_is_written_and_has_a_commit(self):
        for name, block in self.found.items():
            self.assertTrue(block.body.strip(), f"{name} is empty")
            self.assertRegex(block.commit, r"^[0-9a-f]{7,}(_changed)?$", name)

    def test_live_blocks_state_date_machine_and_runs(self):
        for name, block in self.found.items():
            if block.kind == "live":
                self.assertRegex(block.rest, r"^; date: \d{4}-\d\d-\d\d$", name)
                caption = block.body.split("\n\n")[0]
                for word in ("Measured 20", "core", "run"):
                    self.assertIn(word, caption, f"{name}: the caption states date, machine and spread")


class Pages(unittest.TestCase):
    TEXT = ("before\n<!-- results: a-b; kind: cheap; commit: 0123abc -->\n| x | y |\n|---|---|\n| **r** | 5 |\n"
            "<!-- end -->\nafter\n")

    def test_a_block_is_found_and_its_cells_are_read(self):
        match = pages.BLOCK.search(self.TEXT)
        self.assertEqual((match["name"], match["kind"], match["commit"]), ("a-b", "cheap", "0123abc"))
        self.assertEqual(pages.rows(match["body"]), [["x", "y"], ["r", "5"]])
        self.assertEqual(pages.Cells({"a-b": pages.Block(None, match)}).get("a-b", "r", "y"), "5")

    def test_what_is_outside_of_blocks_stays(self):
        self.assertEqual(pages.without_blocks(self.TEXT), "before\n\nafter\n")

    def test_a_table_outside_is_seen(self):
        self.assertIsNotNone(TABLE_RULE.search("| a | b |\n|---|:--|\n| 1 | 2 |\n"))
        self.assertIsNone(TABLE_RULE.search("a line\n---\nanother\n"))


class Parts(unittest.TestCase):
    def test_each_page_is_in_one_part(self):
        names = [name for name, table in tables.REGISTRY.items() if table.kind == "cheap"]
        parts = [results.on_part_of_pages(names, which, 3) for which in (1, 2, 3)]
        self.assertEqual(sorted(sum(parts, [])), sorted(names))
        found = pages.blocks(ROOT)
        of_pages = [{found[name].page for name in part} for part in parts]
        self.assertEqual(len(set.union(*of_pages)), sum(map(len, of_pages)))
        self.assertTrue(all(of_pages))

    def test_a_part_is_a_number_out_of_a_number(self):
        self.assertEqual(results.part("2/3"), (2, 3))
        for text in ("0/3", "4/3", "3", "a/b", "1/2/3", "-1/3", "1/0"):
            with self.assertRaises(ValueError):
                results.part(text)


class Numbers(unittest.TestCase):
    def test_thousands_from_five_digits_on(self):
        self.assertEqual([tables.number(x) for x in (9999, 10000, 1234567, -0.2, None)],
                         ["9999", "10 000", "1 234 567", "0", "–"])
        self.assertEqual(tables.number(12345.678, 1), "12 345.7")

    def test_median_of_even_and_odd(self):
        self.assertEqual((tables.median([3, 1, 2]), tables.median([4, 1, 2, 3])), (2, 2.5))


if __name__ == "__main__":
    unittest.main()
