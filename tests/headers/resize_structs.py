#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes include/openndk as an older or a newer version of the library might have it.

usage: resize_structs.py older|newer INCLUDE_OPENNDK OUTPUT_DIRECTORY

older: each struct that programs pass to the library ends before the field named below.
newer: each has four more fields of 32 bits at its end, `added`.
Fails if a header has a struct with named fields that is not in the list.
"""
import pathlib
import re
import sys

ENDS_BEFORE = {
    'ondk_config': 'pend_creates',
    'ondk_counters': 'completion_queue_errors',
    'ondk_adapter_entry': 'addresses',
    'ondk_connection': 'outbound_reads',
    'ondk_listener': 'if_index',
    'ondk_endpoint': 'if_index',
    'ondk_failure': 'first_time_ns',
    'ondk_protection_domain': 'id',
    'ondk_completion_queue': 'queued',
    'ondk_queue_pair': 'receives',
    'ondk_shared_receive_queue': 'sges',
    'ondk_memory_region': 'token',
    'ondk_memory_window': 'token',
    'ondk_verify_config': 'full',
    'ondk_verify_rule': 'kind',
    'ondk_verify_report': 'time_ns',
    'ondk_verify_host': 'mdl_state',
    'ondk_wdk_scsi_command': 'sense',
}
STRUCT = re.compile(r'(typedef struct (\w+) \{\n)(.*?)(\} \w+_t;)', re.S)


def shorten(name, body):
    """The body up to the field's declarator, which may follow others of one declaration."""
    field = re.search(r'[ ,]\s*(\(\*)?\b%s\b(\[\w+\])?\s*[,;)]' % ENDS_BEFORE[name], body)
    if not field:
        sys.exit(f'{name} has no field {ENDS_BEFORE[name]}')
    before = body[:field.start()].rstrip()
    if field.group(0)[0] == ',':
        return before + ';\n'
    return before[:before.rfind(';') + 1] + '\n'


def main():
    version, source, target = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    found = set()

    def resize(match):
        head, name, body, tail = match.groups()
        if name not in ENDS_BEFORE:
            sys.exit(f'{name} is not in the list of {sys.argv[0]}')
        found.add(name)
        body = re.sub(r'/\*.*?\*/', '', body, flags=re.S)
        return head + (shorten(name, body) if version == 'older' else body + '    uint32_t added[4];\n') + tail

    target.mkdir(parents=True, exist_ok=True)
    for header in sorted(source.glob('*.h')):
        (target / header.name).write_text(STRUCT.sub(resize, header.read_text()))
    if found != set(ENDS_BEFORE):
        sys.exit(f'not found: {set(ENDS_BEFORE) - found}')


main()
