#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the manual pages.

    python3 scripts/man --output DIRECTORY [--version VERSION] [--date YYYY-MM-DD]
    python3 scripts/man --list

Section 3 is written from the comments of include/openndk (header.py has their rules). The pages of docs/man are copied;
openndk(7) gets its list of settings from src/provider/config.c and include/openndk/config.h. The date is that of the
newest version in CHANGELOG.md, or SOURCE_DATE_EPOCH, so the same sources give the same pages.

The pages lie in DIRECTORY/PACKAGE/man1, man3 and man7. PACKAGE is the component of the installation.
"""
import argparse
import dataclasses
import datetime
import os
import pathlib
import re
import sys

import header
import handwritten
from section3 import Section3

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass
class Release:
    version: str
    date: str  # November 23, 2026


def release_date(text):
    """The date that the pages show: given, of the newest version in CHANGELOG.md, or SOURCE_DATE_EPOCH."""
    changelog = ROOT / 'CHANGELOG.md'
    if not text and changelog.exists():
        found = re.search(r'^#+ .*?(\d{4}-\d\d-\d\d)', changelog.read_text('utf-8'), re.M)
        text = found[1] if found else None
    if text:
        day = datetime.date.fromisoformat(text)
    else:
        seconds = int(os.environ.get('SOURCE_DATE_EPOCH', 0))
        day = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).date()
    months = 'January February March April May June July August September October November December'.split()
    return f'{months[day.month - 1]} {day.day}, {day.year}'


def project_version():
    numbers = re.findall(r'^#define OPENNDK_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$',
                         (ROOT / 'include/openndk/version.h').read_text('utf-8'), re.M)
    return '.'.join(numbers)


def all_pages(release):
    """File name to text, ordered by package."""
    headers = [header.read_header(path) for path in sorted((ROOT / 'include/openndk').glob('*.h'))]
    manual = handwritten.read_pages(ROOT)
    section3 = Section3(headers, {name: int(section) for name, section in map(handwritten.split_name, manual)}, release)
    pages = {}
    for name, text in section3.files.items():
        is_wdk = name.startswith(('ondk_wdk_', 'openndk_wdk'))
        pages[f'{"openndk-wdk-dev" if is_wdk else "openndk-dev"}/man3/{name}'] = text
    for name, text in manual.items():
        finished = handwritten.finish(text, name, ROOT, release, section3)
        pages[f'{handwritten.package(name)}/man{name[-1]}/{name}'] = finished
    return pages


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--output', type=pathlib.Path)
    parser.add_argument('--version', default=None)
    parser.add_argument('--date')
    parser.add_argument('--list', action='store_true', help='print the names of the pages')
    options = parser.parse_args()
    if not options.list and not options.output:
        parser.error('--output or --list is required')
    try:
        pages = all_pages(Release(options.version or project_version(), release_date(options.date)))
    except header.HeaderError as error:
        sys.exit(f'man: {error}')
    for name, text in pages.items():
        if options.list:
            print(name)
        else:
            path = options.output / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, 'utf-8')
    if options.output:
        for path in options.output.glob('*/man?/*'):
            if str(path.relative_to(options.output)) not in pages:
                path.unlink()


if __name__ == '__main__':
    main()
