# SPDX-License-Identifier: MIT
"""Writes mdoc(7): text with its names marked up, lists, displays, whole pages."""
import re
import textwrap

import header

CONSTANT = re.compile(r'(?:STATUS|NDIS_STATUS|NDK_[A-Z]+|IRP_MJ|IOCTL)_[A-Z0-9_]+|NULL|(?:PASSIVE|DISPATCH|APC)_LEVEL'
                      r'|SIG[A-Z]+|SA_ONSTACK|AF_[A-Z0-9]+|SO_[A-Z]+')
OTHER_PAGES = {'if_nametoindex': 3, 'abort': 3, 'fork': 2}  # of the system: function and section


def escape(text):
    return text.replace('\\', '\\e')


def argument(text):
    """One argument of a macro."""
    text = escape(text).replace('"', '\\(dq')
    return f'"{text}"' if ' ' in text or not text else text


# Behind these, a parameter's name is a word of the language: "the adapter".
NOUN_FOLLOWS = set('the a an its open each this that own one no any other short'.split())


class Words:
    """The names that a page refers to: pages by name, and the names that mean something on this page alone."""

    def __init__(self, pages, own=(), arguments=(), types=(), homes=None):
        self.pages = pages  # name: section
        self.homes = homes or {}  # a macro or constant: the page that describes it
        self.own, self.arguments, self.types = set(own), set(arguments), set(types)

    def macro(self, word):
        """The macro line for a word without punctuation, or None for plain text."""
        call = re.fullmatch(r'(\w+)\(\)', word)
        name = call[1] if call else word
        if name in self.own:
            return f'{"Vt" if name in self.types else "Fn"} {name}'
        if name in self.pages:
            return f'Xr {name} {self.pages[name]}'
        if re.fullmatch(r'\*?(?:%s)(?:(?:->|\.)\w+)?' % '|'.join(self.arguments or ['(?!)']), word):
            return f'Fa {word}'
        if call and name in OTHER_PAGES:
            return f'Xr {name} {OTHER_PAGES[name]}'
        if call or re.fullmatch(r'Ndk[A-Z]\w+|Wsk[A-Z]\w+', word):
            return f'Fn {name}'
        if re.fullmatch(r'openndk/\w+\.h|ndk/\w+\.h', word):
            return f'In {word}'
        if re.fullmatch(r'docs/[\w.-]+\.md|include/[\w/.-]+', word):
            return f'Pa {word}'
        if CONSTANT.fullmatch(word) or word in self.homes or re.fullmatch(r'ONDK_(RTR|CAUSE|CLASS)_', word):
            return f'Dv {word}'
        if re.fullmatch(r'ONDK_[A-Z_]+(=\S+)?', word):
            return f'Ev {word}'
        return None


def sentence_lines(sentence, words):
    """The lines of one sentence: a macro line for each name, filled text between them."""
    lines, plain = [], []

    def flush():
        text = escape(' '.join(plain))
        plain.clear()
        for line in textwrap.wrap(text, 79, break_long_words=False, break_on_hyphens=False):
            lines.append('\\&' + line if line[0] in ".'" else line)

    before_it, quotes = '', 0
    for word in sentence.split():
        is_quoted = quotes % 2 or re.match(r'"[^"]*$', word)
        quotes += word.count('"')
        is_noun = before_it.lower() in NOUN_FOLLOWS or before_it.endswith("'s")
        before_it = word
        match = re.fullmatch(r"""([(\["]*)(.*?)([.,;:)\]"!?]*)""", word)
        before, core, after = match.groups()
        if core.endswith('(') and after.startswith(')'):
            core, after = core + ')', after[1:]
        macro = words.macro(core) if core and not is_quoted else None
        if not macro or (macro.startswith('Fa') and is_noun and core.isalpha()):
            plain.append(word)
            continue
        flush()
        if before:
            macro = f'Pf {argument(before)} {macro}'
        lines.append(' '.join(['.' + macro] + [argument(character) for character in after]))
    flush()
    return lines


def text(content, words):
    lines = []
    for sentence in header.split_sentences(content):
        lines += sentence_lines(sentence, words)
    return lines


def capitalize(content, words):
    """A fragment as a sentence; a name at its beginning stays as it is."""
    content = content.strip()
    first = re.match(r"[a-z][a-z']*(?=[ ,;:])", content)
    if first and not words.macro(first[0]):
        content = content[0].upper() + content[1:]
    return content if content.endswith(('.', '?', '!')) else content + '.'


def tag_list(items, words, macro=None):
    """A list of terms with their texts. The term's macro is found from the term unless one is given."""
    lines = ['.Bl -tag -width Ds']
    for term, content in items:
        found = macro or (words.macro(term) or '').partition(' ')[0]
        if found in ('Xr', 'In'):
            found = 'Fn'
        name = argument(term) if ' ' in term and found else escape(term)
        lines.append(f'.It {found} {name}' if found else f'.It {name}')
        lines += text(capitalize(content, words), words) if content else []
    return lines + ['.El']


def literal(code, offset=' -offset indent'):
    lines = [('\\&' + line if line.startswith(('.', "'")) else line) for line in map(escape, code)]
    return [f'.Bd -literal{offset}'] + lines + ['.Ed']


def blocks(parts, words, paragraph=True):
    """Blocks of a comment; all but the first, or with paragraph all, begin a paragraph."""
    lines = []
    for part in parts:
        if part.kind == 'text':
            lines += (['.Pp'] if lines or paragraph else []) + text(part.content, words)
        elif part.kind == 'list':
            lines += tag_list(part.content, words)
        else:
            lines += literal(part.content)
    # A list or display at the beginning of a paragraph has its own space.
    return lines


def subsection(content, words):
    """A heading, which is the first sentence, and the text under it."""
    if not content:
        return []
    title, *rest = header.split_sentences(content)
    return [f'.Ss {escape(title.rstrip("."))}'] + text(' '.join(rest), words)


def references(names, words, own):
    """SEE ALSO: pages ordered by section and name, then documents."""
    names = {words.homes.get(name, name) for name in names} - set(own)
    documents = sorted(name for name in names if name.startswith('docs/'))
    # A name that is not known is that of a tool; the test of the pages finds it if it is none.
    pages = sorted((words.pages.get(name, 1), name) for name in names - set(documents))
    lines = [f'.Xr {name} {section}' + (' ,' if i + 1 < len(pages) else '') for i, (section, name) in enumerate(pages)]
    if documents:
        lines += ['.Pp', 'In the documentation of OpenNDK:']
        lines += [f'.Pa {name}' + (' ,' if i + 1 < len(documents) else '') for i, name in enumerate(documents)]
    return lines


def page(name, section, sections, release, source):
    """A whole page. sections: pairs of a title and lines; those without lines are left out."""
    lines = ['.\\" SPDX-License-Identifier: MIT', f'.\\" Written by scripts/man from {source}.',
             f'.Dd {release.date}', f'.Dt {name.upper()} {section}', f'.Os "OpenNDK {release.version}"']
    for title, content in sections:
        if content:
            lines += [f'.Sh {title}'] + content
    return '\n'.join(lines) + '\n'
