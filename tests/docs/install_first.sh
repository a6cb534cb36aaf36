#!/bin/sh
# SPDX-License-Identifier: MIT
# install_first.sh BUILD FIRST.C: installs to a directory of its own, builds FIRST.C from there, runs it.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cmake --install "$1" --prefix "$dir" >/dev/null
PKG_CONFIG_PATH=$(dirname "$(find "$dir" -name openndk.pc)")
export PKG_CONFIG_PATH
flags=$(pkg-config --define-variable=prefix="$dir" --cflags --libs openndk)
# shellcheck disable=SC2086
gcc "$2" -o "$dir/first" $flags
LD_LIBRARY_PATH=$(dirname "$(find "$dir" -name 'libopenndk.so')")
export LD_LIBRARY_PATH
"$dir/first" >"$dir/out" || true # nobody need listen: that it opens an adapter and asks it is the point
cat "$dir/out"
grep -q '^reads in flight: 32 in, 32 out' "$dir/out"
grep -q '^NdkConnect: STATUS_' "$dir/out"
