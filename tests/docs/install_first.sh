#!/bin/sh
# SPDX-License-Identifier: MIT
# install_first.sh BUILD FIRST.C [PROVIDER.C]: installs to a new directory, builds FIRST.C from there and runs it. Then
# it builds PROVIDER.C, a provider for the installed ndkconform, and runs some cases with it.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cmake --install "$1" --prefix "$dir" >/dev/null
PKG_CONFIG_PATH=$(dirname "$(find "$dir" -name openndk.pc)")
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags --libs openndk)
# shellcheck disable=SC2086
gcc "$2" -o "$dir/first" $flags
LD_LIBRARY_PATH=$(dirname "$(find "$dir" -name 'libopenndk.so')")
export LD_LIBRARY_PATH
"$dir/first" client 127.0.0.1 1 x >"$dir/out" 2>&1 || true # nobody listens there: it opens an adapter and says so
cat "$dir/out"
grep -q '^NdkConnect: STATUS_CONNECTION_REFUSED' "$dir/out"

[ $# -gt 2 ] || exit 0
mkdir "$dir/contract"
ln -s "$dir/include/ndkconform" "$dir/contract/provider" # the header under the name that it has in the source tree
sed 's/"OpenNDK"/"plugged in"/' "$3" >"$dir/provider.c" # ndkconform has a provider OpenNDK inside
# shellcheck disable=SC2086
gcc -shared -fPIC -I"$dir" "$dir/provider.c" -o "$dir/provider.so" $flags
"$dir/bin/ndkconform" --provider "$dir/provider.so" --filter adp_01,gcd_01 --json "$dir/report"
grep -q '"name": "plugged in", "version": "[0-9.]*"' "$dir/report"
