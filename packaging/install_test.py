#!/usr/bin/python3
"""Installs the libraries of a build into a temporary folder, builds the program in packaging/example against them, by
CMake and by pkg-config, and runs it: one call in the simulator, one over loopback. Run by ctest as `install`.

    install_test.py --build DIR [--cmake CMAKE] [--compiler CXX]
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"install_test: `{' '.join(map(str, words))}` exits with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check_helpers(programs, folder):
    """Man pages and completions can be made of every program's --help, and complete what they should."""
    for program in ("cress-call", "cress-relay", "cress-tunnel", "cress-eval", "cress-trace"):
        run("/usr/bin/python3", HERE / "from_help.py", programs / program, "0", folder)
        run("bash", "-n", folder / f"{program}.bash")
        page = (folder / f"{program}.1").read_text()
        if ".SH NAME" not in page or "\\-\\-version" not in page:
            sys.exit(f"install_test: the man page of {program} lacks its name or options")
    for name, words, wanted in (("cress-relay", ["cress-relay", "room", "cr"], "create"),
                                ("cress-relay", ["cress-relay", "room", "create", "--mem"], "--members"),
                                ("cress-trace", ["cress-trace", "generate", "--direction", ""], "down up")):
        line = " ".join(f"'{word}'" for word in words)
        found = run("bash", "-c", f"source {folder}/{name}.bash; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
                    f"_{name.replace('-', '_')}; echo \"${{COMPREPLY[*]}}\"").strip()
        if found != wanted:
            sys.exit(f"install_test: {line} completes to \"{found}\", not \"{wanted}\"")


def check_hardening(program):
    """The program is built so that a bug in what reads peers' data ends it instead of corrupting it."""
    headers = run("readelf", "--wide", "--dynamic", "--program-headers", program)
    symbols = run("nm", "--dynamic", program)
    for wanted, where, what in (("DYN (Position-Independent", headers, "a position-independent program"),
                                ("GNU_RELRO", headers, "read-only relocations"),
                                ("NOW", headers, "relocations at the start"),
                                ("__stack_chk_fail", symbols, "stack protection"),
                                ("__glibcxx_assert_fail", symbols, "the standard library's assertions"),
                                ("_chk@", symbols, "checked functions of the C library")):
        if wanted not in where:
            sys.exit(f"install_test: {program} lacks {what} ({wanted})")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", required=True, help="the build folder, in which cress-libraries is built")
    options.add_argument("--cmake", default="cmake")
    options.add_argument("--compiler", default="c++")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prefix = folder / "prefix"
        check_helpers(pathlib.Path(given.build) / "bin", folder / "made")
        for program in ("cress-call", "cress-relay", "cress-tunnel"):
            check_hardening(pathlib.Path(given.build) / "bin" / program)
        run(given.cmake, "--install", given.build, "--prefix", prefix, "--component", "dev")
        run(given.cmake, "-S", HERE / "example", "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_CXX_COMPILER={given.compiler}")
        run(given.cmake, "--build", folder / "build")
        print(run(folder / "build/two-calls"), end="")
        # The same libraries by pkg-config: a program of the transport alone, which needs no GStreamer.
        small = folder / "small.cc"
        small.write_text("#include <cress/session.hh>\nint main() { return cress::runtime::own_host({}).empty(); }\n")
        environment = {**os.environ, "PKG_CONFIG_PATH": str(next(prefix.rglob("pkgconfig")))}
        flags = run("pkg-config", "--cflags", "--libs", "cress-session", env=environment).split()
        run(given.compiler, small, "-o", folder / "small", *flags)
        run(folder / "small")
        # And as a folder of another project: that its libraries can be linked shows when it is configured.
        (folder / "as-folder").mkdir()
        (folder / "as-folder/CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.25)\nproject(other LANGUAGES CXX)\n"
            f"add_subdirectory({HERE.parent} cress EXCLUDE_FROM_ALL)\n"
            f"add_executable(two-calls {HERE}/example/main.cc)\n"
            f"target_link_libraries(two-calls PRIVATE cress::call cress::simulator)\n")
        run(given.cmake, "-S", folder / "as-folder", "-B", folder / "as-folder/build", "-G", "Ninja",
            f"-DCMAKE_CXX_COMPILER={given.compiler}")
        for component in ("transport", "media", "call", "simulator"):
            run("pkg-config", "--exists", "--print-errors", f"cress-{component}", env=environment)


if __name__ == "__main__":
    main()
