#!/usr/bin/python3
"""Puts deliberate bugs of one line into a folder, one at a time, and lists those that its tests do not catch."""

import argparse
import concurrent.futures
import dataclasses
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
try:
    import runs
    import sites
    import world as worlds
except ImportError as error:
    sys.exit(f"cress mutate: {error}; the Debian package python3-clang-16 brings it")
from clang import cindex

SPARE = 4


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        prog="cress mutate", formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__,
        epilog="""examples:
  ./cress mutate transport/secure                      20 bugs of a random seed
  ./cress mutate relay/forward --count 50 --seed 7     the same 50 each time, on the same commit
  ./cress mutate . --count 150 --seed 7                150 over all folders, more where there are more lines
  ./cress mutate . --count 150 --seed 7 --all-tests    what `./cress test` as a whole catches of them
  ./cress mutate --changed                             lines not committed yet, or else of the last commit
  ./cress mutate app/call --changed main               lines of the folder that differ from branch main

All bugs that a running program can switch are built together; a constant takes a build of its own. So does a bug
that no test passes: the compiler may have evaluated the place, and then the switch does nothing. Those are tried on
the folder's own tests alone.
Exit code: 0, also with survivors; 1 with fewer caught than --caught-min; 2 for wrong arguments.""")
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="a folder with tests, e.g. transport/wire; \".\": all folders, with --count bugs in all")
    parser.add_argument("--seed", type=int, help="what draws the bugs (default: a random one, printed)")
    parser.add_argument("--count", type=int, default=20, help="bugs for each folder (default 20)")
    parser.add_argument("--changed", nargs="?", const="", metavar="COMMIT",
                        help="only lines that differ from COMMIT (default: HEAD, or HEAD~1 where nothing differs)")
    parser.add_argument("--tests", default="", metavar="FOLDER,...",
                        help="run the tests of these folders too, after the folder's own")
    parser.add_argument("--all-tests", action="store_true",
                        help="run the tests of all folders, after the folder's own: is it caught by `cress test`?")
    parser.add_argument("--no-constants", action="store_true", help="leave out what needs builds of its own")
    parser.add_argument("--leave-out", default="", metavar="PATTERNS", help="gtest patterns of tests not to run")
    parser.add_argument("--caught-min", type=float, default=0, metavar="PERCENT")
    parser.add_argument("--json", metavar="FILE", help="also write the outcome of each bug to FILE, as it comes")
    options = parser.parse_args(arguments)
    if not 1 <= options.count <= 10_000:
        parser.error("--count is 1 to 10000")
    if not options.folders and options.changed is None:
        parser.error("name a FOLDER, or --changed")
    return parser, options


def changed_lines(root, commit):
    """path -> set of line numbers of the work tree that differ from `commit`."""
    def difference(base):
        done = subprocess.run(["git", "diff", "-U0", "--no-color", base, "--", "*.cc", "*.hh"], cwd=root,
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"cress mutate: {done.stderr.strip().splitlines()[0]}")
        return done.stdout
    text = difference(commit) if commit else difference("HEAD") or difference("HEAD~1")
    lines, path = {}, None
    for line in text.splitlines():
        if line.startswith("+++ "):
            path = line[6:] if line.startswith("+++ b/") else None
        hunk = re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)
        if hunk and path:
            first, count = int(hunk.group(1)), int(hunk.group(2) or 1)
            lines.setdefault(path, set()).update(range(first, first + count))
    return lines


def draw(candidates, rng, count):
    """At most `count` sites, one a line, none inside another."""
    chosen, lines, spans = [], set(), {}
    for site in rng.sample(candidates, len(candidates)):
        if len(chosen) == count:
            break
        near = spans.setdefault(site.path, [])
        if (site.path, site.line) in lines or \
                any(site.start < end and start < site.end for start, end in near):
            continue
        chosen.append(site)
        lines.add((site.path, site.line))
        near.append((site.start, site.end))
    return sorted(chosen, key=lambda s: (s.path, s.start))


def with_mutants(text, numbered):
    """`text` with a switch at each (id, site); and the spans of what was put there: (start, end, site)."""
    parts, spans, at, length = [], [], 0, 0
    for mutant, site in sorted(numbered, key=lambda pair: pair[1].start):
        old, new = text[site.start:site.end], site.text.encode()
        on = f"::cress_mutants::on({mutant})".encode()
        if site.is_constant:
            put = new
        elif site.is_statement:
            put = b"if (" + on + b") { " + new + b" } else { " + old + b" }"
        else:
            put = b"(" + on + b" ? (" + new + b") : (" + old + b"))"
        before = text[at:site.start]
        parts += [before, put]
        spans.append((length + len(before), length + len(before) + len(put), site))
        length += len(before) + len(put)
        at = site.end
    return b"".join(parts) + text[at:], spans


class Folder:
    """The bugs of one folder."""

    def __init__(self, world, folder, lines):
        self._world = world
        self.folder = folder
        finder = sites.Finder(world.source, world.production_files(folder))
        self._pieces = world.pieces(folder)
        for piece, arguments in self._pieces:
            finder.parse(piece, arguments)
        self.sites = [site for site in finder.sites()
                      if lines is None or site.line in lines.get(site.path, ())]

    def choose(self, rng, count, constants):
        """(switched, built alone) that compile, `count` of both together where the folder has so many."""
        candidates = [site for site in self.sites if constants or not site.is_constant]
        # More than are asked for, as some do not compile and each look costs seconds.
        chosen = draw(candidates, random.Random(rng), count + count // 2 + SPARE)
        broken = True
        while broken:
            broken = self._broken([site for site in chosen if not site.is_constant])
            chosen = [site for site in chosen if site not in broken]
        chosen = sorted(random.Random(rng).sample(chosen, min(count, len(chosen))), key=lambda s: (s.path, s.start))
        return ([site for site in chosen if not site.is_constant],
                [site for site in chosen if site.is_constant])

    def _switched_texts(self, numbered):
        """path -> text with switches, path -> spans. `numbered`: (id, site) pairs."""
        texts, spans = {}, {}
        for path in {site.path for _, site in numbered}:
            here = [(mutant, site) for mutant, site in numbered if site.path == path]
            texts[path], spans[path] = with_mutants(self.original(path), here)
        return texts, spans

    def put(self, numbered):
        """Writes the switches into the copy. `numbered`: (id, site) pairs."""
        for path, text in self._switched_texts(numbered)[0].items():
            self._world.write(path, text)

    def take_out(self, bugs):
        for path in {site.path for site in bugs}:
            self._world.write(path, self.original(path))

    def original(self, path):
        with open(f"{self._world.root}/{path}", "rb") as file:
            return file.read()

    def _broken(self, switched):
        """Those that do not compile. Nothing is written: other folders are looked at meanwhile."""
        texts, spans = self._switched_texts(list(enumerate(switched, 1)))
        unsaved = [(f"{self._world.source}/{path}", text) for path, text in texts.items()]
        broken = set()
        for piece, arguments in self._pieces:
            unit = cindex.Index.create().parse(piece, args=[*arguments, "-ferror-limit=0"], unsaved_files=unsaved)
            for problem in unit.diagnostics:
                if problem.severity < cindex.Diagnostic.Error:
                    continue
                for place in [problem.location, *(note.location for note in problem.children)]:
                    path = os.path.relpath(place.file.name, self._world.source) if place.file else ""
                    broken |= {site for start, end, site in spans.get(path, ())
                               if start <= place.offset < end}
        return broken


def drawn(world, folder, lines, seed, count, constants):
    """(Folder, bugs with a switch, bugs that are built alone); in a process of its own, as libclang takes its time."""
    parts = Folder(world, folder, lines)
    return parts, *parts.choose(seed, count, constants)


def tested_folders(root):
    """Those with production code and tests."""
    listed = subprocess.run(["git", "ls-files", "*_test.cc"], cwd=root, check=True, capture_output=True,
                            text=True).stdout.split()
    return sorted({os.path.dirname(path) for path in listed} - {"tools/mutate/runtime"})


def test_program(world, folder, left_out):
    """The folder's tests, run once without a bug; None if it has none."""
    path = f"{world.out}/bin/{folder.replace('/', '-')}-test"
    if not os.path.exists(path):
        return None
    program = runs.Program(path, left_out)
    program.learn(1200)
    if program.failing:
        print(f"not used, as they fail without a bug: {', '.join(program.failing)}", file=sys.stderr)
    return program


def test_programs(world, folders, left_out, jobs):
    """folder -> its program. Many tests mostly wait, so that two programs at a time disturb each other little."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        learned = dict(zip(folders, pool.map(lambda folder: test_program(world, folder, left_out), folders)))
    return {folder: program for folder, program in learned.items() if program}


def progress(what):
    def tell(done, of):
        if sys.stderr.isatty():
            print(f"\r{what}: {done} of {of}", end="\n" if done == of else "", file=sys.stderr)
    return tell


class Outcomes:
    """What came of each bug. It is kept as it comes, so that a run that is cut off is not lost: as a line each, where
    nobody looks at a terminal, and in the file of `--json`."""

    def __init__(self, seed, path):
        self._seed, self._path = seed, path
        self._bugs = []

    def add(self, site, test, reached):
        bug = {"place": f"{site.path}:{site.line}", "bug": site.what, "instead": site.text[:120],
               "caught_by": test, "reached": reached}
        self._bugs.append((site.path, site.start, bug))
        if not sys.stderr.isatty():
            how = f"caught by {test}" if test else "survived"
            print(f"{len(self._bugs)}  {how}  {bug['place']}  {bug['bug']}", file=sys.stderr, flush=True)
        if self._path:
            with open(f"{self._path}.new", "w", encoding="utf-8") as file:
                json.dump({"seed": self._seed, "bugs": self.bugs()}, file, indent=1)
            os.replace(f"{self._path}.new", self._path)

    def bugs(self):
        """By place."""
        return [bug for _, _, bug in sorted(self._bugs, key=lambda one: one[:2])]


def build_switched(world, chosen, targets):
    """Builds with switches. `chosen`: (Folder, its bugs) pairs, numbered through from 1 on; what only the compiler of
    the build rejects is taken out of it. Returns id -> (Folder, bug)."""
    while True:
        numbered = dict(enumerate(((parts, site) for parts, found in chosen for site in found), 1))
        for parts, found in chosen:
            parts.put([(mutant, site) for mutant, (of, site) in numbered.items() if of is parts])
        try:
            world.build(targets)
            return numbered
        except worlds.BuildError as error:
            places = set(re.findall(r"/mutate/source/(\S+?:\d+):\d+: error", str(error)))
            kept = [(parts, [site for site in found if f"{site.path}:{site.line}" not in places])
                    for parts, found in chosen]
            if kept == chosen:
                raise
            for parts, found in chosen:
                parts.take_out(found)
            chosen = kept


def built_in(numbered, mutant):
    """`numbered` with one bug built in instead of switched. `numbered`: (id, site) pairs of one folder."""
    return [(of, site if of != mutant else dataclasses.replace(
        site, text=site.text if site.is_statement else f"({site.text})", is_constant=True)) for of, site in numbered]


def first_catch_built_in(world, parts, with_bug, without, targets, programs):
    """(Whether it is a bug that one could commit, the test that catches it or None). `with_bug`, `without`: (id, site)
    pairs of the folder `parts`, with the bug built in and without it."""
    parts.put(with_bug)
    try:
        world.build(targets)
        test = runs.first_catch(programs, 0)[0]
    except worlds.BuildError as error:
        if "static assertion failed" in str(error):
            return True, "a static assertion"
        return False, None
    finally:
        if without:
            parts.put(without)
        else:
            parts.take_out([site for _, site in with_bug])
    if test:
        world.build(targets)
        if not runs.pass_without_a_bug(programs, test):
            test = None  # it fails without the bug too, on a machine as busy as it is now
    return True, test


def shares(world, folders, count):
    """folder -> how many of `count` bugs, by its lines of production code; the largest remainders get what is left."""
    lines = {}
    for folder in folders:
        lines[folder] = 0
        for path in world.production_files(folder):
            with open(f"{world.source}/{path}", "rb") as file:
                lines[folder] += file.read().count(b"\n")
    exact = {folder: count * lines[folder] / max(1, sum(lines.values())) for folder in folders}
    dealt = {folder: int(exact[folder]) for folder in folders}
    by_remainder = sorted(folders, key=lambda folder: (dealt[folder] - exact[folder], folder))
    for folder in by_remainder[:count - sum(dealt.values())]:
        dealt[folder] += 1
    return {folder: dealt[folder] for folder in folders if dealt[folder] > 0}


def run_folders(world, counts, options, others, lines, seed, outcomes):
    """Adds the outcome of each bug to `outcomes`. `counts`: folder -> how many bugs. `others`: folders whose tests run
    after the folder's own."""
    chosen, alone = [], []
    tell = progress("drawn in folders")
    jobs = os.cpu_count() or 1
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        waiting = [pool.submit(drawn, world, folder, lines, seed, count, not options.no_constants)
                   for folder, count in counts.items()]
        for i, one in enumerate(waiting, 1):
            parts, switched, constants = one.result()
            chosen.append((parts, switched))
            alone += [(parts, site) for site in constants]
            tell(i, len(waiting))
    # A build for one bug is tried on its folder's tests and those that were named.
    near = {folder: [folder] if options.all_tests else [folder, *others] for folder in counts}
    targets = {folder: [f"{name.replace('/', '-')}-test" for name in names] for folder, names in near.items()}
    tested = sorted({*counts, *others})
    numbered = build_switched(world, chosen, [f"{name.replace('/', '-')}-test" for name in tested])
    learned = test_programs(world, tested, options.leave_out, jobs)
    # Folders with short tests first: most bugs that can be found are found there.
    others = sorted(others, key=lambda name: learned[name].duration() if name in learned else 0)
    programs = {folder: [learned[name] for name in dict.fromkeys([folder, *others]) if name in learned]
                for folder in counts}
    near = {folder: [learned[name] for name in names if name in learned] for folder, names in near.items()}
    tell = progress("bugs with a switch")
    done = itertools.count(1)
    passed_by_none = []

    def add(mutant, test, reached):
        if reached:
            outcomes.add(numbered[mutant][1], test, True)
        else:
            passed_by_none.append(mutant)
        tell(next(done), len(numbered))
    runs.catch_all({mutant: programs[parts.folder] for mutant, (parts, _) in numbered.items()}, jobs, add)
    tell = progress("bugs that no test passes")
    for i, mutant in enumerate(sorted(passed_by_none), 1):
        parts, site = numbered[mutant]
        here = [(of, one) for of, (folder, one) in numbered.items() if folder is parts]
        is_bug, test = first_catch_built_in(world, parts, built_in(here, mutant), here, targets[parts.folder],
                                            near[parts.folder])
        if is_bug:
            outcomes.add(site, test, test is not None)
        tell(i, len(passed_by_none))
    for parts, switched in chosen:
        parts.take_out(switched)
    tell = progress("constants")
    for i, (parts, site) in enumerate(alone, 1):
        is_bug, test = first_catch_built_in(world, parts, [(0, site)], [], targets[parts.folder],
                                            near[parts.folder])
        if is_bug:
            outcomes.add(site, test, True)
        tell(i, len(alone))

def main():
    parser, options = parse_arguments(sys.argv[1:])
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends what runs first, as an interrupt does
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
    lines = changed_lines(root, options.changed) if options.changed is not None else None
    folders = [folder.strip("/") for folder in options.folders]
    whole = folders == ["."]
    if whole:
        folders = tested_folders(root)
    elif not folders:
        folders = sorted({os.path.dirname(path) for path in lines
                          if not worlds.NOT_PRODUCTION.search(path)})
    others = tested_folders(root) if options.all_tests else [name for name in options.tests.split(",") if name]
    for folder in [*folders, *others]:
        if not os.path.isfile(f"{root}/{folder}/CMakeLists.txt"):
            parser.error(f"\"{folder}\" is not a folder with a CMakeLists.txt")
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
    data = os.environ.get("CRESS_DATA", os.path.join(root, "../shared"))
    world = worlds.World(root, os.path.abspath(data))
    world.sync([*folders, *others], {})
    began = time.monotonic()
    try:
        world.configure()
        counts = shares(world, folders, options.count) if whole else dict.fromkeys(folders, options.count)
        outcomes = Outcomes(seed, options.json)
        run_folders(world, counts, options, others, lines, seed, outcomes)
    except worlds.BuildError as error:
        sys.exit(f"cress mutate: the copy did not build:\n{error}")
    except KeyboardInterrupt:
        sys.exit("cress mutate: stopped")
    everything = outcomes.bugs()
    caught = sum(1 for bug in everything if bug["caught_by"])
    for bug in everything:
        if not bug["caught_by"]:
            why = "" if bug["reached"] else " (no test passes there)"
            print(f"survived  {bug['place']}  {bug['bug']}  ->  {bug['instead']}{why}")
    share = 100 * caught / max(1, len(everything))
    print(f"{caught} of {len(everything)} caught ({share:.0f} %), seed {seed}, "
          f"{time.monotonic() - began:.0f} s: {' '.join(options.folders or folders)}")
    sys.exit(1 if share < options.caught_min else 0)


if __name__ == "__main__":
    main()
