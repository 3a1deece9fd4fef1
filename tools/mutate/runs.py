"""Runs the test programs: once without a bug to learn which test passes where, then once for each bug."""

import collections
import concurrent.futures
import os
import tempfile

import bounded

REACHED_SIZE = 65536
# Tests that together take less are run first: most bugs are found by them.
QUICK_MS = 3000


class Program:
    """One test program of the build with mutants."""

    def __init__(self, path, left_out):
        self.path = path
        self._left_out = left_out
        self.milliseconds = {}
        self.failing = []
        self._reaching = collections.defaultdict(set)

    def learn(self, seconds_max):
        """Runs all tests with no bug on. Those that fail all the same are not used."""
        with tempfile.TemporaryDirectory() as folder:
            log, reached = f"{folder}/log", f"{folder}/reached"
            with open(reached, "wb") as file:
                file.truncate(REACHED_SIZE)
            how = run_tests(self.path, f"-{self._left_out}", 0, seconds_max,
                            {"CRESS_MUTANTS_LOG": log, "CRESS_MUTANTS_REACHED": reached})
            # A program that ends early leaves the rest of its tests unknown.
            if how and (" " in how or how == "crash") or not os.path.exists(log):
                self.failing.append(f"the rest of {os.path.basename(self.path)} ({how})")
            if not os.path.exists(log):
                return
            with open(log, encoding="utf-8") as file:
                lines = [line.rstrip("\n").split("\t") for line in file]
        for name, milliseconds, verdict, ids in lines:
            if verdict == "failed":
                self.failing.append(name)
                continue
            self.milliseconds[name] = int(milliseconds)
            for mutant in ids.split():
                self._reaching[int(mutant)].add(name)

    def duration(self):
        """Of all tests, in milliseconds."""
        return sum(self.milliseconds.values())

    def tests_of(self, mutant):
        """Those that pass the place of a bug; without one, all."""
        names = self._reaching.get(mutant, ()) if mutant else self.milliseconds
        return sorted(names, key=lambda name: (self.milliseconds[name], name))

    def catches(self, mutant):
        """How the first test fails with the bug on, or None. `mutant` 0: the bug is built in."""
        names = self.tests_of(mutant)
        total, quick = 0, []
        for name in names:
            total += self.milliseconds[name]
            if total > QUICK_MS:
                break
            quick.append(name)
        for batch in (quick, names[len(quick):]):
            while batch:
                how = self._run(batch, mutant)
                if not how:
                    break
                found_nothing = self._found_nothing(batch, mutant, how)
                if not found_nothing:
                    return how
                batch = [name for name in batch if name not in found_nothing]
        return None

    def _found_nothing(self, batch, mutant, how):
        """Of the tests that failed in this way with the bug on, those that fail now and then with it, or without it on
        a machine as busy as it is now; empty if they have found the bug."""
        again = [how] if how in batch else batch
        if how in batch and not self._run(again, mutant):
            return {how}
        # A bug that is built in is there in each run: see mutate.first_catch_built_in.
        without = self._run(again, 0) if mutant else None
        if not without:
            return set()
        return {how, without} & set(batch) or set(batch)

    def passes(self, names):
        """Whether these tests pass without a bug."""
        return not self._run(names, 0)

    def _run(self, names, mutant):
        seconds = 30 + 5 * sum(self.milliseconds[name] for name in names) / 1000
        return run_tests(self.path, ":".join(names), mutant, seconds, {})


def run_tests(program, wanted, mutant, seconds_max, more):
    """None if all pass, else the first that fails, "crash", or the bound that the bug broke."""
    environment = dict(os.environ, CRESS_MUTANT=str(mutant), **more)
    with tempfile.NamedTemporaryFile("w", suffix=".flags") as flags:
        flags.write(f"--gtest_filter={wanted}\n")
        flags.flush()
        stop = [] if more else ["--gtest_fail_fast"]
        done = bounded.run([program, f"--gtest_flagfile={flags.name}", "--gtest_brief=1", *stop],
                           environment, bounded.Bounds(seconds_max))
    if done.broken:
        return f"too {'many' if done.broken in ('threads', 'processes') else 'much'} {done.broken}"
    if done.code == 0:
        return None
    for line in done.output.splitlines():
        if line.startswith("[  FAILED  ]"):
            return line.split()[3].rstrip(",")
    return "crash"


def pass_without_a_bug(programs, how):
    """Whether nothing fails without a bug where one was caught in this way."""
    named = [program for program in programs if how in program.milliseconds]
    if named:
        return named[0].passes([how])
    return all(program.passes(sorted(program.milliseconds)) for program in programs)


def first_catch(programs, mutant):
    """(test, whether any test passes the place)."""
    reached = False
    for program in programs:
        reached = reached or bool(program.tests_of(mutant))
        how = program.catches(mutant)
        if how:
            return how, True
    return None, reached


def catch_all(programs, jobs, tell):
    """Calls `tell` with (id, test or None, reached) as they are known, for bugs that have a switch.
    `programs`: id -> those that may catch it."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(first_catch, of, mutant): mutant for mutant, of in programs.items()}
        try:
            for done in concurrent.futures.as_completed(waiting):
                tell(waiting[done], *done.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            bounded.stop.set()
            raise
