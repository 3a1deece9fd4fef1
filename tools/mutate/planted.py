#!/usr/bin/python3
"""Puts bugs that users would notice into the calls and rooms of the swarm, one at a time, and shows that it finds them.

Each bug is a switch in a copy of its file, compiled and linked in place of the original (build/planted), so no program
of ours holds it; ./cress builds the rest before. A bug is found when a scenario of the seeds 1, 2, ... fails within
--seconds; the same scenarios hold without it. With --insider it is room_insider_fuzz that finds them, beginning
without a corpus, and the bugs are those that a member with the room's link can use. Exit code: 0; 1 if a bug is not
found, or if something fails without a bug.
"""

import argparse
import collections
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

RUNTIME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runtime")
Bug = collections.namedtuple("Bug", "effect path old new")

# `old`, once in `path`, is an expression, also with brackets around it; with the bug on it is `new`.
PLANTED = (
    Bug("frames freeze: the relay asks no sender for a key frame",
        "relay/forward/room_plan.cc", "source.key_frames.is_due(now)", "false"),
    Bug("delay grows: what waits in the queue is added to the window, not subtracted",
        "transport/control/cress/cress_control.cc", "deliveries(reaches_link + options_.delay_target)",
        "deliveries(reaches_link + options_.delay_target) + 2 * queue.bytes"),
    Bug("a member does not see another: lost room messages are not sent again",
        "transport/room/outbox.cc", "outcome.kind == session::MessageOutcome::Kind::kDelivered", "true"),
    Bug("a stranger's replay is accepted: the window accepts numbers that it has forgotten",
        "transport/secure/records/replay_window.cc", "number >= floor_", "true"),
    Bug("a call stays on its relay: a search for a direct path that failed is not repeated",
        "transport/secure/path/peer_direct.cc", "direct_->has_own()", "false"),
)

INSIDER = (
    Bug("a card with another member's instance silences that member for newcomers",
        "transport/secure/group/room_keys.cc",
        "std::find(over_.begin(), over_.end(), Presence{member, card.instance}) != over_.end()",
        "std::ranges::any_of(over_, [&](const Presence& over) { return over.instance == card.instance; })"),
    Bug("what a member seals moves everybody to the last epoch, and rotation stops",
        "transport/secure/group/room_keys.cc", "sender.secrets.try_emplace(epoch, secret)",
        "(advance_to(now, std::min(epoch, kEpochMax)), sender.secrets.try_emplace(epoch, secret))"),
)


def with_switches(texts, bugs):
    """`texts` (path -> bytes), changed in place: bug i has switch i, from 1 on."""
    for switch, bug in enumerate(bugs, 1):
        old = bug.old.encode()
        if texts[bug.path].count(old) != 1:
            raise ValueError(f"{bug.path}: \"{bug.old}\" is not there once; change PLANTED")
        put = f"(::cress_mutants::on({switch}) ? ({bug.new}) : ({bug.old}))".encode()
        texts[bug.path] = texts[bug.path].replace(old, put)
    return texts


class Build:
    """A program with the bugs, none on, from the objects of a preset."""

    def __init__(self, root, preset, program):
        self._root = root
        self._preset = f"{root}/build/{preset}"
        self._out = f"{root}/build/planted"
        self._name = program
        self.program = f"{self._out}/{program}"
        os.makedirs(self._out, exist_ok=True)

    def make(self, texts):
        """`texts`: path -> text with switches."""
        runtime = f"{self._out}/mutants.o"
        self._run(["c++", "-O1", "-c", f"{RUNTIME}/mutants.cc", "-o", runtime])
        archives = {}
        for piece, command, paths in self._pieces(texts):
            member = command[command.index("-o") + 1]
            command[command.index("-o") + 1] = f"{self._out}/{os.path.basename(member)}"
            command[command.index(piece)] = self._changed(piece, {path: texts[path] for path in paths})
            self._run([*command, "-include", f"{RUNTIME}/mutants.hh", "-w"])
            folder = member.split("/CMakeFiles/")[0]
            archive = f"{folder}/lib{folder.replace('/', '-')}.a"
            if archive not in archives:
                archives[archive] = f"{self._out}/{os.path.basename(archive)}"
                shutil.copy(f"{self._preset}/{archive}", archives[archive])
            self._run(["ar", "r", archives[archive], f"{self._out}/{os.path.basename(member)}"])
        link = self._run(["ninja", "-t", "commands", self._name]).splitlines()[-1].split(" && ")[1]
        words = [archives.get(word, word) for word in shlex.split(link)]
        words[words.index("-o") + 1] = self.program
        self._run([*words, runtime])

    def _pieces(self, texts):
        """(file, command, which of `texts` it holds) of what the compiler is given for the libraries."""
        with open(f"{self._preset}/compile_commands.json", encoding="utf-8") as file:
            commands = json.load(file)
        found = []
        for entry in commands:
            command = shlex.split(entry["command"])
            folders = {path: os.path.dirname(path) for path in texts}
            near = [path for path, folder in folders.items()
                    if f"{folder}/CMakeFiles/{folder.replace('/', '-')}.dir/" in entry["command"]]
            if not near:
                continue
            with open(entry["file"], encoding="utf-8") as file:
                text = file.read()
            paths = [path for path in near
                     if entry["file"] == f"{self._root}/{path}" or f'"{self._root}/{path}"' in text]
            if paths:
                found.append((entry["file"], command, paths))
        return found

    def _changed(self, piece, texts):
        """A copy of `piece` with `texts` in place of the originals."""
        places = {}
        for path, text in texts.items():
            places[path] = f"{self._out}/{path.replace('/', '-')}"
            with open(places[path], "wb") as file:
                file.write(text)
        if piece.endswith(".cc"):
            return next(iter(places.values()))
        with open(piece, encoding="utf-8") as file:
            lines = file.read()
        for path, place in places.items():
            lines = lines.replace(f'"{self._root}/{path}"', f'"{place}"')
        with open(f"{self._out}/{next(iter(texts)).replace('/', '-')}-unity.cc", "w", encoding="utf-8") as file:
            file.write(lines)
        return file.name

    def _run(self, command):
        done = subprocess.run(command, cwd=self._preset, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"cress swarm: {shlex.join(command)[:200]}\n{done.stdout[-2000:]}\n{done.stderr[-5000:]}")
        return done.stdout


def run(program, switch, arguments, folder):
    """(seconds, exit code, output)"""
    began = time.monotonic()
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, cwd=folder,
                          errors="replace", env={**os.environ, "CRESS_MUTANT": str(switch)})
    return time.monotonic() - began, done.returncode, done.stdout + done.stderr


def swarm_finds(program, bugs, seconds_max, folder):
    """Whether the swarm finds all of them, and nothing without them."""
    seeds, missed = 0, 0
    for switch, bug in enumerate(bugs, 1):
        seconds, code, output = run(program, switch, ["--seconds", str(seconds_max)], folder)
        seed = re.search(r"^cress-swarm: seed (\d+)", output, re.MULTILINE)
        if code == 0 or not seed:
            missed += 1
            print(f"NOT found in {seconds:.0f} s: {bug.effect}", flush=True)
            continue
        seeds = max(seeds, int(seed[1]))
        failures = re.findall(r"^seed \d+: (.*)$", output, re.MULTILINE)
        print(f"found in {seconds:.0f} s by seed {seed[1]}: {bug.effect}\n  {failures[0] if failures else 'a crash'}",
              flush=True)
    seconds, code, output = run(program, 0, ["--count", str(max(1, seeds))], folder)
    print(f"without a bug, {seconds:.0f} s: {output.strip()}")
    return missed == 0 and code == 0


def fuzzer_finds(program, bugs, seconds_max, folder):
    """Likewise for a fuzzer, which is given as long without a bug as it took with one."""
    longest, missed = 0.0, 0
    limit = f"-max_total_time={seconds_max:.0f}"
    for switch, bug in enumerate(bugs, 1):
        seconds, code, output = run(program, switch, [limit], folder)
        failure = re.search(r"^insider: (.*)$", output, re.MULTILINE)
        if code == 0 or not failure:
            missed += 1
            print(f"NOT found in {seconds:.0f} s: {bug.effect}", flush=True)
            continue
        longest = max(longest, seconds)
        print(f"found in {seconds:.0f} s: {bug.effect}\n  {failure[1]}", flush=True)
    seconds, code, _ = run(program, 0, [f"-max_total_time={longest + 10:.0f}"], folder)
    print(f"without a bug, {seconds:.0f} s: {'a finding' if code != 0 else 'no finding'}")
    return missed == 0 and code == 0


def main():
    parser = argparse.ArgumentParser(prog="cress swarm --planted", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="for each bug (default 60)")
    parser.add_argument("--insider", action="store_true", help="room_insider_fuzz in place of the swarm")
    options = parser.parse_args()
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
    bugs = INSIDER if options.insider else PLANTED
    texts = {}
    for bug in bugs:
        with open(f"{root}/{bug.path}", "rb") as file:
            texts[bug.path] = file.read()
    build = Build(root, "dev", "room_insider_fuzz") if options.insider else Build(root, "release", "cress-swarm")
    build.make(with_switches(texts, bugs))
    finds = fuzzer_finds if options.insider else swarm_finds
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(0 if finds(build.program, bugs, options.seconds, folder) else 1)


if __name__ == "__main__":
    main()
