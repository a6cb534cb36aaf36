#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kernel's events in a trace file. usage: trace_test.py NDKRUN DRIVERS NDKTRACE"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

NDKRUN, DRIVERS, NDKTRACE = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
LIMIT = 250
END, NEST, CANCEL = 0x222000, 0x222004, 0x222008
failures = 0


def check(name, condition, seen):
    global failures
    failures += not condition
    if not condition:
        print(f"{name}: FAILED, saw {seen!r}", flush=True)


def trace(driver, *arguments):
    """Runs a driver with ONDK_TRACE. Returns its events as dictionaries."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / 'trace'
        run = subprocess.run([NDKRUN, '--run-for', '0', *arguments, DRIVERS / f'{driver}.so'], capture_output=True,
                             text=True,
                             timeout=LIMIT, check=False, env={**os.environ, 'ONDK_TRACE': str(file)})
        check(f'{driver}: nothing is left', run.returncode in (0, 4), (run.returncode, run.stderr))
        shown = subprocess.run([NDKTRACE, 'show', '--json', file], capture_output=True, text=True, timeout=LIMIT,
                               check=False)
    check('ndktrace shows the file', shown.returncode == 0 and not shown.stderr, (shown.returncode, shown.stderr))
    return [json.loads(line) for line in shown.stdout.splitlines()]


def fields_of(events, kind, /, **values):
    """The fields of the events of this kind with these values."""
    return [event['fields'] for event in events if event['event'] == kind and
            all(event['fields'].get(field) == value for field, value in values.items())]


def only(events, kind, /, **values):
    found = fields_of(events, kind, **values)
    check(f'one event {kind} with {values}', len(found) == 1, found)
    return found[0] if found else {}


def positions_in_order(name, events, *wanted):
    """Checks that events with these names and values occur in this order."""
    at = 0
    for event, values in wanted:
        while at < len(events) and (events[at]['event'] != event or
                                    any(events[at]['fields'].get(key) != value for key, value in values.items())):
            at += 1
        check(f'{name}: {event} {values}, in this order', at < len(events), [e['event'] for e in events])
        at += 1


def life(events):
    entry = only(events, 'DriverEntry', name='talks')
    returned = only(events, 'kernel_returned', routine='DriverEntry', status='STATUS_SUCCESS')
    check('DriverEntry returns', returned['object'] == entry['object'] and returned['duration'] > 0, returned)
    positions_in_order('the life of a driver', events, ('DriverEntry', {}), ('WskRegister', {}),
                       ('kernel_returned', {'routine': 'DriverEntry'}), ('IoCallDriver', {'major': 'IRP_MJ_CREATE'}),
                       ('DriverUnload', {'name': 'talks'}), ('WskDeregister', {}),
                       ('kernel_done', {'routine': 'DriverUnload'}))


def sockets(events):
    listener = only(events, 'kernel_returned', routine='WskSocket', status='STATUS_SUCCESS')['created']
    only(events, 'WskSocket', family='AF_INET', type='SOCK_STREAM', protocol='IPPROTO_TCP', kind='listen')
    check('WskBind', only(events, 'WskBind')['local'] == '127.0.0.1:0', events)
    accept, connect = only(events, 'WskAccept', object=listener), only(events, 'WskSocketConnect', local='0.0.0.0:0')
    check('the remote address', connect['remote'].startswith('127.0.0.1:'), connect)
    accepted = only(events, 'wsk_completed', routine='WskAccept', irp=accept['irp'], status='STATUS_SUCCESS')['created']
    connected = only(events, 'wsk_completed', routine='WskSocketConnect', irp=connect['irp'])['created']
    check('two sockets', int(accepted, 16) and int(connected, 16) and accepted != connected, (accepted, connected))
    only(events, 'WskControlSocket', object=accepted, request='WskSetOption', option='SO_WSK_EVENT_CALLBACK')
    send = only(events, 'WskSend', object=connected, bytes=6, flags='WSK_FLAG_NODELAY')
    done = only(events, 'wsk_completed', object=connected, routine='WskSend', irp=send['irp'], bytes=6)
    check('a duration', done['duration'] > 0, done)
    only(events, 'WskReceiveEvent', object=accepted, bytes=6, flags='WSK_FLAG_AT_DISPATCH_LEVEL')
    only(events, 'kernel_returned', object=accepted, routine='WskReceiveEvent', status='STATUS_SUCCESS', bytes=6)
    check('three closes', len(fields_of(events, 'wsk_completed', routine='WskCloseSocket')) == 3, events)
    positions_in_order('a pending send', events, ('WskSend', {}), ('wsk_completed', {'routine': 'WskSend'}),
                       ('completion_routine', {'status': 'STATUS_SUCCESS', 'information': 6}),
                       ('kernel_returned', {'routine': 'completion_routine',
                                            'status': 'STATUS_MORE_PROCESSING_REQUIRED'}),
                       ('WskDisconnect', {}), ('WskDisconnectEvent', {'object': accepted}),
                       ('wsk_completed', {'routine': 'WskDisconnect'}), ('WskCloseSocket', {'object': connected}))
    pending = fields_of(events, 'kernel_returned', routine='WskSend')
    check('the send is pending', [f['status'] for f in pending] == ['STATUS_PENDING'], pending)


def requests(events):
    sent = only(events, 'IoCallDriver', driver='talks', major='IRP_MJ_DEVICE_CONTROL', code=hex(END), mode='user')
    check('the sizes', (sent['in'], sent['out']) == (0, 65536), sent)
    check('it ends', fields_of(events, 'irp_ended', object=sent['object'], status='STATUS_SUCCESS'), events)
    nested = only(events, 'IoCallDriver', code=hex(END), mode='kernel')
    positions_in_order('a nested request', events, ('IoCallDriver', {'code': hex(NEST)}),
                       ('IoCallDriver', {'object': nested['object']}),
                       ('IoCompleteRequest', {'object': nested['object']}),
                       ('kernel_returned', {'routine': 'IoCallDriver', 'object': nested['object']}),
                       ('IoCompleteRequest', {'status': 'STATUS_SUCCESS'}))
    irp = only(events, 'IoCallDriver', major='IRP_MJ_INTERNAL_DEVICE_CONTROL')['object']
    check('a cancel routine', int(only(events, 'IoCancelIrp', object=irp)['cancel_routine'], 16), irp)
    positions_in_order('a cancelled request', events, ('IoAllocateIrp', {'object': irp, 'locations': 1}),
                       ('kernel_returned', {'object': irp, 'status': 'STATUS_PENDING'}),
                       ('IoCancelIrp', {'object': irp}),
                       ('IoCompleteRequest', {'object': irp, 'status': 'STATUS_CANCELLED'}),
                       ('completion_routine', {'object': irp, 'status': 'STATUS_CANCELLED'}),
                       ('kernel_done', {'object': irp, 'routine': 'IoCancelIrp'}), ('IoFreeIrp', {'object': irp}))


def ndk_calls(*options):
    """A driver's NDK calls, over OpenNDK and over another provider."""
    events = trace('over_ipv6', '--net', '12=fd00::1/64', *options)
    adapter = only(events, 'adapter')['object']
    client = only(events, 'NdkConnect')
    listener = only(events, 'NdkListen')['object']
    request = only(events, 'connect_event', object=listener)
    check('an address of the network of drivers', client['remote'].startswith('['), client)
    only(events, 'NdkCreateListener', object=adapter)
    only(events, 'completed', routine='NdkConnect', object=client['object'], status='STATUS_SUCCESS')
    only(events, 'NdkAccept', object=request['connector'])
    only(events, 'completed', routine='NdkAccept', object=request['connector'], status='STATUS_SUCCESS')
    only(events, 'disconnect_event', object=request['connector'])
    only(events, 'adapter_close', object=adapter)
    proxies = [fields['object'] for fields in fields_of(events, 'proxy')]
    check('a proxy for each object, if drivers are verified', '--verify' in options and not proxies or
          {adapter, listener, client['object'], request['connector']} <= set(proxies), proxies)


def main():
    for provider in ((), ('--provider', DRIVERS / 'foreign.so')):
        ndk_calls(*provider)
        ndk_calls(*provider, '--verify', 'off')
    events = trace('talks', *[word for code in (END, NEST, CANCEL) for word in ('--ioctl', f'Talks:{code}')])
    life(events)
    sockets(events)
    requests(events)
    print(f'{len(events)} events, {failures} failures')
    return failures > 0


sys.exit(main())
