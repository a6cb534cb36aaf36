#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles the kernel's headers: each alone and again after itself, and all of them in some orders.

usage: compile_headers.py compiler language include-directory flag...
Exits with 77, and says so, where the compiler is not installed.
"""
import glob
import os
import platform
import random
import shutil
import subprocess
import sys

ORDERS = 3
# ndkpi.h and the like pull most others in: what starts with each of these is compiled too.
STRICT = ['-Wall', '-Wextra', '-Wshadow', '-Werror', '-fsyntax-only']

# What wdm.h alone gives of the compiler's own header, and names of <stdlib.h> that a driver has for itself.
FENCES = 'void fences(void) { _mm_lfence(); _mm_mfence(); _mm_sfence(); _mm_pause(); }\n'
OWN_NAMES = 'typedef struct ulong { int low; } ulong;\nvoid *random(void *of, int how);\n'
VECTORS = ['emmintrin.h', 'x86intrin.h', 'intrin.h']


# The packing headers have no guard, and change the headers behind them.
PACKED = ''.join(f'#include <pshpack{n}.h>\nstruct packed{n} {{ char c; long long l; }};\n#include <poppack.h>\n'
                 f'typedef char right{n}[sizeof(struct packed{n}) == 8 + {n} ? 1 : -1];\n' for n in (1, 2, 4, 8))
PACKED += '#include <pshpack1.h>\n#include <pshpack2.h>\n#include <poppack.h>\n#include <poppack.h>\n'


def fence_sources():
    if platform.machine() != 'x86_64':
        return
    yield 'fences of wdm.h', '#include <wdm.h>\n' + FENCES + OWN_NAMES
    for header in VECTORS:
        yield f'{header}, wdm.h', f'#include <{header}>\n#include <wdm.h>\n' + FENCES
        yield f'wdm.h, {header}', f'#include <wdm.h>\n#include <{header}>\n' + FENCES


def compile_source(command, source):
    done = subprocess.run(command, input=source, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode == 0, done.stdout


def main():
    compiler, language, include, *flags = sys.argv[1:]
    if not shutil.which(compiler):
        print(f'skipped: {compiler} is not installed')
        return 77
    command = [compiler, *flags, *STRICT, '-I', include, '-x', language, '-']
    headers = sorted(os.path.relpath(path, include) for path in glob.glob(f'{include}/**/*.h', recursive=True))
    headers = [header for header in headers if not header.startswith(('pshpack', 'poppack'))]
    if len(headers) < 30:
        print(f'only {len(headers)} headers in {include}')
        return 1
    sources = [(header, f'#include "{header}"\n' * 2) for header in headers]
    for seed in range(ORDERS):
        order = headers[:]
        random.Random(seed).shuffle(order)
        sources.append((f'all, order {seed}', ''.join(f'#include "{header}"\n' for header in order)))
    sources.append(('packing', PACKED))
    sources.extend(fence_sources())
    failed = 0
    for name, source in sources:
        good, output = compile_source(command, source)
        if not good:
            failed += 1
            print(f'--- {name}\n{output}')
    print(f'{len(sources) - failed} of {len(sources)} compile')
    return 1 if failed else 0


sys.exit(main())
