#!/bin/sh
# SPDX-License-Identifier: MIT
# alone.sh SOURCE DIR: configures and builds the library alone, where pkg-config finds nothing but libisal and there is
# no C++ compiler. The build is one with debug information and without link-time optimisation, for abi.sh.
set -eu
source=$1 dir=$2
rm -rf "$dir"
mkdir -p "$dir/pkgconfig"
cp "$(pkg-config --variable=pcfiledir libisal)/libisal.pc" "$dir/pkgconfig"
export PKG_CONFIG_LIBDIR="$dir/pkgconfig" PKG_CONFIG_PATH= CXX=/nonexistent
quiet() { # prints the command's output only if the command fails
    "$@" >"$dir/log" 2>&1 || { echo "$*"; cat "$dir/log"; exit 1; }
}
quiet cmake -S "$source" -B "$dir/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DONDK_LTO=OFF -DONDK_WDK=OFF \
    -DONDK_TOOLS=OFF -DONDK_TESTS=OFF -DONDK_BENCH=OFF -DONDK_SAMPLES=OFF -DONDK_EXAMPLES=OFF
quiet cmake --build "$dir/build" -j 2
quiet cmake --install "$dir/build" --prefix "$dir/prefix"
(cd "$dir/prefix" && find . ! -type d ! -path '*/doc/*') | sort
[ ! -e "$dir/prefix/bin" ] && [ ! -e "$dir/prefix/include/wdk" ] && [ -e "$dir/prefix/lib/libopenndk.a" ]
