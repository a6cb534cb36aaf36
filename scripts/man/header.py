# SPDX-License-Identifier: MIT
"""Reads a public header: its declarations, each with the parts of its comment.

Declarations without a blank line between them belong together: they share a page. A comment has these parts, in this
order; only the summary is required:

    Opens the adapter of a network interface.      the summary: one sentence, which becomes the page's NAME
      if_index  the interface's index              the parameters: two spaces, the name, two spaces or more, the text;
                                                   those that the page's first function describes need not be repeated
    Further text, lists and paragraphs.
    Returns 0, or -1 if ...                        also a line `Returns` and a list of statuses
    Context: any thread, up to DISPATCH_LEVEL.
    Topic: open and close an adapter               the page's NAME if it has several functions
    Example:                                       then an empty line and code that is indented by four spaces
    See also: ondk_close_adapter, docs/fork.md     functions, types, tools and documents

A field of a struct has its comment above it. A comment above an empty line describes the fields that follow.
"""
import dataclasses
import re


class HeaderError(Exception):
    """A header that does not follow the rules above."""


@dataclasses.dataclass
class Block:
    """A part of a text: kind is `text` (one paragraph), `list` (pairs of term and text) or `code` (lines)."""
    kind: str
    content: object


@dataclasses.dataclass
class Comment:
    summary: str = ''
    goes_on: bool = False  # the body begins in the summary's paragraph
    body: list = dataclasses.field(default_factory=list)
    parameters: list = dataclasses.field(default_factory=list)
    returns: list = dataclasses.field(default_factory=list)
    context: list = dataclasses.field(default_factory=list)
    topic: str = ''
    example: list = dataclasses.field(default_factory=list)
    see_also: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Function:
    name: str
    result: str
    parameters: list  # of (declaration, name)
    comment: Comment
    sized: str = ''  # the function that this inline function calls with the size of the program's struct


@dataclasses.dataclass
class Field:
    names: list
    text: str  # its declaration
    comment: str


@dataclasses.dataclass
class Group:
    """Fields under a comment of their own, or with an empty text those that have none."""
    text: str
    fields: list


@dataclasses.dataclass
class Struct:
    name: str
    tag: str
    groups: list
    comment: Comment
    text: str = ''  # of a pointer to a function: its declaration


@dataclasses.dataclass
class Constants:
    """An enum, or consecutive macros: pairs of declaration and text."""
    title: str
    values: list
    comment: Comment


@dataclasses.dataclass
class Header:
    name: str  # adapter
    comment: Comment
    notes: list  # comments that belong to no declaration
    blocks: list  # lists of Function, Struct and Constants


def split_sentences(text):
    return re.split(r'(?<=[.?!])(?<!e\.g\.)(?<!i\.e\.)\s+(?=[A-Z0-9"*\\(]|ondk_|_\w)', text)


def comment_lines(text):
    """The lines of a comment without its frame, with the indentation that they have in it."""
    inner = text.strip()[2:-2].strip('\n')
    lines = [re.sub(r'^\s*\* ?', '', line) if '\n' in inner else line.strip() for line in inner.split('\n')]
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return [line.rstrip() for line in lines]


LABEL = re.compile(r'(Returns|Context|Topic|See also|Example)(?::\s*|\b)')


def parse_blocks(lines):
    """Pairs of a label, empty for the text at the beginning, and a block."""
    found, label, fresh, first = [], '', True, True

    def last(kind):
        return found[-1][1].content if found and not fresh and found[-1][1].kind == kind else None

    for line in lines:
        indent = len(line) - len(line.lstrip())
        item = re.match(r' {2,3}(\S.*?)(?: {2,}(\S.*))?$', line)
        if not line:
            # A code block goes on behind an empty line.
            if last('code') is not None:
                last('code').append('')
            else:
                fresh = True
        elif indent >= 4 and (fresh or last('code') is not None):
            if last('code') is None:
                found.append((label, Block('code', [])))
                fresh = False
            last('code').append(line[4:])
        elif indent >= 4 and last('list'):
            last('list')[-1][1] = (last('list')[-1][1] + ' ' + line.strip()).strip()
        elif indent >= 2 and item:
            if last('list') is None:
                found.append((label, Block('list', [])))
                fresh = False
            last('list').append([item[1], item[2] or ''])
        else:
            match = LABEL.match(line)
            if match and not first and (match[1] == 'Returns' or line[len(match[1]):].startswith(':')):
                label, fresh = match[1], True
                line = line if label == 'Returns' else line[match.end():]
            elif found and found[-1][0] == label and found[-1][1].kind != 'text':
                fresh = True
            if line and last('text') is not None:
                found[-1][1].content += ' ' + line.strip()
            elif line:
                found.append((label, Block('text', line.strip())))
                fresh = False
        first = False
    for _, block in found:
        while block.kind == 'code' and not block.content[-1]:
            block.content.pop()
    return found


def parse_comment(text, parameter_names=()):
    comment = Comment()
    for label, block in parse_blocks(comment_lines(text)):
        if label == 'Returns':
            comment.returns.append(block)
        elif label == 'Context':
            comment.context.append(block)
        elif label == 'Topic':
            comment.topic = block.content
        elif label == 'Example':
            comment.example.append(block)
        elif label == 'See also':
            comment.see_also += re.split(r',\s*', block.content)
        elif block.kind == 'list' and {term for term, _ in block.content} <= set(parameter_names):
            comment.parameters += block.content
        else:
            comment.body.append(block)
    if comment.body and comment.body[0].kind == 'text':
        comment.summary, *rest = split_sentences(comment.body[0].content)
        if rest:
            comment.body[0] = Block('text', ' '.join(rest))
            comment.goes_on = True
        else:
            comment.body.pop(0)
    return comment


# ---- Declarations ----

def tokens_of(text):
    """Pairs of kind and text: comment, blank, macro, declaration."""
    lines = text.split('\n')
    i = 0
    while i < len(lines):
        line = lines[i]
        if line.startswith('#if') and '__cplusplus' in line:
            while not lines[i].startswith('#endif'):
                i += 1
            i += 1
            continue
        begin = i
        if not line.strip():
            kind = 'blank'
        elif line.startswith('/*'):
            kind = 'comment'
            while '*/' not in lines[i]:
                i += 1
        elif line.startswith('#'):
            kind = 'macro' if line.startswith('#define') else 'directive'
            while lines[i].endswith('\\') or lines[i].count('/*') > lines[i].count('*/'):
                i += 1
        else:
            kind = 'declaration'
            while not is_complete('\n'.join(lines[begin:i + 1])):
                i += 1
                if i == len(lines):
                    raise HeaderError(f'line {begin + 1}: the declaration does not end')
        i += 1
        yield kind, '\n'.join(lines[begin:i])


def is_complete(text):
    bare = re.sub(r'/\*.*?(\*/|$)', '', text, flags=re.S)
    if bare.count('{') != bare.count('}'):
        return False
    return bare.rstrip().endswith(';') or (bare.startswith('static') and bare.rstrip().endswith('}'))


FUNCTION = re.compile(r'^(?:ONDK_API|static inline)\s+(.*?)(\w+)\((.*?)\)\s*(?:[;{])', re.S)


def parse_function(text):
    match = FUNCTION.match(text)
    if not match:
        raise HeaderError(f'not understood: {text}')
    parameters = []
    for one in re.split(r',\s*', re.sub(r'\s+', ' ', match[3])):
        if one == 'void':
            continue
        name = re.search(r'(\w+)(\[\w*\]|\)\(.*\))?$', one)
        parameters.append((one, name[1]))
    return match[2], re.sub(r'\s+', ' ', match[1]).strip(), parameters


def parse_fields(tag, body):
    """The fields of a struct in groups."""
    groups, pending = [Group('', [])], None
    for kind, text in tokens_of(re.sub(r'^ {4}', '', body, flags=re.M)):
        if kind == 'blank':
            if pending is not None:
                groups.append(Group(pending, []))
            pending = None
        elif kind == 'comment':
            if pending is not None:
                raise HeaderError(f'struct {tag}: two comments above one field')
            pending = ' '.join(comment_lines(text))
            continue
        elif kind == 'declaration':
            trailing = re.search(r'/\*(.*)\*/', text, re.S)
            if trailing:
                raise HeaderError(f'struct {tag}: the comment of a field is above it: {text}')
            if not pending:
                raise HeaderError(f'struct {tag}: a field has no comment: {text}')
            declared = re.sub(r'\[[^]]*\]|:\s*\d+', '', text.rstrip(';'))
            function = re.match(r'[^(]*\(\*(\w+)\)\(', declared)
            names = [function[1]] if function else [re.search(r'(\w+)\s*$', part)[1] for part in declared.split(',')]
            groups[-1].fields.append(Field(names, text, pending))
            pending = None
    return [group for group in groups if group.fields]


def parse_values(body):
    """The values of an enum: pairs of `NAME = 1` and the comment behind it."""
    values = []
    for line in body.strip().split('\n'):
        match = re.match(r'\s*(\w+[^,/]*?),?\s*(?:/\*(.*?)\*/)?$', line)
        if not match:
            raise HeaderError(f'an enum has one value on each line, with its comment behind it: {line}')
        values.append([match[1].strip(), (match[2] or '').strip()])
    return values


def parse_macro(text):
    match = re.match(r'#define\s+(.*?)\s*(?:/\*(.*?)\*/)?\s*$', text, re.S)
    return [match[1], ' '.join((match[2] or '').split())]


class Parser:
    """Collects the blocks of one header."""

    def __init__(self, name):
        self.header = Header(name, Comment(), [], [])
        self.block, self.pending, self.opened = [], None, False

    def end_block(self):
        if self.pending is not None:
            self.header.notes += [block for _, block in parse_blocks(comment_lines(self.pending))]
        if self.block:
            self.header.blocks.append(self.block)
        self.block, self.pending = [], None

    def take_comment(self, what, required=True, parameters=()):
        text, self.pending = self.pending, None
        if text is None and required:
            raise HeaderError(f'{what} has no comment')
        comment = parse_comment(text or '/* */', parameters)
        if required and not comment.summary:
            raise HeaderError(f'the comment of {what} has no summary')
        return comment

    def add_comment(self, text):
        if text.startswith('/* SPDX'):
            return
        if not self.opened:
            self.header.comment, self.opened = parse_comment(text), True
        elif text.startswith('/* ---'):
            self.end_block()
        else:
            self.pending = text

    def add_macro(self, text):
        macro = parse_macro(text)
        if re.fullmatch(r'ONDK_API .*|\w+_H', macro[0], re.S):
            return
        if self.block and isinstance(self.block[-1], Constants) and self.block[-1].title == 'macros':
            self.block[-1].values.append(macro)
        else:
            self.block.append(Constants('macros', [macro], self.take_comment(macro[0])))

    def add_type(self, text):
        callback = re.match(r'typedef\s+\w[\w ]*[ *]\(\*(\w+)\)\((.*)\);', text, re.S)
        if callback:
            names = [re.search(r'(\w+)$', one)[1] for one in re.split(r',\s*', callback[2]) if one != 'void']
            comment = self.take_comment(callback[1], parameters=names)
            self.block.append(Struct(callback[1], '', [], comment, text))
            return
        body = re.match(r'(?:typedef\s+)?(struct|enum)\s+(\w+)\s*\{(.*)\}\s*(\w*);', text, re.S)
        if not body:
            return  # an incomplete type
        kind, tag, inner, name = body.groups()
        comment = self.take_comment(f'{kind} {tag}')
        if kind == 'enum':
            self.block.append(Constants(f'enum {tag}', parse_values(inner), comment))
        else:
            self.block.append(Struct(name or f'struct {tag}', tag, parse_fields(tag, inner), comment))

    def add_function(self, text):
        name, result, parameters = parse_function(text)
        sized = re.search(r'\b(ondk_\w+_sized)\(', text[text.find('{'):]) if text.startswith('static') else None
        if not sized:
            if name.endswith('_sized'):
                self.sized_comment, self.pending = self.pending, None
                return
            comment = self.take_comment(name, parameters=[own for _, own in parameters])
        else:
            parameters = [(re.sub(r'_$', '', text), own.rstrip('_')) for text, own in parameters]
            self.pending = self.sized_comment
            comment = self.take_comment(name, parameters=[own for _, own in parameters])
        self.check(name, result, parameters, comment)
        self.block.append(Function(name, result, parameters, comment, sized[1] if sized else ''))

    def check(self, name, result, parameters, comment):
        described = [term for one in [comment] + [d.comment for d in self.block] for term, _ in one.parameters]
        for _, own in parameters:
            if own not in described:
                raise HeaderError(f'the comment of {name} does not describe the parameter {own}')
        if result != 'void' and not comment.returns:
            raise HeaderError(f'the comment of {name} does not say what it returns')
        if not self.block and not comment.context:
            raise HeaderError(f'the comment of {name} has no context')


def read_header(path):
    parser = Parser(path.stem)
    try:
        for kind, text in tokens_of(path.read_text('utf-8')):
            if kind == 'blank':
                parser.end_block()
            elif kind == 'comment':
                if parser.pending is not None:
                    raise HeaderError(f'two comments without a declaration between them: {text}')
                parser.add_comment(text)
            elif kind == 'macro':
                parser.add_macro(text)
            elif kind == 'declaration' and re.match(r'ONDK_API|static inline', text):
                parser.add_function(text)
            elif kind == 'declaration':
                parser.add_type(text)
        parser.end_block()
    except HeaderError as error:
        raise HeaderError(f'{path}: {error}') from None
    return parser.header
