#!/bin/sh
# SPDX-License-Identifier: MIT
# mingw_test.sh SOURCE_DIR: the samples compile and link as real Windows drivers, which start at DriverEntry and import
# Winsock Kernel from netio.sys. The initiator is a Storport miniport.
set -eu
command -v x86_64-w64-mingw32-gcc >/dev/null || { echo "skipped: gcc-mingw-w64-x86-64 is not installed"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$1/samples/mingw/build" "$dir" hello echo nvme-target nvme-initiator
for sample in hello echo nvme-target nvme-initiator; do
    x86_64-w64-mingw32-objdump -x "$dir/$sample.sys" >"$dir/$sample.txt"
    libraries='-e netio.sys -e ntoskrnl.exe -e HAL.dll'
    wanted='pei-x86-64 (NT.native) DLL.Name:.netio.sys WskRegister WskDeregister DLL.Name:.ntoskrnl.exe'
    wanted="$wanted KeWaitForSingleObject"
    if [ $sample = nvme-initiator ]; then
        libraries="$libraries -e storport.sys"
        wanted="$wanted DLL.Name:.storport.sys StorPortInitialize StorPortNotification StorPortExtendedFunction"
    fi
    for word in $wanted; do
        grep -q "$word" "$dir/$sample.txt" || { echo "$sample.sys: no $word"; exit 1; }
    done
    # shellcheck disable=SC2086
    if grep 'DLL Name' "$dir/$sample.txt" | grep -v $libraries; then
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
