"""The encoder without a network: cress-eval encoder, and the tests that hold its bars."""

from calls import CLIPS
from tables import markdown, median, number, table, wrap

FIT = (r"^ +(?P<clip>\S+?)(?P<hd> at 720)? +seed (?P<seed>\d+): over (?P<over>[\d.]+) % max (?P<most>[\d.]+) +use p50 "
       r"(?P<use>[\d.]+) +skipped (?P<skipped>[\d.]+) % +attempts (?P<attempts>[\d.]+) +PSNR (?P<psnr>[\d.]+) \| libvpx CBR: "
       r"over (?P<cbr_over>\d+) % max (?P<cbr_most>[\d.]+) +PSNR (?P<cbr_psnr>[\d.]+)$")


@table("encoder-fits", kind="long", cost="2 min")
def encoder_fits(lab):
    found = lab.test_lines("media-rate", "AdaptiveEncoderMeasured.Fits*", FIT, 15)
    rows = []

    def gain(row):
        return float(row["psnr"]) - float(row["cbr_psnr"])

    for size, budget in ((None, "150 to 2500 kbit/s, clips at their own size"), (" at 720", "300 to 4000 kbit/s, 1280×720")):
        some = [row for row in found if row["hd"] == size]
        rows.append([f"**median, {budget}**", "", number(max(float(row["over"]) for row in some), 1) + " %",
                     max(row["most"] for row in some), number(median(float(row["use"]) for row in some), 2),
                     number(median(float(row["attempts"]) for row in some), 2),
                     f"{median(gain(row) for row in some):+.2f}",
                     f"{min(int(row['cbr_over']) for row in some)} to {max(int(row['cbr_over']) for row in some)} %, up to "
                     f"{max(float(row['cbr_most']) for row in some):.1f}"])
        rows += [[row["clip"].rsplit(".", 1)[0] + (row["hd"] or ""), row["seed"], row["over"] + " %", row["most"], row["use"],
                  row["attempts"], f"{gain(row):+.2f}", f"{row['cbr_over']} %, up to {row['cbr_most']}"] for row in some]
    rows.append(["aimed at", "", "≤ 1 %", "≤ 1.25", "median ≥ .90", "median ≤ 1.6", "median ≥ −0.3", ""])
    return markdown(["clip", "seed", "over budget", "largest use", "median use", "encodes a frame",
                     "PSNR dB against libvpx CBR", "CBR: over budget, largest use"], rows)


def cells(lab, *arguments):
    """results.json's cells of one `cress-eval encoder`."""
    return lab.eval("encoder", *arguments, "--no-report", output="results.json")


@table("encoder-one-attempt", kind="long", cost="30 s")
def encoder_one_attempt(lab):
    runs = {clip: cells(lab, "--video", lab.clip(video), "--encoder", "cress-1,cress,cbr", "--budget", "walk:150,2500",
                        "--frames", "360", "--skip", "60") for clip, (video, _) in CLIPS.items()}

    def one_cell(cell):
        return [f"{number(100 * cell['over_share'], 1)} %", f"{number(100 * cell['skipped_share'], 1)} %",
                number(cell["use_median"], 2), number(cell["attempts_mean"], 2), number(cell["psnr_held_db"], 1),
                number(cell["bitrate_kbps"])]

    names = {"cress-1": "one attempt", "cress": "up to three", "cbr": "libvpx CBR"}
    rows = [[f"{clip}, {names[cell['encoder']]}", *one_cell(cell)] for clip, run in runs.items() for cell in run.result()]
    return markdown(["clip, encoder", "sent over budget", "skipped", "median use", "encodes", "PSNR on the screen, dB", "kbit/s"], rows)


@table("encoder-low-rates", kind="long", cost="60 s")
def encoder_low_rates(lab):
    budgets = [f"{kind}constant:{rate}" for kind in ("", "window:") for rate in (100, 150, 200)]
    runs = {(clip, budget): cells(lab, "--video", lab.clip(video), "--encoder", "cress", "--budget", budget, "--frames", "360",
                                  "--skip", "60") for clip, (video, _) in CLIPS.items() for budget in budgets}

    def some(clip, budget):
        cell, = runs[clip, budget].result()
        return [f"{number(100 * cell['skipped_share'], 1)} %", number(cell["psnr_held_db"], 1), number(cell["ssim_held_db"], 1)]

    return markdown(["budget", "gesture: skipped", "PSNR dB", "SSIM dB", "kitchen: skipped", "PSNR, dB", "SSIM, dB"],
                    [[f"`{budget}`", *some("gesture", budget), *some("kitchen", budget)] for budget in budgets])
