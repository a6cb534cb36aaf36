#!/bin/sh
# SPDX-License-Identifier: MIT
# provider.sh PREFIX PROVIDER.C: builds a provider for the installed ndkconform, and runs some cases with it.
set -eu
prefix=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig" LD_LIBRARY_PATH="$prefix/lib"
sed 's/"OpenNDK"/"plugged in"/' "$2" >"$dir/provider.c" # ndkconform has a provider OpenNDK inside
# shellcheck disable=SC2046
gcc -shared -fPIC "$dir/provider.c" -o "$dir/provider.so" $(pkg-config --cflags --libs openndk)
"$prefix/bin/ndkconform" --provider "$dir/provider.so" --filter adp_01,gcd_01 --json "$dir/report"
grep -q '"name": "plugged in", "version": "[0-9.]*"' "$dir/report" || { cat "$dir/report"; exit 1; }
