"""Runs a program within bounds, and ends everything that it started: a bug may start processes without end, or fill the
memory or the disk."""

import collections
import dataclasses
import itertools
import os
import select
import signal
import struct
import subprocess
import tempfile
import threading
import time

LOOK_SECONDS = 0.1
END_SECONDS = 10
RUN = "CRESS_MUTANT_RUN"

Outcome = collections.namedtuple("Outcome", "code output broken")  # `broken`: the bound that ended it, or ""
Process = collections.namedtuple("Process", "pid is_dead threads memory")
_numbers = itertools.count(1)
stop = threading.Event()  # ends all that run, in whichever thread


@dataclasses.dataclass(frozen=True)
class Bounds:
    """Of the program and all its descendants together, unless it says "each"."""

    seconds: float
    memory: int = 4 << 30  # bytes; of each process too, as the sum is looked at every LOOK_SECONDS only
    threads: int = 1000
    processes: int = 2000  # started in all; programs built with mutants count themselves (runtime/mutants.cc)
    output: int = 16 << 20  # bytes, standard output and error
    file: int = 1 << 30    # bytes of each file


def run(command, environment, bounds):
    """Outcome of `command`. What it leaves in its folder for temporary files goes, and so do its descendants."""
    # A descendant may leave the session and the group, but what it inherits in its environment names the run.
    mark = f"{RUN}={os.getpid()}.{next(_numbers)}"
    limited = ["prlimit", f"--data={bounds.memory}", f"--fsize={bounds.file}", "--core=0", *command]
    with (tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, tempfile.TemporaryFile() as output,
          tempfile.NamedTemporaryFile() as processes):
        processes.write(struct.pack("II", 0, bounds.processes))
        processes.flush()
        os.chmod(folder, 0o711)  # a test gives a file to another user, who reads it
        environment = dict(environment, TMPDIR=folder, TEST_TMPDIR=folder, CRESS_MUTANT_PROCESSES=processes.name)
        environment[RUN] = mark.partition("=")[2]
        child = subprocess.Popen(limited, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        broken = ""
        try:
            broken = _watch(child.pid, mark.encode(), output, bounds)
        finally:
            # Before the child is waited for: until then nothing else gets its number.
            _end(child.pid, mark.encode())
            child.wait()
        processes.seek(0)
        if struct.unpack("II", processes.read())[0] > bounds.processes:
            broken = "processes"
        if os.fstat(output.fileno()).st_size > bounds.output:
            broken = "output"
        output.seek(0)
        return Outcome(child.returncode, output.read(bounds.output).decode(errors="replace"), broken)


def _watch(session, mark, output, bounds):
    """Returns when the program has ended or has broken a bound: which one."""
    deadline = time.monotonic() + bounds.seconds
    ended = os.pidfd_open(session)
    try:
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        while not poll.poll(1000 * LOOK_SECONDS):
            processes = _processes(session, mark)
            if sum(process.threads for process in processes) > bounds.threads:
                return "threads"
            if sum(process.memory for process in processes) > bounds.memory:
                return "memory"
            if os.fstat(output.fileno()).st_size > bounds.output:
                return "output"
            if time.monotonic() > deadline or stop.is_set():
                return "time"
    finally:
        os.close(ended)
    return ""


def _end(session, mark):
    deadline = time.monotonic() + END_SECONDS
    while time.monotonic() < deadline:
        try:
            os.killpg(session, signal.SIGKILL)  # at once, so that nothing in the group starts another meanwhile
        except ProcessLookupError:
            pass
        running = [process for process in _processes(session, mark) if not process.is_dead]
        if not running:
            return
        for process in running:
            try:
                os.kill(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def _processes(session, mark):
    """Those of the session, and those that left it and have `mark` in their environment."""
    found = []
    for pid in os.listdir("/proc"):
        if not pid.isdigit():
            continue
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
            if int(fields[3]) != session:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if mark not in file.read().split(b"\0"):
                        continue
            with open(f"/proc/{pid}/statm", "rb") as file:
                _, resident, shared, *_ = map(int, file.read().split())
        except OSError:
            continue  # it has ended, or is another user's
        found.append(Process(int(pid), fields[0] in b"ZX", int(fields[17]),
                             (resident - shared) * os.sysconf("SC_PAGESIZE")))
    return found
