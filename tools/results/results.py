#!/usr/bin/env python3
"""Writes the tables of docs/results, README and docs/method-*.md, each between its markers, from what the programs
of build/release print; or checks that they still say what the programs print.

  results.py [NAME...]     write these tables; without names all but the live ones
  results.py --check       compare the cheap and derived tables with the pages, byte for byte
  results.py --check --part 1/3
                           only those on every third page, from the first on (2/3: from the second on)
  results.py --list        names, kinds, costs and pages

Live tables are measured in real time and want a quiet machine: they are written only when named.
"""

import argparse
import concurrent.futures
import difflib
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import pages  # noqa: E402
from lab import Failed, Lab, NoData  # noqa: E402
from tables import KINDS, REGISTRY  # noqa: E402
import calls, encoder, flows, live, motion, reproduction, rooms, summary  # noqa: E402,E401,F401  They fill REGISTRY.

CODE = ("app", "eval", "media", "relay", "traces", "transport", "cmake", "CMakeLists.txt")
ROOT = pathlib.Path(__file__).resolve().parents[2]


def commit():
    """HEAD; a plus where code differs from it."""
    head = subprocess.run(["git", "rev-parse", "--short=7", "HEAD"], cwd=ROOT, text=True, capture_output=True,
                          check=False)
    changed = subprocess.run(["git", "status", "--porcelain", "--", *CODE], cwd=ROOT, text=True,
                             capture_output=True, check=False)
    return (head.stdout.strip() or "unknown") + ("_changed" if changed.stdout.strip() else "")


def make(table, lab):
    """(body, seconds, why there is none)"""
    began = time.monotonic()
    try:
        body = table.make(pages.Cells(pages.blocks(ROOT))) if table.is_derived else table.make(lab)
        return body, time.monotonic() - began, None
    except NoData as error:
        return None, 0, f"skipped: no data folder ({error})"
    except (Failed, KeyError) as error:
        return None, 0, f"failed: {error}"


def say(line):
    print(line, flush=True)


def made(tables, lab):
    """Every table with what was made of it, derived ones last; independent ones at the same time."""
    plain = [table for table in tables if not table.is_derived]
    # Table makers mostly wait for the lab, which limits how many programs run.
    with concurrent.futures.ThreadPoolExecutor(1 if any(t.is_live for t in plain) else 16) as pool:
        yield from zip(plain, pool.map(lambda table: make(table, lab), plain))
    for table in tables:
        if table.is_derived:
            yield table, make(table, lab)


def write(tables, lab):
    failures = 0
    at = commit()
    for table, (body, seconds, why) in made(tables, lab):
        block = pages.blocks(ROOT).get(table.name)
        if body is None or block is None:
            say(f"{table.name:24} {why or 'has no markers on any page'}")
            failures += not (why or "").startswith("skipped")
            continue
        same = body == block.body
        rest = f"; date: {time.strftime('%Y-%m-%d')}" if table.is_live else ""
        pages.replace(block, body, table.kind, at, rest)
        say(f"{table.name:24} {'as before' if same else 'CHANGED':9} {seconds:6.1f} s  "
              f"{block.page.relative_to(ROOT)}")
    return 1 if failures else 0


def check(tables, lab):
    bad = skipped = 0
    for table, (body, seconds, why) in made(tables, lab):
        block = pages.blocks(ROOT).get(table.name)
        if body is None and why.startswith("skipped"):
            skipped += 1
            say(f"{table.name:24} {why}")
        elif body is None or block is None or body != block.body:
            bad += 1
            say(f"{table.name:24} {why or ('differs from what the programs print:' if block else 'is on no page')}")
            if body is not None and block is not None:
                sys.stdout.writelines(difflib.unified_diff(
                    block.body.splitlines(True), body.splitlines(True), str(block.page.relative_to(ROOT)), "now"))
        else:
            say(f"{table.name:24} same bytes {seconds:6.1f} s")
    print(f"results: {bad} of {len(tables)} tables differ" + (f", {skipped} could not be checked" if skipped else ""))
    return 1 if bad else 0


def part(text):
    """"1/3" -> (1, 3)"""
    which, of = map(int, text.split("/"))
    if not 1 <= which <= of:
        raise ValueError(text)
    return which, of


def on_part_of_pages(names, which, of):
    """Those of `names` that stand on every `of`th page, from page `which` on. Pages as a whole: their tables share
    runs."""
    found = pages.blocks(ROOT)
    all_pages = sorted({found[name].page for name in names if name in found})
    kept = set(all_pages[which - 1::of])
    return [name for name in names if name not in found or found[name].page in kept]


def listed():
    found = pages.blocks(ROOT)
    for kind, meaning in KINDS.items():
        print(f"{kind}: {meaning}")
        for table in REGISTRY.values():
            if table.kind == kind:
                block = found.get(table.name)
                print(f"  {table.name:24} {table.cost:10} {block.page.relative_to(ROOT) if block else '(no markers)'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="tables, or kinds")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--part", type=part, default=(1, 1), metavar="K/N")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, help="programs at a time [one a core]")
    options = parser.parse_args()
    if options.list:
        listed()
        return 0
    kinds = ("cheap", "derived") if options.check else ("cheap", "long", "derived")
    names = options.names or [table.name for table in REGISTRY.values() if table.kind in kinds]
    names = [name for wanted in names
             for name in ([t.name for t in REGISTRY.values() if t.kind == wanted] if wanted in KINDS else [wanted])]
    names = on_part_of_pages(names, *options.part)
    for name in names:
        if name not in REGISTRY:
            parser.error(f'no table "{name}" (see --list)')
    log = (lambda line: print(f"  {line[:150]}", file=sys.stderr)) if sys.stderr.isatty() else None
    lab = Lab(ROOT, options.jobs, log)
    tables = [REGISTRY[name] for name in names]
    return (check if options.check else write)(tables, lab)


if __name__ == "__main__":
    sys.exit(main())
