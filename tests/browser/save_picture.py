#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Saves what a page of ndktrace html draws as an SVG file, as its button "save SVG" does.

usage: save_picture.py PAGE.html OUTPUT.svg [WIDTH [SCRIPT]]

SCRIPT is JavaScript that runs before, for example "setFilter({until: 2e6})". docs/trace.svg was made this way.
"""
import pathlib
import sys
import tempfile

import webdriver


def main():
    if not 3 <= len(sys.argv) <= 5:
        sys.exit(__doc__)
    page, output, width, script = [*sys.argv[1:], *("900", "")[len(sys.argv) - 3:]]
    with tempfile.TemporaryDirectory() as directory, webdriver.Browser(directory) as browser:
        browser.open(page)
        browser.run(script)
        pathlib.Path(output).write_text(browser.run("return exportSvg(arguments[0])", int(width)))


main()
