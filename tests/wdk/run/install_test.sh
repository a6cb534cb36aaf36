#!/bin/sh
# SPDX-License-Identifier: MIT
# install_test.sh BUILD SOURCE_DIR: the installed files suffice for a driver's author: ndk-cc and ndkrun in a new
# directory build and run the samples, and pkg-config's flags also build one.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cmake --install "$1" --prefix "$dir/to" >/dev/null
PATH=$dir/to/bin:$PATH
PKG_CONFIG_PATH=$(dirname "$(find "$dir/to" -name openndk-wdk.pc)")
export PATH PKG_CONFIG_PATH
cp -r "$2/samples" "$2/tests/wdk/drivers" "$dir" # away from the tree, so that nothing of it is found by chance
cd "$dir"
ndk-cc samples/echo -o echo.so
# shellcheck disable=SC2046
gcc -shared -fPIC -g samples/hello/hello.c -o hello.so \
    $(pkg-config --cflags --libs openndk-wdk)
# shellcheck disable=SC2046
gcc -shared -fPIC -g drivers/ramdisk*.c -o ramdisk.so $(pkg-config --cflags --libs openndk-wdk)
ndkrun --run-for 0 --scsi '0:0:0 inquiry' ramdisk.so >said 2>&1 || { cat said; exit 1; }
grep -q 'RAM disk' said # with the libraries of Storport and KMDF, which lie beside the kernel's
ndkrun --net 12=192.168.1.1/24,13=192.168.1.2/24 --run-for 0 echo.so hello.so >said 2>&1 || { cat said; exit 1; }
cat said
grep -q 'the echo says "hello, world"' said
grep -q 'nothing left, no rule broken' said
