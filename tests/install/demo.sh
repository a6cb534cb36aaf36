#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh SOURCE: builds like ./demo in a new directory, installs the result and builds programs with it. It omits
# link-time optimisation, which takes longest and changes nothing here.
set -eu
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
targets=$(sed -n 's/^build \([a-z_]*\)$/\1/p' "$1/demo")
[ -n "$targets" ]
quiet() { # prints the command's output only if the command fails
    "$@" >"$dir/log" 2>&1 || { echo "$*"; cat "$dir/log"; exit 1; }
}
quiet cmake -S "$1" -B "$dir/build" -G Ninja -DONDK_TESTS=OFF -DONDK_LTO=OFF
for target in $targets; do
    quiet cmake --build "$dir/build" --target "$target"
done
"$here/prefix.sh" "$dir/build" "$dir/installed"
"$here/consume.sh" pkg-config gcc "$1" "$dir/installed/prefix" "$dir/consumer" DRIVER
