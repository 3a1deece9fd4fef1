#!/usr/bin/python3
"""Tells whether two builds behave the same, to the byte, in the simulator.

  same_behaviour.py record PROGRAM FOLDER   runs the cress-eval at PROGRAM; writes FOLDER/digests.txt
  same_behaviour.py compare FOLDER FOLDER   prints the files that differ; exits 1 if any does

Every scheme runs as a flow over every embedded link and as a call over three of them, 60 s, one seed; then
`reproduce all`. Digests are of results.json, timeline.csv, frames.csv and the figures. For changes of code that should
change no behaviour: record before and after, then compare.
"""

import argparse
import hashlib
import pathlib
import re
import subprocess
import sys

FLOW_LINKS = ("lte-fast", "lte-slow", "3g", "outages", "wifi")
CALL_LINKS = ("lte-slow", "3g", "wifi")
COMPARED = ("results.json", "timeline.csv", "frames.csv")
LENGTH = ["--duration", "60s", "--seed", "1"]


def schemes(program):
    """(those that run as flows, those that run as calls), as the program lists them."""
    listed = subprocess.run([program, "schemes"], check=True, capture_output=True, text=True).stdout
    carried = re.findall(r"^(\S+) +(flow, call|flow|call) ", listed, re.MULTILINE)
    return ([name for name, carries in carried if "flow" in carries],
            [name for name, carries in carried if "call" in carries])


def run(program, words):
    print(f"cress-eval {' '.join(words)}", file=sys.stderr)
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    # 1: a published order does not hold, which is a result too.
    if done.returncode not in (0, 1):
        sys.exit(f"exit code {done.returncode}: {done.stderr.strip()}")


def record(program, folder):
    flows, calls = schemes(program)
    for link in FLOW_LINKS:
        run(program, ["run", "--scheme", ",".join(flows), "--link", link, *LENGTH, "--no-report",
                      "--out", f"{folder}/flow-{link}"])
    for link in CALL_LINKS:
        run(program, ["run", "--scheme", ",".join(calls), "--link", link, *LENGTH, "--no-report",
                      "--video", "synthetic", "--out", f"{folder}/call-{link}"])
    run(program, ["reproduce", "all", "--out", f"{folder}/reproduce"])
    lines = []
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.name in COMPARED or (name.startswith("reproduce/") and path.suffix in (".svg", ".csv", ".json")):
            lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n")
    (folder / "digests.txt").write_text("".join(lines))
    print(f"{len(lines)} files: {folder}/digests.txt")


def digests(folder):
    lines = (folder / "digests.txt").read_text().splitlines()
    return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}


def compare(before, after):
    one, other = digests(before), digests(after)
    differing = [name for name in sorted(one.keys() | other.keys()) if one.get(name) != other.get(name)]
    for name in differing:
        print(f"differs: {name}")
    print(f"{len(one.keys() | other.keys()) - len(differing)} files equal, {len(differing)} differ")
    return 1 if differing or not one else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("first", metavar="PROGRAM|FOLDER", type=pathlib.Path)
    parser.add_argument("second", metavar="FOLDER", type=pathlib.Path)
    options = parser.parse_args()
    if options.action == "compare":
        return compare(options.first, options.second)
    options.second.mkdir(parents=True, exist_ok=True)
    record(str(options.first), options.second)
    return 0


if __name__ == "__main__":
    sys.exit(main())
