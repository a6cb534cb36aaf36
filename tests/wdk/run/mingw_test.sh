#!/bin/sh
# SPDX-License-Identifier: MIT
# mingw_test.sh SOURCE_DIR: the samples compile and link as real Windows drivers, which start at DriverEntry and import
# Winsock Kernel from netio.sys.
set -eu
command -v x86_64-w64-mingw32-gcc >/dev/null || { echo "skipped: gcc-mingw-w64-x86-64 is not installed"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$1/samples/mingw/build" "$dir" hello echo
for sample in hello echo; do
    x86_64-w64-mingw32-objdump -x "$dir/$sample.sys" >"$dir/$sample.txt"
    for wanted in 'file format pei-x86-64' 'Subsystem.*(NT native)' 'DLL Name: netio.sys' 'WskRegister' \
        'WskDeregister' 'DLL Name: ntoskrnl.exe' 'KeWaitForSingleObject'; do
        grep -q "$wanted" "$dir/$sample.txt" || { echo "$sample.sys: no $wanted"; exit 1; }
    done
    if grep 'DLL Name' "$dir/$sample.txt" | grep -v -e netio.sys -e ntoskrnl.exe -e HAL.dll; then
        echo "$sample.sys imports from the libraries above"
        exit 1
    fi
    entry=$(awk '/^AddressOfEntryPoint/ { print $2 }' "$dir/$sample.txt")
    symbol=$(x86_64-w64-mingw32-nm "$dir/$sample.sys" | awk '$3 == "DriverEntry" { print $1 }')
    if [ $((0x$entry + 0x140000000)) != $((0x$symbol)) ]; then
        echo "$sample.sys starts at $entry, DriverEntry is $symbol"
        exit 1
    fi
    echo "$sample.sys: $(stat -c %s "$dir/$sample.sys") bytes"
done
