"""Pages with generated blocks between markers:

    <!-- results: NAME; kind: KIND; commit: COMMIT -->
    generated Markdown
    <!-- end -->
"""

import re

BLOCK = re.compile(r"^<!-- results: (?P<name>[\w-]+); kind: (?P<kind>\w+); commit: (?P<commit>\w+)(?P<rest>[^>\n]*) -->\n"
                   r"(?P<body>.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)
ANY_MARKER = re.compile(r"^<!-- (?:results\b.*|end) -->$", re.MULTILINE)


def all_pages(root):
    """Every page that may hold generated blocks."""
    return [root / "README.md", *sorted((root / "docs").glob("*.md")), *sorted((root / "docs/results").glob("*.md"))]


def result_pages(root):
    """The pages on which every table is generated."""
    return [root / "docs/results.md", *sorted((root / "docs/results").glob("*.md"))]


class Block:
    def __init__(self, page, match):
        self.page = page
        self.name, self.kind, self.commit = match["name"], match["kind"], match["commit"]
        self.rest, self.body = match["rest"], match["body"]


def blocks(root):
    """All blocks by name. ValueError where a name occurs twice."""
    found = {}
    for page in all_pages(root):
        for match in BLOCK.finditer(page.read_text()):
            block = Block(page, match)
            if block.name in found:
                raise ValueError(f"{block.name} is on {found[block.name].page} and on {page}")
            found[block.name] = block
    return found


def replace(block, body, kind, commit, rest=""):
    """Writes the block's new content into its page."""
    text = block.page.read_text()

    def new(match):
        if match["name"] != block.name:
            return match[0]
        return f"<!-- results: {block.name}; kind: {kind}; commit: {commit}{rest} -->\n{body}<!-- end -->"

    block.page.write_text(BLOCK.sub(new, text))


def without_blocks(text):
    return BLOCK.sub("", text)


def rows(body):
    """The cells of every table line of a block, without the rules below headings and without bold."""
    found = []
    for line in body.splitlines():
        if line.startswith("|") and not re.fullmatch(r"[|\s:-]+", line):
            found.append([cell.strip().replace("**", "") for cell in line.strip("|").split("|")])
    return found


class Cells:
    """Looks up cells of the tables on the pages, for sentences and summaries that quote them."""

    def __init__(self, found):
        self._found = found

    def get(self, name, row, column):
        """The cell of table `name` in the row that begins with `row`, below the heading `column`."""
        table = rows(self._found[name].body)
        for heading in table:
            if column in heading:
                at = heading.index(column)
                for cells in table[table.index(heading) + 1:]:
                    if cells[0] == row:
                        return cells[at]
        raise KeyError(f"no cell ({row}, {column}) in {name}")

    def column(self, name, column):
        """All cells below the heading `column`, without rows of aims."""
        heading, *table = rows(self._found[name].body)
        return [cells[heading.index(column)] for cells in table if cells[0] != "aimed at"]

    def link(self, name):
        """Where the table is, for a page of docs/."""
        return str(self._found[name].page.parent.name + "/" + self._found[name].page.name).replace("docs/", "")

    def text(self, name):
        return self._found[name].body
