# SPDX-License-Identifier: MIT
"""C source as tokens: enough of the language to find functions, statements and the operands of operators."""
import re
from dataclasses import dataclass

PATTERN = re.compile(
    r"""(?P<space>\s+|/\*.*?\*/|//[^\n]*)
      | (?P<directive>^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
      | (?P<string>(?:u8|[LuU])?"(?:\\.|[^"\\\n])*")
      | (?P<char>[LuU]?'(?:\\.|[^'\\\n])*')
      | (?P<name>[A-Za-z_]\w*)
      | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
      | (?P<op>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^!~<>=?:;,.(){}\[\]])
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
OPENING = {"(": ")", "[": "]", "{": "}"}


class SourceError(Exception):
    """The text is not C as far as this module understands it."""


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


def tokenize(text):
    """All tokens; white space, comments and preprocessor directives are left out."""
    tokens, at = [], 0
    while at < len(text):
        match = PATTERN.match(text, at)
        if not match or match.end() == at:
            raise SourceError(f"line {text.count(chr(10), 0, at) + 1}: unexpected {text[at]!r}")
        if match.lastgroup not in ("space", "directive"):
            tokens.append(Token(match.lastgroup, match.group(), at, match.end()))
        at = match.end()
    return tokens


def texts(tokens):
    return [token.text for token in tokens]


def closing(tokens, at):
    """The index of the bracket that closes the one at index `at`."""
    stack = []
    for i in range(at, len(tokens)):
        text = tokens[i].text
        if text in OPENING:
            stack.append(OPENING[text])
        elif text in OPENING.values():
            if not stack or stack.pop() != text:
                raise SourceError(f"unbalanced {text!r}")
            if not stack:
                return i
    raise SourceError(f"nothing closes {tokens[at].text!r}")


def opening(tokens, at):
    """The index of the bracket that is closed by the one at index `at`."""
    depth = 0
    for i in range(at, -1, -1):
        if tokens[i].text in OPENING.values():
            depth += 1
        elif tokens[i].text in OPENING:
            depth -= 1
            if depth == 0:
                return i
    raise SourceError(f"nothing opens {tokens[at].text!r}")


def functions(tokens):
    """Yields (name, first, last): the indices of a definition's outer braces."""
    i = 0
    while i < len(tokens):
        text = tokens[i].text
        if text == "(":
            end = closing(tokens, i)
            named = i > 0 and tokens[i - 1].kind == "name"
            if named and end + 1 < len(tokens) and tokens[end + 1].text == "{":
                last = closing(tokens, end + 1)
                yield tokens[i - 1].text, end + 1, last
                end = last
            i = end
        elif text in OPENING:
            i = closing(tokens, i)
        i += 1


def find(tokens, wanted, first, last):
    """The indices in first..last where the texts `wanted` begin."""
    length = len(wanted)
    return [i for i in range(first, last - length + 2) if texts(tokens[i:i + length]) == wanted]
