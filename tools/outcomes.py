#!/usr/bin/python3
"""What ran, failed and was skipped, and why: a summary of gtest's XML reports.

Exit code 1 if a test was skipped for want of recorded data although the data folder is there.
"""

import argparse
import collections
import os
import re
import sys
import xml.etree.ElementTree

# Every message of a test that skips for want of recorded data begins so.
NO_DATA = "no data:"


def skip_reason(case):
    """The reason a test gave for being skipped, without places and names of this run; None if it ran."""
    skipped = case.find("skipped")
    if skipped is None:
        return None
    text = " ".join((skipped.get("message") or skipped.text or "").split())
    text = re.sub(r"^\S+:\d+ ", "", text)
    return re.sub(r"/tmp/\S+", "...", text) or "no reason given"


def count(folder):
    """(passed, failed, reason -> names of skipped tests) over all reports in `folder`."""
    passed, failed, skipped = 0, 0, collections.defaultdict(list)
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        try:
            report = xml.etree.ElementTree.parse(os.path.join(folder, name))
        except xml.etree.ElementTree.ParseError:
            continue  # of a program that crashed: ctest has said so
        for case in report.iter("testcase"):
            if case.get("status") != "run":
                continue
            reason = skip_reason(case)
            if case.find("failure") is not None:
                failed += 1
            elif reason is not None:
                skipped[reason].append(f"{case.get('classname')}.{case.get('name')}")
            else:
                passed += 1
    return passed, failed, skipped


def without_report(folder, failed):
    """Names of ctest's failed tests, one "NUMBER:NAME" a line of `failed`, that left no report of gtest's."""
    if not os.path.isfile(failed):
        return []
    with open(failed, encoding="utf-8") as lines:
        names = [line.strip().partition(":")[2] for line in lines if ":" in line]
    return [name for name in names if not is_report(os.path.join(folder, f"{name}-test.xml"))]


def is_report(path):
    try:
        xml.etree.ElementTree.parse(path)
    except (OSError, xml.etree.ElementTree.ParseError):
        return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="folder of XML reports")
    parser.add_argument("--failed", default="", help="ctest's list of what failed, which may be missing")
    parser.add_argument("--data", default="", help="the data folder, which may be missing")
    options = parser.parse_args()
    passed, failed, skipped = count(options.folder)
    for reason, names in sorted(skipped.items(), key=lambda item: (-len(item[1]), item[0])):
        print(f"skipped {len(names)}: {reason}")
        for name in names:
            print(f"  {name}")
    ended = without_report(options.folder, options.failed)
    for name in ended:
        print(f"failed without a report (crashed, or no test of gtest's): {name}")
    aborted = f", {len(ended)} failed without a report" if ended else ""
    print(f"{passed} passed, {failed} failed{aborted}, {sum(map(len, skipped.values()))} skipped")
    without_data = sum(len(names) for reason, names in skipped.items() if reason.startswith(NO_DATA))
    if without_data and os.path.isdir(os.path.join(options.data, "traces/cellular")):
        print(f"{without_data} skipped for want of data, though {options.data} is there", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
