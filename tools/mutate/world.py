"""The build with mutants: a copy of the tree in which each bug has a switch, and its test programs."""

import json
import os
import re
import shlex
import subprocess

RUNTIME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runtime")
LISTENER = "mutant_listener_test.cc"
SOURCES = (".cc", ".hh")
NOT_PRODUCTION = re.compile(r"_(test|fuzz|bench)\.cc$|_test_tools\.(hh|cc)$|_main\.cc$")


class BuildError(Exception):
    """The build of the copy failed; the text says where."""


class World:
    """`root`: the checkout. Everything is written below `root`/build/mutate."""

    def __init__(self, root, data):
        self.root = root
        self.source = os.path.join(root, "build/mutate/source")
        self.out = os.path.join(root, "build/mutate/out")
        self._data = data
        os.makedirs(self.out, exist_ok=True)

    def sync(self, folders, mutated):
        """Makes the copy equal to the tree, but for `mutated`: path -> text. Times of equal files stay."""
        listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=self.root,
                                check=True, capture_output=True).stdout.decode().split("\0")
        wanted = {path for path in listed if path and os.path.isfile(f"{self.root}/{path}")}
        for path in wanted:
            text = mutated.get(path)
            if text is None:
                with open(f"{self.root}/{path}", "rb") as file:
                    text = file.read()
            self.write(path, text, os.stat(f"{self.root}/{path}").st_mode)
        with open(f"{RUNTIME}/{LISTENER}", "rb") as file:
            listener = file.read()
        for folder in folders:
            self.write(f"{folder}/{LISTENER}", listener)
            wanted.add(f"{folder}/{LISTENER}")
        for folder, _, names in os.walk(self.source):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), self.source)
                if path not in wanted and not (name == LISTENER and os.path.dirname(path)):
                    os.remove(os.path.join(folder, name))

    def write(self, path, text, mode=0o644):
        """One file of the copy, if it is not what it should be already."""
        place = f"{self.source}/{path}"
        os.makedirs(os.path.dirname(place), exist_ok=True)
        try:
            with open(place, "rb") as file:
                if file.read() == text:
                    return
        except FileNotFoundError:
            pass
        with open(place, "wb") as file:
            file.write(text)
        os.chmod(place, mode)

    def configure(self):
        library = f"{self.out}/mutants.o"
        self._run(["c++", "-O1", "-c", f"{RUNTIME}/mutants.cc", "-o", library])
        # -w: a mutant may well be something that a compiler warns of. Assertions: an access outside of a container
        # fails each time, not only under the sanitizers of `./cress check`.
        self._run(["cmake", "-S", self.source, "-B", self.out, "-G", "Ninja",
                   "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                   "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1", f"-DCRESS_DATA={self._data}",
                   f"-DCMAKE_CXX_FLAGS=-include {RUNTIME}/mutants.hh -w -D_GLIBCXX_ASSERTIONS",
                   f"-DCMAKE_CXX_STANDARD_LIBRARIES={library}"])

    def build(self, targets):
        self._run(["ninja", "-C", self.out, "-k", "0", *targets])

    def production_files(self, folder):
        return sorted(f"{folder}/{name}" for name in os.listdir(f"{self.source}/{folder}")
                      if name.endswith(SOURCES) and not NOT_PRODUCTION.search(name))

    def pieces(self, folder):
        """(file, arguments) of what the compiler is given of this folder's library and programs."""
        with open(f"{self.out}/compile_commands.json", encoding="utf-8") as file:
            commands = json.load(file)
        found = []
        for entry in commands:
            place = os.path.relpath(entry["file"], self.source)
            built = os.path.relpath(entry["file"], self.out)
            is_piece = re.match(re.escape(folder) + r"/CMakeFiles/[^/]*\.dir/Unity/", built)
            is_file = os.path.dirname(place) == folder
            if not (is_piece or is_file) or "-test.dir/" in entry["command"] or \
                    "-bench.dir/" in entry["command"] or place.endswith("_fuzz.cc"):
                continue
            words = shlex.split(entry["command"])
            words = words[1 if words[0].endswith("++") else 2:]
            arguments = [word for i, word in enumerate(words)
                         if word not in ("-o", "-c") and words[i - 1] not in ("-o", "-c")]
            found.append((entry["file"], arguments))
        if not found:  # headers alone: they are read by the tests
            found = [(f"{self.source}/{path}", ["-std=c++20", "-x", "c++", f"-I{self.source}"])
                     for path in self.production_files(folder)]
        return found

    def _run(self, command):
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BuildError(f"{shlex.join(command)[:200]}\n{done.stdout[-200000:]}\n{done.stderr[-5000:]}")
