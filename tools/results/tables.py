"""The registry of tables, and how numbers and rows are written."""

KINDS = {
    "cheap": "simulated, seconds; ./cress check compares it byte for byte",
    "long": "simulated, minutes of processor time; the same bytes each time",
    "derived": "quotes other tables; compared byte for byte",
    "live": "measured in real time; states its date, machine and spread",
}


class Table:
    def __init__(self, name, kind, cost, make):
        self.name, self.kind, self.cost, self.make = name, kind, cost, make
        self.is_live, self.is_derived = kind == "live", kind == "derived"


REGISTRY = {}


def table(name, kind="cheap", cost=""):
    """Registers `make(lab)` (derived: `make(cells)`), which returns the Markdown of the block. `cost`: of
    processor time on the machine that the pages name."""

    def register(make):
        assert kind in KINDS and name not in REGISTRY, name
        REGISTRY[name] = Table(name, kind, cost, make)
        return make

    return register


def markdown(heading, rows):
    """A table. `heading` and each row: cells, strings or numbers."""
    lines = ["| " + " | ".join(map(str, heading)) + " |", "|" + "---|" * len(heading)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def number(value, digits=0):
    """Thousands of five digits and more are set apart by a space; None is a dash."""
    if value is None:
        return "–"
    text = f"{value:.{digits}f}"
    if text.startswith("-") and float(text) == 0:
        text = text[1:]
    whole, dot, fraction = text.partition(".")
    if len(whole.lstrip("-")) > 4:
        whole = f"{int(whole):,}".replace(",", " ")
    return whole + dot + fraction


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def spread(values, digits=0):
    """mean (least to most)"""
    values = list(values)
    return f"{number(mean(values), digits)} ({number(min(values), digits)} to {number(max(values), digits)})"


def wrap(text, width=120):
    """A paragraph of generated prose."""
    import textwrap
    return textwrap.fill(" ".join(text.split()), width, break_long_words=False, break_on_hyphens=False) + "\n"
