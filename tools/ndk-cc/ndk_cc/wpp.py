# SPDX-License-Identifier: MIT
"""
What WPP's preprocessor makes of a driver's trace calls on Windows, as far as a run here needs it: macros that print.
The functions are those that `begin_wpp config` blocks and the project name; flags are the control GUIDs' bits.
"""
import re

DEFAULT = 'DoTraceMessage(FLAGS, MSG, ...)'


def scan(lines):
    """(FUNC lines, bit names) of a file."""
    functions, bits, inside = [], [], False
    for line in lines:
        text = line.strip().lstrip('/*').strip()
        if 'begin_wpp' in text:
            inside = True
        elif 'end_wpp' in text:
            inside = False
        elif inside and text.startswith('FUNC '):
            functions.append(text[5:].strip().rstrip(';'))
        if not text.startswith('#define WPP_DEFINE_BIT'):
            bits += re.findall(r'WPP_DEFINE_BIT\s*\(\s*(\w+)\s*\)', line)
    return functions, bits


def named_functions(options):
    """Those of -func:NAME(A,B) and -func:"NAME(A, B)"."""
    found, at = [], 0
    while (at := options.find('-func:', at)) >= 0:
        at += len('-func:')
        if options.startswith('"', at):
            end = options.find('"', at + 1)
            if end < 0:
                break
            found.append(options[at + 1:end])
        else:
            word = re.compile(r'\S*').match(options, at).group()
            end = at + len(word)
            if ')' in word:
                found.append(word[:word.rindex(')') + 1])
        at = end
    return found


def macro(function):
    """NAME{LEVEL=X}(A, MSG, ...) as a macro; None if it is not of that form."""
    match = re.fullmatch(r'(\w+)\s*(?:(\{[^}]*\})\s*)?\((.*)\)\s*', function)
    if not match:
        return None
    name, preset, rest = match.group(1), match.group(2) or '', match.group(3)
    parameters = [word.strip() for word in rest.split(',') if word.strip()]
    named = [re.sub(r'\W', '_', word) for word in parameters if word != '...']
    level = re.search(r'LEVEL\s*=\s*(\w+)', preset)
    shown = '#LEVEL' if 'LEVEL' in named else f'"{level.group(1)}"' if level else '""'
    text = 'MSG' if 'MSG' in named else '""'
    listed = ', '.join(named + (['...'] if '...' in parameters else []))
    arguments = ', ##__VA_ARGS__' if '...' in parameters and text == 'MSG' else ''
    return (f'#undef {name}\n'
            f'#define {name}({listed}) ondk_wpp_trace({shown}, __func__, {text}{arguments})\n')


def header(functions, bits):
    out = ['/* Made by ndk-cc in the place of what WPP makes: trace calls print. */\n',
           '#include <ondk_wpp.h>\n',
           '#ifndef ONDK_WPP_BITS\n#define ONDK_WPP_BITS\n']
    names = list(dict.fromkeys(bits))
    if names:
        out.append('enum { ' + ', '.join(f'WPP_BIT_{name}' for name in names) + ' };\n')
    out.append('#endif\n')
    seen = set()
    for function in [DEFAULT] + functions:
        text = macro(function)
        if text and text not in seen:
            seen.add(text)
            out.append(text)
    return ''.join(out)
