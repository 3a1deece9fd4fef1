#!/usr/bin/python3
"""Puts deliberate bugs of one line into a folder, one at a time, and lists those that its tests do not catch."""

import argparse
import json
import os
import random
import re
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
  ./cress mutate --changed                             lines not committed yet, or else of the last commit
  ./cress mutate app/call --changed main               lines of the folder that differ from branch main

All bugs that a running program can switch are built together; a constant takes a build of its own.
Exit code: 0, also with survivors; 1 with fewer caught than --caught-min; 2 for wrong arguments.""")
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="a folder with tests, e.g. transport/wire")
    parser.add_argument("--seed", type=int, help="what draws the bugs (default: a random one, printed)")
    parser.add_argument("--count", type=int, default=20, help="bugs for each folder (default 20)")
    parser.add_argument("--changed", nargs="?", const="", metavar="COMMIT",
                        help="only lines that differ from COMMIT (default: HEAD, or HEAD~1 where nothing differs)")
    parser.add_argument("--tests", default="", metavar="FOLDER,...",
                        help="run the tests of these folders too, after the folder's own")
    parser.add_argument("--no-constants", action="store_true", help="leave out what needs builds of its own")
    parser.add_argument("--leave-out", default="", metavar="PATTERNS", help="gtest patterns of tests not to run")
    parser.add_argument("--caught-min", type=float, default=0, metavar="PERCENT")
    parser.add_argument("--json", metavar="FILE", help="also write the outcome of each bug to FILE")
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

    def put(self, switched):
        """Writes the switches into the copy. Ids are the places in `switched`, from 1 on."""
        spans = {}
        for path, numbered in self._by_path(switched).items():
            text, spans[path] = with_mutants(self.original(path), numbered)
            self._world.write(path, text)
        return spans

    def take_out(self, switched):
        for path in self._by_path(switched):
            self._world.write(path, self.original(path))

    def original(self, path):
        with open(f"{self._world.root}/{path}", "rb") as file:
            return file.read()

    @staticmethod
    def _by_path(switched):
        grouped = {}
        for mutant, site in enumerate(switched, 1):
            grouped.setdefault(site.path, []).append((mutant, site))
        return grouped

    def _broken(self, switched):
        """Those that do not compile."""
        spans = self.put(switched)
        broken = set()
        for piece, arguments in self._pieces:
            unit = cindex.Index.create().parse(piece, args=[*arguments, "-ferror-limit=0"])
            for problem in unit.diagnostics:
                if problem.severity < cindex.Diagnostic.Error:
                    continue
                for place in [problem.location, *(note.location for note in problem.children)]:
                    path = os.path.relpath(place.file.name, self._world.source) if place.file else ""
                    broken |= {site for start, end, site in spans.get(path, ())
                               if start <= place.offset < end}
        self.take_out(switched)
        return broken


def test_programs(world, folders, left_out):
    programs = []
    for folder in folders:
        path = f"{world.out}/bin/{folder.replace('/', '-')}-test"
        if os.path.exists(path):
            programs.append(runs.Program(path, left_out))
    for program in programs:
        program.learn(1200)
        if program.failing:
            print(f"not used, as they fail without a bug: {', '.join(program.failing)}", file=sys.stderr)
    return programs


def progress(what):
    def tell(done, of):
        if sys.stderr.isatty():
            print(f"\r{what}: {done} of {of}", end="\n" if done == of else "", file=sys.stderr)
    return tell


def build_switched(world, parts, switched, targets):
    """Builds with switches; returns those that are in. What only the compiler of the build rejects is left out."""
    while True:
        parts.put(switched)
        try:
            world.build(targets)
            return switched
        except worlds.BuildError as error:
            places = set(re.findall(r"/mutate/source/(\S+?:\d+):\d+: error", str(error)))
            kept = [site for site in switched if f"{site.path}:{site.line}" not in places]
            if len(kept) == len(switched):
                raise
            parts.take_out(switched)
            switched = kept


def run_folder(world, folder, options, lines, seed):
    """The outcome of each bug of one folder, as a list of objects."""
    others = [name for name in options.tests.split(",") if name]
    tested = [folder, *others]
    targets = [f"{name.replace('/', '-')}-test" for name in tested]
    parts = Folder(world, folder, lines)
    switched, constants = parts.choose(seed, options.count, not options.no_constants)
    switched = build_switched(world, parts, switched, targets)
    programs = test_programs(world, tested, options.leave_out)
    jobs = os.cpu_count() or 1
    found = runs.catch_all(programs, range(1, len(switched) + 1), jobs, progress(folder))
    outcome = [(site, *found[mutant]) for mutant, site in enumerate(switched, 1)]
    parts.take_out(switched)
    tell = progress(f"{folder}, constants")
    for i, site in enumerate(constants, 1):
        parts.put([site])
        try:
            world.build(targets)
            outcome.append((site, *runs.first_catch(programs, 0)))
        except worlds.BuildError:
            outcome.append((site, "does not compile", True))  # the compiler catches it
        parts.take_out([site])
        tell(i, len(constants))
    return [{"place": f"{site.path}:{site.line}", "bug": site.what, "instead": site.text[:120],
             "caught_by": test, "reached": reached} for site, test, reached in outcome]


def main():
    parser, options = parse_arguments(sys.argv[1:])
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
    lines = changed_lines(root, options.changed) if options.changed is not None else None
    folders = [folder.strip("/") for folder in options.folders]
    if not folders:
        folders = sorted({os.path.dirname(path) for path in lines
                          if not worlds.NOT_PRODUCTION.search(path)})
    for folder in [*folders, *(name for name in options.tests.split(",") if name)]:
        if not os.path.isfile(f"{root}/{folder}/CMakeLists.txt"):
            parser.error(f"\"{folder}\" is not a folder with a CMakeLists.txt")
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
    data = os.environ.get("CRESS_DATA", os.path.join(root, "../shared"))
    world = worlds.World(root, os.path.abspath(data))
    world.sync([*folders, *(name for name in options.tests.split(",") if name)], {})
    began = time.monotonic()
    everything = []
    try:
        world.configure()
        for folder in folders:
            everything += run_folder(world, folder, options, lines, seed)
    except worlds.BuildError as error:
        sys.exit(f"cress mutate: the copy did not build:\n{error}")
    caught = sum(1 for bug in everything if bug["caught_by"])
    for bug in everything:
        if not bug["caught_by"]:
            why = "" if bug["reached"] else " (no test passes there)"
            print(f"survived  {bug['place']}  {bug['bug']}  ->  {bug['instead']}{why}")
    share = 100 * caught / max(1, len(everything))
    print(f"{caught} of {len(everything)} caught ({share:.0f} %), seed {seed}, "
          f"{time.monotonic() - began:.0f} s: {' '.join(folders)}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"seed": seed, "bugs": everything}, file, indent=1)
    sys.exit(1 if share < options.caught_min else 0)


if __name__ == "__main__":
    main()
