"""python3 -m unittest discover -s tools/mutate -p '*_test.py'"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bounded
import mutate
import runs
import sites
import world as worlds

SOURCE = b"""#include "limits.hh"
constexpr int kLimit = 3;
static_assert(kLimit < 9);
enum class Kind { kFirst = 1 };
int twice(int value, Values values) {
  check(value >= 0, "negative");
  int sum = 0;
  if (value < kLimit && !is_full(sum)) {
    sum += value;
    ++sum;
    values.reserve(7);
  }
  return sum == 7 ? static_cast<int>(2L) : sum;
}
"""
HEADER = b"""inline void check(bool, const char*) {}
inline bool is_full(int count) { return count > 64; }
struct Values { void reserve(int) {} };
"""


class Sites(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name, text in (("part.cc", SOURCE), ("limits.hh", HEADER)):
            with open(f"{self.folder.name}/{name}", "wb") as file:
                file.write(text)
        finder = sites.Finder(self.folder.name, ["part.cc", "limits.hh"])
        finder.parse(f"{self.folder.name}/part.cc", ["-std=c++20"])
        self.sites = finder.sites()

    def of_line(self, line, path="part.cc"):
        return {(site.what, site.text) for site in self.sites if (site.path, site.line) == (path, line)}

    def test_operators_take_their_operands_along(self):
        found = self.of_line(8)
        self.assertIn(("< is <=: value < kLimit", "value <= kLimit"), found)
        self.assertIn(("&& is ||: value < kLimit && !is_full(sum)", "value < kLimit || !is_full(sum)"), found)
        self.assertIn(("right of && is left out: value < kLimit && !is_full(sum)",
                       "static_cast<bool>(value < kLimit )"), found)
        self.assertIn(("! is left out: !is_full(sum)", "static_cast<bool>(is_full(sum))"), found)
        self.assertIn(("condition negated: value < kLimit && !is_full(sum)",
                       "!(value < kLimit && !is_full(sum))"), found)

    def test_statements_are_left_out_or_turned_round(self):
        self.assertEqual(self.of_line(9), {("statement left out: sum += value;", ";"),
                                           ("+= is -=: sum += value;", "sum -= value;")})
        self.assertEqual(self.of_line(10), {("statement left out: ++sum;", ";"), ("++ is --: ++sum;", "--sum;")})

    def test_memory_taken_in_advance_changes_nothing_that_a_test_sees(self):
        self.assertFalse([what for what, _ in self.of_line(11) if "left out" in what])

    def test_constants_are_marked_as_such(self):
        constants = [site for site in self.sites if site.is_constant]
        self.assertEqual({site.line for site in constants}, {2})
        self.assertEqual({site.text for site in constants}, {"(3 + 1)", "(3 - 1)", "(3 * 2)"})

    def test_nothing_is_put_where_it_means_nothing(self):
        for line in (1, 3, 4, 6):
            self.assertEqual(self.of_line(line), set(), f"line {line}")

    def test_headers_of_the_folder_are_read_too(self):
        self.assertIn(("> is >=: count > 64", "count >= 64"), self.of_line(2, "limits.hh"))

    def test_octal_numbers_are_numbers(self):
        self.assertEqual(sites._literals("0600", "="), [("(0600 + 1)", "one more"), ("(0600 - 1)", "one less"),
                                                        ("(0600 * 2)", "twice as much")])

    def test_a_float_stays_a_float(self):
        self.assertEqual(sites._literals("20.0F", "("), [("(20.0F * 1.25F)", "a quarter more"),
                                                         ("(20.0F * 0.5F)", "half as much")])

    def test_twice_nothing_is_no_bug(self):
        self.assertEqual(sites._literals("0.0F", "("), [("(0.0F + 1.0F)", "one more")])
        self.assertEqual(sites._literals("0ms", "("), [("(0ms + 1ms)", "one more")])
        self.assertEqual(sites._literals("10ms", "("), [("(10ms * 2)", "twice as long"),
                                                        ("(10ms / 2)", "half as long")])

    def test_template_arguments_are_no_comparison(self):
        self.assertFalse([site for site in self.sites if "static_cast<=" in site.text])


class Draw(unittest.TestCase):
    SITES = [sites.Site("a.cc", line, 10 * line, 10 * line + 15, "x", "bug") for line in range(1, 40)]

    def test_the_same_seed_draws_the_same(self):
        first = mutate.draw(self.SITES, random.Random(5), 8)
        self.assertEqual(first, mutate.draw(self.SITES, random.Random(5), 8))
        self.assertNotEqual(first, mutate.draw(self.SITES, random.Random(6), 8))

    def test_no_two_overlap(self):
        drawn = mutate.draw(self.SITES, random.Random(1), 100)
        self.assertTrue(all(a.end <= b.start for a, b in zip(drawn, drawn[1:])))
        self.assertGreater(len(drawn), 5)

    def test_a_switch_keeps_the_rest_and_knows_its_place(self):
        site = sites.Site("a.cc", 1, 7, 12, "a > b", "bug")
        text, spans = mutate.with_mutants(b"return a < b;", [(4, site)])
        self.assertEqual(text, b"return (::cress_mutants::on(4) ? (a > b) : (a < b));")
        self.assertEqual(text[spans[0][0]:spans[0][1]], b"(::cress_mutants::on(4) ? (a > b) : (a < b))")


class BuiltIn(unittest.TestCase):
    def test_one_is_built_in_and_the_others_keep_their_switches(self):
        numbered = [(3, sites.Site("a.cc", 1, 0, 5, "a > b", "bug")), (4, sites.Site("a.cc", 2, 9, 14, "b > c", "bug"))]
        text, _ = mutate.with_mutants(b"a < b && b < c", mutate.built_in(numbered, 3))
        self.assertEqual(text, b"(a > b) && (::cress_mutants::on(4) ? (b > c) : (b < c))")

    def test_a_statement_is_built_in_as_it_is(self):
        site = sites.Site("a.cc", 1, 0, 4, ";", "bug", is_statement=True)
        self.assertEqual(mutate.with_mutants(b"++a;", mutate.built_in([(3, site)], 3))[0], b";")


class FirstCatchBuiltIn(unittest.TestCase):
    """`build`: what each build of the copy does."""

    SITE = sites.Site("a.cc", 1, 0, 1, "x", "bug", is_constant=True)

    def outcome(self, build, **program):
        world, parts = mock.Mock(), mock.Mock()
        world.build.side_effect = build
        outcome = mutate.first_catch_built_in(world, parts, [(0, self.SITE)], [], [], [Program(**program)])
        parts.take_out.assert_called_once_with([self.SITE])
        return outcome

    def test_what_the_compiler_rejects_is_no_bug_unless_an_assertion_says_so(self):
        rejected = worlds.BuildError("a.cc:1:1: error: narrowing conversion")
        self.assertEqual(self.outcome([rejected], fails={}), (False, None))
        asserted = worlds.BuildError("a.cc:9:1: error: static assertion failed: sizes")
        self.assertEqual(self.outcome([asserted], fails={}), (True, "a static assertion"))

    def test_a_test_that_fails_only_with_it_has_caught_it(self):
        world, parts, program = mock.Mock(), mock.Mock(), Program({}, {"A.Two"})
        def build(_):
            program._fails_without = () if parts.take_out.called else {"A.Two"}
        world.build.side_effect = build
        self.assertEqual(mutate.first_catch_built_in(world, parts, [(0, self.SITE)], [], [], [program]),
                         (True, "A.Two"))

    def test_a_test_that_fails_without_it_too_has_not_caught_it(self):
        self.assertEqual(self.outcome([None], fails={}), (True, None))
        self.assertEqual(self.outcome([None, None], fails={}, fails_without={"A.Two"}), (True, None))


def python(program, **bounds):
    return bounded.run([sys.executable, "-c", program], dict(os.environ), bounded.Bounds(**{"seconds": 20, **bounds}))


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


class Bounded(unittest.TestCase):
    def test_within_the_bounds_a_program_runs_as_it_does(self):
        done = python("import sys; print('out', flush=True); print('error', file=sys.stderr); sys.exit(3)")
        self.assertEqual(done, (3, "out\nerror\n", ""))

    def test_time(self):
        began = time.monotonic()
        self.assertEqual(python("import time; time.sleep(60)", seconds=0.2).broken, "time")
        self.assertLess(time.monotonic() - began, 10)

    def test_memory_of_one_process(self):
        done = python("b = b'x' * (200 << 20); print('has it')", memory=100 << 20)
        self.assertIn("MemoryError", done.output)

    def test_memory_of_all_processes_together(self):
        each = "b = b'x' * (40 << 20); import time; time.sleep(60)"
        done = python(f"import subprocess, sys, time\n"
                      f"for _ in range(4): subprocess.Popen([sys.executable, '-c', {each!r}])\n"
                      f"time.sleep(60)", memory=150 << 20)
        self.assertEqual(done.broken, "memory")

    def test_processes_that_left_the_session(self):
        done = python("import os, time\n"
                      "for _ in range(60):\n"
                      "  if os.fork() == 0: os.setsid(); break\n"
                      "time.sleep(60)", threads=40)
        self.assertEqual(done.broken, "threads")

    def test_programs_with_mutants_that_start_each_other(self):
        # Each starts two, down to a depth that the machine would bear without the bound too.
        program = """#include <cstdlib>
            #include <string>
            #include <unistd.h>
            int main(int argc, char** argv) {
              const int depth = argc > 1 ? std::atoi(argv[1]) : 8;
              for (int i = 0; i < 2 && depth > 0; ++i) {
                if (fork() == 0) {
                  execl(argv[0], argv[0], std::to_string(depth - 1).c_str(), nullptr);
                }
              }
              return pause();
            }"""
        with tempfile.TemporaryDirectory() as folder:
            built = subprocess.run(["c++", "-o", f"{folder}/program", f"{worlds.RUNTIME}/mutants.cc", "-x", "c++", "-"],
                                   input=program, text=True, check=False)
            self.assertEqual(built.returncode, 0)
            bounds = bounded.Bounds(seconds=20, processes=100, threads=10_000)
            done = bounded.run([f"{folder}/program"], dict(os.environ), bounds)
        self.assertEqual((done.code, done.broken), (-signal.SIGKILL, "processes"))

    def test_threads(self):
        done = python("import threading, time\n"
                      "for _ in range(60): threading.Thread(target=time.sleep, args=(60,)).start()", threads=40)
        self.assertEqual(done.broken, "threads")

    def test_output(self):
        done = python("while True: print('x' * 1000)", output=1 << 20)
        self.assertEqual((done.broken, len(done.output)), ("output", 1 << 20))

    def test_a_file(self):
        done = python("import os; os.truncate(os.open('big', os.O_CREAT | os.O_WRONLY), 2 << 20)"
                      .replace("'big'", "os.environ['TMPDIR'] + '/big'"), file=1 << 20)
        self.assertNotEqual(done.code, 0)

    def test_what_a_program_leaves_is_ended_and_removed(self):
        done = python("import os, subprocess, sys\n"
                      "open(os.environ['TMPDIR'] + '/left', 'w').close()\n"
                      "left = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
                      "print(left.pid, os.environ['TMPDIR'])")
        pid, folder = done.output.split()
        self.assertEqual(done.broken, "")
        self.assertFalse(is_running(pid))
        self.assertFalse(os.path.exists(folder))

    def test_a_broken_bound_catches_the_bug(self):
        # As a test program is called, which this shell stands for.
        with tempfile.TemporaryDirectory() as folder:
            program = f"{folder}/program"
            for line, how in (("sleep 60", "too much time"), ("yes", "too much output"), ("kill -9 $$", "crash"),
                              ("echo '[  FAILED  ] A.B (1 ms)'; exit 1", "A.B"), ("true", None)):
                with open(program, "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\n{line}\n")
                os.chmod(program, 0o755)
                self.assertEqual(runs.run_tests(program, "*", 1, 1, {}), how)


class Program(runs.Program):
    """Of three tests that all pass the place of bug 1. `fails`: test -> how often it fails with the bug, one run each;
    `fails_without`: those that fail without it too."""

    def __init__(self, fails, fails_without=()):
        super().__init__("", "")
        self.milliseconds = dict.fromkeys(("A.One", "A.Two", "A.Three"), 1)
        self._reaching[1] = set(self.milliseconds)
        self._fails = fails
        self._fails_without = fails_without

    def _run(self, names, mutant):
        if mutant == 0:
            return next((name for name in names if name in self._fails_without), None)
        for name in names:
            if self._fails.get(name, 0) > 0:
                self._fails[name] -= 1
                return name
        return None


class Learning(unittest.TestCase):
    def test_tests_that_are_not_known_after_a_crash_are_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            program = f"{folder}/program"
            with open(program, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\nprintf 'A.One\\t5\\tpassed\\t1 2 \\n' > \"$CRESS_MUTANTS_LOG\"\nkill -6 $$\n")
            os.chmod(program, 0o755)
            crashing = runs.Program(program, "")
            crashing.learn(20)
        self.assertEqual(crashing.milliseconds, {"A.One": 5})
        self.assertEqual(crashing.failing, ["the rest of program (crash)"])


class Catches(unittest.TestCase):
    def test_a_test_must_fail_twice(self):
        self.assertEqual(Program({"A.Two": 2}).catches(1), "A.Two")
        self.assertIsNone(Program({"A.Two": 1}).catches(1))

    def test_others_run_when_a_test_fails_once_only(self):
        self.assertEqual(Program({"A.One": 1, "A.Two": 2}).catches(1), "A.Two")

    def test_one_that_fails_without_the_bug_too_has_found_nothing(self):
        self.assertIsNone(Program({"A.Two": 9}, {"A.Two"}).catches(1))
        self.assertEqual(Program({"A.One": 9, "A.Two": 9}, {"A.One"}).catches(1), "A.Two")

    def test_a_crash_counts_if_the_tests_pass_without_the_bug(self):
        class Crashing(Program):
            def _run(self, names, mutant):
                return "crash" if mutant and "A.Two" in names else super()._run(names, 0)
        self.assertEqual(Crashing({}).catches(1), "crash")
        self.assertIsNone(Crashing({}, {"A.Two"}).catches(1))

    def test_what_is_built_in_is_compared_with_a_build_without_it(self):
        self.assertTrue(runs.pass_without_a_bug([Program({}), Program({})], "A.Two"))
        self.assertFalse(runs.pass_without_a_bug([Program({}, {"A.Two"})], "A.Two"))
        self.assertFalse(runs.pass_without_a_bug([Program({}), Program({}, {"A.Two"})], "crash"))

    def test_when_the_tool_is_stopped_what_runs_is_ended(self):
        def is_interrupted(*_):
            raise KeyboardInterrupt
        with tempfile.TemporaryDirectory() as folder:
            slow = f"{folder}/program"
            with open(slow, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\nsleep 60\n")
            os.chmod(slow, 0o755)
            of = {1: [Program({})], 2: [runs.Program(slow, "")]}
            of[2][0].milliseconds, of[2][0]._reaching[2] = {"A.Slow": 1}, {"A.Slow"}
            began = time.monotonic()
            self.addCleanup(bounded.stop.clear)
            with self.assertRaises(KeyboardInterrupt):
                runs.catch_all(of, 2, is_interrupted)
        self.assertLess(time.monotonic() - began, 10)


class Outcomes(unittest.TestCase):
    SITES = [sites.Site("a.cc", line, 10 * line, 10 * line + 1, "x", "bug") for line in range(1, 4)]

    def test_each_is_written_as_it_comes(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch("sys.stderr") as error:
            error.isatty.return_value = False
            outcomes = mutate.Outcomes(7, f"{folder}/out.json")
            for i, (site, test) in enumerate(((self.SITES[1], "A.B"), (self.SITES[0], None)), 1):
                outcomes.add(site, test, True)
                with open(f"{folder}/out.json", encoding="utf-8") as file:
                    written = json.load(file)
                self.assertEqual((written["seed"], len(written["bugs"])), (7, i))
        self.assertEqual([bug["place"] for bug in written["bugs"]], ["a.cc:1", "a.cc:2"])
        lines = "".join(call.args[0] for call in error.write.call_args_list)
        self.assertEqual(lines, "1  caught by A.B  a.cc:2  bug\n2  survived  a.cc:1  bug\n")


if __name__ == "__main__":
    unittest.main()
