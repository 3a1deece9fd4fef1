#!/usr/bin/python3
"""Runs the commands of docs/tutorial.md and checks that they print what the page says. Run by ctest as `tutorial`.

    tutorial.py [--bin DIR]

A ```sh block is run line by line; a ```text block after it is what its last line prints, byte for byte; after a
line "…" more may follow. The line that a ```diff block removes must occur exactly once in the file that the page names
before it. What the page puts into build/tutorial goes to a temporary folder, and build/release/bin is --bin.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/tutorial.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SOURCE = re.compile(r"`([\w/]+\.(?:hh|cc))`")


def run(line, programs, folder):
    """What a command line prints; exits when the command fails."""
    words = [word.replace("build/release/bin", str(programs)).replace("build/tutorial", folder) for word in line.split()]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"tutorial: `{line}` exits with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.replace(folder, "build/tutorial")


def agrees(text, printed):
    """Whether a ```text block shows what was printed."""
    return printed.startswith(text[:-2]) if text.endswith("\n…\n") else printed == text


def check(page, programs, folder):
    """The complaints about the page, and how many commands were run."""
    complaints, commands, printed = [], 0, ""
    for block in BLOCK.finditer(page):
        kind, text = block[1], block[2]
        if kind == "sh":
            for line in text.splitlines():
                printed = run(line, programs, folder)
                commands += 1
        elif kind == "text" and not agrees(text, printed):
            complaints.append(f"the page has\n{text}but the command prints\n{printed}")
        elif kind == "diff":
            source = SOURCE.findall(page[: block.start()])[-1]
            lines = (ROOT / source).read_text(encoding="utf-8").splitlines()
            for removed in re.findall(r"^-(.*)$", text, re.MULTILINE):
                if lines.count(removed) != 1:
                    complaints.append(f"{source} has the line `{removed.strip()}` {lines.count(removed)} times, not once")
    return complaints, commands


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="where the programs are")
    programs = options.parse_args().bin.resolve()
    with tempfile.TemporaryDirectory() as folder:
        complaints, commands = check(PAGE.read_text(encoding="utf-8"), programs, folder)
    if commands == 0:
        complaints.append("no command was run")
    print("\n".join(complaints) or f"tutorial: {commands} commands print what the page says")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
