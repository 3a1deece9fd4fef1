"""What is measured in real time: run again by name only, on a machine that is otherwise idle.

A live block states its date, machine and spread. Written again, it shows what the programs printed, as they printed
it: one run after the other, so that the spread can be seen.
"""

import json
import os
import re
import subprocess
import time

from lab import Failed
from tables import markdown, mean, number, table, wrap

RUNS = 3


def machine():
    cpu = "an unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for line in info:
            if line.startswith("model name"):
                cpu = line.split(":", 1)[1].strip()
                break
    return f"{os.cpu_count()} cores of {cpu}, Linux {os.uname().release}, load average before {os.getloadavg()[0]:.1f}"


def first():
    """Before other work where that is allowed, as `./cress measure` does it."""
    tried = subprocess.run(["chrt", "--rr", "20", "true"], capture_output=True, check=False)
    return ["chrt", "--rr", "20"] if tried.returncode == 0 else []


def live(name, *commands, keep=".", runs=RUNS, cost=""):
    """Registers a live table: these commands (of build/release/bin), `runs` times, and of what they print the lines
    in which `keep` is found."""

    @table(name, kind="live", cost=cost)
    def make(lab):
        began, where, before_others = time.strftime("%Y-%m-%d"), machine(), first()
        lines = []
        for i in range(runs):
            for command in commands:
                program, *arguments = command.split()
                full = [*before_others, str(lab.bin / program), *(argument.strip("'") for argument in arguments)]
                done = subprocess.run(full, cwd=lab.root, text=True, capture_output=True, check=False)
                some = [line for line in done.stdout.splitlines() if re.search(keep, line)]
                if not some:
                    raise Failed(f"{command} returned {done.returncode} and printed no line with {keep}")
                lines += [f"run {i + 1}: {line}" if runs > 1 else line for line in some]
        shown = "\n".join(f"    {command}" for command in commands)
        return f"Measured {began}, {where}; {runs} runs.\n\n{shown}\n\n```\n" + "\n".join(lines) + "\n```\n"


NUMBERS = r"\d (ms|kbit/s|s|%|MB|µs)|\d+(\.\d+)? (ms|kbit/s|µs|MB)\b"

live("live-calls", "eval-cellsim-test --gtest_filter='*LiveCallMeasured*'", keep=NUMBERS, cost="5 min")
live("live-events", "eval-harness-test --gtest_filter='*LiveMeasured*'",
     "app-live-test --gtest_filter='LiveNetwork.*:*AListenerThatIsBack*:LiveAttack*'", keep=NUMBERS, cost="10 min")
live("live-hour", "app-live-test --gtest_also_run_disabled_tests --gtest_filter='*HourMeasured*'", keep=NUMBERS, runs=1,
     cost="1 h")
live("live-hd", "app-live-test --gtest_filter='*LiveLoopbackMeasured*'", "app-test --gtest_filter='CallMeasured*'",
     keep=NUMBERS, cost="3 min")
live("emulation", "eval-cellsim-test --gtest_filter='CellsimMeasured.*Saturating*'", keep=NUMBERS, cost="1 min")
live("emulation-cubic", "eval-cellsim-test --gtest_filter='CellsimMeasured.*Cubic*'", keep=NUMBERS, cost="7 min")
live("tunnel-live", "eval-cellsim-test --gtest_filter='LiveTunnelMeasured*'", keep=NUMBERS, cost="15 min")
HOSTILE = ("noise", "proof", "slow-join", "half-open", "proof-spread", "half-open-spread", "replay", "flood", "forged")
live("relay-hostile", *(f"cress-eval relay-load --rooms 4 --members 3 --hostile {kind} --duration 45s --first"
                        for kind in HOSTILE), runs=2, cost="15 min")
INSIDERS = ("idle", "ghost", "ping-flood", "decoder-bomb", "card-storm", "roam-storm")


@table("relay-insiders", kind="live", cost="13 min")
def relay_insiders(lab):
    """Of each kind one run of twelve pairs; `idle`, a member that does nothing wrong, shows the error."""
    began, where, rows = time.strftime("%Y-%m-%d"), machine(), []
    for kind in INSIDERS:
        # Not first as a whole: then the members and the attacker would go before the relay.
        command = [str(lab.bin / "cress-eval"), "relay-load", "--rooms", "4", "--members", "3", "--hostile", kind,
                   "--duration", "125s", "--first", "--json"]
        done = subprocess.run(command, cwd=lab.root, text=True, capture_output=True, check=False)
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)} returned {done.returncode}: {done.stderr}")
        result = json.loads(done.stdout)
        hostile = result["hostile"]

        def growth(of):
            return "{:+.0f} % ({:+.0f} to {:+.0f})".format(*(100 * (of[key] - 1) for key in ("median", "low", "high")))

        def delays(of):
            return " / ".join(number(of[key], 2) for key in ("p50_ms", "p99_ms", "p999_ms"))

        refused = sum(count for reason, count in hostile["refused"].items() if reason.endswith("over_limit"))
        rows.append([f"`{kind}`", delays(hostile["calm"]), delays(hostile["attacked"]), growth(hostile["p99_growth"]),
                     f"{number(hostile['frames_calm_p95_ms'], 2)}, {number(hostile['frames_attacked_p95_ms'], 2)}",
                     growth(hostile["frames_p95_growth"]),
                     f"{number(result['resident_begin_bytes'] / 1e6, 1)} → {number(result['resident_most_bytes'] / 1e6, 1)}",
                     number(refused)])
    said = wrap(f"Measured {began}, {where}, after {os.getloadavg()[0]:.1f}; relay and probe scheduled first. "
                "One run a row; growth is the median of twelve pairs of five seconds, and the middle half of them.")
    return said + "\n" + markdown(
        ["kind", "p50 / p99 / p99.9 of audio quiet, ms", "under attack", "p99 grows", "p95 of frames quiet, attacked, ms",
         "it grows", "memory, MB", "beyond limits"], rows)


@table("live-conditions", kind="live", cost="35 min")
def live_conditions(lab):
    began, where, before_others = time.strftime("%Y-%m-%d"), machine(), first()
    names = ("displayed", "frozen", "p95", "video", "concealed", "tcp")
    pattern = (r"^(?P<condition>\w.*\S) +displayed +(?P<displayed>\d+), frozen +(?P<frozen>[\d.]+) s, p95 +(?P<p95>\d+) ms, "
               r"video +(?P<video>\d+) kbit/s, concealed +(?P<concealed>[\d.]+) %, TCP +(?P<tcp>\d+) kbit/s$")
    command = ["eval-cellsim-test", "--gtest_filter=*LiveConditionsMeasured*"]
    seen = {}
    for _ in range(RUNS):
        done = subprocess.run([*before_others, str(lab.bin / command[0]), *command[1:]], cwd=lab.root, text=True,
                              capture_output=True, check=False)
        for match in re.finditer(pattern, done.stdout, re.MULTILINE):
            seen.setdefault(match["condition"], []).append([float(match[name]) for name in names])
    if not seen or any(len(runs) != RUNS for runs in seen.values()):
        raise Failed(f"{' '.join(command)} printed {sum(map(len, seen.values()))} lines in {RUNS} runs")
    digits = (0, 1, 0, 0, 1, 0)
    rows = []
    for condition, runs in seen.items():
        cells = [number(mean(values), digit) for values, digit in zip(zip(*runs), digits)]
        cells[0] += f" ({number(min(run[0] for run in runs))} to {number(max(run[0] for run in runs))})"
        rows.append([condition, *cells])
    return f"Measured {began}, {where}; means of {RUNS} runs.\n\n" + markdown(
        ["condition", "displayed of 1500 (least to most)", "frozen, s", "p95, ms", "video, kbit/s", "concealed, %",
         "TCP, kbit/s"], rows)


live("relay-joins", "cress-eval relay-load --rooms 2 --members 10 --video-kbps 100 --churn 1000 --empties --duration 73s "
     "--first", runs=1, cost="2 min")
live("relay-load", *(f"cress-eval relay-load --rooms {rooms} --members 5 --duration 14s --skip 4s --first --against-turn"
                     for rooms in (24, 40, 50, 70, 100)), cost="10 min")
BENCH, ROW = "--benchmark_min_time=0.2", r" (ns|us|ms|s) +"
live("speed-encoder", *(f"bench/{name}-bench {BENCH}" for name in ("media-rate", "media-codec", "app-call")), keep=ROW,
     cost="5 min")
live("speed-transport", *(f"bench/{name}-bench {BENCH}" for name in ("transport-control-sprout", "transport-runtime",
                                                                     "transport-secure")), keep=ROW, cost="3 min")
live("speed-lab", f"bench/eval-harness-bench {BENCH}", f"bench/eval-schemes-tcp-bench {BENCH}", keep=ROW, cost="3 min")
