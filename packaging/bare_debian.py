#!/usr/bin/python3
"""Installs the three Debian packages in a bare Debian 12, uses them and removes them.

    bare_debian.py --packages DIR [--base DIR] [--mirror URL] [--without-lintian]

DIR holds the .deb files that cpack has made. Checks: each installs with the packages that it depends on alone; two
`cress-call --headless` call each other; systemd, started in a container, runs the relay as its own user under the
restrictions of its unit; two members of a room meet at it; removal leaves the relay's configuration and rooms, purging
leaves nothing; lintian finds no error. Needs root, debootstrap, systemd-nspawn (Debian: systemd-container) and a
Debian mirror; exits with 77 where they are missing. The bare system is made by debootstrap in a temporary folder;
`--base` names a folder in which it is kept for the next time.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
PACKAGES = ["cress", "cress-relay", "libcress-dev"]
# What removal keeps, and purging does not.
KEPT = ["/etc/cress-relay", "/etc/cress-relay/relay.toml", "/var/lib/cress-relay"]
# systemd's own records of a unit that was enabled, and dpkg's of what to do at purging.
RECORDS = ("/var/lib/dpkg/", "/var/lib/systemd/deb-systemd-helper-", "/var/cache/", "/var/log/", "/proc/", "/sys/",
           "/run/", "/tmp/", "/root/", "/var/tmp/", "/etc/systemd/system/cress-relay.service",
           "/etc/systemd/system/multi-user.target.wants/cress-relay.service")
# A line of /proc/PID/status for each of the unit's restrictions that shows there.
RESTRICTIONS = {"NoNewPrivs": "1", "Seccomp": "2", "CapBnd": "0000000000000000", "CapEff": "0000000000000000"}


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bare_debian: `{' '.join(map(str, words))}` exits with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(holds, what):
    print(("ok      " if holds else "FAILED  ") + what, flush=True)
    if not holds:
        sys.exit(1)


class System:
    """A Debian in a folder."""

    def __init__(self, root):
        self.root = root
        self.leader = None

    def chroot(self, *words):
        """With the network of this machine, and without systemd: as the installer does."""
        return run("systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--pipe", "-D", self.root,
                   "--setenv=DEBIAN_FRONTEND=noninteractive", "--setenv=LC_ALL=C.UTF-8", *words)

    @contextlib.contextmanager
    def booted(self):
        """Starts systemd in it, with a network of its own."""
        with tempfile.TemporaryFile() as log:
            container = subprocess.Popen(["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--boot",
                                          "--private-network", "--console=pipe", "-D", self.root],
                                         stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            try:
                self.leader = self.wait_for(lambda: self.first_process(container.pid), "the container's first process")
                self.wait_for(lambda: self.inside("systemctl", "is-system-running").strip() in ("running", "degraded"),
                              "systemd to be up")
                yield
            finally:
                if self.leader is not None:
                    os.kill(self.leader, signal.SIGKILL)
                container.wait()
                self.leader = None

    @staticmethod
    def first_process(ancestor):
        """The descendant that is process 1 of its namespace."""
        for pid in pathlib.Path(f"/proc/{ancestor}/task/{ancestor}/children").read_text().split():
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            ids = next(line for line in status.splitlines() if line.startswith("NSpid:")).split()
            if len(ids) > 2 and ids[-1] == "1":
                return int(pid)
            if found := System.first_process(pid):
                return found
        return None

    @staticmethod
    def wait_for(condition, what, most=60):
        end = time.monotonic() + most
        while time.monotonic() < end:
            if value := condition():
                return value
            time.sleep(0.2)
        sys.exit(f"bare_debian: waited in vain for {what}")

    def words(self, *words):
        return ["nsenter", "--target", str(self.leader), "--all", "--", "/usr/bin/env", "-i",
                "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/root",
                "DEBIAN_FRONTEND=noninteractive", *words]

    def inside(self, *words, must=False):
        done = subprocess.run(self.words(*words), capture_output=True, text=True, check=False)
        if must and done.returncode != 0:
            sys.exit(f"bare_debian: `{' '.join(words)}` exits with {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def start(self, *words):
        return subprocess.Popen(self.words(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def make_bare(folder, mirror):
    if (folder / "etc/debian_version").exists():
        return
    run("debootstrap", "--variant=minbase", "--include=systemd,systemd-sysv,dbus", "bookworm", folder, mirror)


def last_sample(stats):
    samples = [json.loads(line) for line in stats.splitlines() if '"frames_shown"' in line]
    return samples[-1] if samples else {}


def is_enough(sample):
    """At least 45 frames, and a second of audio, in six seconds: the machine may be busy."""
    return sample.get("frames_shown", 0) > 45 and sample.get("sound_played", 0) > 50


def seen_and_heard(sample):
    return f"{sample.get('frames_shown')} frames and {sample.get('sound_played')} of audio"


def finish(call, who):
    out, errors = call.communicate(timeout=60)
    if call.returncode != 0:
        sys.exit(f"bare_debian: {who} exits with {call.returncode}\n{out}{errors}")
    return out


HEADLESS = ["cress-call", "--headless", "--video-in", "test", "--audio-in", "test", "--stats", "-", "--duration", "6s"]


def samples_of_a_call(system):
    system.inside("rm", "-f", "/root/call.link")
    one = system.start(*HEADLESS, "--listen", "127.0.0.1:4433", "--link-file", "/root/call.link")
    link = system.wait_for(lambda: system.inside("cat", "/root/call.link").strip(), "the call's link")
    other = system.start(*HEADLESS, link)
    return [last_sample(finish(call, "cress-call")) for call in (one, other)]


def twice(measure, system):
    """These are measurements in real time: one that fails is tried again."""
    samples = measure(system)
    return samples if all(map(is_enough, samples)) else measure(system)


def check_call(system):
    samples = twice(samples_of_a_call, system)
    check(all(map(is_enough, samples)), "two cress-call --headless see and hear each other: "
          + ", ".join(map(seen_and_heard, samples)))


def check_relay(system):
    system.wait_for(lambda: system.inside("systemctl", "is-active", "cress-relay").strip() == "active", "cress-relay")
    pid = system.inside("systemctl", "show", "--value", "--property=MainPID", "cress-relay", must=True).strip()
    user = system.inside("ps", "-o", "user:20=", "-p", pid).strip() or system.inside("stat", "-c", "%U", f"/proc/{pid}")
    check(user.strip() == "cress-relay", f"the relay runs as {user.strip()}")
    status = dict(line.split(":", 1) for line in system.inside("cat", f"/proc/{pid}/status").splitlines())
    for name, wanted in RESTRICTIONS.items():
        check(status[name].strip() == wanted, f"its process has {name} {status[name].strip()}")
    for folder in ("/usr", "/etc", "/home", "/root"):
        done = system.inside("nsenter", "--target", pid, "--mount", "--", "sh", "-c",
                             f"touch {folder}/new 2>/dev/null && echo written || echo refused")
        check(done.strip() == "refused", f"not even root could write in {folder} from there")
    exposure = system.inside("systemd-analyze", "security", "--no-pager", "cress-relay").strip().splitlines()[-1]
    print(f"        {exposure.lstrip('→ ')}")


def link_of_a_room(system):
    make = ("umask 077; cress-call room new kitchen --relay 127.0.0.1:4747 > /root/room.link && "
            "cress-call room access --link-file /root/room.link > /tmp/kitchen.access && "
            "chmod 644 /tmp/kitchen.access && cat /root/room.link")
    links = system.inside("sh", "-c", make, must=True).split()
    system.inside("runuser", "-u", "cress-relay", "--", "sh", "-c",
                  "cress-relay --config /etc/cress-relay/relay.toml room add < /tmp/kitchen.access", must=True)
    time.sleep(2)  # a running relay follows within a second
    return next(word for word in links if word.startswith("cress://"))


def samples_of_a_room(system, link):
    members = [system.start(*HEADLESS, "--name", name, link) for name in ("Ada", "Ben")]
    return [last_sample(finish(member, "a member")) for member in members]


def check_room(system):
    link = link_of_a_room(system)
    samples = twice(lambda one: samples_of_a_room(one, link), system)
    check(all(map(is_enough, samples)), "two members of a room see and hear each other through the relay: "
          + ", ".join(map(seen_and_heard, samples)))


def leftovers(system, installed):
    """What the packages or the relay put there and is there still."""
    named = run("find", system.root, "-xdev", "-iname", "*cress*").split()
    paths = {"/" + str(pathlib.Path(path).relative_to(system.root)) for path in named} | installed
    paths = {path for path in paths if not (path + "/").startswith(RECORDS)}
    return sorted(path for path in paths if os.path.lexists(str(system.root) + path))


def check_removal(system, owned):
    system.inside("apt-get", "remove", "-y", *PACKAGES, must=True)
    check(system.inside("pgrep", "cress-relay").strip() == "", "after removal no relay runs")
    left = leftovers(system, owned)
    unknown = [path for path in left if path not in KEPT]
    check(not unknown and set(KEPT) <= set(left),
          f"removal leaves {', '.join(left)}" + (f"; not expected: {unknown}" if unknown else ""))
    system.inside("dpkg", "--purge", *PACKAGES, must=True)
    left = leftovers(system, owned)
    check(not left, "purging leaves nothing" + (f" but {left}" if left else ""))
    check("cress-relay" not in system.inside("getent", "passwd"), "nor its user")


def owned_files(system):
    """Those of the three packages. Folders may be of others too; those that are not have our name."""
    lists = system.chroot("dpkg", "--listfiles", *PACKAGES).split("\n")
    return {path for path in lists if path.startswith("/") and not os.path.isdir(str(system.root) + path)}


def check_lintian(system):
    system.chroot("apt-get", "install", "-y", "--no-install-recommends", "lintian")
    lintian = "lintian --allow-root --fail-on error --tag-display-limit 0 /root/packages/*.deb"
    print(system.chroot("sh", "-c", lintian), end="")
    check(True, "lintian finds no error")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--packages", required=True, type=pathlib.Path, help="the folder of the three .deb files")
    options.add_argument("--base", type=pathlib.Path, help="keep the bare system here")
    options.add_argument("--mirror", default="http://deb.debian.org/debian")
    options.add_argument("--without-lintian", action="store_true")
    given = options.parse_args()
    if os.geteuid() != 0 or not all(map(shutil.which, ("debootstrap", "systemd-nspawn", "nsenter"))):
        print("bare_debian: skipped: needs root, debootstrap, systemd-nspawn and nsenter")
        sys.exit(SKIPPED)
    found = sorted(given.packages.glob("*.deb"))
    if len(found) != len(PACKAGES):
        sys.exit(f"bare_debian: {given.packages} holds {len(found)} packages, not {len(PACKAGES)}")
    with tempfile.TemporaryDirectory() as name:
        base = given.base or pathlib.Path(name) / "base"
        make_bare(base, given.mirror)
        root = pathlib.Path(name) / "root"
        run("cp", "-a", base, root)
        system = System(root)
        (root / "root/packages").mkdir()
        for package in found:
            shutil.copy(package, root / "root/packages")
        system.chroot("apt-get", "update")
        system.chroot("sh", "-c", "apt-get install -y --no-install-recommends /root/packages/*.deb procps")
        check(True, "the packages install with what they depend on")
        owned = owned_files(system)
        with system.booted():
            check_call(system)
            check_relay(system)
            check_room(system)
            check_removal(system, owned)
        if not given.without_lintian:
            check_lintian(system)


if __name__ == "__main__":
    main()
