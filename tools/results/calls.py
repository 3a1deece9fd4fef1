"""Video calls over recorded links, by cress-eval run; what real programs were measured to do is read from the data
folder (reference/chromium-measured.csv, reference/salsify-measured.csv)."""

import csv

from lab import EIGHT, RECORDED, First
from tables import markdown, mean, median, number, table, wrap

CLIPS = {"gesture": ("gesture_man_640x480_30.mp4", "gesture_man.flac"),
         "kitchen": ("kitchen_man_640x360_25.mp4", "kitchen_man.flac")}
OTHER = {"down": "up", "up": "down"}


def two_way(lab, scheme, link, clip, seed=1):
    """A future of [forward, reverse]: a call with sound, seconds 10 to 120."""
    video, voice = CLIPS[clip]
    return lab.run(scheme, lab.trace(link, "down"), lab.trace(link, "up"), "--video", lab.clip(video), "--audio",
                   lab.voice(voice), duration=120, skip=10, seed=seed)


def one_way(lab, scheme, link, way, *options, clip="gesture", back=None):
    """A future of the forward direction's scores: pictures without sound, seconds 10 to 120."""
    return First(lab.run(scheme, lab.trace(link, way), back or lab.trace(link, OTHER[way]), "--video",
                         lab.clip(CLIPS[clip][0]), "--audio", "none", "--one-way", *options, duration=120, skip=10))


def p95(result):
    return number(result.get("frame_delay_p95_ms"))


def picture(result):
    """p95 ms, SSIM dB, frozen s"""
    return f"{p95(result)}, {number(result['ssim_db'], 2)}, {number(result['frozen_s'], 1)}"


def measured(lab, file, link, clip, loss=0.0, queue="unlimited"):
    """The mean of the default rows of one real program's call; None where there is no such call."""
    with open(lab.recorded(f"reference/{file}-measured.csv"), newline="") as rows:
        same = [row for row in csv.DictReader(rows)
                if row["link"] == link and row["clip"].startswith(clip) and float(row["loss"]) == loss
                and row["queue_packets"] == queue and row["max_bitrate_kbps"] == "default"
                and "<video> element" not in row["note"]]
    columns = ("delay_p50_ms", "delay_p95_ms", "ssim_db", "bitrate_kbps", "frozen_s", "displayed")
    return {name: mean(float(row[name]) for row in same) for name in columns} if same else None


# Delays aimed at: 1.5 times the least by arithmetic, or 120 ms more.
AIMS = {("Verizon-LTE-short", 0): 173, ("Verizon-LTE-short", .05): 200, ("TMobile-UMTS-driving", 0): 3768,
        ("Verizon-EVDO-driving", 0): 904, ("ATT-LTE-driving", 0): 876}


@table("calls-real", kind="long", cost="80 s")
def calls_real(lab):
    runs = {row: one_way(lab, "cress", row[0], "down", *(["--loss", row[1]] if row[1] else [])) for row in AIMS}
    rows, met, finer, frozen = [], 0, 0, 0
    for (link, loss), aim in AIMS.items():
        ours = runs[link, loss].result()
        chromium = measured(lab, "chromium", link + ".down", "gesture", loss)
        salsify = measured(lab, "salsify", link + ".down", "gesture", loss)
        met += ours["frame_delay_p95_ms"] <= aim
        finer += ours["ssim_db"] > chromium["ssim_db"]
        frozen += ours["frozen_s"] > chromium["frozen_s"]
        rows.append([link + (f", {100 * loss:.0f} % loss" if loss else ""), p95(ours) if ours["frame_delay_p95_ms"] <= aim else f"**{p95(ours)}**", number(aim),
                     number(chromium["delay_p95_ms"]), number(salsify["delay_p95_ms"]) if salsify else "–",
                     number(ours["ssim_db"], 2), number(chromium["ssim_db"], 2),
                     number(salsify["ssim_db"], 2) if salsify else "–",
                     number(ours["frozen_s"], 1), number(chromium["frozen_s"], 1)])
    heading = ["link", "p95 ms: cress", "aimed at", "Chromium", "Salsify", "SSIM dB: cress", "Chromium SSIM",
               "Salsify SSIM", "frozen s: cress", "Chromium frozen"]
    return markdown(heading, rows) + "\n" + wrap(
        f"{met} of {len(rows)} aims for the delay are met; a missed one is in bold. SSIM is above Chromium's on {finer} of {len(rows)}; frozen "
        f"time is longer than Chromium's on {frozen}.")


@table("calls-omniscient", kind="long", cost="60 s")
def calls_omniscient(lab):
    runs = {(scheme, link): one_way(lab, scheme, link, "down") for link in RECORDED for scheme in ("cress", "omniscient")}
    return markdown(["link", "cress", "omniscient"],
                    [[link, *(picture(runs[scheme, link].result()) for scheme in ("cress", "omniscient"))]
                     for link in RECORDED])


LAB = ("cress", "skype-like", "gcc", "omniscient")


def lab_calls(lab):
    """{(clip, link, way): {scheme: scores}}"""
    runs = {(clip, link, scheme): two_way(lab, scheme, link, clip)
            for clip in CLIPS for link in RECORDED for scheme in LAB}
    return {(clip, link, way): {scheme: runs[clip, link, scheme].result()[way == "up"] for scheme in LAB}
            for clip in CLIPS for link, way in EIGHT}


@table("calls-lab", kind="long", cost="12 min")
def calls_lab(lab):
    calls = lab_calls(lab)
    rows = [[f"{clip}, {link} {way}", *(picture(scores[scheme]) for scheme in LAB)]
            for (clip, link, way), scores in calls.items()]
    rows.append(["mean SSIM", *(number(mean(scores[scheme]["ssim_db"] for scores in calls.values()), 2) for scheme in LAB)])
    return markdown(["clip, link", *LAB], rows)


def against(calls, scheme):
    """How Cress compares with `scheme` over all calls, as cells."""
    times = [scores[scheme]["frame_delay_p95_ms"] / scores["cress"]["frame_delay_p95_ms"] for scores in calls.values()]
    finer = [scores["cress"]["ssim_db"] - scores[scheme]["ssim_db"] for scores in calls.values()]
    most = [scores[scheme]["frame_delay_p95_ms"] / scores["omniscient"]["frame_delay_p95_ms"] for scores in calls.values()]
    frozen = sum(scores["cress"]["frozen_s"] > scores[scheme]["frozen_s"] for scores in calls.values())
    return [scheme, number(median(times), 1), f"{number(min(times), 1)} to {number(max(times), 1)}",
            f"{sum(ratio > 1 for ratio in times)} of {len(times)}", f"{mean(finer):+.2f}",
            f"{sum(gain > 0 for gain in finer)} of {len(finer)}", f"{frozen} of {len(times)}",
            f"{sum(ratio >= 3 for ratio in times)} of {len(times)}", f"{sum(ratio >= 3 for ratio in most)} of {len(most)}"]


@table("calls-lab-factors", kind="long", cost="as above")
def calls_lab_factors(lab):
    calls = lab_calls(lab)
    return markdown(["against", "p95 less by, median", "range", "less on", "mean SSIM dB", "finer on", "frozen for longer on",
                     "3 times less on", "3 times less with foresight on"],
                    [against(calls, scheme) for scheme in ("skype-like", "gcc")])


@table("calls-lab-audio", kind="long", cost="as above")
def calls_lab_audio(lab):
    calls = lab_calls(lab)

    def cell(scores):
        return f"{number(100 * scores['audio_concealed'], 1)} %, {number(scores['mouth_to_ear_p95_ms'])}"

    return markdown(["clip, link", *LAB], [[f"{clip}, {link} {way}", *(cell(scores[scheme]) for scheme in LAB)]
                                           for (clip, link, way), scores in calls.items()])


@table("calls-100kbit", kind="long", cost="60 s")
def calls_100kbit(lab):
    slow = lab.constant_trace(120)
    video, voice = CLIPS["kitchen"]
    runs = {scheme: lab.run(scheme, slow, slow, "--video", lab.clip(video), "--audio", lab.voice(voice), duration=120,
                            skip=10) for scheme in ("cress", "omniscient")}
    return markdown(["scheme", "direction", "mouth to ear p95, ms", "audio concealed", "frame delay p95, ms", "SSIM dB"],
                    [[scheme, scores["direction"], number(scores["mouth_to_ear_p95_ms"]),
                      f"{number(100 * scores['audio_concealed'], 1)} %", p95(scores), number(scores["ssim_db"], 1)]
                     for scheme, run in runs.items() for scores in run.result()])


# GCC and a real browser, row by row.

GCC_ROWS = [("constant-12Mbit", "gesture", 0, "unlimited"), ("constant-500kbit", "gesture", 0, "unlimited"),
            ("constant-500kbit", "kitchen", 0, "unlimited"), ("Verizon-LTE-short", "gesture", 0, "unlimited"),
            ("Verizon-LTE-short", "gesture", 0, "256"), ("Verizon-LTE-short", "kitchen", 0, "unlimited"),
            ("Verizon-LTE-short", "gesture", .05, "unlimited"), ("ATT-LTE-driving", "gesture", 0, "unlimited"),
            ("ATT-LTE-driving", "kitchen", 0, "unlimited"), ("TMobile-UMTS-driving", "gesture", 0, "unlimited"),
            ("TMobile-UMTS-driving", "gesture", 0, "256"), ("TMobile-UMTS-driving", "kitchen", 0, "unlimited"),
            ("Verizon-EVDO-driving", "gesture", 0, "unlimited"), ("Verizon-EVDO-driving", "kitchen", 0, "unlimited")]


def gcc_table(lab, scheme, wanted):
    def start(link, clip, loss, queue):
        options = ["--loss", loss] + (["--queue", f"droptail:{queue}"] if queue != "unlimited" else [])
        if link.startswith("constant"):
            trace = lab.constant_trace(1 if link == "constant-12Mbit" else 24)
            return First(lab.run(scheme, trace, trace, "--video", lab.clip(CLIPS[clip][0]), "--audio", "none",
                                 "--one-way", *options, duration=120, skip=10))
        return one_way(lab, scheme, link, "down", *options, clip=clip)

    runs = {row: start(*row) for row in wanted}
    rows = []
    for (link, clip, loss, queue), run in runs.items():
        ours = run.result()
        real = measured(lab, "chromium", link if link.startswith("constant") else link + ".down", clip, loss, queue)
        name = link + (f", {queue} packets" if queue != "unlimited" else "") + (f", {100 * loss:.0f} % loss" if loss else "")

        def pair(key, digits=0, theirs=None):
            return f"{number(ours[key], digits)} / {number(real[theirs or key], digits)}"

        rows.append([name, clip, pair("frame_delay_p50_ms", 0, "delay_p50_ms"), pair("frame_delay_p95_ms", 0, "delay_p95_ms"),
                     pair("throughput_kbps", 0, "bitrate_kbps"), pair("ssim_db", 1), pair("frozen_s", 1),
                     pair("frames_displayed", 0, "displayed")])
    return markdown(["link", "clip", "p50 ms", "p95 ms", "kbit/s", "SSIM dB", "frozen s", "frames displayed"], rows)


@table("gcc-chromium", kind="long", cost="3 min")
def gcc_chromium(lab):
    return gcc_table(lab, "gcc", GCC_ROWS)


@table("gcc-draft-chromium", kind="long", cost="2 min")
def gcc_draft_chromium(lab):
    return gcc_table(lab, "gcc-draft", [row for row in GCC_ROWS if row[1] == "gesture" and row[3] == "unlimited"])


# Delays published with Salsify (NSDI 2018), p95 in ms: Skype, Hangouts, FaceTime.
SALSIFY = {("ATT-LTE-driving", "up"): (557, 1862, 1024), ("TMobile-UMTS-driving", "up"): (5746, 7097, 5700),
           ("Verizon-LTE-short", "down"): (6600, 1719, 2044)}


@table("like-salsify", kind="long", cost="2 min")
def like_salsify(lab):
    schemes = ("skype-like", "hangouts-like", "facetime-like")
    runs = {row: [First(lab.run(scheme, lab.trace(*row), lab.trace(row[0], OTHER[row[1]]), "--one-way", "--video", "synthetic",
                                "--audio", "none", duration=140, skip=10)) for scheme in schemes] for row in SALSIFY}
    rows = []
    for row, published in SALSIFY.items():
        cells = [" ".join(row)]
        for there, run in zip(published, runs[row]):
            cells += [number(there), p95(run.result())]
        rows.append(cells)
    return markdown(["first direction", "Skype", "`skype-like`", "Hangouts", "`hangouts-like`", "FaceTime", "`facetime-like`"],
                    rows)


# The demo, as the script runs it, but for the film.

@table("demo", cost="25 s")
def demo(lab):
    """What ./cress demo prints. No file of the data folder is needed."""
    text = lab.printed("cress-eval", "run", "--scheme", "cress,skype-like,gcc", "--link", "lte-slow", "--video", "synthetic",
                       "--duration", "60s", "--skip", "10s", "--no-report", to_stdout_and_out=True).result()
    return f"```\n{text}```\n"
