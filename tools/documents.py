#!/usr/bin/python3
"""Checks that documents agree with the repository. Run by ctest as `documents`, and by hand after an edit.

- A cited document (a path that ends in .md, with or without #anchor or a quoted heading after it), a link's target and
  its anchor exist.
- The table of folders in docs/ARCHITECTURE.md is what cmake/folders.cmake says; --write writes it again.
- Lines of prose are at most 120 characters wide, where they can be broken.
- Tests that the table of invariants names exist, and those that docs/protocol/security.md names; there each row of a
  table with a column "test" names one.

Exit code 1 if anything is wrong, with a line "FILE:LINE: what" each.
"""

import argparse
import pathlib
import re
import subprocess
import sys

WIDTH = 120
ARCHITECTURE = "docs/ARCHITECTURE.md"
SECURITY = "docs/protocol/security.md"
MAP = "cmake/folders.cmake"
SUFFIXES = {".md", ".hh", ".cc", ".py", ".cmake", ".proto"}
NAMES = {"cress", "CMakeLists.txt"}
HEADINGS_OF_TABLE = "| folder | namespace | holds | may include, besides itself |"


class Problems:
    def __init__(self):
        self.found = []

    def add(self, file, line, text):
        self.found.append((str(file), line, text))

    def lines(self):
        return [f"{file}:{line}: {text}" for file, line, text in sorted(self.found)]


def repository_files(root):
    """Paths below `root`: what git knows or would add, or everything but builds where there is no git."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], capture_output=True,
                            text=True, check=False)
    if listed.returncode == 0:
        paths = [pathlib.PurePosixPath(line) for line in listed.stdout.splitlines()]
        return sorted(path for path in paths if (root / path).is_file())
    skipped = {"build", ".git", ".cache"}
    paths = [path.relative_to(root) for path in root.rglob("*") if path.is_file()]
    return sorted(pathlib.PurePosixPath(path) for path in paths if not skipped & set(path.parts))


def is_checked(path):
    return path.suffix in SUFFIXES or path.name in NAMES


# Markdown

def kinds_of_lines(text):
    """For each line of a page: "prose", "code", "table", "html", "blank" or "generated" (between result markers)."""
    kinds, fenced, generated, previous = [], False, False, "blank"
    for line in text.split("\n"):
        bare = line.strip()
        if bare.startswith("```"):
            fenced = not fenced
            kind = "code"
        elif fenced:
            kind = "code"
        elif line.startswith("<!-- results:"):
            generated = True
            kind = "html"
        elif line.startswith("<!-- end"):
            generated = False
            kind = "html"
        elif generated:
            kind = "generated"
        elif not bare:
            kind = "blank"
        elif bare.startswith("|"):
            kind = "table"
        elif bare.startswith("<"):
            kind = "html"
        elif line.startswith("    ") and previous in ("blank", "code") and not re.match(r"\s*([-*]|\d+\.) ", line):
            kind = "code"
        else:
            kind = "prose"
        kinds.append(kind)
        previous = kind
    return kinds


def plain(heading):
    """A heading's text without Markdown."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[`*]", "", text).strip()


def headings(text):
    """The plain headings of a page, in order."""
    lines = text.split("\n")
    found = [re.match(r"#{1,6} +(.*?) *#*$", line) for line, kind in zip(lines, kinds_of_lines(text)) if kind == "prose"]
    return [plain(match[1]) for match in found if match]


def anchors(text):
    """The names by which links reach the headings of a page, as GitHub makes them."""
    found = set(re.findall(r'<a (?:name|id)="([^"]+)"', text))
    for heading in headings(text):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number, unique = 0, name
        while unique in found:
            number += 1
            unique = f"{name}-{number}"
        found.add(unique)
    return found


def atoms(line):
    """What a line can be broken between: words, code, links and images."""
    return re.findall(r"(?:`[^`]*`|!?\[[^\]]*\]\([^)]*\)|\S)+", line)


# Citations

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?: \"[^\"]*\")?\)")
CITED = re.compile(r"(?<![\w./*…-])/?((?:[\w.-]+/)*[\w-][\w.-]*\.md)\b(#[\w-]+)?(?!\w)")
# A path and a quoted heading, also across the line break of a comment.
QUOTED = re.compile(r"((?:[\w.-]+/)*[\w-]+\.md)\)?,\s*(?:(?://+|#)\s*)?\\?\"([^\"\\\n]+)\\?\"")
NUMBERED = re.compile(r"docs/(adr|experiments)/(\d{4})\b")
URL = re.compile(r"\w+://\S+")


class Citations:
    def __init__(self, root, files, problems):
        self._root, self._problems = root, problems
        self._files = {str(path) for path in files}
        self._folders = {str(parent) for path in files for parent in path.parents}
        self._texts = {}

    def _text(self, path):
        if path not in self._texts:
            self._texts[path] = (self._root / path).read_text(encoding="utf-8", errors="replace")
        return self._texts[path]

    def _resolve(self, target, near, from_root):
        """The path in the repository that `target`, cited in the file `near`, stands for; None where there is none."""
        places = [near.parent] + ([pathlib.PurePosixPath(".")] if from_root else [])
        for place in places:
            parts = []
            for part in (place / target).parts:
                if part == ".." and parts:
                    parts.pop()
                elif part != ".":
                    parts.append(part)
            path = "/".join(parts) or "."
            if path in self._files or path in self._folders:
                return path
        return None

    def _check(self, file, line, target, anchor, from_root):
        path = self._resolve(target, file, from_root)
        if path is None:
            self._problems.add(file, line, f"{target} does not exist")
        elif anchor and path.endswith(".md") and anchor not in anchors(self._text(path)):
            self._problems.add(file, line, f"{path} has no heading for #{anchor}")

    def check(self, file):
        text = self._text(str(file))
        if file.suffix == ".md":
            self._check_links(file, text)
        for number, line in enumerate(text.split("\n"), 1):
            # Links are checked above, where text may be what it likes.
            bare = URL.sub(" ", LINK.sub(" ", line) if file.suffix == ".md" else line)
            for match in CITED.finditer(bare):
                self._check(file, number, match[1], (match[2] or "")[1:], True)
            for match in NUMBERED.finditer(line):
                folder, name = f"docs/{match[1]}/", match[2]
                if not any(path.startswith(folder + name) for path in self._files):
                    self._problems.add(file, number, f"{folder}{name} does not exist")
        for match in QUOTED.finditer(text):
            path = self._resolve(match[1], file, True)
            wanted = plain(match[2]).rstrip(".,")
            if path and not any(wanted in heading for heading in headings(self._text(path))):
                self._problems.add(file, text.count("\n", 0, match.start()) + 1, f'{path} has no heading "{wanted}"')

    def _check_links(self, file, text):
        kinds = kinds_of_lines(text)
        # Links may be broken over two lines: looked for in what is left when code is blanked.
        lines = [line if kind != "code" else "" for line, kind in zip(text.split("\n"), kinds)]
        prose = re.sub(r"`[^`\n]*`", lambda code: " " * len(code[0]), "\n".join(lines))
        for match in LINK.finditer(prose):
            target, _, anchor = match[1].partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            line = prose.count("\n", 0, match.start()) + 1
            self._check(file, line, target or file.name, anchor, False)


# The table of folders

def folder_map(text):
    """Folder -> folders that it may include, in the order of cmake/folders.cmake."""
    folders = {}
    for match in re.finditer(r"^cress_folder\(([^)]*)\)", text, re.MULTILINE):
        folder, *words = match[1].split()
        if "TESTS" in words:
            words = words[:words.index("TESTS")]
        folders[folder] = [word for word in words if word != "MAY"]
    return folders


def written(included):
    """A list of folders as the table has it: siblings in braces."""
    groups = {}
    for folder in included:
        parent, _, name = folder.rpartition("/")
        groups.setdefault(parent, []).append(name)
    texts = []
    for parent, names in groups.items():
        if not parent:
            texts += names
        elif len(names) == 1:
            texts.append(f"{parent}/{names[0]}")
        else:
            texts.append(f"{parent}/{{{','.join(names)}}}")
    return ", ".join(f"`{text}`" for text in texts) or "nothing"


class FolderTable:
    """The table below HEADINGS_OF_TABLE in docs/ARCHITECTURE.md."""

    def __init__(self, text):
        self._lines = text.split("\n")
        self.first = next((i for i, line in enumerate(self._lines) if line == HEADINGS_OF_TABLE), None)
        self.end = self.first
        while self.end is not None and self.end < len(self._lines) and self._lines[self.end].startswith("|"):
            self.end += 1

    def rows(self):
        """Folder -> (line number, namespace, what it holds, what it may include)."""
        found = {}
        for number in range(self.first + 2, self.end):
            cells = [cell.strip() for cell in self._lines[number].strip("|").split("|")]
            cells += [""] * (4 - len(cells))
            found[cells[0].strip("`")] = (number + 1, *cells[1:4])
        return found

    def rewritten(self, allowed):
        """The whole page, its table as `allowed` says; names and descriptions stay."""
        rows = self.rows()
        table = [HEADINGS_OF_TABLE, "|---|---|---|---|"]
        for folder, included in allowed.items():
            _, namespace, holds, _ = rows.get(folder, (0, "?", "?", ""))
            table.append(f"| `{folder}` | {namespace} | {holds} | {written(included)} |")
        return "\n".join(self._lines[:self.first] + table + self._lines[self.end:])


def check_folders(root, problems, write):
    page = root / ARCHITECTURE
    text = page.read_text(encoding="utf-8")
    allowed = folder_map((root / MAP).read_text(encoding="utf-8"))
    table = FolderTable(text)
    if table.first is None:
        problems.add(ARCHITECTURE, 1, f'no table with the head "{HEADINGS_OF_TABLE}"')
        return
    if write:
        text = table.rewritten(allowed)
        page.write_text(text, encoding="utf-8")
        table = FolderTable(text)
    rows = table.rows()
    for folder, included in allowed.items():
        if folder not in rows:
            problems.add(ARCHITECTURE, table.first + 1, f"{folder} has no row: tools/documents.py --write")
            continue
        line, namespace, holds, may_include = rows[folder]
        if may_include != written(included):
            problems.add(ARCHITECTURE, line, f"{folder}: not the list of {MAP}: tools/documents.py --write")
        if namespace in ("", "?") or holds in ("", "?"):
            problems.add(ARCHITECTURE, line, f"{folder}: say its namespace and what it holds")
    for folder, (line, *_) in rows.items():
        if folder not in allowed:
            problems.add(ARCHITECTURE, line, f"{folder} is not in {MAP}: tools/documents.py --write")


# Width

def check_width(root, file, problems):
    text = (root / file).read_text(encoding="utf-8")
    for number, (line, kind) in enumerate(zip(text.split("\n"), kinds_of_lines(text)), 1):
        if kind != "prose" or len(line) <= WIDTH or line.startswith("#"):
            continue
        content = re.sub(r"^\s*(?:[-*]|\d+\.|>)?\s+", "", " " + line)
        if len(atoms(content)) > 1:
            problems.add(file, number, f"{len(line)} characters wide; {WIDTH} are allowed")


# Tests

TEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")


def test_names(root, files):
    names = set()
    for file in files:
        if file.name.endswith("_test.cc"):
            names |= {f"{suite}.{name}" for suite, name in TEST.findall((root / file).read_text(encoding="utf-8"))}
    return names


def is_test(name, names):
    """Whether a test is called so; an ellipsis stands for any part."""
    if "…" not in name:
        return name in names
    pattern = re.compile(".*".join(re.escape(part) for part in name.split("…")))
    return any(pattern.fullmatch(known) for known in names)


def check_invariants(root, files, problems):
    text = (root / ARCHITECTURE).read_text(encoding="utf-8")
    names = test_names(root, files)
    build = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    in_section, seen = False, 0
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("## "):
            in_section = line == "## Invariants"
        if not in_section or not line.startswith("|"):
            continue
        held_by = line.strip("|").split("|")[-1]
        for before, name in re.findall(r"(ctest )?`([^`]+)`", held_by):
            seen += 1
            known = re.search(rf"add_test\(NAME {re.escape(name)} ", build) if before else is_test(name, names)
            if not known:
                problems.add(ARCHITECTURE, number, f"there is no test {name}")
    if seen == 0:
        problems.add(ARCHITECTURE, 1, "no test was seen in the table of invariants")


NAMED_TEST = re.compile(r"`([A-Z]\w*\.[A-Z][\w…]*)`")


def check_security(root, files, problems):
    """No claim without its test: what is named is there, and each row has a name."""
    if not (root / SECURITY).is_file():
        return
    names = test_names(root, files)
    has_column = False
    for number, line in enumerate((root / SECURITY).read_text(encoding="utf-8").split("\n"), 1):
        named = NAMED_TEST.findall(line)
        for name in named:
            if not is_test(name, names):
                problems.add(SECURITY, number, f"there is no test {name}")
        if not line.startswith("|"):
            has_column = False
        elif line.rstrip("| ").endswith("| test"):
            has_column = True
        elif has_column and not named and not line.startswith("|---"):
            problems.add(SECURITY, number, "this row names no test")


def check(root, write=False):
    """All that is wrong below `root`, as lines."""
    problems = Problems()
    files = repository_files(root)
    check_folders(root, problems, write)
    citations = Citations(root, files, problems)
    for file in files:
        if is_checked(file):
            citations.check(file)
        if file.suffix == ".md":
            check_width(root, file, problems)
    check_invariants(root, files, problems)
    check_security(root, files, problems)
    return problems.lines()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"write the table of folders in {ARCHITECTURE} again")
    arguments = parser.parse_args()
    wrong = check(pathlib.Path(__file__).resolve().parent.parent, arguments.write)
    for line in wrong:
        print(line, file=sys.stderr)
    print("documents: " + (f"{len(wrong)} things are wrong" if wrong else "all agree"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
