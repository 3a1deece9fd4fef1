"""Rooms in the simulator: relay/forward's test of ten members, two of them on slow links."""

from tables import markdown, number, table


@table("room-two-slow", cost="5 s")
def room_two_slow(lab):
    lab.trace("TMobile-UMTS-driving", "down")  # Without recordings the test takes generated links.
    found = lab.test_properties("relay-forward", "Room.*Two*Slow*")

    def value(link, key, digits):
        return number(float(found[f"{link}_{key}"]), digits)

    return markdown(["second slow link", "p95 of the eight, ms: all fast", "two slow", "audio in time: 300 kbit/s leg",
                     "audio in time: recorded leg", "pictures a second of the speaker: 300 kbit/s leg", "recorded leg"],
                    [[name, value(link, "p95_all_fast_ms", 1), value(link, "p95_ms", 1),
                      value(link, "sound_in_time_0", 3), value(link, "sound_in_time_1", 3), value(link, "pictures_0", 2), value(link, "pictures_1", 2)]
                     for link, name in (("tram", "HSDPA, a tram"), ("umts", "T-Mobile UMTS, driving"))])


@table("room-insiders", cost="10 s")
def room_insiders(lab):
    found = lab.test_properties("relay-daemon", "Insider.*")
    kinds = ("ghost", "ping-flood", "decoder-bomb", "card-storm", "roam-storm")

    def cells(kind, room):
        before, during = (float(found[f"{kind.replace('-', '_')}_{room}_{when}ms"]) for when in ("idle_", ""))
        return [number(before, 1), number(during, 1), f"{100 * (during / before - 1):+.1f} %"]

    return markdown(["kind", "p95 in its room, ms: idle", "attacking", "grows", "in another room, ms: idle", "attacking",
                     "grows"], [[f"`{kind}`", *cells(kind, "attacked"), *cells(kind, "other")] for kind in kinds])
