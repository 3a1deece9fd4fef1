"""Saturating flows over recorded links, by cress-eval run; what the original programs and the kernel's TCP were
measured to do is read from the data folder (reference/sprout-measured.csv)."""

import csv

from lab import EIGHT
from tables import markdown, mean, median, number, spread, table, wrap

# A run of the original over each of the eight links, "system" as the file names it, and our scheme.
SHORT_DOWN_UP = (("Verizon-LTE-short", "down"), ("Verizon-LTE-short", "up"))


def original(lab, system, link, way, loss=0.0, mode="one-way"):
    """The mean of the rows of one measurement, and how many there are."""
    with open(lab.recorded("reference/sprout-measured.csv"), newline="") as rows:
        same = [row for row in csv.DictReader(rows) if (row["system"], row["mode"], row["link"], row["direction"]) ==
                (system, mode, link, way) and float(row["loss"]) == loss]
    columns = ("throughput_kbps", "self_inflicted_ms", "delay95_ms", "utilization")
    return {name: mean(float(row[name]) for row in same) for name in columns} | {"runs": len(same)}


def is_close(ours_ms, theirs_ms):
    return abs(ours_ms - theirs_ms) <= max(20, .2 * theirs_ms)


def name_of(row):
    return " ".join(row)


# Sprout and the original program.


@table("sprout-forecasts", cost="1 s")
def sprout_forecasts(lab):
    found = lab.test_lines("transport-control-sprout", "SproutVectors.*",
                           r"^compared (?P<count>\d+) (?P<kind>EWMA )?forecasts of 8 counts .*: (?P<differ>\d+) differ", 2)
    return markdown(["forecasts of 8 counts", "compared", "differ"],
                    [["Sprout-EWMA" if row["kind"] else "Sprout", number(int(row["count"])), row["differ"]] for row in found])


def against_original(lab, scheme, system):
    runs = {row: lab.flow(scheme, *row) for row in EIGHT}
    rows, rates, close = [], [], 0
    for row, run in runs.items():
        ours, theirs = run.result(), original(lab, system, *row)
        ratio = ours["throughput_kbps"] / theirs["throughput_kbps"]
        near = is_close(ours["self_inflicted_ms"], theirs["self_inflicted_ms"])
        rates.append(ratio)
        close += near
        delay = number(ours["self_inflicted_ms"])
        rows.append([name_of(row), number(theirs["throughput_kbps"]), theirs["runs"], number(ours["throughput_kbps"]),
                     number(ratio, 2), number(theirs["self_inflicted_ms"]), delay if near else f"**{delay}**"])
    heading = ["link", "kbit/s, original", "its runs", "ours", "ratio", "self-inflicted ms, original", "ours, ms"]
    worst = max(abs(ratio - 1) for ratio in rates)
    return markdown(heading, rows) + "\n" + wrap(
        f"Throughput is within {100 * worst:.0f} % of the original's on all {len(rows)}, delay within 20 ms or 20 % on "
        f"{close}" + ("; the others are in bold." if close < len(rows) else "."))


@table("flows-sprout", cost="2 s")
def flows_sprout(lab):
    return against_original(lab, "sprout", "sprout")


@table("flows-sprout-ewma", cost="2 s")
def flows_sprout_ewma(lab):
    return against_original(lab, "sprout-ewma", "sprout-ewma-floor")


@table("flows-sprout-loss", cost="10 s")
def flows_sprout_loss(lab):
    rows = [(scheme, row, loss) for scheme in ("sprout", "sprout-ewma") for loss in (.05, .1) for row in SHORT_DOWN_UP]
    runs = {key: [lab.flow(key[0], *key[1], "--loss", key[2], seed=seed) for seed in range(1, 6)] for key in rows}
    cells = []
    for (scheme, row, loss), five in runs.items():
        theirs = original(lab, scheme, *row, loss=loss)
        rates = [run.result()["throughput_kbps"] for run in five]
        cells.append([scheme, f"{row[1]}, {100 * loss:.0f} %", number(theirs["throughput_kbps"]), spread(rates),
                      number(mean(rates) / theirs["throughput_kbps"], 2), number(theirs["self_inflicted_ms"]),
                      spread(run.result()["self_inflicted_ms"] for run in five)])
    return markdown(["scheme", "direction, loss", "kbit/s, original", "ours, five seeds", "ratio",
                     "self-inflicted ms, original", "ours, ms"], cells)


@table("flows-host-model", cost="15 s")
def flows_host_model(lab):
    lossless = {row: [lab.flow(scheme, *row) for scheme in ("sprout", "sprout-instant")] for row in EIGHT}
    lossy = {(row, loss): [[lab.flow(scheme, *row, "--loss", loss, seed=seed) for seed in range(1, 6)]
                           for scheme in ("sprout", "sprout-instant")] for loss in (.05, .1) for row in SHORT_DOWN_UP}
    rows, ratios = [], {"sprout": [], "sprout-instant": []}

    def add(name, theirs, rates, delays):
        for scheme, rate in zip(ratios, rates):
            ratios[scheme].append(rate / theirs["throughput_kbps"])
        rows.append([name, number(theirs["throughput_kbps"]),
                     *(f"{number(rate)} ({rate / theirs['throughput_kbps']:.2f})" for rate in rates), *delays])

    for row, pair in lossless.items():
        theirs, ours = original(lab, "sprout", *row), [run.result() for run in pair]
        add(name_of(row), theirs, [one["throughput_kbps"] for one in ours],
            [number(theirs["self_inflicted_ms"]), *(number(one["self_inflicted_ms"]) for one in ours)])
    for (row, loss), pair in lossy.items():
        add(f"{name_of(row)}, {100 * loss:.0f} % loss, mean of five seeds", original(lab, "sprout", *row, loss=loss),
            [mean(run.result()["throughput_kbps"] for run in five) for five in pair], ["", "", ""])
    heading = ["link", "original kbit/s", "sprout", "sprout-instant", "self-inflicted ms: original", "sprout, ms",
               "sprout-instant, ms"]
    return markdown(heading, rows) + "\n" + wrap(
        f"Throughput over the original's: `sprout` {min(ratios['sprout']):.2f} to {max(ratios['sprout']):.2f}, median "
        f"{median(ratios['sprout']):.2f}; `sprout-instant` {min(ratios['sprout-instant']):.2f} to "
        f"{max(ratios['sprout-instant']):.2f}, median {median(ratios['sprout-instant']):.2f}.")


@table("flows-twenty-seeds", cost="25 s")
def flows_twenty_seeds(lab):
    runs = {row: [lab.flow("sprout", *row, seed=seed) for seed in range(1, 21)] for row in EIGHT}
    rows, inside = [], {"throughput_kbps": 0, "self_inflicted_ms": 0}
    for row, twenty in runs.items():
        theirs, cells = original(lab, "sprout", *row), [name_of(row)]
        for key in inside:
            values = [run.result()[key] for run in twenty]
            is_inside = min(values) <= theirs[key] <= max(values)
            inside[key] += is_inside
            cells += [f"{number(min(values))} / {number(median(values))} / {number(max(values))}",
                      number(theirs[key]) if is_inside else f"**{number(theirs[key])}**"]
        rows.append(cells)
    t_mobile = sorted(run.result()["self_inflicted_ms"] for run in runs["TMobile-UMTS-driving", "down"])
    two_way = original(lab, "sprout-1440", "TMobile-UMTS-driving", "down", mode="bidirectional")
    one_way = original(lab, "sprout", "TMobile-UMTS-driving", "down")
    return markdown(["link", "kbit/s: min / median / max", "original", "self-inflicted ms: min / median / max",
                     "original, ms"], rows) + "\n" + wrap(
        f"In bold: outside of our range. Throughput of the original is inside on {inside['throughput_kbps']} of eight, "
        f"delay on {inside['self_inflicted_ms']}.") + "\n" + wrap(
        "TMobile-UMTS-driving down, all twenty delays in seconds: "
        + ", ".join(number(value / 1000, 2) for value in t_mobile)
        + f". The original's single one-way run had {one_way['self_inflicted_ms'] / 1000:.2f}, its single two-way run "
        f"{two_way['self_inflicted_ms'] / 1000:.2f}.")


@table("flows-tcp", cost="3 s")
def flows_tcp(lab):
    runs = {row: [lab.flow(scheme, *row) for scheme in ("cubic", "reno")] for row in EIGHT}
    rows, ratios, utilization = [], [], []
    for row, pair in runs.items():
        cells = [name_of(row)]
        for scheme, run in zip(("cubic", "reno"), pair):
            ours, theirs = run.result(), original(lab, f"tcp-{scheme}", *row)
            ratios.append(ours["delay95_ms"] / theirs["delay95_ms"])
            utilization.append(ours["utilization"])
            cells += [number(theirs["self_inflicted_ms"]), number(ours["self_inflicted_ms"])]
        rows.append(cells)
    return markdown(["link", "Cubic, kernel, ms", "Cubic, ours", "Reno, kernel, ms", "Reno, ours"], rows) + "\n" + wrap(
        f"delay95, ours over the kernel's: {min(ratios):.2f} to {max(ratios):.2f}. Our utilization is "
        f"at least {min(utilization):.2f} on every link.")


@table("flows-bbr", cost="4 s")
def flows_bbr(lab):
    runs = {row: lab.flow("bbr", *row) for row in EIGHT}
    rows, worst, close = [], 0, 0
    for row, run in runs.items():
        ours, theirs = run.result(), original(lab, "tcp-bbr", *row)
        worst = max(worst, abs(ours["utilization"] - theirs["utilization"]))
        near = abs(ours["delay95_ms"] / theirs["delay95_ms"] - 1) <= .25
        close += near
        delay = number(ours["delay95_ms"])
        rows.append([name_of(row), number(theirs["utilization"], 3), number(ours["utilization"], 3),
                     number(theirs["delay95_ms"]), delay if near else f"**{delay}**"])
    return markdown(["link", "utilization, kernel", "ours", "delay95 ms, kernel", "ours, ms"], rows) + "\n" + wrap(
        f"Utilization is within {100 * worst:.1f} percentage points, delay within 25 % on {close} of eight; the others "
        "are in bold.")


# Every scheme.

SATURATING = ("sprout", "sprout-75", "sprout-50", "sprout-25", "sprout-5", "sprout-ewma", "cubic-codel", "vegas", "ledbat",
              "compound", "cubic", "verus-r2", "verus-r4", "verus-r6", "copa", "bbr", "cubic-red", "omniscient")


def eight_flows(lab, schemes):
    runs = {scheme: [lab.flow(scheme, *row) for row in EIGHT] for scheme in schemes}
    return {scheme: [run.result() for run in eight] for scheme, eight in runs.items()}


@table("schemes", cost="50 s")
def schemes(lab):
    rows = []
    for scheme, eight in eight_flows(lab, SATURATING).items():
        cells = [", ".join(number(one[key]) for key in ("throughput_kbps", "delay95_ms", "self_inflicted_ms"))
                 for one in eight]
        rows.append([scheme, *cells, f"{mean(one['utilization'] for one in eight):.2f}, "
                                     f"{number(mean(one['self_inflicted_ms'] for one in eight))}"])
    return markdown(["scheme", *(f"{link.split('-driving')[0].replace('-short', '')} {way}" for link, way in EIGHT), "mean"],
                    rows)


@table("compound-window", cost="3 s")
def compound_window(lab):
    found = lab.test_lines("eval-schemes", "SchemesMeasured.*Compound*",
                           r"^compound, window +(?P<kb>\d+) kB: mean self-inflicted (?P<s>[\d.]+) s, "
                           r"Sprout gets (?P<times>[\d.]+) times", 6)
    return markdown(["receive window, kB", "mean self-inflicted delay, s", "Sprout's throughput over Compound's"],
                    [[row["kb"], row["s"], row["times"]] for row in found])


# Scheme cress as a flow: 700 seconds, except of the short link.

CRESS = ("cress-cautious", "cress", "cress-bold")
SEVEN = tuple(row for row in EIGHT if row != ("Verizon-EVDO-driving", "down"))
AIMED_AT = {"cress-cautious": ".84 at 105 ms", "cress": "–", "cress-bold": ".92 at 150 ms"}


def long_flow(lab, scheme, row, seed=1, back=None):
    return lab.flow(scheme, *row, seed=seed, duration=760, back=back)


def means_of_seven(runs, seed_runs):
    """Of each seed: the means over seven links, without EVDO down, whose outages make it a game of chance."""
    chosen = [[run.result() for row, run in zip(runs, one) if row in SEVEN] for one in seed_runs]
    return [(mean(one["utilization"] for one in seven), mean(one["self_inflicted_ms"] for one in seven)) for seven in chosen]


def share(value):
    return f"{value:.3f}".lstrip("0") if value < 1 else f"{value:.3f}"


def at(result):
    return f"{share(result['utilization'])} / {number(result['self_inflicted_ms'])}"


@table("flows-cress", cost="60 s")
def flows_cress(lab):
    runs = {scheme: [[long_flow(lab, scheme, row, seed) for row in EIGHT] for seed in range(1, 6)] for scheme in CRESS}
    rows = [[name_of(row), *(at(runs[scheme][0][i].result()) for scheme in CRESS)] for i, row in enumerate(EIGHT)]
    means = {scheme: means_of_seven(EIGHT, five) for scheme, five in runs.items()}
    rows.append(["mean of seven (no EVDO down), five seeds", *(
        f"**{share(mean(u for u, _ in means[scheme]))} / {number(mean(d for _, d in means[scheme]))}**" for scheme in CRESS)])
    rows.append(["utilization, least to most of five seeds", *(
        f"{share(min(u for u, _ in means[scheme]))} to {share(max(u for u, _ in means[scheme]))}" for scheme in CRESS)])
    rows.append(["delay, least to most of five seeds, ms", *(
        f"{number(min(d for _, d in means[scheme]))} to {number(max(d for _, d in means[scheme]))}" for scheme in CRESS)])
    widest = []
    for scheme in CRESS:
        for i, row in enumerate(EIGHT):
            delays = [five[i].result()["self_inflicted_ms"] for five in runs[scheme]]
            widest.append((max(delays) / min(delays), min(delays), max(delays), scheme, name_of(row)))
    _, least, most, scheme, link = max(widest)
    rows.append(["aimed at", *(AIMED_AT[scheme] for scheme in CRESS)])
    return markdown(["link", *CRESS], rows) + "\n" + wrap(
        f"The single link whose delay moves most with the seed: {number(least)} to {number(most)} ms ({scheme}, {link}).")


@table("flows-cress-sprout", cost="10 s")
def flows_cress_sprout(lab):
    ideal = lab.constant_trace(1)
    rows = []
    runs = {scheme: ([long_flow(lab, scheme, row) for row in EIGHT], [long_flow(lab, scheme, row, back=ideal) for row in EIGHT])
            for scheme in ("sprout", "sprout-ewma", *CRESS)}
    for scheme, both in runs.items():
        cells = [scheme]
        for eight in both:
            (utilization, delay), = means_of_seven(EIGHT, [eight])
            cells += [share(utilization), number(delay)]
        rows.append(cells)
    return markdown(["scheme, mean of seven, seed 1", "utilization, recorded reverse path", "self-inflicted ms",
                     "utilization, ideal reverse path", "ideal, ms"], rows)


CAMERA_TESTS = ("eval-harness", "CressMeasured.AThirty*")
SEED_TESTS = ("eval-harness", "CressMeasured.Loss*")


@table("camera-cress", cost="6 s")
def camera_cress(lab):
    links = lab.test_lines(*CAMERA_TESTS, r"^seed (?P<seed>\d+) (?P<link>\S+ \w+) +(?P<kbps>\d+) kbit/s, frame delay p95 +"
                           r"(?P<delay>\d+) ms, age p95 +(?P<age>\d+) ms$", 40)
    total, = lab.test_lines(*CAMERA_TESTS, r"^eight recorded links, five starts of the viewer: (?P<kbps>[^)]*\)) kbit/s, "
                            r"delay p95 (?P<delay>[^)]*\)) ms, age p95 (?P<age>[^)]*\)) ms")
    rows = [[row["link"], row["kbps"], row["delay"], row["age"]] for row in links if row["seed"] == "1"]
    rows.append(["mean of eight, five starts", total["kbps"], total["delay"], total["age"]])
    rows.append(["aimed at", "≥ 1550", "≤ 165", "≤ 650"])
    return markdown(["link", "kbit/s", "frame delay p95, ms", "age p95, ms"], rows)


@table("cress-generated", cost="6 s")
def cress_generated(lab):
    spread_of = r"(?P<{0}>[\d.]+ ± +[\d.]+)"
    pattern = (r"^(?P<link>\S+) +loss (?P<loss>[\d.]+): flow " + spread_of.format("utilization") + r" at +"
               + spread_of.format("self") + r" ms; camera +" + spread_of.format("kbps") + r" kbit/s, delay p95 +"
               + spread_of.format("delay") + r" ms, age p95 +" + spread_of.format("age") + " ms$")
    rows = []
    for row in lab.test_lines(*SEED_TESTS, pattern, 7):
        loss = float(row["loss"])
        rows.append([row["link"] + (f", {100 * loss:.0f} % loss" if loss else ""),
                     *(" ".join(row[key].split()) for key in ("utilization", "self", "kbps", "delay", "age"))])
    return markdown(["generated link, down", "flow: utilization", "self-inflicted ms", "camera: kbit/s",
                     "frame delay p95, ms", "age p95, ms"], rows)


# Links that are often silent, drawn from seeds.


@table("sparse-flows", cost="2 s")
def sparse_flows(lab):
    rows = lab.test_lines("eval-harness", "SparseLinks.*", r"; cress (?P<cress>[\d.]+) at +(?P<cress_ms>\d+) ms, "
                          r"sprout-ewma (?P<ewma>[\d.]+) at +(?P<ewma_ms>\d+) ms$", 20)
    cress, cress_ms, ewma, ewma_ms = (mean(float(row[name]) for row in rows)
                                      for name in ("cress", "cress_ms", "ewma", "ewma_ms"))
    no_more = sum(float(row["cress_ms"]) <= float(row["ewma_ms"]) for row in rows)
    return markdown(["mean of twenty links", "utilization", "self-inflicted ms"],
                    [["sprout-ewma", share(ewma), number(ewma_ms)], ["cress", share(cress), number(cress_ms)],
                     ["ratio", f"{cress / ewma:.2f}", f"{cress_ms / ewma_ms:.2f}"], ["aimed at", "≥ 0.9", "≤ 1"],
                     ["links with no more delay than sprout-ewma", "", f"{no_more} of {len(rows)}"]])


@table("sparse-calls", kind="long", cost="4 min")
def sparse_calls(lab):
    names = ("frames", "frozen", "p50", "p95")
    rows = lab.test_lines("eval-harness", "SparseLinksMeasured.*", r"^call of (?P<who>\w+), .*: +(?P<frames>\d+) frames, "
                          r"frozen +(?P<frozen>\d+) s, p50 +(?P<p50>\d+) ms, p95 +(?P<p95>\d+) ms$", 40)
    calls = {who: [row for row in rows if row["who"] == who] for who in ("omniscient", "cress")}
    least = min(float(cress["frames"]) / float(all_known["frames"])
                for cress, all_known in zip(calls["cress"], calls["omniscient"]))
    means = [[who, *(number(mean(float(row[name]) for row in those)) for name in names)] for who, those in calls.items()]
    return markdown(["mean of twenty links", "frames displayed of 3300", "frozen, s", "median, ms", "p95, ms"],
                    [*means, ["ratio, the least of one link", f"{least:.2f}", "", "", ""], ["aimed at", "≥ 0.9", "", "", ""]])
