#!/usr/bin/python3
"""Man page and completions of a program, made from what its --help prints, so that they have one home: the code.

    from_help.py PROGRAM VERSION OUT

Writes OUT/NAME.1, OUT/NAME.bash, OUT/_NAME (zsh) and OUT/NAME.fish. Options and commands are read from the help text of
the program and of each of its commands; the layout is CLI11's: two columns, the second from column 30 on.
"""

import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass, field

COLUMN = 30
SECTIONS = ("Positionals:", "Options:", "Subcommands:")
PROGRAMS = ("cress-call", "cress-relay", "cress-tunnel", "cress-eval", "cress-trace")


@dataclass
class Entry:
    names: list
    value: str  # "" for a flag
    choices: list
    default: str
    about: str


@dataclass
class Command:
    words: list  # after the program
    about: str = ""
    sections: dict = field(default_factory=dict)  # heading -> entries
    footer: str = ""
    commands: list = field(default_factory=list)

    def entries(self, heading):
        return self.sections.get(heading, [])

    def options(self):
        return self.entries("Options:")

    def all_commands(self):
        return [self] + [below for command in self.commands for below in command.all_commands()]


def entry_of(left, about):
    """`-o,--output TEXT:{a,b}=a REQUIRED` and its description."""
    head, _, rest = left.partition(" ")
    choices = re.search(r"\{([^}]*)\}", rest)
    value = re.match(r"[A-Z][A-Z_:.]*", rest)
    default = re.search(r"=(\[[^\]]*\]|\S+)", rest)
    name = value[0].split(":")[0] if value and not rest.startswith(("REQUIRED", "Excludes", "Needs")) else ""
    return Entry(head.split(","), name, choices[1].split(",") if choices else [], default[1] if default else "", about)


def split_line(line):
    """The two columns of the first line of an entry."""
    short = len(line) > COLUMN and line[COLUMN - 1] == " " and line[:COLUMN].count("[") == line[:COLUMN].count("]")
    return (line[:COLUMN].strip(), line[COLUMN:].strip()) if short else (line.strip(), "")


def parse(words, text):
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Usage:"))
    command = Command(words, " ".join(lines[:start]).strip())
    heading, footer = "", []
    for line in lines[start + 1:]:
        if line in SECTIONS and not footer:
            heading = line
            command.sections[heading] = []
        elif footer or (line and not line.startswith(" ")):
            footer.append(line)
        elif line.startswith(" " * COLUMN):
            entry = command.sections[heading][-1]
            entry.about = (entry.about + " " + line.strip()).strip()
        elif line.startswith("  "):
            command.sections[heading].append(entry_of(*split_line(line)))
    command.footer = "\n".join(footer).strip()
    return command


def read(program, words=()):
    text = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True).stdout
    command = parse(list(words), text)
    command.commands = [read(program, [*words, entry.names[0]]) for entry in command.entries("Subcommands:")]
    return command


def roff(text):
    return re.sub(r"^([.'])", r"\\&\1", text.replace("\\", "\\e").replace("-", "\\-"), flags=re.MULTILINE)


def man_entries(entries):
    out = ""
    for entry in entries:
        value = f" \\fI{roff(entry.value)}\\fR" if entry.value and entry.names[0].startswith("-") else ""
        extra = f" ({roff(entry.default)})" if entry.default else ""
        choices = f"; one of {roff(', '.join(entry.choices))}" if entry.choices else ""
        names = ", ".join(f"\\fB{roff(name)}\\fR" for name in entry.names)
        out += f".TP\n{names}{value}\n{roff(entry.about) or 'None.'}{choices}{extra}\n"
    return out


def verbatim(text):
    return f".PP\n.nf\n{roff(text)}\n.fi\n" if text else ""


def man(name, version, top):
    about = top.about.rstrip(".")
    positionals = "".join(f" [\\fI{roff(entry.names[0])}\\fR]" for entry in top.entries("Positionals:"))
    commands = " \\fICOMMAND\\fR" if top.commands else ""
    out = f'.TH {name.upper()} 1 "" "cress {version}" "User Commands"\n'
    out += f".SH NAME\n{roff(name)} \\- {roff(about[0].lower() + about[1:])}\n"
    out += f".SH SYNOPSIS\n.B {roff(name)}\n[\\fIOPTIONS\\fR]{commands}{positionals}\n"
    out += f".SH DESCRIPTION\n{roff(top.about)}\n"
    if top.entries("Positionals:"):
        out += ".SH ARGUMENTS\n" + man_entries(top.entries("Positionals:"))
    out += ".SH OPTIONS\n" + man_entries(top.options())
    below = top.all_commands()[1:]
    if below:
        out += ".SH COMMANDS\n"
    for command in below:
        out += f".SS {roff(' '.join(command.words))}\n{roff(command.about)}\n"
        out += man_entries(command.entries("Positionals:") + command.options()[1:])
        out += verbatim("" if command.footer == top.footer else command.footer)
    out += ".SH NOTES\n" + verbatim(top.footer)
    out += ".SH EXIT STATUS\n0: done. 2: wrong arguments or files; one line on standard error says what.\n"
    out += "Other codes are in the user guide.\n"
    others = [f"\\fB{roff(other)}\\fR(1)" for other in PROGRAMS if other != name]
    return out + ".SH SEE ALSO\n" + ",\n".join(others) + "\n"


def path_of(command):
    return "/".join(["", *command.words])


def bash(name, top):
    function = "_" + name.replace("-", "_")
    steps = "".join(f"      {path_of(command)}) path={path_of(command)} ;;\n" for command in top.all_commands()[1:])
    choices = offers = ""
    for command in top.all_commands():
        words = [below.words[-1] for below in command.commands]
        for option in command.options():
            words += option.names
            for one in option.names if option.choices else []:
                choices += f"    '{path_of(command)} {one}') words='{' '.join(option.choices)}' ;;\n"
        offers += f"      {path_of(command) or repr('')}) words='{' '.join(words)}' ;;\n"
    return f"""# bash completion of {name}; made from its --help.
{function}() {{
  local path= word words=
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$path/$word" in
{steps}      *) ;;
    esac
  done
  case "$path ${{COMP_WORDS[COMP_CWORD-1]}}" in
{choices}    *) ;;
  esac
  if [[ -z $words ]]; then
    case "$path" in
{offers}      *) ;;
    esac
  fi
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}")
}}
complete -o default -F {function} {name}
"""


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh(name, top):
    steps = "".join(f"      {path_of(command)}) at={path_of(command)} ;;\n" for command in top.all_commands()[1:])
    cases = choices = ""
    for command in top.all_commands():
        commands = " ".join(quoted(f"{below.words[-1]}:{below.about.replace(':', ' ')}") for below in command.commands)
        options = " ".join(quoted(f"{one}:{option.about.replace(':', ' ')}") for option in command.options()
                           for one in option.names)
        cases += f"    {path_of(command) or quoted('')}) commands=({commands}); options=({options}) ;;\n"
        for option in command.options():
            for one in option.names if option.choices else []:
                choices += f"    '{path_of(command)} {one}') compadd {' '.join(option.choices)}; return ;;\n"
    function = "_" + name.replace("-", "_")
    return f"""#compdef {name}
# zsh completion of {name}; made from its --help.
{function}() {{
  local at= word
  local -a commands options
  for word in ${{words[2,CURRENT-1]}}; do
    case "$at/$word" in
{steps}      *) ;;
    esac
  done
  case "$at ${{words[CURRENT-1]}}" in
{choices}    *) ;;
  esac
  case "$at" in
{cases}  esac
  (( $#commands )) && _describe command commands
  if [[ ${{words[CURRENT]}} == -* ]]; then
    _describe -o option options
  else
    _files
  fi
}}
{function} "$@"
"""


def fish(name, top):
    out = f"# fish completion of {name}; made from its --help.\n"
    for command in top.all_commands():
        if command.words:
            seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in command.words)
        else:
            seen = "true"
        for below in command.commands:
            rest = " ".join(other.words[-1] for other in command.commands)
            when = f"{seen}; and not __fish_seen_subcommand_from {rest}"
            out += f"complete -c {name} -n {quoted(when)} -f -a {below.words[-1]} -d {quoted(below.about)}\n"
        for option in command.options():
            names = "".join(f" -l {one[2:]}" if one.startswith("--") else f" -s {one[1:]}" for one in option.names)
            value = f" -x -a {quoted(' '.join(option.choices))}" if option.choices else " -r" if option.value else ""
            out += f"complete -c {name} -n {quoted(seen)}{names}{value} -d {quoted(option.about)}\n"
    return out


def main():
    program, version, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    name = pathlib.Path(program).name
    top = read(program)
    if not top.options() or not top.about:
        sys.exit(f"from_help: {name} --help has another layout than CLI11's")
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in ((f"{name}.1", man(name, version, top)), (f"{name}.bash", bash(name, top)),
                       (f"_{name}", zsh(name, top)), (f"{name}.fish", fish(name, top))):
        (folder / file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
