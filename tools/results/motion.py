"""Calls measure by measure against a real browser and against the model of WebRTC: delay, sharpness and motion at once.
Which of a row's aims is missed is in bold, and named in its last cell."""

from calls import CLIPS, OTHER, measured, two_way
from lab import EIGHT, RECORDED, First
from tables import markdown, mean, number, table

# Of the calls against the model, each the mean of these.
SEEDS = (1, 2, 3)

# Name of a measure: its key, digits, whether more is better.
MEASURES = {"p50": ("frame_delay_p50_ms", 0, False), "p95": ("frame_delay_p95_ms", 0, False),
            "frozen": ("frozen_s", 1, False), "SSIM": ("ssim_db", 2, True), "live quality": ("live_ssim_db", 2, True),
            "harmonic": ("harmonic_fps", 1, True), "displayed": ("frames_displayed", 0, True)}
HEADINGS = ("p50, ms", "p95, ms", "frozen, s", "SSIM, dB", "live quality, dB", "harmonic rate", "displayed")

# Over 3G, where a call that knows the link stands still, too, this many times its frozen time is no miss.
FROZEN_OVER_FORESIGHT = 1.1
DISPLAYED_LEAST = .97
SCORED_S = 110
FRAME_RATES = {"gesture": 30, "kitchen": 25}


def is_3g(link):
    return "UMTS" in link or "EVDO" in link


def measures_of(scores):
    """{measure: mean} of one direction of a call, of its scores with each seed."""
    return {name: mean(score[key] for score in scores) for name, (key, _, _) in MEASURES.items()}


def compared(ours, theirs, bounds):
    """The cells "ours / theirs" of every measure (ours in bold beyond its bound), and the names of those."""
    cells, missed = [], []
    for name, (_, digits, more) in MEASURES.items():
        text = number(ours[name], digits)
        if name in bounds and (ours[name] < bounds[name] if more else ours[name] > bounds[name]):
            missed.append(name)
            text = f"**{text}**"
        cells.append(f"{text} / {number(theirs[name], digits)}" if theirs.get(name) is not None else text)
    return [*cells, ", ".join(missed) or "–"]


# One way against Chromium: forward trace, clip.
LTE_AND_OTHERS = [("Verizon-LTE-short.down", "gesture"), ("Verizon-LTE-short.down", "kitchen"),
                  ("Verizon-LTE-short.up", "gesture"), ("ATT-LTE-driving.down", "gesture"),
                  ("ATT-LTE-driving.down", "kitchen"), ("ATT-LTE-driving.up", "gesture"), ("hsdpa-tram.down", "gesture"),
                  ("nyc-trace-3114405-bus.down", "gesture"), ("nymp-22_2_wifi.down", "gesture")]
OVER_3G = [("TMobile-UMTS-driving.down", "gesture"), ("TMobile-UMTS-driving.down", "kitchen"),
           ("TMobile-UMTS-driving.up", "gesture"), ("Verizon-EVDO-driving.down", "gesture"),
           ("Verizon-EVDO-driving.down", "kitchen"), ("Verizon-EVDO-driving.up", "gesture")]


def reverse_of(lab, trace):
    """The same link's other direction; for a link of which one direction was recorded, that one."""
    link, way = trace.rsplit(".", 1)
    other = lab.data / f"traces/cellular/{link}.{OTHER[way]}"
    return other if other.exists() else lab.recorded(f"traces/cellular/{trace}")


def one_way_call(lab, scheme, trace, clip):
    """A future of the scores of a call without sound."""
    return First(lab.run(scheme, lab.recorded(f"traces/cellular/{trace}"), reverse_of(lab, trace), "--video",
                         lab.clip(CLIPS[clip][0]), "--audio", "none", "--one-way", duration=120, skip=10))


@table("calls-browser", kind="long", cost="8 min")
def calls_browser(lab):
    rows = LTE_AND_OTHERS + OVER_3G
    runs = {row: one_way_call(lab, "cress", *row) for row in rows}
    foresight = {row: one_way_call(lab, "omniscient", *row) for row in OVER_3G}
    cells = []
    for trace, clip in rows:
        real = measured(lab, "chromium", trace, clip)
        theirs = {"p50": real["delay_p50_ms"], "p95": real["delay_p95_ms"], "frozen": real["frozen_s"],
                  "SSIM": real["ssim_db"], "displayed": real["displayed"]}
        bounds = {"p50": theirs["p50"], "p95": .8 * theirs["p95"], "frozen": theirs["frozen"], "SSIM": theirs["SSIM"] + .5}
        if trace == "ATT-LTE-driving.down":
            del bounds["p95"]  # which its two falls within a millisecond decide
        if is_3g(trace):
            bounds["frozen"] = frozen_most(theirs, [foresight[trace, clip].result()])
        ours = measures_of([runs[trace, clip].result()])
        cells.append([f"{clip}, {trace.replace('.', ' ')}", *compared(ours, theirs, bounds)])
    return markdown(["clip, link", *HEADINGS, "missed"], cells)


def frozen_most(theirs, foresight):
    """Over 3G: as long as they, or 1.1 times as long as the call that knows the link."""
    return max(theirs["frozen"], FROZEN_OVER_FORESIGHT * measures_of(foresight)["frozen"])


def two_way_calls(lab):
    """{(scheme, clip, link): futures of [forward, reverse], one a seed}"""
    return {(scheme, clip, link): [two_way(lab, scheme, link, clip, seed) for seed in SEEDS]
            for clip in CLIPS for link in RECORDED for scheme in ("cress", "gcc", "omniscient")
            if scheme != "omniscient" or is_3g(link)}


def direction(futures, way):
    """The scores of one direction, one a seed."""
    return [both.result()[way == "up"] for both in futures]


@table("calls-motion", kind="long", cost="21 min")
def calls_motion(lab):
    runs = two_way_calls(lab)
    cells = []
    for clip in CLIPS:
        for link, way in EIGHT:
            ours = measures_of(direction(runs["cress", clip, link], way))
            theirs = measures_of(direction(runs["gcc", clip, link], way))
            bounds = {name: theirs[name] for name in ("p95", "frozen", "SSIM", "live quality")}
            if is_3g(link):
                bounds["frozen"] = frozen_most(theirs, direction(runs["omniscient", clip, link], way))
            else:
                bounds["harmonic"] = theirs["harmonic"]
            if link.startswith("Verizon-LTE"):
                bounds["displayed"] = DISPLAYED_LEAST * SCORED_S * FRAME_RATES[clip]
            cells.append([f"{clip}, {link} {way}", *compared(ours, theirs, bounds)])
    return markdown(["clip, link", *HEADINGS, "missed"], cells)
