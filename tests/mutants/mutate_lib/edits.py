# SPDX-License-Identifier: MIT
"""Lists of seeded bugs, and where their edits are in the source.

A list holds bugs, one after the other; `#` begins a comment line:

    bug con_13_any_address
    rule CON-13
    tests con_13_
    edit src/fabric/iwarp/active.c active_connect expression
    - owned != FABRIC_OK
    + false

`tests` is a filter for ndkconform, or, behind `ctest:`, a regular expression for ctest. A bug may break several rules
and have several tests for each, all of which must fail. An edit names a file, a function in it, and `expression` or
`statement`. If the text occurs more than once in that function, the index of the occurrence follows, from 1 on. `-`
lines are the source as it is, `+` lines what the bug makes of it. White space and comments do not count. A statement's
`+` may be missing: the bug leaves the statement out.
"""
import difflib
import re
from dataclasses import dataclass, field

from .ctokens import SourceError, find, functions, texts, tokenize
from .syntax import wrong_expression, wrong_statement


class EditError(Exception):
    """What is wrong with a list or an edit, for the author of the list."""


@dataclass
class Edit:
    where: str  # list and line, for messages
    path: str
    function: str
    kind: str
    index: int
    before: str = ""
    after: str = ""


@dataclass
class Bug:
    name: str
    where: str
    rule: str = ""  # the one that the next tests line belongs to
    tests: list = field(default_factory=list)  # (rule, tests)
    edits: list = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """An edit's range in its file: characters, and the bug that it belongs to."""
    start: int
    end: int
    kind: str
    bug: str
    after: str


def parse_edit(words, where):
    index = words[4] if len(words) == 5 else "0"
    if len(words) not in (4, 5) or words[3] not in ("expression", "statement") or not index.isdigit():
        raise EditError(f"{where}: expected `edit FILE FUNCTION expression|statement [INDEX]`")
    return Edit(where, words[1], words[2], words[3], int(index))


def parse_list(path, name=None):
    """The bugs of one list, in its order."""
    bugs = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{name or path.name}:{number}"
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "bug" and len(words) == 2:
            bugs.append(Bug(words[1], where))
        elif not bugs:
            raise EditError(f"{where}: expected `bug NAME`")
        elif words[0] == "rule" and len(words) == 2:
            bugs[-1].rule = words[1]
        elif words[0] == "tests" and len(words) == 2:
            bugs[-1].tests.append((bugs[-1].rule, words[1]))
        elif words[0] == "edit":
            bugs[-1].edits.append(parse_edit(words, where))
        elif words[0] in ("-", "+") and bugs[-1].edits:
            edit, part = bugs[-1].edits[-1], "before" if words[0] == "-" else "after"
            setattr(edit, part, getattr(edit, part) + line.strip()[1:].strip() + "\n")
        else:
            raise EditError(f"{where}: expected bug, rule, tests, edit, - or +")
    for bug in bugs:
        check_complete(bug)
    return bugs


def check_complete(bug):
    for word in ("rule", "tests", "edits"):
        if not getattr(bug, word):
            raise EditError(f"{bug.where}: {bug.name} has no {word}")
    for edit in bug.edits:
        if not edit.before.strip():
            raise EditError(f"{edit.where}: nothing to be replaced (- lines)")
        if edit.kind == "expression" and not edit.after.strip():
            raise EditError(f"{edit.where}: an expression needs another one in its place (+ lines)")


class Source:
    """One file, in which edits are located."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.tokens = tokenize(text)
        self.bodies = {}
        for name, first, last in functions(self.tokens):
            self.bodies.setdefault(name, []).append((first, last))

    def locate(self, bug, edit):
        """The one place of an edit; EditError says why there is none."""
        wanted = texts(tokenize(edit.before))
        after = texts(tokenize(edit.after))
        if wanted == after:
            raise EditError(f"{edit.where}: the edit changes nothing")
        bodies = self.bodies.get(edit.function)
        if not bodies:
            near = difflib.get_close_matches(edit.function, self.bodies, 1)
            hint = f"; is it {near[0]} now?" if near else ""
            raise EditError(f"{edit.where}: {self.path} defines no function {edit.function}{hint}")
        found = [i for first, last in bodies for i in find(self.tokens, wanted, first, last)]
        if not found:
            raise EditError(f"{edit.where}: {edit.function} in {self.path} does not contain this:\n"
                            + self.near_miss(wanted, bodies))
        at = self.choose(edit, found)
        last = at + len(wanted) - 1
        wrong = wrong_expression if edit.kind == "expression" else wrong_statement
        try:
            why = wrong(self.tokens, at, last)
        except SourceError as error:
            why = str(error)
        if why:
            raise EditError(f"{edit.where}: not a whole {edit.kind} but {why}")
        return Place(self.tokens[at].start, self.tokens[last].end, edit.kind, bug.name, " ".join(after))

    @staticmethod
    def choose(edit, found):
        if edit.index == 0 and len(found) == 1:
            return found[0]
        if edit.index == 0:
            raise EditError(f"{edit.where}: {edit.function} contains this {len(found)} times: say which, from 1 on")
        if edit.index > len(found):
            raise EditError(f"{edit.where}: {edit.function} contains this {len(found)} times, not {edit.index}")
        return found[edit.index - 1]

    def near_miss(self, wanted, bodies):
        """A diff against the part of the function that is most like what was looked for."""
        best, score = [], -1.0
        matcher = difflib.SequenceMatcher(b=wanted, autojunk=False)
        for first, last in bodies:
            for i in range(first, max(first + 1, last - len(wanted) + 2)):
                window = texts(self.tokens[i:i + len(wanted)])
                matcher.set_seq1(window)
                if matcher.quick_ratio() > score and matcher.ratio() > score:
                    best, score = window, matcher.ratio()
        lines = difflib.unified_diff(wanted, best, "the edit", "the source", lineterm="", n=2)
        return "\n".join(f"    {line}" for line in lines)


def nested(places):
    """The places as a forest, outer ones first: [(place, alternatives, inner)], by position."""
    roots = []
    for place in sorted(places, key=lambda p: (p.start, -p.end)):
        level = roots
        while True:
            host = level[-1] if level else None
            if host is None or place.start >= host[0].end:
                level.append((place, [], []))
            elif (place.start, place.end, place.kind) == (host[0].start, host[0].end, host[0].kind):
                host[1].append(place)
            elif place.end <= host[0].end:
                level = host[2]
                continue
            else:
                raise EditError(f"the edits of {host[0].bug} and {place.bug} overlap, and neither contains the other")
            break
    return roots


def render(text, places):
    """`text` with a selection at each place. Lines keep their numbers."""
    def part(start, end, forest):
        out, at = [], start
        for place, alternatives, inner in forest:
            out.append(text[at:place.start])
            out.append(selection([place, *alternatives], part(place.start, place.end, inner)))
            at = place.end
        return "".join(out) + text[at:end]

    return part(0, len(text), nested(places))


def selection(places, before):
    chosen = f"mutant_selected == M_{places[0].bug}"
    rest = selection(places[1:], before) if len(places) > 1 else None
    if places[0].kind == "expression":
        return f"({chosen} ? ({places[0].after}) : {rest or f'({before})'})"
    return f"{{ if ({chosen}) {{ {places[0].after} }} else {{ {rest or before} }} }}"


def rename_text(text, old, new):
    """A list in which edits follow a function, variable or file that has another name now."""
    word = re.compile(rf"\b{re.escape(old)}\b")
    lines = []
    for line in text.splitlines():
        stripped = line.lstrip()
        if stripped.startswith(("- ", "+ ")):
            at = len(line) - len(stripped) + 1
            line = line[:at] + word.sub(new, line[at:])
        elif stripped.startswith("edit "):
            words = stripped.split()
            if old in words[1:3]:
                words[1:3] = [new if one == old else one for one in words[1:3]]
                line = " ".join(words)
        lines.append(line)
    return "\n".join(lines) + "\n"
