"""Published figures and tables, by cress-eval reproduce; and the baselines' own tests against recordings."""

from tables import markdown, number, table, wrap

NAMES = ("fig1", "fig2", "fig7", "fig8", "fig9", "intro", "loss", "tunnel", "verus", "red", "distributions", "sensitivity",
         "forecast")


def recipes(lab):
    """A future of what `cress-eval reproduce all` writes, by name: rows of equal columns, a verdict in words."""
    lab.trace("Verizon-LTE-short", "down")  # Without recorded links it would take embedded ones.
    return lab.eval("reproduce", "all", "--jobs", "1", output="*.json")


def cell(heading, value):
    """A number with the digits that its column wants."""
    if value is None or isinstance(value, str):
        return value or "–"
    if not heading.endswith("%") and any(unit in heading for unit in ("kbit/s", " ms", "deliveries")):
        return number(value)
    if heading.endswith("%"):
        return number(value, 2 if heading in ("within 20 ms %", "published %") else 1)
    return number(value, 3 if heading == "utilization" else 0 if abs(value) >= 100 else 2)


def whole(result):
    """All rows, and the verdict below them."""
    heading = list(result["rows"][0])
    return (markdown(heading, [[cell(name, row.get(name)) for name in heading] for row in result["rows"]]) + "\n"
            + wrap(result["verdict"]))


@table("reproduction-verdicts", cost="35 s")
def verdicts(lab):
    made = recipes(lab).result()
    return markdown(["name", "what", "verdict"],
                    [[f"`{name}`", made[name]["title"], made[name]["verdict"]] for name in NAMES])


def register(name):
    @table(f"reproduction-{name}", cost="as above")
    def make(lab):
        return whole(recipes(lab).result()[name])


for name in NAMES:
    if name not in ("fig7", "sensitivity"):  # 88 and 24 wide rows; their verdicts say what matters.
        register(name)


# SproutTunnel with pictures: the measured test, which is more than the recipe.


@table("tunnel", cost="40 s")
def tunnel(lab):
    found = {row["name"]: row for row in lab.test_lines(
        "eval-harness", "TunnelMeasured.*", r"^(?P<name>paper: direct|paper: through Sprout|call alone|direct|through sprout|"
        r"through cress) +(?P<bulk>\d+) +(?P<call>\d+) +(?P<delay>\d+)$", 6)}

    def change(after, before):
        return [after] + [f"{100 * (float(found[after][key]) / float(found[before][key]) - 1):+.0f} %" for key in
                          ("bulk", "call", "delay")]

    def values(name, shown):
        return [shown] + [number(float(found[name][key])) for key in ("bulk", "call", "delay")]

    rows = [values("direct", "in one queue, no tunnel"), values("through sprout", "through the tunnel, `--control sprout`"),
            ["change", *change("through sprout", "direct")[1:]],
            values("through cress", "through the tunnel, `--control cress`"), ["change", *change("through cress", "direct")[1:]],
            values("call alone", "the call alone on the link, no tunnel"),
            values("paper: direct", "the paper, in one queue"), values("paper: through Sprout", "the paper, through SproutTunnel"),
            ["change", *change("paper: through Sprout", "paper: direct")[1:]]]
    return markdown(["", "Cubic, kbit/s", "call, kbit/s", "call, delay95 ms"], rows)


# The Skype-, Hangouts- and FaceTime-like models.


@table("like-recordings", cost="3 s")
def like_recordings(lab):
    found = lab.test_lines("eval-schemes-like", "LikeRecordings.Profiles*:LikeRecordings.PapersSkype*",
                           r"^\| (?P<profile>[^|]+) \| (?P<file>[^|]+) \| (?P<seconds>[\d-]+) \| (?P<rest>.*) \|$", 12)
    rows, seen = [], set()
    for row in found:
        cells = [row["profile"], row["file"], row["seconds"], *row["rest"].split(" | ")]
        if tuple(cells) not in seen:
            rows.append(cells)
        seen.add(tuple(cells))
    return markdown(["profile", "recording", "seconds", "kbit/s: recorded, model", "mean absolute error of a second's rate",
                     "queue p50, ms", "queue p95, ms"], rows)


@table("like-paper", cost="1 s")
def like_paper(lab):
    tests = ("eval-schemes-like", "LikeOverPaperLinks.*")
    single = lab.test_lines(*tests, r"^(?P<scheme>\S+-like) +(?P<link>\S+) +(?P<way>down|up) +(?P<kbps>\d+) kbit/s +utilization "
                            r"(?P<utilization>[\d.]+) +self-inflicted +(?P<delay>\d+) ms$", 24)
    means = lab.test_lines(*tests, r"^(?P<scheme>\S+-like) +mean: utilization (?P<utilization>[\d.]+), self-inflicted "
                           r"(?P<delay>\d+) ms; Sprout gets (?P<times>[\d.]+) times", 3)
    schemes = ("skype-like", "hangouts-like", "facetime-like")
    links = list(dict.fromkeys((row["link"], row["way"]) for row in single))
    at = {(row["scheme"], row["link"], row["way"]): f"{number(int(row['delay']))}, {row['kbps']}, {row['utilization']}"
          for row in single}
    mean = {row["scheme"]: row for row in means}
    rows = [[" ".join(link), *(at[(scheme, *link)] for scheme in schemes)] for link in links]
    rows.append(["**mean**", *(f"**{mean[scheme]['delay']} ms**, {mean[scheme]['utilization']}" for scheme in schemes)])
    rows.append(["paper, mean", "2520 ms", "2280 ms", "2750 ms"])
    rows.append(["Sprout's throughput over theirs, mean of ratios (paper)",
                 *(f"{mean[scheme]['times']} ({there})" for scheme, there in zip(schemes, ("2.2", "4.4", "1.9")))])
    return markdown(["link", *(f"`{scheme}`" for scheme in schemes)], rows)


@table("like-fall", cost="1 s")
def like_fall(lab):
    one, = lab.test_lines("eval-schemes-like", "LikeOverALink.*", r"^lowered (?P<s>[\d.]+) s after the fall, from (?P<kbps>\d+) kbit/s; "
                          r"worst delay (?P<worst>[\d.]+) s$")
    return markdown(["target before the fall, kbit/s", "lowered after, s", "worst delay, s"],
                    [[one["kbps"], one["s"], one["worst"]]])
