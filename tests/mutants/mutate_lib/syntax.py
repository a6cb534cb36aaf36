# SPDX-License-Identifier: MIT
"""Is a range of tokens a whole expression, or whole statements? Each check returns None, or why not."""
from .ctokens import OPENING, SourceError, closing, opening

PRIMARY, UNARY, ADDITIVE, CONDITION, ASSIGNMENT, COMMA = 15, 14, 12, 3, 2, 1
BINARY = {
    "*": 13, "/": 13, "%": 13, "+": ADDITIVE, "-": ADDITIVE, "<<": 11, ">>": 11, "<": 10, ">": 10, "<=": 10, ">=": 10,
    "==": 9, "!=": 9, "&": 8, "^": 7, "|": 6, "&&": 5, "||": 4, "?": CONDITION, ":": CONDITION, ",": COMMA,
}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
PREFIX = {"!", "~", "-", "+", "*", "&", "++", "--"}
POSTFIX = {"(", "[", ".", "->", "++", "--", "{"}
CONTROL = {"if", "while", "for", "switch"}
CONSTANT = {"sizeof", "_Alignof", "alignof", "offsetof", "_Static_assert", "static_assert", "_Alignas"}
TYPE_WORDS = {"const", "static", "volatile", "struct", "union", "enum", "void", "bool", "char", "short", "int", "long",
              "unsigned", "signed", "float", "double", "register", "extern", "typedef", "_Atomic", "_Thread_local"}


def ends_operand(token):
    return token is not None and (token.kind in ("number", "string", "char") or token.text in (")", "]") or
                                  (token.kind == "name" and token.text not in ("return", "case", "else", "do")))


def is_binary(tokens, at):
    """The operator at `at` has a left operand. After `)` that is so unless the brackets are a cast or a condition."""
    if tokens[at].text not in PREFIX:
        return True
    return at > 0 and ends_operand(tokens[at - 1])


def strength(tokens, at):
    """Of the binary operator at `at`."""
    return ASSIGNMENT if tokens[at].text in ASSIGNMENTS else BINARY.get(tokens[at].text)


def weakest(tokens, first, last):
    """The precedence of the expression first..last: that of its weakest operator outside brackets."""
    low, i = PRIMARY, first
    while i <= last:
        text = tokens[i].text
        if text in OPENING:
            i = closing(tokens, i)
        elif i == first and (text in PREFIX or text == "sizeof"):
            low = min(low, UNARY)
        elif i > first and tokens[i].kind == "op" and is_binary(tokens, i) and strength(tokens, i):
            low = min(low, strength(tokens, i))
        i += 1
    return low


def statement_start(tokens, at):
    """The index of the first token of the statement, or declaration, that the token at `at` is in."""
    i = at - 1
    while i >= 0 and tokens[i].text not in (";", "{", "}"):
        i = opening(tokens, i) - 1 if tokens[i].text in (")", "]") else i - 1
    return i + 1


def encloser(tokens, at):
    """The index of the innermost bracket that is open at `at`, or -1."""
    i = at - 1
    while i >= 0 and tokens[i].text not in OPENING:
        i = opening(tokens, i) - 1 if tokens[i].text in OPENING.values() else i - 1
    return i


def must_be_constant(tokens, at):
    """Why the place of the token at `at` admits no selection at run time, or None."""
    inner = at
    while (inner := encloser(tokens, inner)) >= 0:
        before = tokens[inner - 1].text if inner else ""
        if tokens[inner].text == "(" and before in CONSTANT:
            return f"an operand of {before}"
        if tokens[inner].text == "[" and is_declaration(tokens, statement_start(tokens, inner), inner):
            return "a declared array's size"
        if tokens[inner].text == "{" and before == "=" and is_static(tokens, statement_start(tokens, inner)):
            return "the initialiser of a static object"
    start = statement_start(tokens, at)
    words = [t.text for t in tokens[start:at]]
    if words[:1] == ["case"] and ":" not in words:
        return "a case label"
    return "the initialiser of a static object" if is_static(tokens, start) else None


def is_static(tokens, first):
    return "static" in [t.text for t in tokens[first:first + 3]]


def is_declaration(tokens, first, last):
    """first..last-1 reads `type name`, with any qualifiers and stars."""
    words = tokens[first:last]
    if words and words[0].text in TYPE_WORDS:
        return True
    names = [t for t in words if t.kind == "name"]
    return len(names) >= 2 and all(t.kind == "name" or t.text == "*" for t in words[:len(names)])


def wrong_left(tokens, first, level):
    left = tokens[first - 1]
    if left.text in (".", "->"):
        return f"the name of a member, behind {left.text!r}"
    if left.text in ("++", "--"):
        return "an lvalue"
    if left.text in PREFIX and not is_binary(tokens, first - 1):
        if left.text == "&":
            return "an lvalue, whose address is taken"
        return None if level >= UNARY else f"an operand of the stronger {left.text!r}"
    if left.text == ")":
        head = tokens[opening(tokens, first - 1) - 1].text
        return None if head in CONTROL or level >= UNARY else "the operand of a cast"
    if left.kind in ("name", "string", "number", "char"):
        if left.text in ("return", "else", "do"):
            return None
        return "a case label" if left.text == "case" else f"no whole expression behind {left.text!r}"
    bound = ASSIGNMENT if left.text in ASSIGNMENTS else BINARY.get(left.text)
    if bound is None or left.text == "?" or (left.text == ":" and not is_conditional(tokens, first - 1)):
        return None
    if level > bound or (level == bound and bound in (CONDITION, ASSIGNMENT)):
        return None
    return f"an operand of {left.text!r}, which binds as strongly or more"


def is_conditional(tokens, colon):
    """The `:` belongs to a `?`, not to a label."""
    i = colon - 1
    while i >= 0 and tokens[i].text not in (";", "{", "}", "?"):
        i = opening(tokens, i) - 1 if tokens[i].text in (")", "]") else i - 1
    return i >= 0 and tokens[i].text == "?"


def wrong_right(tokens, last, level):
    right = tokens[last + 1]
    if right.text in ASSIGNMENTS or right.text in ("++", "--"):
        return "an lvalue"
    if right.text in POSTFIX:
        return f"the operand of {right.text!r}"
    if right.kind in ("name", "string", "number", "char"):
        return f"no whole expression before {right.text!r}"
    bound = BINARY.get(right.text)
    if bound is None or right.text == ":":
        return None
    if level < bound or (right.text == "?" and level == CONDITION):
        return f"an operand of the stronger {right.text!r}"
    return None


def wrong_expression(tokens, first, last):
    """Why first..last cannot be replaced by a selection between expressions, or None."""
    level = weakest(tokens, first, last)
    if any(t.text in (";", "{") for t in tokens[first:last + 1]) and tokens[first].text != "(":
        return "a statement, not an expression"
    if level == COMMA:
        return "a list, not an expression"
    return must_be_constant(tokens, first) or wrong_left(tokens, first, level) or wrong_right(tokens, last, level)


def statement_end(tokens, at):
    """The index of the last token of the statement that begins at `at`."""
    text = tokens[at].text
    if text == "{":
        return closing(tokens, at)
    if text in CONTROL:
        end = statement_end(tokens, closing(tokens, at + 1) + 1)
        if text == "if" and end + 1 < len(tokens) and tokens[end + 1].text == "else":
            end = statement_end(tokens, end + 2)
        return end
    if text == "do":
        end = statement_end(tokens, at + 1)
        return closing(tokens, end + 2) + 1
    while tokens[at].text != ";":
        at = closing(tokens, at) + 1 if tokens[at].text in OPENING else at + 1
        if at >= len(tokens) or tokens[at].text == "}":
            raise SourceError("a statement without an end")
    return at


def wrong_statement(tokens, first, last):
    """Why first..last cannot be replaced by a selection between statements, or None."""
    left = tokens[first - 1]
    controlled = left.text in ("else", "do")
    if left.text == ")":
        head = tokens[opening(tokens, first - 1) - 1].text
        if head == "switch":
            return "the body of a switch, whose labels would be there twice"
        controlled = head in CONTROL
    if not controlled and left.text not in (";", "{", "}", ":"):
        return f"no whole statement behind {left.text!r}"
    at, count = first, 0
    while at <= last:
        if tokens[at].text in ("case", "default"):
            return "a label"
        simple = statement_end(tokens, at) if tokens[at].text not in OPENING else None
        if simple is not None and tokens[at].text not in CONTROL and is_declared_at(tokens, at, simple):
            return "a declaration: edit the expression in it"
        at = statement_end(tokens, at) + 1
        count += 1
    if at != last + 1:
        return "no whole statement"
    return "several statements where one is controlled" if controlled and count > 1 else None


def is_declared_at(tokens, at, end):
    if tokens[at].text in TYPE_WORDS:
        return True
    i = at + 1
    while i < end and tokens[i].text == "*":
        i += 1
    names = tokens[at].kind == "name" and tokens[i].kind == "name"
    return names and tokens[at].text not in ("return", "goto", "do") and tokens[i + 1].text in ("=", ";", ",", "[")
