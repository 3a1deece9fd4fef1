#!/usr/bin/python3
"""Calls of two through a relay, by the real programs, behind the kernel's own NATs (nftables) in network namespaces.

    nat_lab.py [--bin DIR] [--only TEXT] [--list]

Makes an Internet with a relay and homes behind NATs of the four kinds, and checks: all sixteen pairs connect within 1 s
of dialing, and are direct within 2 s where that is possible, without a late frame or more than two concealed frames of audio; two in one house
and two behind a provider's NAT that hairpins are direct; a direct path that dies is replaced within half a second, and
an end that changes to another NAT, or from IPv4 to IPv6, is back within one second; two behind symmetric NATs are direct
within 2 s if one of the routers grants ports by PCP, NAT-PMP or UPnP (by miniupnpd, without which these scenarios are
skipped), and the port is closed after the call. Run by ctest as `nat-lab`; needs root, nft and ip, and exits with 77
where they are missing. Everything is in namespaces that end with this program. NATs forget a UDP flow
after 30 s. A scenario that fails is tried once more, alone: these are measurements in real time.
"""

import argparse
import concurrent.futures
import contextlib
import csv
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = 77
KINDS = ["full-cone", "restricted", "port-restricted", "symmetric"]
RELAY, RELAY6 = "203.0.113.1", "2001:db8::1"
CALL_SECONDS = 5

# What each kind of NAT does on its outer interface, by RFC 4787: Linux keeps a source port where it can, which makes
# the mapping independent of the destination; a random port for each flow makes it symmetric.
RULES = {
    "port-restricted": """
table ip nat {{
  chain post {{ type nat hook postrouting priority srcnat; oifname "{outer}" masquerade; }}
}}""",
    "symmetric": """
table ip nat {{
  chain post {{ type nat hook postrouting priority srcnat; oifname "{outer}" meta l4proto udp masquerade random,fully-random; }}
}}""",
    "full-cone": """
table ip nat {{
  chain post {{ type nat hook postrouting priority srcnat; oifname "{outer}" masquerade; }}
  chain pre {{ type nat hook prerouting priority dstnat; iifname "{outer}" meta l4proto udp dnat to {inside}; }}
}}""",
    "restricted": """
table ip nat {{
  set asked {{ type ipv4_addr; flags dynamic, timeout; timeout 30s; }}
  chain forward {{ type filter hook forward priority filter; oifname "{outer}" update @asked {{ ip daddr }}; }}
  chain post {{ type nat hook postrouting priority srcnat; oifname "{outer}" masquerade; }}
  chain pre {{ type nat hook prerouting priority dstnat; iifname "{outer}" ip saddr @asked meta l4proto udp dnat to {inside}; }}
}}""",
    # A provider's, for many homes; what a home sends to the outer address of another comes back in.
    "hairpin": """
table ip nat {{
  map ports {{ type inet_service : ipv4_addr; flags dynamic; }}
  chain forward {{ type filter hook forward priority filter; oifname "{outer}" meta l4proto udp update @ports {{ udp sport : ip saddr }}; }}
  chain pre {{ type nat hook prerouting priority dstnat; ip daddr {address} meta l4proto udp dnat to udp dport map @ports; }}
  chain post {{ type nat hook postrouting priority srcnat; oifname "{outer}" masquerade; ip saddr 100.64.0.0/16 ip daddr 100.64.0.0/16 masquerade; }}
}}""",
}
# What nobody inside asked for is dropped: the kernel would remember it as a flow of the NAT's own, and give its port to
# nobody inside.
FOR_NOBODY = """
table ip own {{
  chain input {{ type filter hook input priority filter; iifname "{outer}" ct state new drop; }}
}}"""

# Where miniupnpd adds and removes the ports that it grants.
GRANTING_RULES = """
table inet filter {
  chain miniupnpd { }
  chain prerouting_miniupnpd { }
  chain postrouting_miniupnpd { }
  chain forward { type filter hook forward priority 0; jump miniupnpd; }
  chain prerouting { type nat hook prerouting priority -100; jump prerouting_miniupnpd; }
  chain postrouting { type nat hook postrouting priority 110; jump postrouting_miniupnpd; }
}"""
# A router to which the version of PCP is unknown, as to one that speaks NAT-PMP alone.
NO_PCP = """
table ip old {
  chain pre { type filter hook prerouting priority -150; udp dport 5351 @ih,0,8 2 @ih,0,8 set 3; }
}"""
GRANTING_CONFIG = """ext_ifname={outer}
listening_ip={inner}
enable_upnp={upnp}
enable_natpmp={datagrams}
secure_mode=yes
uuid=6c1f4b2e-1111-4222-8333-00005e0053af
"""


class Skipped(Exception):
    """A scenario that this machine has no means for."""


def run(*words, text=None):
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")


def inside(namespace, *words, text=None):
    run("ip", "netns", "exec", namespace, *words, text=text)


class World:
    """One Internet, its relay and the homes of one scenario; names begin with `name`."""

    def __init__(self, name, folder, programs):
        self.name = name
        self.folder = folder
        self.programs = programs
        self.processes = []
        self.links = itertools.count(1)
        self.homes = itertools.count(1)
        self.outer = {}  # interface of each NAT
        self.net = self.namespace("net")
        inside(self.net, "ip", "addr", "add", f"{RELAY}/32", "dev", "lo")
        config = folder / f"{name}.toml"
        config.write_text(f'listen = "[::]:4747"\nmetrics = ""\nrooms = "{folder}/{name}.db"\n[calls]\ncalls = 10\n')
        self.start(self.net, "relay", programs / "cress-relay", "--config", config)

    def namespace(self, what):
        name = f"{self.name}-{what}"
        run("ip", "netns", "add", name)
        inside(name, "ip", "link", "set", "lo", "up")
        inside(name, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        for timeout in ("udp_timeout", "udp_timeout_stream"):
            with contextlib.suppress(RuntimeError):
                inside(name, "sysctl", "-qw", f"net.netfilter.nf_conntrack_{timeout}=30")
        return name

    def join(self, near, near_address, far, far_address, default=True):
        """A wire between two namespaces; `far` sends everything to `near`. Returns its names at both ends."""
        number = next(self.links)
        near_end, far_end = f"n{number}", f"f{number}"
        run("ip", "link", "add", "name", near_end, "netns", near, "type", "veth", "peer", "name", far_end, "netns", far)
        for namespace, end, address in ((near, near_end, near_address), (far, far_end, far_address)):
            inside(namespace, "ip", "addr", "add", address, "dev", end)
            inside(namespace, "ip", "link", "set", end, "up")
        if default:
            inside(far, "ip", "route", "add", "default", "via", near_address.split("/")[0], "dev", far_end)
        return near_end, far_end

    def nat(self, kind, outer_near, network, what="nat", inside_address=""):
        """A NAT whose outer address is the second of `network` (three numbers), towards `outer_near`."""
        box = self.namespace(f"{what}{next(self.homes)}")
        _, outer = self.join(outer_near, f"{network}.1/24", box, f"{network}.2/24")
        self.outer[box] = outer
        inside(box, "nft", "-f", "-", text=(RULES[kind] + FOR_NOBODY).format(outer=outer, inside=inside_address, address=f"{network}.2"))
        return box

    def home(self, kind, number, near=None, outer=None):
        """A host behind a NAT of that kind."""
        box = self.nat(kind, near or self.net, outer or f"198.51.{number}", inside_address=f"10.0.{number}.2")
        host = self.namespace(f"host{number}")
        self.join(box, f"10.0.{number}.1/24", host, f"10.0.{number}.2/24")
        return host

    def granting_home(self, kind, number, protocol):
        """A host behind a NAT of that kind, whose router grants ports by that protocol."""
        if not shutil.which("miniupnpd"):
            raise Skipped("needs miniupnpd (Debian package miniupnpd-nftables)")
        box = self.nat(kind, self.net, f"198.51.{number}")
        host = self.namespace(f"host{number}")
        inner, _ = self.join(box, f"10.0.{number}.1/24", host, f"10.0.{number}.2/24")
        inside(box, "nft", "-f", "-", text=GRANTING_RULES + (NO_PCP if protocol == "NAT-PMP" else ""))
        config = self.folder / f"{self.name}-router{number}.conf"
        by_upnp = protocol == "UPnP"
        config.write_text(GRANTING_CONFIG.format(outer=self.outer[box], inner=inner, upnp="yes" if by_upnp else "no",
                                                 datagrams="no" if by_upnp else "yes"))
        self.start(box, f"router{number}", "miniupnpd", "-d", "-f", config, "-P", config.with_suffix(".pid"))
        time.sleep(.5)
        return box, host

    def join_ipv6(self, near, far, network, up=True):
        """A wire without NAT between two namespaces; returns its name at the far end, which gets its address if `up`."""
        number = next(self.links)
        run("ip", "link", "add", "name", f"n{number}", "netns", near, "type", "veth", "peer", "name", f"f{number}",
            "netns", far)
        run("ip", "-n", near, "addr", "add", f"{network}::1/64", "dev", f"n{number}", "nodad")
        run("ip", "-n", near, "link", "set", f"n{number}", "up")
        if up:
            run("ip", "-n", far, "link", "set", f"f{number}", "up")
            run("ip", "-n", far, "addr", "add", f"{network}::2/64", "dev", f"f{number}", "nodad")
            run("ip", "-n", far, "-6", "route", "add", "default", "via", f"{network}::1", "dev", f"f{number}")
        return f"f{number}"

    def start(self, namespace, what, *words):
        with open(self.folder / f"{self.name}-{what}.out", "w", encoding="utf-8") as out, \
                open(self.folder / f"{self.name}-{what}.err", "w", encoding="utf-8") as err:
            process = subprocess.Popen(["ip", "netns", "exec", namespace, *map(str, words)], stdout=out, stderr=err,
                                       stdin=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def call(self, namespace, what, *words):
        return self.start(namespace, what, self.programs / "cress-call", "--headless", "--video-in", "test", "--audio-in",
                          "test", "--size", "160x96", "--fps", "15", "--stats", self.folder / f"{self.name}-{what}.jsonl",
                          "--frames", self.folder / f"{self.name}-{what}.csv", *words)

    def dial(self, listener, joiner, meanwhile=(), seconds=CALL_SECONDS, relay=f"{RELAY}:4747", options=()):
        """A call; `meanwhile`: (seconds after dialing, what to do). Returns what both ends wrote."""
        self.call(listener, "listener", "--listen", "--relay", relay, *options)
        out = self.folder / f"{self.name}-listener.out"
        until = time.monotonic() + 10
        while not out.read_text(encoding="utf-8").endswith("\n"):
            if time.monotonic() > until:
                raise RuntimeError("the listener prints no link: " +
                                   (self.folder / f"{self.name}-listener.err").read_text(encoding="utf-8"))
            time.sleep(.05)
        time.sleep(.3)
        link = out.read_text(encoding="utf-8").strip()
        dialed = time.monotonic()
        process = self.call(joiner, "joiner", "--duration", f"{seconds}s", *options, link)
        for after, work in meanwhile:
            time.sleep(max(0, dialed + after - time.monotonic()))
            work()
        process.wait(timeout=seconds + 20)
        self.processes[-2].wait(timeout=10)
        return Seen(self, "joiner"), Seen(self, "listener")

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=5)
            if process.poll() is None:
                process.kill()


class Seen:
    """What one end wrote."""

    def __init__(self, world, what):
        stem = world.folder / f"{world.name}-{what}"
        self.what = what
        self.error = stem.with_suffix(".err").read_text(encoding="utf-8").strip()
        lines = [json.loads(line) for line in stem.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()]
        self.events = [line for line in lines if "event" in line]
        self.samples = [line for line in lines if line.get("connected")]
        with open(stem.with_suffix(".csv"), encoding="utf-8") as table:
            rows = list(csv.DictReader(table))
        self.shown = [float(row["display_s"]) for row in rows]
        ages = [float(row["display_s"]) - float(row["capture_s"]) for row in rows]
        self.ages_ms = [1000 * (age - min(ages)) for age in ages] if ages else []

    def when(self, event):
        """Seconds after the program's start; None: never."""
        return next((line["t_s"] for line in self.events if line["event"] == event), None)

    def gap(self):
        """The longest time between two frames, in seconds."""
        return max((b - a for a, b in zip(self.shown, self.shown[1:])), default=float("inf"))

    def path(self):
        return self.samples[-1]["path"] if self.samples else ""

    def concealed(self):
        """Frames of audio by a second after the last change of path."""
        moved = max((line["t_s"] for line in self.events if line["event"] == "path_changed"), default=0)
        return next((line["sound_concealed"] for line in self.samples if line["t_s"] >= moved + 1), 0)


def require(problems, condition, text):
    if not condition:
        problems.append(text)


# A busy machine conceals a frame or two at the start of a call, whether it moves or not; a quiet one none.
CONCEALED_MAX = 2


def judge(joiner, listener, path, gap_max=.3, age_max_ms=200, concealed_max=CONCEALED_MAX):
    """What is wrong with a call, as a list; and its numbers."""
    problems = []
    gap_ms = 1000 * max(joiner.gap(), listener.gap())
    numbers = (f"connected {joiner.when('connected')} s, moved {joiner.when('path_changed')} s, no frame {gap_ms:.0f} ms, "
               f"oldest {max(max(end.ages_ms, default=0) for end in (joiner, listener)):.0f} ms, "
               f"concealed {max(joiner.concealed(), listener.concealed())}")
    connected = joiner.when("connected")
    require(problems, connected is not None and connected <= 1, f"connected at {connected} s: {joiner.error}")
    for end in (joiner, listener):
        require(problems, end.path() == path, f"{end.what} ends on path \"{end.path()}\"")
        require(problems, end.gap() <= gap_max, f"{end.what} sees no frame for {end.gap():.2f} s")
        require(problems, max(end.ages_ms, default=0) <= age_max_ms,
                f"{end.what} sees a frame {max(end.ages_ms, default=0):.0f} ms later than the fastest")
        require(problems, end.concealed() <= concealed_max, f"{end.what} hears {end.concealed()} concealed frames")
    if path == "direct":
        moved = joiner.when("path_changed")
        require(problems, moved is not None and moved <= 2, f"direct at {moved} s")
    return problems, numbers


def can_be_direct(left, right):
    hidden = {"port-restricted", "symmetric"}
    return not (left == right == "symmetric" or ({left, right} == hidden))


def pair(left, right):
    def scenario(world):
        seen = world.dial(world.home(left, 1), world.home(right, 2))
        return judge(*seen, "direct" if can_be_direct(left, right) else "relay")
    return scenario


def one_house(world):
    box = world.nat("port-restricted", world.net, "198.51.1")
    hosts = []
    for number in (1, 2):
        host = world.namespace(f"host{number}")
        world.join(box, f"10.0.{number}.1/24", host, f"10.0.{number}.2/24")
        hosts.append(host)
    return judge(*world.dial(*hosts), "direct")


def double_nat(world):
    """Each home's NAT is behind its provider's."""
    hosts = []
    for number in (1, 2):
        provider = world.nat("port-restricted", world.net, f"198.51.{number}", "isp")
        hosts.append(world.home("port-restricted", number, provider, f"100.64.{number}"))
    return judge(*world.dial(*hosts), "direct")


def one_provider(world):
    """Two homes behind one provider's NAT, which hairpins."""
    provider = world.nat("hairpin", world.net, "198.51.1", "isp")
    hosts = [world.home("full-cone", number, provider, f"100.64.{number}") for number in (1, 2)]
    return judge(*world.dial(*hosts), "direct")


def dead_path(world):
    """The direct path carries nothing from 2 s on."""
    left, right = world.home("port-restricted", 1), world.home("port-restricted", 2)
    rules = """
table ip dead {
  chain forward { type filter hook forward priority filter; ip saddr 198.51.0.0/16 ip daddr 198.51.0.0/16 drop; }
}"""
    seen = world.dial(left, right, [(2, lambda: inside(world.net, "nft", "-f", "-", text=rules))])
    return judge(*seen, "relay", gap_max=.5 + .07, age_max_ms=600, concealed_max=50)


def other_network(which):
    """One end changes from one NAT to another at 2 s."""
    def scenario(world):
        hosts = [world.home("port-restricted", 1), world.home("port-restricted", 2)]
        host = hosts[which]
        other = world.nat("port-restricted", world.net, "198.51.3")
        _, wire = world.join(other, "10.0.3.1/24", host, "10.0.3.2/24", default=False)

        def change():
            run("ip", "-n", host, "addr", "flush", "to", f"10.0.{which + 1}.2/32")
            inside(host, "ip", "route", "replace", "default", "via", "10.0.3.1", "dev", wire)
        seen = world.dial(*hosts, [(2, change)])
        return judge(*seen, "direct", gap_max=1.07, age_max_ms=1100, concealed_max=100)
    return scenario


def to_ipv6(world):
    """The joiner has IPv4 alone, and from 2 s on IPv6 alone; the listener has both."""
    left, right = world.home("port-restricted", 1), world.home("port-restricted", 2)
    run("ip", "-n", world.net, "addr", "add", f"{RELAY6}/128", "dev", "lo", "nodad")
    world.join_ipv6(world.net, left, "2001:db8:1")
    wire = world.join_ipv6(world.net, right, "2001:db8:2", up=False)

    def change():
        run("ip", "-n", right, "addr", "flush", "to", "10.0.2.2/32")
        run("ip", "-n", right, "link", "set", wire, "up")
        run("ip", "-n", right, "-6", "addr", "add", "2001:db8:2::2/64", "dev", wire, "nodad")
        run("ip", "-n", right, "-6", "route", "add", "default", "via", "2001:db8:2::1", "dev", wire)
    seen = world.dial(left, right, [(2, change)], relay="relay.test:4747")
    return judge(*seen, "direct", gap_max=1.07, age_max_ms=1100, concealed_max=100)


def granted(protocol, grants=0, options=()):
    """Both behind symmetric NATs, which cannot be punched; the router of the listener (0) or the joiner grants ports."""
    def scenario(world):
        hosts = [world.home("symmetric", 2 - grants) if which != grants else None for which in (0, 1)]
        box, hosts[grants] = world.granting_home("symmetric", 1 + grants, protocol)
        seen = world.dial(*hosts, options=options)
        problems, numbers = judge(*seen, "relay" if options else "direct")
        by = seen[1 - grants].samples[-1]["port_mapping"] if seen[1 - grants].samples else "nothing"
        require(problems, by == ("" if options else protocol), f"the port was granted by \"{by}\"")
        ports = subprocess.run(["ip", "netns", "exec", box, "nft", "list", "chain", "inet", "filter",
                                "prerouting_miniupnpd"], capture_output=True, text=True, check=True).stdout
        require(problems, "dnat" not in ports, f"the router still has a port open: {ports}")
        return problems, numbers
    return scenario


SCENARIOS = {f"{left} and {right}": pair(left, right) for left in KINDS for right in KINDS}
SCENARIOS |= {"one house": one_house, "double NAT": double_nat, "one provider that hairpins": one_provider,
              "the direct path dies": dead_path, "the listener changes its network": other_network(0),
              "the joiner changes its network": other_network(1), "from IPv4 to IPv6": to_ipv6}
SCENARIOS |= {f"a router grants ports by {protocol} to the {('listener', 'joiner')[grants]}": granted(protocol, grants)
              for protocol, grants in (("PCP", 0), ("PCP", 1), ("NAT-PMP", 0), ("UPnP", 0), ("UPnP", 1))}
SCENARIOS |= {"a router that grants ports is not asked": granted("PCP", 0, ["--no-port-mapping"])}


def play(number, name, folder, programs):
    world = World(f"w{number}", folder, programs)
    try:
        return SCENARIOS[name](world)
    except Skipped as why:
        return None, str(why)
    except (RuntimeError, subprocess.TimeoutExpired, OSError) as error:
        return [str(error)], ""
    finally:
        world.close()


def in_own_namespaces():
    """Runs this program again where what it makes is seen by nobody, and ends with it."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "nft", "unshare", "mount"))):
        print("nat_lab: needs root, nft and ip (Debian packages nftables and iproute2): skipped")
        sys.exit(SKIPPED)
    # A container may forbid what root may do elsewhere, and a kernel may lack it.
    probe = ("nft add table ip probe && nft add chain ip probe post '{ type nat hook postrouting priority 100; }' && "
             "nft add rule ip probe post masquerade && ip link add name p0 type veth peer name p1 && "
             "mkdir -p /run/netns && mount -t tmpfs none /run/netns")
    able = subprocess.run(["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", probe],
                          capture_output=True, text=True, check=False)
    if able.returncode != 0:
        print(f"nat_lab: NATs in namespaces are not to be had here: skipped\n{able.stderr.strip()}")
        sys.exit(SKIPPED)
    if os.environ.get("CRESS_NAT_LAB") != "inside":
        os.environ["CRESS_NAT_LAB"] = "inside"
        os.execvp("unshare", ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                              sys.executable, *sys.argv])
    os.makedirs("/run/netns", exist_ok=True)
    run("mount", "-t", "tmpfs", "none", "/run/netns")
    names = pathlib.Path("/run/netns/hosts")
    names.write_text(f"127.0.0.1 localhost\n{RELAY} relay.test\n{RELAY6} relay.test\n", encoding="utf-8")
    run("mount", "--bind", str(names), "/etc/hosts")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="folder of the programs")
    parser.add_argument("--only", default="", metavar="TEXT", help="scenarios whose name contains TEXT")
    parser.add_argument("--list", action="store_true", help="print the names of the scenarios")
    options = parser.parse_args()
    names = [name for name in SCENARIOS if options.only in name]
    if options.list:
        print("\n".join(names))
        return 0
    if not names:
        parser.error(f"--only {options.only}: no scenario's name contains that; --list prints them")
    in_own_namespaces()
    failed = skipped = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(5) as pool:
        folder = pathlib.Path(folder)
        first = pool.map(lambda at: play(at[0], at[1], folder, options.bin.resolve()), enumerate(names))
        outcomes = list(zip(names, first))
        for number, (name, (problems, numbers)) in enumerate(outcomes, len(names)):
            if problems:
                print(f"again: {name}: {'; '.join(problems)}")
                problems, numbers = play(number, name, folder, options.bin.resolve())
            word = "skip" if problems is None else "FAILED" if problems else "ok"
            print(f"{word:6}  {name}: {'; '.join([numbers, *(problems or [])])}")
            failed += bool(problems)
            skipped += problems is None
    print(f"nat_lab: {len(names) - failed - skipped} of {len(names)} scenarios hold" +
          (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
