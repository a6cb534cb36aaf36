#!/bin/sh
# SPDX-License-Identifier: MIT
# nvmectl_test.sh SOURCE_DIR NDKRUN DRIVER TARGET: the device controls of samples/nvme-initiator from the command line,
# and the commands of the disk that appears.
set -eu
nvmectl=$1/samples/nvme-initiator/nvmectl
name=nqn.2026-11.org.example:test
log=$(mktemp)
"$4" --listen 127.0.0.1 --nqn $name --memory 1M >"$log" 2>&1 &
target=$!
trap 'kill $target 2>/dev/null; rm -f "$log"' EXIT
until grep -q listening "$log"; do
    kill -0 $target || { cat "$log"; exit 1; }
    sleep 0.05
done
fail() {
    echo "$1"
    echo "$out"
    exit 1
}
# ndkrun sends the controls before the commands.
out=$("$2" --run-for 0 --ioctl "$("$nvmectl" discover 127.0.0.1)" --ioctl "$("$nvmectl" connect 127.0.0.1 $name)" \
    --ioctl "$("$nvmectl" list)" --scsi '0:0:0 write 5 48656c6c6f' --scsi '0:0:0 read 5 1' "$3" 2>&1) ||
    fail "ndkrun has failed"
[ "$(echo "$out" | grep -c '0x4D038: STATUS_SUCCESS')" = 3 ] || fail "a control has failed"
echo "$out" | grep -q '127\.0\.0\.' || fail "no answer has the address"
echo "$out" | grep -q 'Hello' || fail "the data differ"
echo "$out" | grep -q 'nothing left, no rule broken' || fail "something is left"
out=$("$2" --run-for 0 --ioctl "$("$nvmectl" connect 127.0.0.1 $name)" --ioctl "$("$nvmectl" disconnect 0)" \
    --ioctl "$("$nvmectl" disconnect 0)" "$3" 2>&1) && status=0 || status=$?
[ "$status" = 4 ] || fail "ndkrun has ended with $status, not with 4: a device control has failed"
[ "$(echo "$out" | grep -c '0x4D038: STATUS_SUCCESS')" = 2 ] || fail "connect or disconnect has failed"
echo "$out" | grep -q STATUS_NO_SUCH_DEVICE || fail "another status"
"$nvmectl" connect 127.0.0.1 2>/dev/null && fail "a name is missing"
"$nvmectl" disconnect x 2>/dev/null && fail "x is no number"
"$nvmectl" discover "$(printf '%080d' 0)" >/dev/null 2>&1 && fail "the address is too long"
exit 0
