#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What every tool does alike: --help, -h, --version, messages about wrong usage, lost output, colours."""
import os
import pathlib
import pty
import re
import subprocess
import sys

TOOLS = sys.argv[1:]
failures = 0
count = 0


def check(name, condition, seen):
    global failures, count
    count += 1
    failures += not condition
    if not condition:
        print(f"{name}: FAILED, saw {seen!r}", flush=True)


def run(*command, **more):
    more = {"stdout": subprocess.PIPE, **more}
    p = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=250, check=False, **more)
    return p.returncode, p.stdout, p.stderr


def options_of(text):
    """(names, value) of each option in the help."""
    found = []
    for line in text.splitlines():
        match = re.match(r"  ((?:-[\w-]+, )*-[\w-]+)(\[=[^\]]+\]| \S[^ ]*)?(?:$| )", line)
        if match:
            found.append((match[1].split(", "), (match[2] or "").strip()))
    return found


def help_and_version(tool, name):
    code, out, err = run(tool, "--help")
    check(f"{name} --help", code == 0 and not err and out.startswith(f"{name} "), (code, out[:80], err))
    for section in "Usage: ", "\nExit status:\n  0 ", "  -h, --help", "  --version":
        check(f"{name} --help has {section!r}", section in out, out)
    check(f"{name} -h", run(tool, "-h") == (0, out, ""), "")
    check(f"{name} --help: lines fit a terminal", all(len(line) <= 88 for line in out.splitlines()),
          [line for line in out.splitlines() if len(line) > 88])
    check(f"{name} --help: exit codes have texts", re.search(r"\n  2 +\S", out), out)
    code, version, err = run(tool, "--version")
    check(f"{name} --version", code == 0 and re.fullmatch(rf"{name} \(OpenNDK\) \d+\.\d+\.\d+\n", version) and not err,
          (code, version, err))
    return options_of(out)


def wrong_usage(tool, name, options):
    def wrong(words, *given):
        code, out, err = run(tool, *given)
        check(f"{name} {given}", code == 2 and not out and err.startswith(f"{name}: ") and
              err.endswith(f"Try '{name} --help'.\n") and all(word in err for word in words), (code, out, err))

    wrong(["--no-such-option-at-all", "unknown option"], "--no-such-option-at-all")
    longs = [n for names, _ in options for n in names if n.startswith("--")]
    misspelt = "--versoin"
    wrong([misspelt, "unknown option; the nearest one is --version"], misspelt)
    check(f"{name}: options", len(longs) >= 5, options)
    for names, value in options:
        if value and not value.startswith("["):
            wrong([names[-1], "the value is missing"], names[-1])
        for word in value.split("|") if "|" in value and value == value.lower() and "," not in value else ():
            check(f"{name} {names[-1]}: words", re.fullmatch(r"[\w.-]+", word), value)
        if "|" in value and value == value.lower():
            wrong([names[-1], "'no-such-word' is not a value for this option", "is expected"], names[-1],
                  "no-such-word")


def lost_output(tool, name):
    with open("/dev/full", "w", encoding="ascii") as full:
        for option in "--help", "--version":
            code, _, err = run(tool, option, stdout=full)
            check(f"{name} {option} on a full disk", code == 6 and "No space left on device" in err, (code, err))
    reader, writer = os.pipe()
    os.close(reader)
    code, _, err = run(tool, "--help", stdout=writer)
    os.close(writer)
    check(f"{name} --help to a closed pipe", code == 6 and "Broken pipe" in err, (code, err))


def on_terminal(*command, **env):
    """What a program writes to a terminal."""
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", **env}
    environment.pop("NO_COLOR", None) if "NO_COLOR" not in env else None
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=child, stderr=child, env=environment) as p:
        os.close(child)
        text = b""
        try:
            while more := os.read(parent, 4096):
                text += more
        except OSError:  # the terminal's last user has ended
            pass
        p.wait(60)
    os.close(parent)
    return text.decode()


def colours(ndkping):
    failing = [ndkping, "-C", "-ServerAddr", "127.0.0.1:1"]
    text = on_terminal(*failing)
    check("a failure is red on a terminal", "\x1b[31mNdkConnect failed" in text and "\x1b[0m" in text, text)
    for env in {"NO_COLOR": "1"}, {"TERM": "dumb"}:
        text = on_terminal(*failing, **env)
        check(f"no colours with {env}", "NdkConnect failed" in text and "\x1b" not in text, text)
    check("no colours in a pipe", "\x1b" not in run(*failing)[1], "")


def main():
    os.environ.pop("ONDK_PROFILE", None)
    for tool in TOOLS:
        name = pathlib.Path(tool).name
        options = help_and_version(tool, name)
        wrong_usage(tool, name, options)
        lost_output(tool, name)
        if name == "ndkping":
            colours(tool)
    print(f"{count - failures} passed, {failures} failed")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
