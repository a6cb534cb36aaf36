#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/deps.sh while another apt holds a lock. usage: deps_test.py DEPS.SH

No package is installed and no network used. dpkg-query, sudo and the installing part of apt-get are stand-ins;
`apt-get update` is the real one, with directories of its own and no sources, and meets a lock that this test holds.
"""
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

DEPS = sys.argv[1]
SKIPPED = 77
NO_INSTALL_YET = 2 # times that dpkg's lock is taken

APT_GET = '''#!/bin/sh
case $1 in
update)
    echo update >>{calls}
    [ -n "{real}" ] || exit 0
    exec {real} "$@" ;;
install)
    echo install >>{calls}
    [ "$(grep -c install {calls})" -gt {failures} ] && exit 0
    echo "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1 (apt-get)" >&2
    exit 100 ;;
esac
'''


def program(path, text):
    path.write_text(text)
    path.chmod(0o755)


def start(folder, real, failures):
    """Runs deps.sh on a simulated system without packages."""
    bin_folder = folder / 'bin'
    bin_folder.mkdir()
    program(bin_folder / 'dpkg-query', '#!/bin/sh\nexit 1\n')
    program(bin_folder / 'sudo', '#!/bin/sh\nexec "$@"\n')
    program(bin_folder / 'apt-get', APT_GET.format(calls=folder / 'calls', real=real, failures=failures))
    (folder / 'apt.conf').write_text(f'''Dir "{folder}/root";
Dir::State::status "{folder}/status";
APT::Sandbox::User "root";
''')
    environment = dict(os.environ, PATH=f'{bin_folder}:{os.environ["PATH"]}', APT_CONFIG=str(folder / 'apt.conf'))
    return subprocess.Popen([DEPS, 'build'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env=environment)


def calls(folder):
    return (folder / 'calls').read_text().split()


def finish(name, p, said, wanted, folder):
    text = said + p.communicate()[0]
    ok = p.returncode == 0 and text.count('waiting for another apt') == 1 and wanted(calls(folder))
    print(f'{name}: {"passed" if ok else "FAILED"}')
    if not ok:
        print(f'status {p.returncode}, calls {calls(folder)}, said:\n{text}')
    return ok


def lists_are_locked(folder):
    """The lock is released after deps.sh has printed that it waits."""
    lists = folder / 'root/var/lib/apt/lists'
    (lists / 'partial').mkdir(parents=True)
    (folder / 'root/etc/apt').mkdir(parents=True)
    (folder / 'root/var/cache/apt/archives/partial').mkdir(parents=True)
    (folder / 'status').touch()
    with open(lists / 'lock', 'w', encoding='ascii') as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        p = start(folder, shutil.which('apt-get'), 0)
        said = ''
        for line in p.stdout:
            said += line
            if 'waiting' in line:
                break
    return finish('the lock of the lists', p, said,
                  lambda all_calls: all_calls.count('update') > 1 and all_calls[-1] == 'install', folder)


def dpkg_is_locked(folder):
    return finish("dpkg's lock", start(folder, '', NO_INSTALL_YET), '',
                  lambda all_calls: all_calls.count('install') == NO_INSTALL_YET + 1, folder)


def main():
    if not shutil.which('apt-get'):
        print('skipped: there is no apt-get')
        return SKIPPED
    failed = 0
    for case in (lists_are_locked, dpkg_is_locked):
        with tempfile.TemporaryDirectory() as folder:
            failed += not case(pathlib.Path(folder))
    return failed != 0


sys.exit(main())
