# SPDX-License-Identifier: MIT
"""
Rewrites what Microsoft's compiler accepts and gcc and clang do not. Nothing else of a source changes. Lines stay those
of the original, and columns too, but for those behind a `sizeof` without parentheses.

- __FUNCTION__ is a string literal: `__FUNCTION__ ": text"`. Before the body of each function a #define gives the name.
- A comma before an empty __VA_ARGS__ disappears: `f(a, __VA_ARGS__)` becomes `f(a __VA_OPT__(,) __VA_ARGS__)`.
- `##` beside a bracket or the like, which no token can contain, disappears: `(##x` becomes `(  x`.
- `sizeof NAME` gets parentheses, because NAME may be a type: `sizeof(NAME)`.
- The suffixes i8 to i64 and ui8 to ui64 of integers become those of C: `0xffui64` becomes `0xffull`.
"""
import re

# An unterminated comment or string matches up to the end, because the search would otherwise take quadratic time.
COMMENT = r'/\*.*?(?:\*/|\Z)|//(?:\\\n|[^\n])*'
STRING = r'"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?'
TOKEN = re.compile(rf'(?P<comment>{COMMENT})|(?P<string>{STRING})|(?P<number>\.?\d(?:[eEpP][+-]|\'?[\w.])*)'
                   rf'|(?P<directive>^[ \t]*#(?:{COMMENT}|{STRING}|\\\n|[^\n])*)|(?P<word>[A-Za-z_]\w*)'
                   r'|(?P<sign>::|[(){};=:])', re.S | re.M)
# __FUNCTION__ beside a literal, beside the name of a macro that may be one, or as the value of a macro.
LITERAL_FUNCTION = re.compile(r'\b__FUNCTION__(?:(?:[ \t]|\\\n)*[A-Za-z_]|[\s\\]*")|"[\s\\]*__FUNCTION__\b'
                              r'|#[ \t]*define[ \t]+\w+[ \t]+__FUNCTION__\b')
VARIADIC = re.compile(rf'{COMMENT}|{STRING}|,(?P<space>(?:\s|\\\n)*)__VA_ARGS__\b', re.S)
# `##` that cannot make one token: behind or in front of these. A comma behind which it stands has another meaning.
PASTED = re.compile(rf'{COMMENT}|{STRING}|'
                    r'(?P<behind>[()\[\]{};.!~?]|->)(?P<a>(?:[ \t]|\\\n)*)##|'
                    r'##(?P<b>(?:[ \t]|\\\n)*)(?=[()\[\]{};!~?])', re.S)
# What follows the name: not what would make the operand longer than the name.
SIZEOF = re.compile(r'\bsizeof[ \t]+(?P<name>[A-Za-z_]\w*)\b(?![ \t]*(?:[\w("\'\[.<]|->|::|\+\+|--))')
SUFFIX = re.compile(r'(?P<digits>\b(?:0[xX][0-9a-fA-F]+|\d+)|##[ \t]*)(?P<suffix>[uU]?[iI](?:8|16|32|64))\b')
UNLIKE_C = re.compile(rf'{COMMENT}|{STRING}|{SIZEOF.pattern}|{SUFFIX.pattern}', re.S)
DEFINE = re.compile(r'[ \t]*#[ \t]*define\s+\w+\(')
PARAMETERS = re.compile(r'[ \t]*#[ \t]*define\s+\w+\(([^()]*)\)')
PASTED_NAME = re.compile(r'(?P<paste>##[ \t]*)?\b(?P<name>[A-Za-z_]\w*)[ \t]*\Z')
ANY_DEFINE = re.compile(r'[ \t]*#[ \t]*define\b')
NOT_A_NAME = re.compile(r'__attribute__|__declspec|noexcept|alignas|_\w+_|DECLSPEC_\w+|if|while|for|switch|'
                        r'sizeof|final')
SCOPES = {'namespace', 'class', 'struct', 'union'}
ACCESS = {'public', 'private', 'protected'}
# Limits: without them, a hostile source could need quadratic time or memory.
MAX_SCOPES, MAX_NAME, MAX_COLUMN, MAX_MACRO = 64, 256, 200, 2000


def uses_literal_function(text):
    """Returns whether the text needs __FUNCTION__ as a literal."""
    return '__FUNCTION__' in text and bool(LITERAL_FUNCTION.search(text))


def _drop_comma(match):
    space = match.group('space')
    return match.group(0) if space is None else f' __VA_OPT__(,){space}__VA_ARGS__'


def _drop_paste(match):
    if match.group('behind'):
        return match.group('behind') + match.group('a') + '  '
    return match.group(0) if match.group('b') is None else '  ' + match.group('b')


def _pastes_suffix(match):
    """Returns whether `##` joins the suffix to a parameter of the macro, which may be a number, and to nothing else."""
    text, at = match.string, match.start()
    while True:
        at = text.rfind('\n', max(0, match.start() - MAX_MACRO), at)
        if at < 1 or text[at - 1] != '\\':
            break
    parameters = PARAMETERS.match(text, at + 1, match.start())
    left = PASTED_NAME.search(text, max(at + 1, match.start() - MAX_NAME), match.start())
    names = re.findall(r'\w+', parameters.group(1)) if parameters else ()
    return bool(left and not left.group('paste') and left.group('name') in names and match.group('suffix') not in names)


def _to_c(match):
    """Returns `sizeof NAME` with parentheses, and a suffix of C in place of Microsoft's, as long as that was."""
    if match.group('name'):
        return match.group()[:match.start('name') - match.start() - 1] + f'({match.group("name")})'
    if match.group('suffix'):
        suffix, digits = match.group('suffix'), match.group('digits')
        if digits.startswith('##') and not _pastes_suffix(match):
            return match.group()
        unsigned, size = suffix[0] in 'uU', suffix.lstrip('uUiI')
        ours = ('u' if unsigned and size in ('32', '64') else '') + ('ll' if size == '64' else '')
        if digits.startswith('##') and not ours:
            return ' ' * len(match.group())
        return digits + ours.ljust(len(suffix))
    return match.group()


def unpasted(directive):
    """Returns a #define without `##` that cannot make one token, as Microsoft's preprocessor reads it."""
    if '##' not in directive or not ANY_DEFINE.match(directive):
        return directive
    return PASTED.sub(_drop_paste, directive)


def variadic(directive):
    """Returns a #define in which a comma before an empty __VA_ARGS__ disappears."""
    if '__VA_ARGS__' not in directive or '__VA_OPT__' in directive or not DEFINE.match(directive):
        return directive
    return VARIADIC.sub(_drop_comma, directive)


class Functions:
    """Finds the bodies of functions. Looks at tokens only: a body follows `name(...)` outside of other bodies."""

    def __init__(self):
        self.depth, self.parens, self.scopes = 0, 0, []  # of braces inside of a body; the open transparent braces
        self.branches = []                               # the state at each open #if
        self.start()

    def start(self):
        self.last, self.before, self.name, self.fixed = '', '', None, False
        self.scope = None  # the name behind `namespace`, `class`, `struct` or `union`; '' behind `extern "C"`

    def directive(self, text):
        word = re.match(r'\s*#\s*(\w*)', text).group(1)
        if word in ('if', 'ifdef', 'ifndef'):
            self.branches.append((self.depth, self.parens, list(self.scopes)))
        elif word in ('else', 'elif') and self.branches:
            self.depth, self.parens, self.scopes = self.branches[-1][:2] + (list(self.branches[-1][2]),)
        elif word == 'endif' and self.branches:
            self.branches.pop()

    def word(self, text):
        """Reads a word, or a string as ''."""
        if not self.parens and not self.depth:
            joined = self.last == '::' and len(self.before) < MAX_NAME
            self.before = self.before + text if joined else text
            if text in SCOPES or (text == 'extern' and self.scope is None):
                self.scope = ''
            elif self.scope is not None and not self.fixed and not NOT_A_NAME.fullmatch(text):
                self.scope = self.before
        self.last = text

    def sign(self, sign):
        """Reads punctuation. Returns the function's name if its body begins here."""
        found = None
        if sign == '{':
            found = self.open_brace()
        elif sign == '}':
            self.close_brace()
        elif self.depth:
            return None
        elif sign == '(':
            if not self.parens and not self.fixed and self.before and not NOT_A_NAME.fullmatch(self.before):
                self.name = self.before
            self.parens += 1
        elif sign == ')':
            self.parens = max(0, self.parens - 1)
        elif sign == ';' and not self.parens:
            self.start()
        elif sign == '::' and not self.parens and len(self.before) < MAX_NAME:
            self.before += '::'
        elif sign == ':' and self.before in ACCESS:
            self.start()
        elif sign in ('=', ':') and not self.parens:  # an initializer; or a constructor's list behind its name
            self.name, self.fixed = (None if sign == '=' else self.name), True
            self.scope = None if sign == '=' else self.scope
        self.last = sign
        return found

    def open_brace(self):
        if self.depth:
            self.depth += 1
            return None
        name = self.name
        if not name and self.scope is not None and len(self.scopes) < MAX_SCOPES:
            self.scopes.append(self.scope)
        else:
            self.depth = 1
        within = '::'.join(filter(None, self.scopes))
        self.parens = 0
        self.start()
        return name and (f'{within}::{name}' if within else name)

    def close_brace(self):
        if self.depth:
            self.depth -= 1
        elif self.scopes:
            self.scopes.pop()
        if not self.depth:
            self.start()


def rewrite(text, literal_function):
    """Returns the text for gcc and clang. `literal_function`: whether __FUNCTION__ has to be a literal."""
    if SIZEOF.search(text) or SUFFIX.search(text):
        text = UNLIKE_C.sub(_to_c, text)
    if not literal_function and '__VA_ARGS__' not in text and '##' not in text:
        return text
    parts, at, line, line_at, functions = [], 0, 1, 0, Functions()
    for token in TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == 'directive':
            functions.directive(token.group())
            parts += [text[at:token.start()], variadic(unpasted(token.group()))]
            at = token.end()
        elif kind == 'word':
            functions.word(token.group())
        elif kind == 'sign' and literal_function:
            name = functions.sign(token.group())
            if name:
                start = token.start()
                line += text.count('\n', line_at, start)
                line_at = start
                column = start - text.rfind('\n', 0, start) - 1
                parts += [text[at:start], f'\n#undef __FUNCTION__\n#define __FUNCTION__ "{name}"\n#line {line}\n',
                          ' ' * min(column, MAX_COLUMN)]
                at = start
    return ''.join(parts) + text[at:]
