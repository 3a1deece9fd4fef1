"""What the other tables say in one line each: the claims of docs/results.md and of README. Nothing is measured here."""

import re

from motion import is_3g
from tables import markdown, table, wrap

MEAN = "mean of seven (no EVDO down), five seeds"


def value(text):
    """The first number of a cell."""
    found = re.search(r"[−-]?\d[\d ]*(\.\d+)?|\.\d+", text.replace(" ", ""))
    return float(found[0].replace("−", "-").replace(" ", ""))


def met(is_met):
    return "met" if is_met else "**missed**"


def flow(cells, scheme, utilization, delay_ms):
    got = cells.get("flows-cress", MEAN, scheme)
    share, delay = got.split(" / ")
    # As many digits as the aim has.
    return [f"`{scheme}`: utilization and self-inflicted delay, seven recorded links", f"{share} at {delay} ms",
            f"{utilization:.2f} at {delay_ms} ms".replace("0.", "."),
            met(round(value("0" + share), 2) >= utilization and value(delay) <= delay_ms), "flows-cress"]


def simulated(cells):
    ratios = [value(text) for text in cells.column("flows-sprout", "ratio")]
    delays = [abs(value(a) - value(b)) <= max(20, .2 * value(a)) for a, b in zip(
        cells.column("flows-sprout", "self-inflicted ms, original"), cells.column("flows-sprout", "ours, ms"))]
    yield ["Sprout's forecasts are the original's: forecasts that differ",
           cells.get("sprout-forecasts", "Sprout", "differ") + " of " + cells.get("sprout-forecasts", "Sprout", "compared"),
           "0", met(cells.get("sprout-forecasts", "Sprout", "differ") == "0"), "sprout-forecasts"]
    yield ["Sprout's throughput over the original's, eight links", f"{min(ratios):.2f} to {max(ratios):.2f}", "0.85 to 1.15",
           met(.85 <= min(ratios) and max(ratios) <= 1.15), "flows-sprout"]
    yield ["Sprout's delay within 20 ms or 20 % of the original's", f"{sum(delays)} of {len(delays)} links", "all",
           met(all(delays)), "flows-sprout"]
    yield flow(cells, "cress-cautious", .84, 105)
    yield flow(cells, "cress-bold", .92, 150)
    ratio = [cells.get("sparse-flows", "ratio", column) for column in ("utilization", "self-inflicted ms")]
    yield ["Twenty links that are often silent: utilization and delay over Sprout-EWMA's", f"{ratio[0]} at {ratio[1]}",
           "≥ 0.9 at ≤ 1", met(value(ratio[0]) >= .9 and value(ratio[1]) <= 1), "sparse-flows"]
    least = cells.get("sparse-calls", "ratio, the least of one link", "frames displayed of 3300")
    yield ["Calls over these links: frames displayed over those of a call that knows the link, the least", least, "≥ 0.9",
           met(value(least) >= .9), "sparse-calls"]
    mean = "mean of eight, five starts"
    for column, aim, is_met in (("kbit/s", "≥ 1550", lambda x: x >= 1550), ("frame delay p95, ms", "≤ 165", lambda x: x <= 165),
                                ("age p95, ms", "≤ 650", lambda x: x <= 650)):
        got = cells.get("camera-cress", mean, column)
        yield [f"A camera's source, mean of eight links: {column}", got, aim, met(is_met(value(got))), "camera-cress"]
    for link, got, aim, ssim, theirs in zip(*(cells.column("calls-real", name) for name in (
            "link", "p95 ms: cress", "aimed at", "SSIM dB: cress", "Chromium SSIM"))):
        yield [f"Call, gesture clip, {link}: frame delay p95, SSIM against Chromium's",
               f"{got} ms, {value(ssim) - value(theirs):+.2f} dB", f"≤ {aim} ms, ≥ 0 dB",
               met(value(got) <= value(aim) and value(ssim) >= value(theirs)), "calls-real"]
    yield from measure_by_measure(cells)
    for scheme in ("skype-like", "gcc"):
        times = cells.get("calls-lab-factors", scheme, "p95 less by, median")
        finer = cells.get("calls-lab-factors", scheme, "mean SSIM dB")
        yield [f"Calls in the lab against {scheme}: p95 less by (median), SSIM", f"{times} times, {finer} dB",
               "3 times, ≥ 0 dB", met(value(times) >= 3 and value(finer) >= 0), "calls-lab-factors"]
    fits = [(name, cells.get("encoder-fits", f"median, {budget}", name)) for budget in
            ("150 to 2500 kbit/s, clips at their own size", "300 to 4000 kbit/s, 1280×720") for name in
            ("over budget", "largest use", "median use", "encodes a frame", "PSNR dB against libvpx CBR")]
    bars = {"over budget": lambda x: x <= 1, "largest use": lambda x: x <= 1.25, "median use": lambda x: x >= .9,
            "encodes a frame": lambda x: x <= 1.6, "PSNR dB against libvpx CBR": lambda x: x >= -.3}
    yield ["Every frame fits: over budget, largest use, median use, encodes, PSNR dB against CBR (and at 1280×720)",
           ", ".join(text for _, text in fits[:5]) + " (" + ", ".join(text for _, text in fits[5:]) + ")",
           "≤ 1 %, 1.25, ≥ .90, ≤ 1.6, ≥ −0.3", met(all(bars[name](value(text)) for name, text in fits)), "encoder-fits"]
    pairs = list(zip(*(cells.column("room-two-slow", name) for name in ("p95 of the eight, ms: all fast", "two slow"))))
    yield ["Two slow members of ten: p95 of the other eight over that with all fast",
           ", ".join(f"{value(slow) / value(fast):.2f}" for fast, slow in pairs), "< 1.05",
           met(all(value(slow) < 1.05 * value(fast) for fast, slow in pairs)), "room-two-slow"]


def rows_without(cells, name, is_row, measures):
    """How many rows of a table of `motion` miss none of the measures, and how many rows there are."""
    rows = [missed.split(", ") for link, missed in zip(cells.column(name, "clip, link"), cells.column(name, "missed"))
            if is_row(link)]
    return sum(not set(missed) & set(measures) for missed in rows), len(rows)


def measure_by_measure(cells):
    def is_fast(link):
        return not is_3g(link)

    at_once = "p95, frozen time, SSIM, live quality at once"
    for claim, name, is_row, measures, aim in (
            ("One way against Chromium, LTE, tram, bus and Wi-Fi: median, p95 × 0.8, frozen time, SSIM + 0.5 dB at once",
             "calls-browser", is_fast, ("p50", "p95", "frozen", "SSIM"), 8),
            ("The same over 3G", "calls-browser", is_3g, ("p50", "p95", "frozen", "SSIM"), 6),
            (f"Two ways against gcc, LTE: {at_once}", "calls-motion", is_fast,
             ("p95", "frozen", "SSIM", "live quality"), 7),
            ("Two ways against gcc, LTE: harmonic frame rate", "calls-motion", is_fast, ("harmonic",), 7),
            ("Two ways against gcc, 3G: p95, SSIM, live quality at once", "calls-motion", is_3g,
             ("p95", "SSIM", "live quality"), 7),
            ("Two ways against gcc, 3G: frozen time", "calls-motion", is_3g, ("frozen",), 8)):
        good, rows = rows_without(cells, name, is_row, measures)
        yield [claim, f"{good} of {rows} rows", f"{aim}", met(good >= aim), name]


@table("summary", kind="derived")
def summary(cells):
    return markdown(["claim", "number", "aim", "", "table"],
                    [[*row[:4], f"[{row[4]}]({cells.link(row[4])})"] for row in simulated(cells)])


def demo_rows(cells):
    """{(scheme, direction): {heading: value}} of the demo's table."""
    lines = cells.text("demo").splitlines()
    heading = lines[1].split()
    found = {}
    for line in lines[3:]:
        values = line.split()
        if len(values) == len(heading):
            row = dict(zip(heading, values))
            found[row["scheme"], row["way"]] = row
    return found


@table("demo-words", kind="derived")
def demo_words(cells):
    rows = demo_rows(cells)

    def seconds(scheme):
        return " and ".join(f"{float(rows[scheme, way]['frame95']) / 1000:.2f}" for way in ("forward", "reverse"))

    def both(scheme, column):
        return " and ".join(rows[scheme, way][column] for way in ("forward", "reverse"))

    return wrap(
        f"95 % of the time, **Cress** displays a frame that is at most {seconds('cress')} s old (forward and reverse). The "
        f"Skype-like model is at {seconds('skype-like')} s, the WebRTC model at {seconds('gcc')} s. They carry "
        f"{both('cress', 'through')}, {both('skype-like', 'through')}, and {both('gcc', 'through')} kbit/s. The price: what "
        f"does not fit is skipped, so Cress displays {both('cress', 'shown')} of 1500 frames and is frozen for "
        f"{both('cress', 'frozen')} s, the Skype-like model for {both('skype-like', 'frozen')} s and the WebRTC model for "
        f"{both('gcc', 'frozen')} s.")
