#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The shells complete every option of each tool, and the values of some.

usage: completions_test.py DIR TOOL...       DIR has bash/TOOL and zsh/_TOOL of some of the tools
"""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import time

DIRECTORY = pathlib.Path(sys.argv[1]).resolve()
TOOLS = {pathlib.Path(path).name: path for path in sys.argv[2:]}
failures = 0
count = 0


def check(name, condition, seen):
    global failures, count
    count += 1
    failures += not condition
    if not condition:
        print(f"{name}: FAILED, saw {seen!r}", flush=True)


def complete(*words):
    """What bash offers for the last word. Words are split as readline does it: = and : are words."""
    tool = words[0]
    script = f'''
        . "{DIRECTORY}/bash/{tool}"
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        function=$(complete -p {tool} | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
        $function && printf '%s\\n' "${{COMPREPLY[@]}}"'''
    p = subprocess.run(["bash", "--norc", "-c", script, "bash", *words], capture_output=True, text=True, timeout=250,
                       check=False)
    check(f"bash: {words}: no message", not p.stderr, p.stderr)
    return sorted(filter(None, p.stdout.splitlines()))


def expect(name, wanted, *words):
    offered = complete(*words)
    check(f"bash: {name}", offered == wanted, offered)


def options_of(path):
    text = subprocess.run([path, "--help"], capture_output=True, text=True, check=True).stdout
    return sorted({name for line in text.splitlines() if line.startswith("  -")
                   for name in re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", line.strip().split("  ")[0].split(" '")[0])})


def bash():
    for name, path in TOOLS.items():
        expected = options_of(path)
        offered = complete(name, "-")
        check(f"bash: all options of {name}", offered == expected and len(expected) > 5, set(offered) ^ set(expected))
    if "ndkping" in TOOLS:
        expect("words of a value", ["off", "on"], "ndkping", "--crc", "")
        expect("a value after =", ["off", "on"], "ndkping", "--crc", "=")
        expect("a part of a value after =", ["off"], "ndkping", "--crc", "=", "of")
        expect("a prefix", ["--profile", "--provider"], "ndkping", "--pro")
        expect("a switch in another case", ["-ServerAddr"], "ndkping", "-servera")
        expect("-S is not -s", ["-S", "-ServerAddr", "-ServerIf"], "ndkping", "-S")
        expect("a number has no words", [], "ndkping", "--count", "")
        expect("a file", [f"{DIRECTORY}/bash"], "ndkping", "--log-file", f"{DIRECTORY}/ba")
        offered = complete("ndkping", "-ServerIf", "")
        check("bash: an interface", "lo" in offered, offered)
    if "ndkinfo" in TOOLS:
        offered = complete("ndkinfo", "")
        check("bash: the argument of ndkinfo", "lo" in offered, offered)
    if "ndkstat" in TOOLS:
        check("bash: a process", str(os.getpid()) in complete("ndkstat", "--pid", ""), "")
    if "ndkperf" in TOOLS:
        expect("the words of ndkperf", ["client"], "ndkperf", "cl")


class Zsh:
    """An interactive zsh with the completions."""

    def __init__(self):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="dumb", COLUMNS="200", PS1="", ZDOTDIR="/nonexistent")
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.type(f"unsetopt zle_bracketed_paste; PS1=; LISTMAX=1000; fpath=({DIRECTORY}/zsh $fpath); "
                  "autoload -U compinit; compinit -u -D; echo re''ady\n", "ready")

    def type(self, text, until, seconds=40):
        """Types the text. Returns what zsh prints, up to `until`, or in `seconds`."""
        os.write(self.terminal, text.encode())
        seen, end = "", time.monotonic() + seconds
        while until not in seen and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.2)[0]:
                seen += os.read(self.terminal, 65536).decode(errors="replace")
        return seen

    def complete(self, line, until):
        seen = self.type(line + "\t", until)
        self.type("\x15", "\0", 0.3)  # clears the line
        return seen

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


def zsh():
    if not shutil.which("zsh"):
        print("zsh is missing: its completions are not tested")
        return
    for name in TOOLS:
        p = subprocess.run(["zsh", "-fn", DIRECTORY / "zsh" / f"_{name}"], capture_output=True, text=True, check=False)
        check(f"zsh: {name}: syntax", not p.returncode and not p.stderr, p.stderr)
    shell = Zsh()
    if "ndkping" in TOOLS:
        for line, wanted in (("ndkping --prof", "--profile="), ("ndkping -ServerA", "-ServerAddr"),
                             ("ndkping --profile mini", "minimal"), ("ndkping --cr", "--crc=")):
            seen = shell.complete(line, wanted)
            check(f"zsh: {line}", wanted in seen, seen)
    if "ndkperf" in TOOLS:
        seen = shell.complete("ndkperf cli", "client")
        check("zsh: the words of ndkperf", "client" in seen, seen)
    shell.close()


def main():
    bash()
    zsh()
    print(f"{count - failures} passed, {failures} failed")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
