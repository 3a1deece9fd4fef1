"""Where a deliberate bug can go: the places of one line each in a folder's production code.

A site is a span of text and what to put there. Spans come from libclang, so an operator is replaced
together with both of its operands and the rest of the expression stays as it is.
"""

import bisect
import dataclasses
import pathlib
import re

from clang import cindex

# An operator, and what it is mistaken for.
SWAPPED_OPERATORS = {
    "<": ["<=", ">"], "<=": ["<", ">="], ">": [">=", "<"], ">=": [">", "<="],
    "==": ["!="], "!=": ["=="], "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"],
    "%": ["*"], "&": ["|"], "|": ["&"], "<<": [">>"], ">>": ["<<"],
}
SWAPPED_ASSIGNMENTS = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|="}
SWAPPED_CALLS = {"min": "max", "max": "min"}
NUMBER = re.compile(r"^(0x[0-9a-fA-F']+|[0-9][0-9']*)([uUlLzZ]*)$")
FRACTION = re.compile(r"^(?=\.?[0-9])[0-9']*\.?[0-9']*([eE][-+]?[0-9]+)?[fF]?$")
DURATION = re.compile(r"^[0-9][0-9'.]*(ns|us|ms|s|min|h)$")
# Memory taken in advance: no test sees that it was not.
RESERVE = re.compile(rb"^[^()]*(\.|->)reserve\([^;]*\)$")


@dataclasses.dataclass(frozen=True)
class Site:
    """`path`, relative to the source tree: its bytes [start, end) become `text` when the bug is on.

    What a running program can switch is an expression or a statement. A constant cannot be switched:
    it needs a build of its own.
    """

    path: str
    line: int
    start: int
    end: int
    text: str
    what: str
    is_statement: bool = False
    is_constant: bool = False


class _Spans:
    """Expressions by their extents: finds the smallest around a token."""

    def __init__(self):
        self._by_start = {}

    def add(self, start, end):
        self._by_start.setdefault(start, set()).add(end)

    def freeze(self):
        self._starts = sorted(self._by_start)

    def around(self, start, end):
        """The smallest span with text both before `start` and after `end`, or None."""
        best = None
        for i in range(bisect.bisect_left(self._starts, start) - 1, -1, -1):
            first = self._starts[i]
            if best is not None and start - first >= best[1] - best[0]:
                break
            if start - first > 2000:
                break
            for last in self._by_start[first]:
                if last > end and (best is None or last - first < best[1] - best[0]):
                    best = (first, last)
        return best

    def starting(self, start, end):
        """The smallest span that begins at `start` and has text after `end`, or None."""
        ends = [last for last in self._by_start.get(start, ()) if last > end]
        return (start, min(ends)) if ends else None


class _File:
    """What is known of one source file after its piece was parsed."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.expressions = _Spans()
        self.bodies = []      # spans of code that runs
        self.constants = []   # spans of initialisers of constexpr variables
        self.excluded = []    # spans where no bug is put
        self.statements = set()
        self.conditions = set()
        self.names = set()    # spans in which < and > hold template arguments

    def line(self, offset):
        return self.text.count(b"\n", 0, offset) + 1


_EXCLUDED_KINDS = {
    cindex.CursorKind.STATIC_ASSERT, cindex.CursorKind.ENUM_DECL, cindex.CursorKind.CASE_STMT,
    cindex.CursorKind.TYPE_ALIAS_DECL,
}
_FUNCTION_KINDS = {
    cindex.CursorKind.FUNCTION_DECL, cindex.CursorKind.CXX_METHOD, cindex.CursorKind.CONSTRUCTOR,
    cindex.CursorKind.DESTRUCTOR, cindex.CursorKind.FUNCTION_TEMPLATE,
    cindex.CursorKind.CONVERSION_FUNCTION,
}
_NAME_KINDS = {
    cindex.CursorKind.DECL_REF_EXPR, cindex.CursorKind.MEMBER_REF_EXPR,
    cindex.CursorKind.CXX_STATIC_CAST_EXPR, cindex.CursorKind.CXX_REINTERPRET_CAST_EXPR,
}
_BRANCH_KINDS = {cindex.CursorKind.IF_STMT, cindex.CursorKind.WHILE_STMT}
_JUMP_KINDS = {cindex.CursorKind.CONTINUE_STMT, cindex.CursorKind.BREAK_STMT}


def _span(cursor):
    return cursor.extent.start.offset, cursor.extent.end.offset


def _is_in(spans, start, end):
    return any(first <= start and end <= last for first, last in spans)


class Finder:
    """Finds the sites of files below `root` in pieces that a compiler builds."""

    def __init__(self, root, wanted):
        """`wanted`: paths relative to `root` whose sites are asked for."""
        self._root = root.rstrip("/") + "/"
        self._files = {path: _File(path, pathlib.Path(self._root + path).read_bytes()) for path in wanted}
        self._tokens = {}

    def parse(self, piece, arguments):
        """`piece`: a file that includes or is what is wanted, with its compiler's arguments."""
        unit = cindex.Index.create().parse(piece, args=arguments)
        for cursor in unit.cursor.get_children():
            file = self._file_of(cursor)
            if file is not None:
                self._visit(cursor, file, None)
        for path, file in self._files.items():
            if path not in self._tokens and file.bodies:
                whole = unit.get_file(self._root + path)
                extent = cindex.SourceRange.from_locations(
                    cindex.SourceLocation.from_offset(unit, whole, 0),
                    cindex.SourceLocation.from_offset(unit, whole, len(file.text)))
                self._tokens[path] = [
                    (token.spelling, *_span(token)) for token in unit.get_tokens(extent=extent)
                    if token.kind != cindex.TokenKind.COMMENT]

    def sites(self):
        """All sites, in the order of path and place."""
        found = []
        for path in sorted(self._tokens):
            file = self._files[path]
            file.expressions.freeze()
            found += self._sites_of(file, self._tokens[path])
        return sorted(set(found), key=lambda s: (s.path, s.start, s.end, s.text))

    def _file_of(self, cursor):
        place = cursor.location.file
        if place is None or not place.name.startswith(self._root):
            return None
        return self._files.get(place.name[len(self._root):])

    def _visit(self, cursor, file, parent):
        start, end = _span(cursor)
        kind = cursor.kind
        if kind in _EXCLUDED_KINDS:
            children = list(cursor.get_children())
            if kind == cindex.CursorKind.CASE_STMT and children:
                file.excluded.append(_span(children[0]))
            else:
                file.excluded.append((start, end))
        if kind == cindex.CursorKind.VAR_DECL or kind == cindex.CursorKind.FIELD_DECL:
            self._visit_variable(cursor, file, start, end)
        if kind == cindex.CursorKind.CALL_EXPR and cursor.spelling == "check":
            file.excluded.append((start, end))
        if kind in _FUNCTION_KINDS or kind == cindex.CursorKind.LAMBDA_EXPR:
            for child in cursor.get_children():
                is_initialiser = kind == cindex.CursorKind.CONSTRUCTOR and child.kind.is_expression()
                if child.kind == cindex.CursorKind.COMPOUND_STMT or is_initialiser:
                    file.bodies.append(_span(child))
        if kind.is_expression():
            file.expressions.add(start, end)
        if kind in _NAME_KINDS:
            file.names.add((start, end))
        if parent == cindex.CursorKind.COMPOUND_STMT and (kind.is_expression() or
                                                           kind in _JUMP_KINDS):
            file.statements.add((start, end))
        if kind in _BRANCH_KINDS:
            for child in cursor.get_children():
                if child.kind.is_expression():
                    file.conditions.add(_span(child))
                    break
                if child.kind != cindex.CursorKind.DECL_STMT:
                    break
        for child in cursor.get_children():
            inner = self._file_of(child) if child.location.file else file
            if inner is file:
                self._visit(child, file, kind)

    @staticmethod
    def _visit_variable(cursor, file, start, end):
        text = file.text[start:end]
        # A constant needs `=` or `{`: what stands before is its type and name.
        begin = re.search(rb"[={]", text)
        if begin is None:
            return
        if b"constexpr" in text[:begin.start()] or b"constexpr" in file.text[max(0, start - 40):start].rsplit(
                b";", 1)[-1].rsplit(b"}", 1)[-1]:
            file.constants.append((start + begin.start(), end))
        else:
            file.bodies.append((start + begin.start(), end))

    def _sites_of(self, file, tokens):
        found = []

        def add(start, end, text, what, **more):
            text = text.decode()
            before = " ".join(file.text[start:end].decode().split())
            found.append(Site(file.path, file.line(start), start, end, text,
                              f"{what}: {before[:90]}", **more))

        for i, (word, start, end) in enumerate(tokens):
            if _is_in(file.excluded, start, end):
                continue
            is_constant = _is_in(file.constants, start, end)
            if not is_constant and not _is_in(file.bodies, start, end):
                continue
            before = tokens[i - 1][0] if i else ""
            for text, what in _literals(word, before):
                add(start, end, text.encode(), what, is_constant=is_constant)
            if is_constant:
                continue
            self._operator_sites(file, word, start, end, add)
            if word in SWAPPED_CALLS and before == "::" and tokens[i - 2][0] == "std":
                # The smallest call around `min` begins at `std`.
                call = file.expressions.starting(tokens[i - 2][1], end)
                while call and file.text[call[1] - 1:call[1]] != b")":
                    call = file.expressions.starting(call[0], call[1])
                if call:
                    add(*call, _replaced(file, call, start, end, SWAPPED_CALLS[word]),
                        f"{word} is {SWAPPED_CALLS[word]}")
        self._statement_sites(file, tokens, add)
        return found

    @staticmethod
    def _operator_sites(file, word, start, end, add):
        if word in SWAPPED_OPERATORS or word in ("&&", "||"):
            whole = file.expressions.around(start, end)
            if whole is None or whole in file.names:
                return
            left, right = file.text[whole[0]:start], file.text[end:whole[1]]
            if word in ("&&", "||"):
                other = "||" if word == "&&" else "&&"
                add(*whole, _replaced(file, whole, start, end, other), f"{word} is {other}")
                add(*whole, b"static_cast<bool>(" + left + b")", f"right of {word} is left out")
                add(*whole, b"static_cast<bool>(" + right + b")", f"left of {word} is left out")
            for other in SWAPPED_OPERATORS.get(word, []):
                add(*whole, _replaced(file, whole, start, end, other), f"{word} is {other}")
        if word == "!":
            whole = file.expressions.starting(start, end)
            if whole:
                add(*whole, b"static_cast<bool>(" + file.text[end:whole[1]] + b")", "! is left out")

    @staticmethod
    def _statement_sites(file, tokens, add):
        ends = {start: end for word, start, end in tokens if word == ";"}
        firsts = {start: word for word, start, _ in tokens}
        starts = sorted(ends)
        for start, end in sorted(file.statements):
            if _is_in(file.excluded, start, end) or not _is_in(file.bodies, start, end):
                continue
            place = bisect.bisect_left(starts, end)
            if place == len(starts) or file.text[end:starts[place]].strip():
                continue
            stop = ends[starts[place]]
            if not RESERVE.search(file.text[start:end]):
                add(start, stop, b";", "statement left out", is_statement=True)
            for word, at, after in tokens:
                if start < at < end and word in SWAPPED_ASSIGNMENTS:
                    add(start, stop, _replaced(file, (start, stop), at, after,
                                               SWAPPED_ASSIGNMENTS[word]),
                        f"{word} is {SWAPPED_ASSIGNMENTS[word]}", is_statement=True)
                    break
            step = firsts.get(start)
            if step in ("++", "--"):
                other = "--" if step == "++" else "++"
                add(start, stop, other.encode() + file.text[start + 2:stop], f"{step} is {other}",
                    is_statement=True)
        for start, end in sorted(file.conditions):
            if not _is_in(file.excluded, start, end) and _is_in(file.bodies, start, end):
                add(start, end, b"!(" + file.text[start:end] + b")", "condition negated")


def _replaced(file, whole, start, end, text):
    return file.text[whole[0]:start] + text.encode() + file.text[end:whole[1]]


def _literals(word, before):
    """(text, what) of what a literal is mistaken for."""
    if word in ("true", "false"):
        other = "false" if word == "true" else "true"
        return [(other, f"{word} is {other}")]
    number = NUMBER.match(word)
    if number:
        digits = number.group(1).replace("'", "")
        is_octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
        value = int(digits, 8 if is_octal else 0)
        changes = [(f"({word} + 1)", "one more")]
        if value > 0 and before != "-":
            changes.append((f"({word} - 1)", "one less"))
        if value > 1:
            changes.append((f"({word} * 2)", "twice as much"))
        return changes
    duration = DURATION.match(word)
    if duration and not word.strip("nusmih.0'"):
        return [(f"({word} + 1{duration.group(1)})", "one more")]  # twice nothing is no bug
    if duration:
        return [(f"({word} * 2)", "twice as long"), (f"({word} / 2)", "half as long")]
    if FRACTION.match(word):
        suffix = "F" if word[-1] in "fF" else ""
        if float(word.rstrip("fF").replace("'", "")) == 0:
            return [(f"({word} + 1.0{suffix})", "one more")]
        return [(f"({word} * 1.25{suffix})", "a quarter more"), (f"({word} * 0.5{suffix})", "half as much")]
    return []
