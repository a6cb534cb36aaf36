# SPDX-License-Identifier: MIT
"""Section 3: a page for each group of functions, each struct and each header of include/openndk."""
import re
import textwrap

import header
import mdoc
from mdoc import Words


def imperative(summary):
    """`Opens the adapter and calls it` as `open the adapter and call it`."""
    verb, _, rest = summary.partition(' ')
    rest = re.sub(r'\band (\w+)s (?=its|until|the\b)', r'and \1 ', rest)
    if re.search(r'(ches|shes|sses|xes|zzes)$', verb):
        verb = verb[:-2]
    elif verb.endswith('ies'):
        verb = verb[:-3] + 'y'
    elif verb.endswith('s') and not verb.endswith('ss'):
        verb = verb[:-1]
    return lower(f'{verb} {rest}')


def lower(text):
    return text if re.match(r'[A-Z]{2}|\W|[A-Z] ', text) and not text.startswith('A ') else text[0].lower() + text[1:]


def one_line(summary, what):
    """A summary as the text behind a page's name."""
    line = re.sub(r'\.$', '', summary)
    if len(line) > 72:
        line = re.split(r'[:;,] ', line)[0]
    if len(line) > 72:
        raise header.HeaderError(f'the first sentence of the comment of {what} has more than 72 characters')
    return line


def library(stem):
    name = 'libopenndk-wdk' if stem == 'wdk' else 'libopenndk'
    return [f'OpenNDK ({name}, \\-l{name[3:]})']


def names_section(names, line):
    lines = [f'.Nm {name}' + (' ,' if i + 1 < len(names) else '') for i, name in enumerate(names)]
    return lines + [f'.Nd {mdoc.escape(line)}']


def prototype(function):
    lines = [f'.Ft {mdoc.argument(function.result)}', f'.Fo {function.name}']
    lines += [f'.Fa {mdoc.argument(declaration)}' for declaration, _ in function.parameters] or ['.Fa void']
    return lines + ['.Fc']


def with_subject(function, sentence):
    """`Closes it.` as `ondk_close() closes it.`"""
    return f'{function.name}() {lower(sentence)}'


def beyond_name(comment, line, words):
    """The text of a comment, without the summary if the page's name has all of it."""
    summary = re.sub(r'^(The|A|An) ', '', comment.summary).rstrip('.')
    if line.lower() == summary.lower():
        return mdoc.blocks(comment.body, words, False)
    return mdoc.text(comment.summary, words) + mdoc.blocks(comment.body, words, not comment.goes_on)


class Section3:
    """Writes the pages of all headers. files: file name to text; names: declared name to file name."""

    def __init__(self, headers, pages, release):
        self.headers, self.release = headers, release
        self.files, self.links = {}, {}
        self.pages = dict(pages)
        self.types, self.homes = set(), {}
        for one in headers:
            self.pages[f'openndk_{one.name}'] = 3
            for block in one.blocks:
                for declaration in block:
                    if isinstance(declaration, header.Constants):
                        names = [re.match(r'\w+', value)[0] for value, _ in declaration.values]
                        self.homes.update(dict.fromkeys(names, f'openndk_{one.name}'))
                    else:
                        self.pages[declaration.name] = 3
                    if isinstance(declaration, header.Struct):
                        self.types.add(declaration.name)
        for one in headers:
            self.add_header(one)

    def add_header(self, one):
        summaries = []
        for block in one.blocks:
            functions = [d for d in block if isinstance(d, header.Function)]
            structs = [d for d in block if isinstance(d, header.Struct)]
            if functions:
                self.add_functions(one, functions)
            for struct in structs:
                self.add_struct(one, struct)
            summaries += [(d.name, d.comment.summary) for d in functions + structs]
        self.add_overview(one, summaries)

    def write(self, one, name, sections):
        self.files[f'{name}.3'] = mdoc.page(name, 3, sections, self.release, f'include/openndk/{one.name}.h')

    def link(self, name, target):
        self.files[f'{name}.3'] = f'.so man3/{target}.3\n'
        self.links[name] = target

    def add_functions(self, one, functions):
        first = functions[0]
        own = [function.name for function in functions]
        arguments = [name for function in functions for _, name in function.parameters]
        words = Words(self.pages, own + [f.sized for f in functions if f.sized], arguments, (), self.homes)
        see = [name for function in functions for name in function.comment.see_also]
        declarations = ' '.join(declaration for f in functions for declaration, _ in f.parameters)
        see += [name for name in self.types if re.search(r'\b%s\b' % name, declarations)]
        line = first.comment.topic or one_line(imperative(first.comment.summary), first.name)
        if len(functions) > 1 and not first.comment.topic:
            raise header.HeaderError(f'the comment of {first.name} has no Topic, which its page needs for its NAME')
        sections = [
            ('NAME', names_section(own, line)),
            ('LIBRARY', library(one.name)),
            ('SYNOPSIS', [f'.In openndk/{one.name}.h'] + [line for f in functions for line in prototype(f)]),
            ('DESCRIPTION', [line for f in functions for line in self.describe(f, words, f is not first)]),
            ('RETURN VALUES', self.returns(functions, words)),
            ('THREADS AND IRQL', self.contexts(functions, words)),
            ('EXAMPLES', [line for f in functions for line in mdoc.blocks(f.comment.example, words, False)]),
            ('SEE ALSO', mdoc.references(see + [f'openndk_{one.name}', 'openndk'], words, own)),
        ]
        self.write(one, first.name, sections)
        for function in functions:
            if function is not first:
                self.link(function.name, first.name)
            if function.sized:
                self.link(function.sized, first.name)

    def describe(self, function, words, again):
        comment = function.comment
        lines = ['.Pp'] if again else []
        lines += mdoc.text(with_subject(function, comment.summary), words)
        if comment.parameters:
            lines += ['The arguments are:' if len(comment.parameters) > 1 else 'The argument is:']
            lines += mdoc.tag_list(comment.parameters, words, 'Fa')
        lines += mdoc.blocks(comment.body, words)
        if function.sized:
            lines += ['.Pp'] + mdoc.text(
                f'{function.name}() is an inline function. It calls {function.sized}() with the size that the struct '
                'has in the program, because program and library may be of different versions; see openndk_api.', words)
        return lines

    def returns(self, functions, words):
        lines = []
        for function in functions:
            for i, block in enumerate(function.comment.returns):
                if block.kind == 'text' and block.content == 'Returns':
                    content = f'{function.name}() returns:'
                elif block.kind == 'text' and i == 0:
                    content = f'{function.name}() ' + lower(block.content)
                    content = re.sub(r'(?<=[.?!]) Returns ', ' It returns ', content)
                    content = re.sub(r'(?<=[.?!]) Also returns ', ' It also returns ', content)
                else:
                    lines += mdoc.blocks([block], words)
                    continue
                lines += (['.Pp'] if lines else []) + mdoc.text(content, words)
        return lines

    def contexts(self, functions, words):
        lines = []
        for function in functions:
            if function.comment.context:
                first = function.comment.context[0]
                block = header.Block(first.kind, first.content[0].upper() + first.content[1:])
                lines += mdoc.blocks([block] + function.comment.context[1:], words, bool(lines))
        return lines

    def add_struct(self, one, struct):
        fields = [field for group in struct.groups for field in group.fields]
        words = Words(self.pages, [struct.name], [name for field in fields for name in field.names], self.types,
                      self.homes)
        see = struct.comment.see_also + self.users(struct.name) + [f'openndk_{one.name}', 'openndk']
        synopsis = [f'.In openndk/{one.name}.h', '.Bd -literal']
        if struct.text:
            synopsis += textwrap.wrap(struct.text, 70, subsequent_indent='    ') + ['.Ed']
        else:
            synopsis.append(f'typedef struct {struct.tag} {{')
            for field in fields:
                synopsis += textwrap.wrap(field.text, 70, initial_indent='    ', subsequent_indent='        ')
            synopsis += [f'}} {struct.name};', '.Ed']
        if struct.text:
            line = one_line(imperative(struct.comment.summary), struct.name)
            description = mdoc.text(f'A function of this type {lower(struct.comment.summary)}', words)
            description += mdoc.blocks(struct.comment.body, words, not struct.comment.goes_on)
        else:
            line = one_line(re.sub(r'^(The|A|An) ', '', struct.comment.summary), struct.name)
            description = beyond_name(struct.comment, line, words)
        if struct.comment.parameters:
            description += ['The arguments are:'] + mdoc.tag_list(struct.comment.parameters, words, 'Fa')
        for group in struct.groups:
            description += mdoc.subsection(group.text, words) + ['.Bl -tag -width Ds']
            for field in group.fields:
                description.append('.It Fa ' + ' , '.join(field.names))
                description += mdoc.text(mdoc.capitalize(field.comment, words), words)
            description.append('.El')
        self.write(one, struct.name, [
            ('NAME', names_section([struct.name], line)),
            ('LIBRARY', library(one.name)),
            ('SYNOPSIS', synopsis),
            ('DESCRIPTION', description),
            ('EXAMPLES', mdoc.blocks(struct.comment.example, words, False)),
            ('SEE ALSO', mdoc.references(see, words, [struct.name])),
        ])

    def users(self, type_name):
        """The functions that take or return the type."""
        return [d.name for one in self.headers for block in one.blocks for d in block
                if isinstance(d, header.Function) and
                re.search(r'\b%s\b' % type_name, ' '.join([d.result] + [p for p, _ in d.parameters]))]

    def add_overview(self, one, summaries):
        name = f'openndk_{one.name}'
        words = Words(self.pages, [name], (), self.types, self.homes)
        synopsis = [f'.In openndk/{one.name}.h']
        line = one_line(lower(one.comment.summary), f'{one.name}.h')
        description = beyond_name(one.comment, line, words) + mdoc.blocks(one.notes, words)
        for constants in [d for block in one.blocks for d in block if isinstance(d, header.Constants)]:
            description += ['.Pp'] + ([f'.Vt "{constants.title}" :'] if constants.title != 'macros' else [])
            description += mdoc.text(constants.comment.summary, words)
            description += mdoc.blocks(constants.comment.body, words, False)
            description += self.constants(constants, words)
        functions = ['.Bl -tag -width Ds'] if summaries else []
        for function, summary in summaries:
            functions += [f'.It Xr {function} 3'] + mdoc.text(summary, words)
        functions += ['.El'] if summaries else []
        self.write(one, name, [
            ('NAME', names_section([name], line)),
            ('LIBRARY', library(one.name)),
            ('SYNOPSIS', synopsis),
            ('DESCRIPTION', description),
            ('FUNCTIONS AND TYPES', functions),
            ('EXAMPLES', mdoc.blocks(one.comment.example, words, False)),
            ('SEE ALSO', mdoc.references(one.comment.see_also + ['openndk'], words, [name])),
        ])

    @staticmethod
    def constants(constants, words):
        values = [(*re.fullmatch(r'(\w+(?:\([^)]*\))?)\s*=?\s*(.*)', value, re.S).groups(), meaning)
                  for value, meaning in constants.values]
        values = [(name, value.rstrip('u') if re.fullmatch(r'[\dxa-f]+u?', value) else '', meaning)
                  for name, value, meaning in values]
        if not all(meaning for *_, meaning in values):
            width = max(len(name) for name, *_ in values) + 2
            return mdoc.literal([f'{name:{width}}{value:6}{meaning}'.rstrip() for name, value, meaning in values], '')
        lines = ['.Bl -tag -width Ds']
        for name, value, meaning in values:
            lines.append(f'.It Dv {mdoc.argument(name)}' + (f' Pq {value}' if value else ''))
            lines += mdoc.text(mdoc.capitalize(meaning, words), words)
        return lines + ['.El']
