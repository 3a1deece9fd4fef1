#!/usr/bin/python3
"""Runs calls under the conditions that people have, and prints how each scheme did, next to a measured Chromium.

  tools/conditions.py build/release/bin/cress-eval --scheme cress,gcc
  tools/conditions.py build/release/bin/cress-eval --only 1,3 --seed 1,2,3
  tools/conditions.py --print                        # the commands alone

Each condition is one `cress-eval run`: one way, 60 s of which 10 to 60 are scored, 20 ms each way; TCP flows start at
12 s and end at 52 s, other calls at 0 s. Several seeds are averaged. Chromium's rows are read from the data folder
where it has them.
"""

import argparse
import concurrent.futures
import csv
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

# Name, options, and the row of reference/chromium-conditions.csv, if there is one: link, queue, path, TCP.
CONDITIONS = [
    ("one Cubic", "--rate 6Mbit/s --queue droptail:64 --cross cubic@12s+40s", ("6Mbit", "64", "", "1 cubic")),
    ("four Cubic", "--rate 6Mbit/s --queue droptail:64 --cross cubic:4@12s+40s", ("6Mbit", "64", "", "4 cubic")),
    ("one BBR", "--rate 6Mbit/s --queue droptail:64 --cross bbr@12s+40s", ("6Mbit", "64", "", "1 bbr")),
    ("one Cubic, deep queue", "--rate 6Mbit/s --queue droptail:256 --cross cubic@12s+40s",
     ("6Mbit", "256", "", "1 cubic")),
    ("nothing else", "--rate 12Mbit/s", ("12Mbit", "unlimited", "", "")),
    ("jitter 10 ms", "--rate 12Mbit/s --jitter 10ms", ("12Mbit", "unlimited", "jitter 0-10 ms", "")),
    ("jitter 30 ms", "--rate 12Mbit/s --jitter 30ms", ("12Mbit", "unlimited", "jitter 0-30 ms", "")),
    ("loss bursts", "--rate 12Mbit/s --burst-loss 0.01,0.3", ("12Mbit", "unlimited", "burst loss", "")),
    ("longer path", "--rate 6Mbit/s --detour 40ms@25s", None),
    ("longer path, jitter", "--rate 6Mbit/s --jitter 20ms --detour 40ms@25s", None),
    ("satellite", "--rate 6Mbit/s --jitter 10ms --detour 30ms@15s+15s --detour 20ms@45s", None),
    ("slow line", "--rate 1Mbit/s", None),
    ("busy Wi-Fi", "--link wifi-busy", None),
    ("two calls", "--rate 2Mbit/s --queue droptail:64 --cross cress@0s", None),
    ("four calls", "--rate 3Mbit/s --queue droptail:64 --cross cress:3@0s", None),
    ("a call of gcc", "--rate 2Mbit/s --queue droptail:64 --cross gcc@0s", None),
    ("FQ-CoDel alone", "--rate 6Mbit/s --queue fq-codel", None),
    ("FQ-CoDel, four Cubic", "--rate 6Mbit/s --queue fq-codel --cross cubic:4@12s+40s", None),
    ("DualPI2 alone", "--rate 6Mbit/s --queue dualpi2", None),
    ("DualPI2, one Cubic", "--rate 6Mbit/s --queue dualpi2 --cross cubic@12s+40s", None),
    ("DualPI2, four Cubic", "--rate 6Mbit/s --queue dualpi2 --cross cubic:4@12s+40s", None),
    ("far away", "--rate 4Mbit/s --delay 150ms", None),
    ("Cubic both ways", "--rate 6Mbit/s --queue droptail:64 --cross cubic@12s+40s --cross cubic@12s+40s/up", None),
    ("slow line, deep queue", "--rate 2Mbit/s --queue droptail:256 --cross cubic@12s+40s", None),
]
COLUMNS = ["displayed", "captured", "frozen", "p50", "p95", "video", "SSIM", "live", "concealed", "others",
           "Jain"]
UNITS = ["", "", "s", "ms", "ms", "kbit/s", "dB", "dB", "%", "kbit/s", ""]
FORMATS = [".0f", ".0f", ".1f", ".0f", ".0f", ".0f", ".2f", ".2f", ".1f", ".0f", ".2f"]


def command(arguments, scheme, options, seed, out):
    return [str(arguments.program), "run", "--scheme", scheme, *shlex.split(options), "--one-way", "--video",
            str(arguments.video), "--audio", arguments.audio, "--duration", "60s", "--skip", "10s",
            "--seed", str(seed), "--no-report", "--json", "--out", str(out), *shlex.split(arguments.extra)]


def measured(result):
    """The table's numbers from one object of results.json; None where it says nothing."""
    concealed = result.get("audio_concealed")
    sharing = result.get("sharing", {})
    flows = sharing.get("flows")
    return [result["frames_displayed"], result["frames_captured"], result["frozen_s"], result["frame_delay_p50_ms"],
            result["frame_delay_p95_ms"], result["bitrate_kbps"], result["ssim_db"], result.get("live_ssim_db"),
            None if concealed is None else 100 * concealed,
            None if flows is None else sum(flow["goodput_kbps"] for flow in flows), sharing.get("jain")]


def run(arguments, scheme, options, seed):
    with tempfile.TemporaryDirectory(prefix="cress-conditions-") as folder:
        done = subprocess.run(command(arguments, scheme, options, seed, folder), capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr.strip())
    return measured(json.loads(done.stdout)[0])


def mean(rows):
    known = [[value for value in column if value is not None] for column in zip(*rows)]
    return [sum(values) / len(values) if values else None for values in known]


def chromium_rows(file):
    """Chromium's numbers by condition; nothing where the file is not there."""
    if not file.is_file():
        return {}
    found = {}
    with open(file, newline="", encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["system"].startswith("chromium")]
    for name, _, reference in CONDITIONS:
        link, queue, path, tcp = reference or ("", "", "", "")
        for row in rows if reference else []:
            same_path = row["path"].startswith(path) if path else not row["path"]
            if (row["link"], row["queue_packets"], row["tcp_in_the_same_queue"]) == (f"constant-{link}", queue, tcp) \
                    and same_path:
                fields = ["displayed", "captured", "frozen_s", "delay_p50_ms", "delay_p95_ms", "media_kbps", "ssim_db",
                          None, None, "tcp_kbps", None]
                found[name] = [float(row[field]) if field and row[field] else None for field in fields]
    return found


def line(name, who, cells):
    return f"{name:<22} {who:<15} " + " ".join(f"{cell:>9}" for cell in cells)


def cells_of(values):
    return ["-" if value is None else format(value, how) for value, how in zip(values, FORMATS)]


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", type=pathlib.Path, default=pathlib.Path("build/release/bin/cress-eval"))
    parser.add_argument("--scheme", default="cress", help="call schemes, separated by commas")
    parser.add_argument("--only", default="", help="numbers of conditions, from 1, separated by commas")
    parser.add_argument("--seed", default="1", help="seeds, separated by commas; averaged")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("../shared"), help="the data folder")
    parser.add_argument("--video", type=pathlib.Path, help="another clip than the data folder's gesture_man")
    parser.add_argument("--audio", default="synthetic")
    parser.add_argument("--extra", default="", help="more options of `cress-eval run`, in one word")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true", help="a list of objects instead of the table")
    parser.add_argument("--print", action="store_true", help="print the commands; run nothing")
    arguments = parser.parse_args(argv)
    arguments.video = arguments.video or arguments.data / "video" / "gesture_man_640x480_30.mp4"
    if not re.fullmatch(r"\d+(,\d+)*", arguments.seed):
        parser.error(f"--seed {arguments.seed}: numbers separated by commas")
    if not re.fullmatch(r"|\d+(,\d+)*", arguments.only):
        parser.error(f"--only {arguments.only}: numbers of conditions separated by commas")
    wanted = [int(number) for number in arguments.only.split(",") if number] or range(1, len(CONDITIONS) + 1)
    if not all(1 <= number <= len(CONDITIONS) for number in wanted):
        parser.error(f"--only {arguments.only}: there are conditions 1 to {len(CONDITIONS)}")
    arguments.conditions = [CONDITIONS[number - 1] for number in wanted]
    return arguments


def main(argv):
    arguments = parse(argv)
    seeds = arguments.seed.split(",")
    jobs = [(name, scheme, options) for name, options, _ in arguments.conditions
            for scheme in arguments.scheme.split(",")]
    if arguments.print:
        for name, scheme, options in jobs:
            print(f"# {name}")
            print(shlex.join(command(arguments, scheme, options, seeds[0], "build/conditions")))
        return
    with concurrent.futures.ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        runs = {job: [pool.submit(run, arguments, job[1], job[2], seed) for seed in seeds] for job in jobs}
        chromium = chromium_rows(arguments.data / "reference" / "chromium-conditions.csv")
        rows = []
        for name, _, _ in arguments.conditions:
            rows += [(name, scheme, mean([made.result() for made in runs[name, scheme, options]]))
                     for wanted, scheme, options in jobs if wanted == name]
            if name in chromium:
                rows.append((name, "chromium", chromium[name]))
    if arguments.json:
        print(json.dumps([{"condition": name, "who": who, **dict(zip(COLUMNS, values))}
                          for name, who, values in rows], indent=2))
        return
    print(line("condition", "", COLUMNS))
    print(line("", "", UNITS))
    for name, who, values in rows:
        print(line(name, who, cells_of(values)))


if __name__ == "__main__":
    main(sys.argv[1:])
