"""Runs the programs behind the tables, a few at a time, and keeps what they returned.

A finished run is kept in build/results under a key made of the command line, the program's bytes and the bytes of
every input file that the command line names. The same question asked of the same program is answered at once.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import tempfile
import threading

RECORDED = ("Verizon-LTE-short", "ATT-LTE-driving", "TMobile-UMTS-driving", "Verizon-EVDO-driving")
WAYS = ("down", "up")
# Both directions of the four recorded links, in the order of all tables.
EIGHT = tuple((link, way) for link in RECORDED for way in WAYS)


class NoData(Exception):
    """The table needs recorded links or clips that this machine does not have."""


class Failed(Exception):
    """A program failed, or did not print what a table needs."""


def data_folder(root):
    """Where recorded links and clips are: CRESS_DATA, else what the build was configured with, else ../shared."""
    if os.environ.get("CRESS_DATA"):
        return pathlib.Path(os.environ["CRESS_DATA"]).resolve()
    cache = root / "build/release/CMakeCache.txt"
    if cache.exists():
        found = re.search(r"^CRESS_DATA:PATH=(.+)$", cache.read_text(), re.MULTILINE)
        if found:
            return pathlib.Path(found[1]).resolve()
    return (root / "../shared").resolve()


def without_commit(program):
    """A program's bytes less the commit that it knows and the linker's digest of both: what it computes is the same."""
    program = re.sub(rb"\0[0-9a-f]{40}(-modified)?\0", b"", program)
    return re.sub(rb"(\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0).{20}", rb"\1", program, flags=re.DOTALL)


class Lab:
    """Threads: may be used by several; at most `jobs` programs run at a time."""

    def __init__(self, root, jobs=None, log=None):
        self.root = root
        self.data = data_folder(root)
        self.bin = root / "build/release/bin"
        self.store = root / "build/results"
        self.log = log or (lambda line: None)
        self._pool = concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._runs = {}
        self._digests = {}

    # Input files.

    def recorded(self, name):
        """A file of the data folder; NoData where it is not there."""
        path = self.data / name
        if not path.exists():
            raise NoData(f"no {name} in {self.data}")
        return path

    def trace(self, link, way):
        return self.recorded(f"traces/cellular/{link}.{way}")

    def clip(self, name):
        return self.recorded(f"video/{name}")

    def voice(self, name):
        return self.recorded(f"audio/{name}")

    def constant_trace(self, gap_ms):
        """A link with an opportunity of 1500 bytes every `gap_ms`."""
        path = self.store / f"constant-{gap_ms}ms"
        with self._lock:  # Others may be reading it.
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"{gap_ms}\n")
        return path

    # Runs.

    def run(self, scheme, down, up, *options, duration, skip, seed=1):
        """A future of the list in results.json of one `cress-eval run`."""
        arguments = ["run", "--scheme", scheme, "--down", down, "--up", up, *options, "--duration", f"{duration}s",
                     "--skip", f"{skip}s", "--seed", str(seed), "--no-report", "--jobs", "1"]
        return self._submit("cress-eval", arguments, "results.json")

    def flow(self, scheme, link, way, *options, seed=1, duration=None, skip=None, back=None):
        """A future of one saturating flow's scores over a recorded link; `way` up swaps its traces.
        Scored are seconds 60 to 260, of the short link 10 to 140, unless told otherwise."""
        short = link.endswith("short")
        other = "up" if way == "down" else "down"
        return First(self.run(scheme, self.trace(link, way), back or self.trace(link, other), *options, seed=seed,
                              duration=140 if short else duration or 260, skip=10 if short else skip or 60))

    def eval(self, *arguments, output):
        """A future of one JSON file that `cress-eval` wrote into its folder; "*.json": of all, by name."""
        return self._submit("cress-eval", list(arguments), output)

    def printed(self, program, *arguments, to_stdout_and_out=False):
        """A future of what a program of build/release/bin printed. `to_stdout_and_out`: it also wants --out."""
        return self._submit(program, list(arguments), "" if to_stdout_and_out else None)

    def test_lines(self, program, gtest_filter, pattern, least=1):
        """What `pattern` finds in the output of the tests that the filter selects; Failed if less than `least`."""
        text = self.printed(f"{program}-test", f"--gtest_filter={gtest_filter}").result()
        found = [match.groupdict() for match in re.finditer(pattern, text, re.MULTILINE)]
        if not found and "[  SKIPPED ]" in text:
            raise NoData(f"{program}-test skipped {gtest_filter}")
        if len(found) < least:
            raise Failed(f"{program}-test --gtest_filter='{gtest_filter}' prints {len(found)} of at least {least} "
                         "expected lines: was the test renamed?")
        return found

    def test_properties(self, program, gtest_filter):
        """What the tests of the filter record (RecordProperty), by name."""
        text = self._submit(f"{program}-test", [f"--gtest_filter={gtest_filter}"], "gtest.xml").result()
        found = dict(re.findall(r'<property name="([^"]+)" value="([^"]*)"', text))
        if not found:
            raise Failed(f"{program}-test --gtest_filter='{gtest_filter}' records no properties: was the test renamed?")
        return found

    def _submit(self, program, arguments, output):
        arguments = [str(argument) for argument in arguments]
        key = self._key(program, arguments, output)
        with self._lock:
            if key not in self._runs:
                kept = self._recalled(key)
                if kept is None:
                    kept = self._pool.submit(self._run, key, program, arguments, output)
                self._runs[key] = kept
            return self._runs[key]

    def _key(self, program, arguments, output):
        parts = [program, self._digest(self.bin / program), str(output)]
        for argument in arguments:
            path = pathlib.Path(argument)
            is_file = path.is_absolute() and path.is_file()
            parts.append(path.name + self._digest(path) if is_file else argument)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

    def _digest(self, path):
        with self._lock:
            if path not in self._digests:
                if not path.exists():
                    raise Failed(f"no {path}: build first (./cress build)")
                self._digests[path] = hashlib.sha256(without_commit(path.read_bytes())).hexdigest()
            return self._digests[path]

    def _recalled(self, key):
        """A finished future of a run that was kept; None where there is none."""
        kept = self.store / f"{key}.json"
        if not kept.exists():
            return None
        future = concurrent.futures.Future()
        future.set_result(json.loads(kept.read_text())["result"])
        return future

    def _run(self, key, program, arguments, output):
        kept = self.store / f"{key}.json"
        if kept.exists():  # Made by another process since it was asked for.
            return json.loads(kept.read_text())["result"]
        command = [str(self.bin / program), *arguments]
        self.log(" ".join([program, *arguments]))
        self.store.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.store) as folder:
            if output == "gtest.xml":
                command.append(f"--gtest_output=xml:{folder}/{output}")
            elif output is not None:
                command += ["--out", folder]
            done = subprocess.run(command, cwd=self.root, text=True, capture_output=True, check=False)
            if done.returncode != 0:
                # A test that fails prints its rows all the same; the table shows them, the test is for ctest to judge.
                if not program.endswith("-test"):
                    raise Failed(f"{' '.join(command)} returned {done.returncode}: {done.stderr[-2000:]}")
            if output == "*.json":
                result = {path.stem: json.loads(path.read_text()) for path in pathlib.Path(folder).glob(output)}
            else:
                result = pathlib.Path(folder, output).read_text() if output else done.stdout
                if output and output.endswith(".json"):
                    result = json.loads(result)
        whole = {"command": [program, *arguments], "result": result}
        temporary = kept.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
        temporary.write_text(json.dumps(whole))
        temporary.rename(kept)
        return result


class First:
    """A future of the first element of a future list: the forward direction."""

    def __init__(self, future):
        self._future = future

    def result(self):
        return self._future.result()[0]
