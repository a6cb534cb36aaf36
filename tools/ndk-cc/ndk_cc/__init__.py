# SPDX-License-Identifier: MIT
"""The parts of ndk-cc: project (what to build), translate (sources that gcc can read), wpp (.tmh), advice."""


class Trouble(Exception):
    """Something the user has to know; the text is the whole message."""
