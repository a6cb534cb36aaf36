#!/bin/sh
# SPDX-License-Identifier: MIT
# install_demo.sh SOURCE FIRST.C: builds like ./demo in a new directory, and runs install_first.sh with the result. It
# omits link-time optimisation, which takes longest and changes nothing here.
set -eu
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
targets=$(sed -n 's/^build \([a-z]*\)$/\1/p' "$1/demo")
[ -n "$targets" ]
cmake -S "$1" -B "$dir" -G Ninja -DONDK_TESTS=OFF -DONDK_LTO=OFF >"$dir/log" 2>&1 ||
    { cat "$dir/log"; exit 1; }
for target in $targets; do
    cmake --build "$dir" --target "$target" >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
done
sh "$here/install_first.sh" "$dir" "$2"
