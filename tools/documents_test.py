"""What documents.py notices. Run by ./cress check."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import documents  # noqa: E402  (its folder has to be known first)

# In two parts, so that these are no citations of this file.
END = ".md"
MAP = """# Comments do not count: cress_folder(nothing)
macro(cress_folder path)
endmacro()
cress_folder(base)
cress_folder(base/wire MAY base TESTS app)
cress_folder(app MAY base
  base/wire)
"""
TABLE = """| folder | namespace | holds | may include, besides itself |
|---|---|---|---|
| `base` | `cress` | time | nothing |
| `base/wire` | `cress::wire` | bytes | `base` |
| `app` | `cress::app` | a program | `base`, `base/wire` |
"""
ARCHITECTURE = f"""# Architecture

## The map

{TABLE}
## Invariants

| invariant | held by |
|---|---|
| it works | `Part.Works`, `Part.AlsoWorks`, `Part.Al…Works`, `…Works` |
| includes follow the map | ctest `layers` |

## Non-goals
"""
TESTS = """TEST(Part, Works) {}
TEST_F(Part,
       AlsoWorks) {}
"""


class Documents(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("base/time.hh", "")
        self.write("base/wire/bytes_test.cc", TESTS)
        self.write("app/app_main.cc", "")
        self.write("cmake/folders.cmake", MAP)
        self.write("CMakeLists.txt", "add_test(NAME layers COMMAND true)\n")
        self.write("docs/ARCHITECTURE" + END, ARCHITECTURE)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def check(self, write=False):
        return documents.check(self.root, write)

    def expect(self, *lines):
        self.assertEqual(self.check(), list(lines))

    def test_a_tree_in_order_passes(self):
        self.expect()

    def test_citations_in_code(self):
        self.write("docs/page" + END, "# One\n\n## Part: two `words`\n")
        self.write("app/a.hh", f"// docs/page{END}, \"One\". docs/page{END}#part-two-words\n")
        self.write("app/b.py", f"# docs/page{END},\n# \"Part: two words\" and https://example.org/none{END}\n")
        self.expect()
        self.write("app/a.hh", f"\n// docs/nowhere{END}\n// docs/page{END}#three\n// (docs/page{END},\n// \"Three\")\n")
        self.expect(f"app/a.hh:2: docs/nowhere{END} does not exist", f"app/a.hh:3: docs/page{END} has no heading for #three",
                    f"app/a.hh:4: docs/page{END} has no heading \"Three\"")

    def test_numbered_pages(self):
        self.write("docs/adr/0001-first" + END, "# First\n")
        self.write("app/a.cc", "// docs/adr/" + "0001\n// docs/adr/" + "0002\n")
        self.expect("app/a.cc:2: docs/adr/" + "0002 does not exist")

    def test_links_of_pages(self):
        self.write("docs/sub/page" + END, "# A page\n\n## Twice\n\n## Twice\n\n```\n# no heading\n```\n")
        good = ["[a](sub/page{})", "[b](sub/page{}#twice-1)", "[c](#here)", "[d](sub/)", "[e](https://example.org/x{})",
                "`[f](gone{})`", "[two\nlines](sub/page{}#a-page)"]
        self.write("docs/links" + END, "# Here\n\n" + "\n".join(good).replace("{}", END) + f"\n\n```\n[g](gone{END}#x)\n```\n")
        self.assertEqual([line for line in self.check() if "gone" not in line], [])
        self.write("docs/links" + END, f"[a](page{END})\n[b](sub/page{END}#no-heading)\n[c](#here)\n[d](none/)\n")
        self.expect(f"docs/links{END}:1: page{END} does not exist",
                    f"docs/links{END}:2: docs/sub/page{END} has no heading for #no-heading",
                    f"docs/links{END}:3: docs/links{END} has no heading for #here", f"docs/links{END}:4: none/ does not exist")

    def test_the_table_of_folders(self):
        page = "docs/ARCHITECTURE" + END
        self.write(page, ARCHITECTURE.replace("`base`, `base/wire`", "`base`"))
        self.expect(f"{page}:9: app: not the list of cmake/folders.cmake: tools/documents.py --write")
        self.assertEqual(self.check(write=True), [])
        self.assertEqual((self.root / page).read_text(encoding="utf-8"), ARCHITECTURE)
        self.write(page, ARCHITECTURE.replace("| `app` |", "| `gone` |"))
        self.expect(f"{page}:5: app has no row: tools/documents.py --write",
                    f"{page}:9: gone is not in cmake/folders.cmake: tools/documents.py --write")
        self.assertEqual(self.check(write=True), [f"{page}:9: app: say its namespace and what it holds"])

    def test_folders_are_written_in_braces(self):
        self.assertEqual(documents.written([]), "nothing")
        self.assertEqual(documents.written(["a/b", "c", "a/d", "e/f/g"]), "`a/{b,d}`, `c`, `e/f/g`")

    def test_width_of_prose(self):
        word = "x" * 50
        line = f"{word} {word} {word}"
        self.write("docs/page" + END, f"{line}\n\n| {line} |\n\n    {line}\n\n```\n{line}\n```\n\n<p>{line}</p>\n\n"
                   f"- [{line}](#a)\n\n<!-- results: a; kind: cheap; commit: b -->\n{line}\n<!-- end -->\n\n- {line}\n\n"
                   f"# A {line}\n\n{'ä' * 60} {'ä' * 59}\n\n`{line}`\n")
        wide = [line for line in self.check() if "wide" in line]
        self.assertEqual(wide, [f"docs/page{END}:1: 152 characters wide; 120 are allowed",
                                f"docs/page{END}:19: 154 characters wide; 120 are allowed"])

    def test_names_of_tests(self):
        page = "docs/ARCHITECTURE" + END
        self.write(page, ARCHITECTURE.replace("`Part.Works`", "`Part.Fails`").replace("`…Works`", "`Part.Works…AtAll`")
                   .replace("`layers`", "`players`"))
        self.expect(f"{page}:15: there is no test Part.Fails", f"{page}:15: there is no test Part.Works…AtAll",
                    f"{page}:16: there is no test players")
        self.write(page, ARCHITECTURE.replace("## Invariants", "## Invariant"))
        self.expect(f"{page}:1: no test was seen in the table of invariants")

    def test_tests_of_the_threat_model(self):
        page = "docs/protocol/security" + END
        table = "| who | test |\n|---|---|\n| one | `Part.Works`, `Part.AlsoWorks` |\n"
        other = "\n| who | tries |\n|---|---|\n| one | it |\n\nIt works (`Part.Works`, `part.works`, `AES.128`).\n"
        self.write(page, table + other)
        self.expect()
        self.write(page, table + "| two | nothing |\n" + other + "`Part.Fails`\n")
        self.expect(f"{page}:4: this row names no test", f"{page}:11: there is no test Part.Fails")
        self.write(page, table.replace("AlsoWorks", "Sleeps"))
        self.expect(f"{page}:3: there is no test Part.Sleeps")


if __name__ == "__main__":
    unittest.main()
