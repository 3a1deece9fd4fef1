#!/usr/bin/python3
"""Runs the command lines of tools/wrong_invocations.txt, each of which is wrong in one way, and checks that each ends
with its exit code and one clear line on standard error. Run by ctest as `wrong-invocations`.

    wrong_invocations.py [--bin DIR] [--jobs N] [--only TEXT]

A row of the table is `CODE | COMMAND | PHRASE`: the exit code, what a shell would be given, and a part of the line on
standard error, which must begin with the program's name. `>full` at the end of COMMAND means a standard output whose
disk is full; without it nothing may be on standard output. Commands run in a folder of their own that holds the files
that `make_files` writes.
"""

import argparse
import concurrent.futures
import pathlib
import shlex
import subprocess
import sys
import tempfile
import wave

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "tools/wrong_invocations.txt"
ROWS_MIN = 200
# Only what hangs takes so long: the slowest needs 4 s of a processor that many tests may share.
SECONDS_MAX = 120


def make_files(folder):
    """What the commands of the table read."""
    (folder / "good.down").write_text("".join(f"{ms}\n" for ms in range(10, 5000, 10)))
    (folder / "good.csv").write_text("0.01,1500\n0.5,1500\n1.0,1500\n")
    (folder / "one.down").write_text("5\n")
    (folder / "letters.down").write_text("1\n2\nabc\n")
    (folder / "empty.down").write_text("")
    (folder / "text.webm").write_text("no film\n")
    (folder / "text.wav").write_text("no audio\n")
    (folder / "broken.y4m").write_text("YUV4MPEG2 W64 H48 F30:1\nFRAME\nxx")
    (folder / "empty").mkdir()
    (folder / "model.json").write_text("{}\n")
    (folder / "bad.toml").write_text("scheme = [\n")
    (folder / "plan.toml").write_text('scheme = "reno"\nlink = "wifi"\nduration = "4s"\n')
    (folder / "no-unit.toml").write_text('scheme = "reno"\nlink = "wifi"\nduration = 4\n')
    (folder / "unknown-key.toml").write_text('scheme = "reno"\nlink = "wifi"\ndurations = "4s"\n')
    (folder / "unknown.toml").write_text("rums = 'x'\n")
    (folder / "nothing.toml").write_text('rooms = ""\n')
    (folder / "no-host.toml").write_text('host = ""\n')
    (folder / "negative.toml").write_text("[limits]\nmembers = -1\n")
    (folder / "limit.toml").write_text("[limits]\nmembrs = 3\n")
    (folder / "calls.toml").write_text("[calls]\ncall_kbps = 1\n")
    (folder / "open.link").write_text("cress://127.0.0.1:4433/#AAAAAAAAAAAAAAAAAAAAAA\n")
    (folder / "open.link").chmod(0o644)
    (folder / "not-a.db").write_text("no database\n" * 100)
    with wave.open(str(folder / "tone.wav"), "wb") as tone:
        tone.setnchannels(1)
        tone.setsampwidth(2)
        tone.setframerate(48000)
        tone.writeframes(b"\0\0" * 48000)


def rows_of(text):
    """(line, code, words, full, phrase) of each row."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        code, command, phrase = (part.strip() for part in line.split(" | "))
        words = shlex.split(command)
        full = words[-1] == ">full"
        rows.append((number, int(code), words[:-1] if full else words, full, phrase))
    return rows


def trouble_of(row, programs, folder):
    """What is wrong with the program's answer; empty: nothing."""
    _, code, words, full, phrase = row
    with open("/dev/full", "w", encoding="utf-8") as disk:
        try:
            done = subprocess.run([str(programs / words[0]), *words[1:]], cwd=folder, stdin=subprocess.DEVNULL,
                                  stdout=disk if full else subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  errors="replace", timeout=SECONDS_MAX, check=False)
        except subprocess.TimeoutExpired:
            return f"still runs after {SECONDS_MAX} s"
    if done.returncode != code:
        return f"exit code {done.returncode}, not {code}: {done.stderr}"
    lines = done.stderr.splitlines()
    if len(lines) != 1:
        return f"{len(lines)} lines on standard error, not 1: {done.stderr}"
    if not lines[0].startswith(words[0] + ": "):
        return f"the line does not begin with the program's name: {lines[0]}"
    if phrase not in lines[0]:
        return f"the line lacks \"{phrase}\": {lines[0]}"
    if done.stdout:
        return f"something on standard output: {done.stdout}"
    return ""


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="where the programs are")
    options.add_argument("--jobs", type=int, default=2, help="commands at a time")
    options.add_argument("--only", default="", help="only rows with this text")
    given = options.parse_args()
    rows = rows_of(TABLE.read_text(encoding="utf-8"))
    if len(rows) < ROWS_MIN:
        sys.exit(f"wrong_invocations: {len(rows)} rows, less than {ROWS_MIN}")
    rows = [row for row in rows if given.only in " ".join(row[2])]
    programs = given.bin.resolve()
    failed = 0
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        folder = pathlib.Path(name)
        make_files(folder)
        for row, trouble in zip(rows, pool.map(lambda row: trouble_of(row, programs, folder), rows)):
            if trouble:
                failed += 1
                print(f"{TABLE.name}:{row[0]}: {shlex.join(row[2])}\n  {trouble.strip()}")
    print(f"wrong_invocations: {len(rows)} command lines, {failed} of them answered badly")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
