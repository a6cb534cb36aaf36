#!/bin/sh
# SPDX-License-Identifier: MIT
# gdb_test.sh NDKRUN DRIVER: a pending breakpoint on DriverEntry stops in the driver's source, although ndkrun executes
# itself again for its network.
set -eu
command -v gdb >/dev/null || { echo "skipped: gdb is not installed"; exit 77; }
said=$(mktemp)
trap 'rm -f "$said"' EXIT
timeout -s KILL 250 gdb -nx -batch -ex 'set breakpoint pending on' -ex 'break DriverEntry' -ex run -ex 'info source' \
    -ex continue --args "$1" --net 12=10.0.0.1/8 --run-for 0 "$2" >"$said" 2>&1 || true
grep -q 'Current source file is .*/tee\.c' "$said" && grep -q 'nothing left, no rule broken' "$said" && exit 0
cat "$said"
exit 1
