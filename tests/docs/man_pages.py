#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the manual pages with what they describe.

usage: man_pages.py CHECK PAGES SOURCES [TOOL...]

PAGES is the directory that scripts/man has written, SOURCES the tree. Checks:
  lint      mandoc has no warning, every reference has its page, and no line is too long for a terminal
  headers   every function and struct of include/openndk has a page, and the reverse
  options   every option in the --help of each TOOL is in its page with the same default and range, and the reverse;
            so is every exit code. A TOOL may be followed by a space and a subcommand
  examples  the examples of section 3 compile
  settings  the library of TOOL, libopenndk.so, has the variables, ranges and defaults that openndk(7) states
Each check also runs on a copy of the pages with one mistake, and must find it. Status 77: mandoc is missing.
"""
import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MAX_COLUMNS = 80
PLUGINS = {'nbdkit-openndk-plugin.1'} # pages of no tool
# Pages of other projects.
EXTERNAL = {'abort', 'fork', 'gdb', 'ib_send_bw', 'ibv_devinfo', 'if_nametoindex', 'nbdcopy', 'nbdinfo', 'nbdkit',
            'nbdkit-blocksize-filter', 'netstat', 'nsenter', 'rping', 'ss'}


class Pages:
    """The pages below a directory: name.section to text, without the links."""

    def __init__(self, directory):
        self.paths = {path.name: path for path in sorted(pathlib.Path(directory).glob('*/man?/*'))}
        texts = {name: path.read_text('utf-8') for name, path in self.paths.items()}
        self.links = {name: text.split()[1] for name, text in texts.items() if text.startswith('.so ')}
        self.texts = {name: text for name, text in texts.items() if name not in self.links}

    def render(self, name):
        done = subprocess.run(['mandoc', '-T', 'utf8', self.paths[name]], capture_output=True, text=True, check=True)
        text = re.sub('.\b', '', done.stdout)
        return text


# ---- The checks: each returns a list of findings ----

def check_lint(pages, sources, *_):
    findings = [f'{name} refers to {target}, which does not exist' for name, target in pages.links.items()
                if pathlib.Path(target).name not in pages.texts]
    for name, text in pages.texts.items():
        done = subprocess.run(['mandoc', '-T', 'lint', '-W', 'warning', pages.paths[name]], capture_output=True,
                              text=True, check=False)
        findings += (done.stdout + done.stderr).splitlines()
        for reference, section in re.findall(r'\bXr (\S+) (\d)', text):
            if f'{reference}.{section}' not in pages.paths and reference not in EXTERNAL:
                findings.append(f'{name}: there is no page {reference}({section})')
        for document in re.findall(r'\bdocs/[\w.-]+\.md', text):
            if not (sources / document).exists():
                findings.append(f'{name}: there is no {document}')
        for line in pages.render(name).splitlines():
            if len(line) > MAX_COLUMNS:
                findings.append(f'{name}: a line of {len(line)} columns: {line}')
    return findings


def check_headers(pages, sources, *_):
    declared = set()
    for header in (sources / 'include/openndk').glob('*.h'):
        text = re.sub(r'/\*.*?\*/', '', header.read_text('utf-8'), flags=re.S)
        declared |= set(re.findall(r'^(?:ONDK_API|static inline)\b[^;{(]*?\b(\w+)\(', text, re.M))
        declared |= set(re.findall(r'^typedef [^;]*\(\*(\w+)\)\(', text, re.M))
        declared |= set(re.findall(r'^\} (\w+);', re.sub(r'typedef enum.*?\} \w+;', '', text, flags=re.S), re.M))
        declared.add(f'openndk_{header.stem}')
    documented = {name[:-2] for name in pages.paths if name.endswith('.3')}
    findings = [f'{name} has no page' for name in sorted(declared - documented)]
    findings += [f'{name}(3) describes nothing that include/openndk declares' for name in sorted(documented - declared)]
    headers = [header.name for header in (sources / 'include/openndk').glob('*.h') if header.stem != 'api']
    findings += [f'openndk(7) does not list openndk/{header}' for header in headers
                 if f'.It In openndk/{header}\n' not in pages.texts['openndk.7']]
    for name in declared & documented:
        page = pathlib.Path(pages.links.get(f'{name}.3', f'{name}.3')).name
        if not re.search(r'\b%s\b' % name, pages.texts.get(page, '')):
            findings.append(f'{page} does not name {name}')
    return findings


OPTION = re.compile(r'(?<![\w/.<:=-])(--?[A-Za-z][\w-]*)')


def help_items(text):
    """Of each item in the help, which begins with options: its options, and its whole text on one line."""
    items = []
    for line in text.splitlines():
        if re.match(r'  -', line):
            head, *rest = re.split(r' {2,}', line.strip())
            items.append([set(OPTION.findall(head)), ' '.join(rest)])
        elif items and re.match(r' {10}', line):
            items[-1][1] += ' ' + line.strip()
        elif line.strip():
            items.append([set(), ''])  # a heading, or another part
    return [(options, text) for options, text in items if options]


def page_items(text):
    """The same of a page."""
    items = []
    for block in re.split(r'^(?=\.(?:It|El|Sh|Ss|Bl)\b)', text, flags=re.M):
        head, _, rest = block.partition('\n')
        options = {'-' + word for word in re.findall(r'\bFl (\S+)', head)} if head.startswith('.It') else set()
        if options:
            items.append((options, re.sub(r'\s+', ' ', re.sub(r'^\.[A-Z][a-z] ', '', rest, flags=re.M))))
    return items


def exit_codes(text):
    return set(re.findall(r'^ +(\d+)  ', text.partition('\nExit status:')[2], re.M))


def value_findings(page, offered, described):
    """The default and the range of an option: `(default 64; 24 to 16M)` in the help."""
    findings = []
    for options, text in offered:
        found = ' '.join(words for names, words in described if names & options)
        # A default of more than two words is a sentence, which the page may put differently.
        stated = [value for value in re.findall(r'\((default [^;)]+)', text) if len(value.split()) <= 3]
        stated += re.findall(r'[(;] ?([\d.]+[KMG]? to [\d.]+[KMG]?)\)', text)
        findings += [f'{page} does not state "{value}" of {", ".join(sorted(options))}' for value in stated
                     if value not in found]
    return findings


def check_options(pages, _, *tools):
    findings, helps = [], {}
    for tool in tools:
        done = subprocess.run([*tool.split(' '), '--help'], capture_output=True, text=True, check=False)
        if done.returncode:
            findings.append(f'{tool} --help: status {done.returncode}')
        helps.setdefault(f'{pathlib.Path(tool.split(" ")[0]).name}.1', []).append(done.stdout)
    for page, texts in helps.items():
        offered = [item for text in texts for item in help_items(text)]
        described = page_items(pages.texts.get(page, ''))
        in_help, in_page = ({name for names, _ in items for name in names} for items in (offered, described))
        findings += [f'{page} lacks the option {option}' for option in sorted(in_help - in_page)]
        findings += [f'{page} describes {option}, which --help lacks' for option in sorted(in_page - in_help)]
        findings += value_findings(page, offered, described)
        stated = set(re.findall(r'^\.It (\d+)$', pages.texts.get(page, '').partition('.Sh EXIT STATUS')[2], re.M))
        if stated != exit_codes(texts[0]):
            findings.append(f'{page} has the exit codes {sorted(stated)}, --help has {sorted(exit_codes(texts[0]))}')
    findings += [f'{name} is the page of no tool' for name in pages.texts
                 if name.endswith('.1') and name not in helps and name not in PLUGINS]
    return findings


# What an example may use without a declaration.
EXAMPLE = """#include <net/if.h>
#include <stdio.h>
%s
extern NDK_ADAPTER *adapter;
extern NDK_CONNECTOR *connector;
int example(void);
int example(void)
{
%s
return 0;
}
"""


def check_examples(pages, sources):
    findings, count = [], 0
    for name, text in pages.texts.items():
        part = re.search(r'^\.Sh EXAMPLES\n(.*?)^\.Sh', text, re.M | re.S)
        if not name.endswith('.3') or not part:
            continue
        headers = re.findall(r'^\.In (\S+)$', text.partition('.Sh DESCRIPTION')[0], re.M) + ['openndk/reason.h']
        includes = '\n'.join(f'#include <{header}>' for header in headers)
        for code in re.findall(r'^\.Bd -literal.*?\n(.*?)^\.Ed$', part[1], re.M | re.S):
            code = code.replace('\\&', '').replace('\\e', '\\')
            command = ['cc', '-x', 'c', '-fsyntax-only', '-Wall', '-Wextra', '-Werror', '-Wno-unused-variable',
                       '-I', sources / 'include', '-']
            program = EXAMPLE % (includes, code)
            done = subprocess.run(command, input=program, capture_output=True, text=True, check=False)
            findings += [f'{name}: {line}' for line in done.stderr.splitlines()]
            count += 1
    return findings if count else ['no page has an example']


class Library:
    """libopenndk's view of the environment."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.ondk_config_init_sized.restype = None
        self.library.ondk_config_check_environment.restype = ctypes.c_uint32
        self.words = (ctypes.c_uint32 * 1024)()

    def config(self, **variables):
        """The words of ondk_config_t, and how many variables are not used."""
        os.environ.update({name: str(value) for name, value in variables.items()})
        wrong = self.library.ondk_config_check_environment()
        self.library.ondk_config_init_sized(ctypes.byref(self.words), ctypes.c_size_t(ctypes.sizeof(self.words)))
        for name in variables:
            del os.environ[name]
        return list(self.words), wrong


def setting_findings(library, name, low, high, default, fields):
    """Compares one variable. Adds the index of its field to fields."""
    before = library.config()[0]
    if library.config(**{name: default})[0] != before:
        return [f'{name}: the default is not {default}']
    found = []
    for value in (low, high):
        words, wrong = library.config(**{name: value})
        changed = [i for i, word in enumerate(words) if word != before[i]]
        if wrong or (value != default and (len(changed) != 1 or words[changed[0]] != value)):
            found.append(f'{name}={value} is not used')
        fields.update(changed)
    for value in (low - 1, high + 1):
        if value >= 0 and not library.config(**{name: value})[1]:
            found.append(f'{name}={value} is out of the range, but used')
    return found


def words_of_messages(library_path):
    """The variables with words, and the words, as the library's messages list them."""
    script = 'import ctypes, sys; ctypes.CDLL(sys.argv[1]).ondk_config_check_environment()'
    names = re.findall(r'\{ "(ONDK_\w+)", ', (SOURCES / 'src/provider/environment.c').read_text('utf-8'))
    messages = {}
    for name in names:
        done = subprocess.run([sys.executable, '-c', script, library_path], env={**os.environ, name: ',?'}, text=True,
                              capture_output=True, check=True)
        messages[name] = re.search(r'%s=,\? is not used: expected is (.*)' % name, done.stderr)[1]
    return messages


def check_settings(pages, _, library_path):
    findings, fields = [], set()
    library = Library(library_path)
    for name in [name for name in os.environ if name.startswith('ONDK_')]:
        del os.environ[name]
    text = re.sub(r'\s+', ' ', pages.render('openndk.7'))
    entries = re.split(r' (?=ONDK_[A-Z_]+ [A-Z0-9])', text[text.index(' ENVIRONMENT '):text.index(' FILES ')])
    described = {entry.split()[0]: entry for entry in entries if entry.startswith('ONDK_')}
    words = words_of_messages(library_path)
    for name, entry in described.items():
        match = re.search(r'Range (\d+) (?:to (\d+)|or (\d+|more)); default (\w+)\.', entry)
        if match:
            high = match[2] or match[3]
            numbers = [0xffffffff if text in ('more', 'ONDK_UNLIMITED') else int(text)
                       for text in (match[1], high, match[4])]
            findings += setting_findings(library, name, *numbers, fields)
        elif name not in words:
            findings.append(f'openndk(7): {name} has no range, or is not a variable')
    for name, message in words.items():
        for word in re.findall(r'[a-z][\w-]*', message):
            if name not in described:
                findings.append(f'openndk(7) lacks {name}')
                break
            if word not in ('a', 'or', 'profile') and not re.search(r'(?<![\w-])%s(?![\w-])' % word, described[name]):
                findings.append(f'openndk(7): {name} may be {word}')
    count = (SOURCES / 'src/provider/config.c').read_text('utf-8').count('    FIELD(')
    if fields != set(range(1, count + 1)):
        findings.append(f'openndk(7) describes {len(fields)} of {count} fields')
    return findings


# ---- Mistakes that the checks must find: a page's name, and a function of its text ----

MISTAKES = {
    'lint': [('ondk_open_adapter.3', lambda text: text + '.Bl -tag\n.It a\n'),
             ('ondk_open_adapter.3', lambda text: text + '.Pp\n.Xr ondk_no_such_function 3\n'),
             ('openndk.7', lambda text: text.replace('docs/timeouts.md', 'docs/timeout.md')),
             ('openndk_config.3', lambda text: text + '.Bd -literal\n' + 'x' * 90 + '\n.Ed\n')],
    'headers': [('openndk.7', lambda text: text.replace('.It In openndk/mdl.h', '.It In openndk/mdd.h')),
                ('ondk_open_adapter.3', None), ('ondk_config_t.3', None), ('ondk_config_init_sized.3', None),
                ('ondk_open_adapter.3', lambda text: text.replace('ondk_open_adapter', 'ondk_open'))],
    'options': [('ndkrun.1', lambda text: text.replace('.It Fl -net', '.It Fl -nett')),
                ('ndkping.1', lambda text: text.replace('24 to 16M', '24 to 8M')),
                ('ndkping.1', lambda text: text.replace('default no limit', '')),
                ('ndkping.1', lambda text: text.replace('.It 130', '.It 131'))],
    'examples': [('openndk_config.3', lambda text: text.replace('&config', 'config'))],
    'settings': [('openndk.7', lambda text: text.replace('default 25.', 'default 26.')),
                 ('openndk.7', lambda text: text.replace('Range 0 to 508;', 'Range 0 to 507;')),
                 ('openndk.7', lambda text: text.replace('.It Ev ONDK_NUDGE_MS', '.It Ev ONDK_NUDGE')),
                 ('openndk.7', lambda text: text.replace('.It Cm report', '.It Cm reports')),
                 ('openndk.7', lambda text: text.replace('.It Ev ONDK_VERIFY', '.It Ev VERIFY'))],
}


def finds_mistakes(check, name, directory, *rest):
    missed = []
    for page, change in MISTAKES[name]:
        with tempfile.TemporaryDirectory() as scratch:
            copy = shutil.copytree(directory, pathlib.Path(scratch) / 'man')
            path = Pages(copy).paths[page]
            if change is None:
                path.unlink()
            else:
                before = path.read_text('utf-8')
                path.write_text(change(before), 'utf-8')
                if path.read_text('utf-8') == before:
                    missed.append(f'{name}: the mistake in {page} changes nothing')
            if not check(Pages(copy), *rest):
                missed.append(f'{name}: the mistake in {page} was not found')
    return missed


def main():
    global SOURCES
    name, directory, SOURCES, *tools = sys.argv[1:]
    SOURCES = pathlib.Path(SOURCES)
    check = {'lint': check_lint, 'headers': check_headers, 'options': check_options, 'examples': check_examples,
             'settings': check_settings}[name]
    if not shutil.which('mandoc'):
        print('mandoc is missing (scripts/deps.sh test)')
        return 77
    pages = Pages(directory)
    if len(pages.texts) < 10:
        print(f'{directory} has only {len(pages.texts)} pages')
        return 1
    findings = check(pages, SOURCES, *tools) + finds_mistakes(check, name, directory, SOURCES, *tools)
    print('\n'.join(findings) or f'{len(pages.texts)} pages: nothing found')
    return 1 if findings else 0


if __name__ == '__main__':
    sys.exit(main())
