# SPDX-License-Identifier: MIT
"""Sections 1 and 7: the pages of docs/man, with date, version, and the tables that are written from the sources.

A line `.\\" @NAME@` in a page is replaced: @SETTINGS@ by the environment variables of ondk_config_t, @PROFILES@ by the
profiles, @CAUSES@ and @TERMINATES@ by the reason codes.
"""
import re

import header
import mdoc

UINT32_MAX = 0xffffffff


def read_pages(root):
    """File name to text."""
    return {path.name: path.read_text('utf-8') for path in sorted((root / 'docs/man').glob('*.[17]'))}


def split_name(file_name):
    name, _, section = file_name.rpartition('.')
    return name, section


def package(file_name):
    """The component that the page is installed with."""
    of_drivers = ('nbdkit-openndk-plugin', 'ndk-cc', 'ndkrun', 'openndk-wdk')
    return 'openndk-wdk-tools' if split_name(file_name)[0] in of_drivers else 'openndk-tools'


# ---- The settings ----

def config_rows(root):
    """Of each field of ondk_config_t: variable, default as it is written, lowest and highest value."""
    def number(text):
        text = re.sub(r'\b(0x[0-9a-f]+|\d+)u\b', r'\1', text.strip())
        return UINT32_MAX if text in ('UINT32_MAX', 'ONDK_UNLIMITED') else eval(text, {'__builtins__': {}}, {
            'ONDK_RTR_ZERO_FPDU': 1, 'ONDK_RTR_WRITE': 2, 'ONDK_RTR_READ': 4})

    rows, source = {}, (root / 'src/provider/config.c').read_text('utf-8')
    for row in re.finditer(r'FIELD\((\w+), "(\w+)", ([^,]+), ([^,]+), ([^)]+)\)', source):
        default = row[3].strip() if row[3].strip() == 'ONDK_UNLIMITED' else number(row[3])
        rows[row[1]] = (row[2], default, number(row[4]), number(row[5]))
    return rows


def range_text(low, high):
    if high == UINT32_MAX:
        return f'{low} or more'
    return f'{low} or {high}' if high == low + 1 else f'{low} to {high}'


def settings(root, words):
    config = header.read_header(root / 'include/openndk/config.h')
    struct = next(d for block in config.blocks for d in block if getattr(d, 'name', '') == 'ondk_config_t')
    rows, lines, seen = config_rows(root), [], set()
    for group in struct.groups:
        if group.text:
            lines += mdoc.subsection(group.text, words) + ['.Bl -tag -width Ds']
        for field in group.fields:
            if field.names == ['size']:
                continue
            name = field.names[0]
            if name not in rows:
                raise header.HeaderError(f'config.c has no row for {name}')
            variable, default, low, high = rows[name]
            expected = f'{range_text(low, high)}; default {default}.'
            if not field.comment.endswith(f'Range {expected}'):
                raise header.HeaderError(f'config.h: the comment of {name} must end with "Range {expected}"')
            lines.append(f'.It Ev {variable}')
            lines += mdoc.text(field.comment, words)
            seen.add(name)
        if group.text:
            lines.append('.El')
    if seen != set(rows):
        raise header.HeaderError(f'config.h does not describe {", ".join(sorted(set(rows) - seen))}')
    return lines


# ---- Tables of docs/profiles.md and docs/reasons.md, which are printed from the code ----

def table(path, title):
    """The rows of the first table whose head begins with the title."""
    found, rows = False, []
    for line in path.read_text('utf-8').splitlines():
        cells = [cell.strip().replace('`', '') for cell in line.strip('|').split('|')]
        if not line.startswith('|'):
            if found:
                break
        elif found and not line.startswith('|---'):
            rows.append(cells)
        elif cells[0] == title:
            found = True
    if not rows:
        raise header.HeaderError(f'{path} has no table that begins with {title}')
    return rows


def profiles(root, words):
    lines = ['.Bl -tag -width Ds']
    for name, meaning in table(root / 'docs/profiles.md', 'profile'):
        lines += [f'.It Cm {name}'] + mdoc.text(meaning, words)
    return lines + ['.El']


def causes(root, words):
    senders = {"this side's": 'This side', "the peer's": 'The peer'}
    lines = ['.Bl -tag -width Ds']
    for code, name, by, happened, check in table(root / 'docs/reasons.md', 'code'):
        lines += [f'.It Cm {name} Pq {code}'] + mdoc.text(happened, words)
        lines += [f'{senders[by]} sent a Terminate message.'] if by and 'Terminate' not in happened else []
        lines += ['.br'] + mdoc.text(check, words)
    return lines + ['.El']


def terminates(root, words):
    lines = ['.Bl -tag -width Ds']
    for code, name, found, check in table(root / 'docs/reasons.md', 'lower 16 bits'):
        lines += [f'.It Cm {name} Pq {code}'] + mdoc.text(found, words) + ['.br'] + mdoc.text(check, words)
    return lines + ['.El']


def finish(text, file_name, root, release, section3):
    """The page with date, version and tables."""
    words = mdoc.Words(section3.pages, [split_name(file_name)[0]], (), (), section3.homes)
    written = {'SETTINGS': settings, 'PROFILES': profiles, 'CAUSES': causes, 'TERMINATES': terminates}
    lines = []
    for line in text.splitlines():
        place = re.fullmatch(r'\.\\" @(\w+)@', line)
        if line.startswith('.Dd '):
            lines.append(f'.Dd {release.date}')
        elif line.startswith('.Os'):
            lines.append(f'.Os "OpenNDK {release.version}"')
        elif place:
            lines += written[place[1]](root, words)
        else:
            lines.append(line)
    return '\n'.join(lines) + '\n'
