"""Calls measure by measure against a real browser and against the model of WebRTC: delay, sharpness and motion at once.
Which of a row's aims is missed is in bold, and named in its last cell."""

from calls import CLIPS, OTHER, lab_calls, measured
from lab import First
from tables import markdown, number, table

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


def measures_of(score):
    """{measure: value} of one direction of a call."""
    return {name: score[key] for name, (key, _, _) in MEASURES.items()}


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


@table("calls-browser", kind="long", cost="6 min")
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
            bounds["frozen"] = max(theirs["frozen"],
                                   FROZEN_OVER_FORESIGHT * foresight[trace, clip].result()["frozen_s"])
        ours = measures_of(runs[trace, clip].result())
        cells.append([f"{clip}, {trace.replace('.', ' ')}", *compared(ours, theirs, bounds)])
    return markdown(["clip, link", *HEADINGS, "missed"], cells)


@table("calls-motion", kind="long", cost="as calls-lab")
def calls_motion(lab):
    cells = []
    for (clip, link, way), scores in lab_calls(lab).items():
        ours, theirs = measures_of(scores["cress"]), measures_of(scores["gcc"])
        bounds = {name: theirs[name] for name in ("p95", "frozen", "SSIM", "live quality")}
        if is_3g(link):
            bounds["frozen"] = max(theirs["frozen"], FROZEN_OVER_FORESIGHT * scores["omniscient"]["frozen_s"])
        else:
            bounds["harmonic"] = theirs["harmonic"]
        if link.startswith("Verizon-LTE"):
            bounds["displayed"] = DISPLAYED_LEAST * SCORED_S * FRAME_RATES[clip]
        cells.append([f"{clip}, {link} {way}", *compared(ours, theirs, bounds)])
    return markdown(["clip, link", *HEADINGS, "missed"], cells)
