#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the code blocks of a document: runs those that can be run, and compares what they print.

    blocks.py SOURCE BUILD DOCUMENT             for example blocks.py . build/release README.md
    blocks.py --update SOURCE BUILD DOCUMENT    replaces what differs in the document; read the difference afterwards

The info string of a fence has the language, then a mark, then options:

    console run [background] [ctrl-c] [exit=N] [numbers]
        Lines that begin with "$ " are commands, lines that begin with "> " continue one. The lines below a command are
        its output, of stdout and stderr. A line "..." stands for any lines, "..." at a line's end for its rest. All
        blocks of a document run in one shell, in one directory that is removed afterwards, and in one network
        namespace; OpenNDK is installed there. exit=N or any: the last command's exit status. background: in a shell of
        its own, beside the blocks after it. It must have ended at the next heading. With ctrl-c it gets a Ctrl-C there,
        once it has printed what the block shows. numbers: numbers are not compared, only their places.
    c compile [file=NAME]                 a whole C program; with file, run blocks find it under that name
    cmake compile                         a project for the C files that the document's commands have used so far
    LANGUAGE compile from=FILE[:NAME,...] the text of a file of the tree that the build or another test compiles, or of
                                          some of its functions with the comments above them
    LANGUAGE text=REASON [file=NAME]      neither; REASON is one of REASONS below

A comment <!-- setup: COMMAND --> is run before the blocks below it, without comparing anything.
"""
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

REASONS = {
    "picture": "a drawing or a format, not code",
    "changes-machine": "installs on the machine or needs its package manager; tests/install and check --full do it",
    "two-machines": "needs a Linux machine with siw or an iWARP card; tests/interop does it in a virtual machine",
    "minutes": "takes minutes: it is ./check itself, a benchmark, or a complete build",
    "placeholder": "names folders or programs of the reader",
    "other-system": "needs a network, a container engine or rights that a test does not have",
}
COMMAND_SECONDS = 250 # after which a command counts as hanging
FUNCTION = r"(?:^/\*(?:(?!\*/).)*\*/\n)?^[^\n(]*\b{}\([^;{{]*\)\n\{{\n.*?^\}}\n"


class Block:
    def __init__(self, line, section, info, text):
        self.line, self.section, self.text, self.update = line, section, text, ""
        words = info.split()
        self.language = words[0] if words else ""
        self.mark = words[1] if len(words) > 1 else ""
        self.options = dict(word.partition("=")[::2] for word in words[2:])
        self.setup = []


def parse(path):
    """Returns the blocks of a document, and the faults of its form."""
    blocks, faults, setup, section, fence = [], [], [], 0, None
    previous_blank = True
    in_list = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if fence is not None:
            if line.strip() == "```":
                block = Block(fence[0], section, fence[1], "".join(text + "\n" for text in fence[2]))
                block.setup, setup, fence = setup, [], None
                blocks.append(block)
            else:
                fence[2].append(line)
        elif line.startswith("```"):
            fence = (number, line[3:], [])
        elif line.startswith("#"):
            section += 1
        elif match := re.fullmatch(r"<!-- setup: (.*) -->", line):
            setup.append(match.group(1))
        elif line.startswith("    ") and previous_blank and not in_list:
            faults.append(f"{path.name}:{number}: an indented block has no mark; use a fence")
        if line.strip():
            in_list = bool(re.match(r"[-*] |\d+\. ", line)) or in_list and line.startswith(" ")
        previous_blank = not line.strip()
    if fence is not None:
        faults.append(f"{path.name}:{fence[0]}: the block has no end")
    return blocks, faults


def mask(text, numbers, directory):
    """Replaces what differs from run to run, so that two outputs can be compared."""
    text = text.replace(directory, "~")
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
    table_of_processes = re.search(r"\bPID\s*$", text, re.M)
    for pattern, replacement in (
        (r"^\d{4}-\d\d-\d\dT[\d:.]+Z openndk\[\d+/\d+\]", "TIME openndk[PID/THREAD]"), # the library's log
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "DATE TIME"),
        (r"\d{4}-\d\d-\d\d", "DATE"),
        (r"\b\d\d:\d\d:\d\d(\.\d+)?\b", "TIME"),
        (r"\b\d[\d.,]* ?(?:[kKMG]i?)?(?:B|bit|messages|frames)?/s(?:ec)?\b", "RATE"),
        (r"\b\d[\d.,/]* ?(ns|us|µs|ms|s|sec|seconds?|minutes?|min)\b", "TIME"),
        (r"\b((?:process|pid|PID|thread)[ =:]+)\d+", r"\1PID"),
        (r"([\d\]*]):(49(?=[2-9]|1[6-9]|15[2-9])\d{3}|[56]\d{4})\b", r"\1:PORT"), # 49152 to 65535
        (r"\b0x[0-9a-fA-F]{9,}\b", "POINTER"),
        (r"\+0x[0-9a-f]+\)", "+OFFSET)"),
        (r"==\d+==", "==PID=="),
        (r"(\[TIME) \d+( IRQL|\])", r"\1 PID\2"),
        (r"^bash: line \d+: +\d+ (\w+).*", r"\1"), # what an interactive shell prints of a process that was killed
    ):
        text = re.sub(pattern, replacement, text, flags=re.I | re.M)
    if table_of_processes:
        text = re.sub(r"\b\d+$", "PID", text, flags=re.M)
    if numbers:
        text = re.sub(r"-?\b\d[\d.,]*(e[+-]?\d+)?\b", "N", text)
    return [re.sub(r"\s+", " ", line).strip() for line in text.splitlines() if line.strip()]


def same(expected, actual):
    """Compares lines. "..." among the expected ones stands for any lines, at a line's end for its rest."""
    at = {0} # how many of the actual lines may belong to the expected ones so far
    for line in expected:
        if line == "...":
            at = set(range(min(at), len(actual) + 1)) if at else at
        else:
            start = line[:-3].rstrip() if line.endswith("...") else None
            at = {i + 1 for i in at if i < len(actual) and
                  (actual[i] == line or start is not None and actual[i].startswith(start))}
    return len(actual) in at


def commands(text):
    """Splits a session into pairs of a command and its output."""
    pairs = []
    for line in text.splitlines():
        if line.startswith("$ "):
            pairs.append([line[2:], []])
        elif line.startswith("> ") and pairs and not pairs[-1][1]:
            pairs[-1][0] += "\n" + line[2:]
        elif pairs:
            pairs[-1][1].append(line)
        else:
            raise ValueError("the block begins with output")
    return [(command, "\n".join(output)) for command, output in pairs]


class Shell:
    """A bash that runs one command after the other."""

    def __init__(self, directory, environment):
        self.process = subprocess.Popen(["bash", "--noprofile", "--norc"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=directory,
                                        env=environment, start_new_session=True)
        self.count, self.received = 0, ""

    def start(self, command):
        self.count += 1
        self.received = ""
        # A command that was not ended by Ctrl-C leaves the shell alive, as at a terminal.
        self.process.stdin.write(f"trap : INT\n{command}\necho \"@@{self.count} $?@@\"\n".encode())
        self.process.stdin.flush()

    def read(self, is_enough=lambda received: False):
        """
        Reads output until the command has ended, or it is enough. Returns the exit status, or None before the end.
        """
        end = time.monotonic() + COMMAND_SECONDS
        while True:
            match = re.search(rf"@@{self.count} (\d+)@@\n", self.received)
            if match:
                self.received = self.received[:match.start()]
                return int(match.group(1))
            left = end - time.monotonic()
            if is_enough(self.received) or left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return None
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                raise RuntimeError("the shell has ended")
            self.received += data.decode(errors="replace")

    def interrupt(self):
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


class Document:
    def __init__(self, source, build, name):
        self.source, self.name = source, name
        self.faults = []
        self.temporary = tempfile.TemporaryDirectory(prefix="blocks.")
        self.directory = self.temporary.name
        self.background = []
        prefix = pathlib.Path(self.directory, ".local")
        subprocess.run(["cmake", "--install", str(build), "--prefix", str(prefix)], check=True,
                       stdout=subprocess.DEVNULL)
        pkgconfig = next(prefix.rglob("openndk.pc")).parent
        self.environment = {
            "PATH": f"{prefix}/bin:{os.environ['PATH']}", "PKG_CONFIG_PATH": str(pkgconfig),
            "LD_LIBRARY_PATH": str(pkgconfig.parent), "HOME": self.directory, "TMPDIR": self.directory,
            "SOURCE": str(source), "BUILD": str(build.resolve()), "LC_ALL": "C.UTF-8", "TERM": "dumb", "COLUMNS": "120",
        }
        self.shell = Shell(self.directory, self.environment)

    def fault(self, block, text):
        self.faults.append(f"{self.name}:{block.line}: {text}")

    def masked(self, block, text):
        return mask(text, "numbers" in block.options, self.directory)

    def shows(self, block, lines, actual):
        return same(self.masked(block, "\n".join(lines)), self.masked(block, actual))

    def compare(self, block, command, expected, actual):
        wanted, found = self.masked(block, expected), self.masked(block, actual)
        is_same = same(wanted, found)
        output = expected.strip("\n") if is_same else actual.replace(self.directory, "~").strip("\n")
        block.update += "$ " + command.replace("\n", "\n> ") + "\n" + (output + "\n" if output else "")
        if not is_same:
            self.fault(block, f"$ {command}\n  the document shows:\n    " + "\n    ".join(wanted or ["nothing"]) +
                       "\n  it printed:\n    " + "\n    ".join(found or ["nothing"]))

    def check_status(self, block, command, status, is_last):
        wanted = block.options.get("exit", "0") if is_last else "0"
        if status is None:
            self.fault(block, f"$ {command}\n  has not ended")
        elif wanted not in (str(status), "any"):
            self.fault(block, f"$ {command}\n  its exit status is {status}, not {wanted}")

    def run(self, block):
        pairs = commands(block.text)
        for index, (command, expected) in enumerate(pairs):
            self.shell.start(command)
            status = self.shell.read()
            self.check_status(block, command, status, index == len(pairs) - 1)
            self.compare(block, command, expected, self.shell.received)
            if status is None:
                raise RuntimeError("a command has not ended")

    def run_background(self, block):
        """Starts the block's only command, and waits until it has printed the first line of its output."""
        pairs = commands(block.text)
        if len(pairs) != 1:
            raise ValueError("a background block has one command")
        command, expected = pairs[0]
        shell = Shell(self.directory, self.environment)
        shell.start(command)
        status = shell.read(lambda received: self.shows(block, expected.splitlines()[:1] + ["..."], received))
        self.background.append((block, command, expected, shell, status))

    def end_background(self):
        for block, command, expected, shell, status in self.background:
            if status is None and "ctrl-c" in block.options:
                status = shell.read(lambda received: self.shows(block, expected.splitlines(), received))
                shell.interrupt()
            if status is None:
                status = shell.read()
            self.check_status(block, command, status, True)
            self.compare(block, command, expected, shell.received)
            shell.end()
        self.background = []

    def from_tree(self, block):
        name, _, functions = block.options["from"].partition(":")
        text = (self.source / name).read_text()
        if functions:
            parts = [FUNCTION.format(re.escape(function)) for function in functions.split(",")]
            found = [re.search(part, text, re.M | re.S) for part in parts]
            if not all(found):
                return self.fault(block, f"{name} has not all of {functions}")
            text = "\n".join(match.group(0) for match in found)
        block.update = text
        if block.text != text:
            self.fault(block, f"the block differs from {block.options['from']}")

    def compile_cmake(self, block):
        """Builds the project in a directory of its own, with the C files that the document has used so far."""
        project = pathlib.Path(self.directory, f"cmake{block.line}")
        project.mkdir()
        for path in pathlib.Path(self.directory).glob("*.c"):
            (project / path.name).write_text(path.read_text())
        head = "cmake_minimum_required(VERSION 3.22)\nproject(reader C)\n"
        (project / "CMakeLists.txt").write_text(head + block.text)
        for command in (["cmake", "-S", ".", "-B", "build", "-G", "Ninja"], ["cmake", "--build", "build"]):
            environment = {**self.environment, "CMAKE_PREFIX_PATH": f"{self.directory}/.local"}
            result = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
            if result.returncode:
                return self.fault(block, f"does not build:\n{result.stdout}{result.stderr}")

    def compile(self, block):
        path = pathlib.Path(self.directory, block.options.get("file", "block.c"))
        path.write_text(block.text)
        result = subprocess.run(["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                                 f"-I{self.source}/include", str(path)], capture_output=True, text=True)
        if result.returncode:
            self.fault(block, f"does not compile:\n{result.stderr}")

    def check(self, block):
        for command in block.setup:
            self.shell.start(command)
            if self.shell.read() != 0:
                self.fault(block, f"setup failed: {command}\n{self.shell.received}")
        kind, _, reason = block.mark.partition("=")
        if kind == "run" and "background" in block.options:
            self.run_background(block)
        elif kind == "run":
            self.run(block)
        elif kind == "compile" and "from" in block.options:
            self.from_tree(block)
        elif kind == "compile" and block.language == "cmake":
            self.compile_cmake(block)
        elif kind == "compile":
            self.compile(block)
        elif kind == "text" and reason in REASONS:
            if "file" in block.options:
                pathlib.Path(self.directory, block.options["file"]).write_text(block.text)
        elif kind == "text":
            self.fault(block, f'text needs a reason: {", ".join(REASONS)}')
        else:
            self.fault(block, f'the block is marked neither run nor compile nor text: "{block.mark}"')

    def check_all(self, blocks):
        section = 0
        try:
            for block in blocks:
                if block.section != section:
                    self.end_background()
                section = block.section
                self.check(block)
            self.end_background()
        except (RuntimeError, ValueError) as error:
            self.fault(block, str(error))
        finally:
            for _, _, _, shell, _ in self.background:
                shell.end()
            self.shell.end()
            self.temporary.cleanup()


def main():
    if os.geteuid() != 0: # documents create network interfaces and packet filters
        os.execvp("unshare", ["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *sys.argv])
    arguments = sys.argv[1:]
    update = arguments[:1] == ["--update"]
    source, build, name = arguments[update:]
    source, build = pathlib.Path(source).resolve(), pathlib.Path(build).resolve()
    blocks, faults = parse(source / name)
    document = Document(source, build, name)
    document.check_all(blocks)
    if update:
        lines = (source / name).read_text().splitlines(keepends=True)
        for block in reversed(blocks):
            if block.update and block.update != block.text:
                lines[block.line:block.line + block.text.count("\n")] = [block.update]
        (source / name).write_text("".join(lines))
    faults += document.faults
    marks = [block.mark.partition("=")[0] for block in blocks]
    print("\n".join(faults) or f"{name}: {marks.count('run')} blocks run, {marks.count('compile')} compiled, "
          f"{marks.count('text')} text")
    sys.exit(bool(faults))


main()
