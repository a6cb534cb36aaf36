#!/bin/bash
# SPDX-License-Identifier: MIT
# Boots the siw guest, runs COMMAND in it once siw0 is up, exits with its status.
#   run.sh [-p HOSTPORT[:GUESTPORT]]... [-t SECS] [-l CONSOLE_LOG] [-w PCAP] [-c CACHE_DIR] [-i CPIO]... COMMAND...
# COMMAND... is joined by spaces and run by sh in the guest, like ssh does.
#   -p  forward 127.0.0.1:HOSTPORT on the host to 10.0.2.15:GUESTPORT (repeatable)
#   -t  hard limit on the guest's whole life in seconds (default 120)
#   -l  keep the serial console log      -w  write the guest's network traffic as pcap
#   -i  append this archive to the initramfs; its files replace those of the same names (repeatable)
# Environment: ACCEL (tcg), CPU (Nehalem), SMP (2), MEM (512), KARGS (more kernel arguments), TAP (an interface of this
# machine with the address 10.0.2.2, to which the guest is connected in place of slirp; -p has no effect then).
# SIGUSR1 kills the guest as a power failure does: QEMU closes nothing.
# Status: COMMAND's own; 124 time limit; 125 the guest did not get as far as an end of COMMAND.
set -u
usage() { sed -n '3,13s/^# \{0,1\}//p' "$0" >&2; exit 2; }
cache=$HOME/.cache/openndk/siw-guest limit=120 log= pcap= fwd= more=()
while getopts p:t:l:w:c:i:h o; do
    case $o in
        p) fwd+=",hostfwd=tcp:127.0.0.1:${OPTARG%%:*}-10.0.2.15:${OPTARG##*:}" ;;
        t) limit=$OPTARG ;; l) log=$OPTARG ;; w) pcap=$OPTARG ;; c) cache=$OPTARG ;; i) more+=("$OPTARG") ;;
        *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || usage
[ -s "$cache/stamp" ] || { echo "run.sh: no guest in the cache; run build.sh first" >&2; exit 125; }

dir=$(mktemp -d) qemu= tails=()
finish() {
    [ -z "$qemu" ] || kill "$qemu" 2>/dev/null
    [ ${#tails[@]} = 0 ] || wait "${tails[@]}" 2>/dev/null
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT; trap 'exit 143' TERM
trap '[ -z "$qemu" ] || pkill -KILL -P "$qemu"' USR1
printf '%s\n' "$*" >"$dir/cmd"
: >"$dir/out"; : >"$dir/err"; : >"$dir/rc"
: "${log:=$dir/console}"
initrd=$cache/initrd.cpio
if [ ${#more[@]} -gt 0 ]; then
    cat "$initrd" "${more[@]}" >"$dir/initrd.cpio" || exit 125
    initrd=$dir/initrd.cpio
fi

case ${ACCEL:=tcg} in
    tcg) accel=tcg,thread=multi ;;
    *)   accel=$ACCEL ;;
esac
net="user,id=n0,ipv6=off$fwd"
[ -z "${TAP:-}" ] || net="tap,id=n0,ifname=$TAP,script=no,downscript=no,vnet_hdr=off"
args=(-accel "$accel" -cpu "${CPU:-Nehalem}" -smp "${SMP:-2}" -m "${MEM:-512}"
    -nodefaults -no-user-config -no-reboot -nographic
    -kernel "$cache/vmlinux" -initrd "$initrd"
    -append "console=ttyS0 panic=-1 quiet mitigations=off tsc=unstable no_timer_check ${KARGS:-}"
    -chardev "file,id=con,path=$log" -serial chardev:con -monitor none
    -netdev "$net" -device virtio-net-pci,netdev=n0,romfile=
    -fw_cfg "name=opt/siw/cmd,file=$dir/cmd"
    # ioeventfd=off: output is on the host before the guest can power off
    -device virtio-serial-pci,ioeventfd=off)
for c in out err rc; do
    args+=(-chardev "file,id=$c,path=$dir/$c" -device "virtserialport,chardev=$c,name=siw.$c")
done
[ -z "$pcap" ] || args+=(-object "filter-dump,id=dump,netdev=n0,file=$pcap")

timeout -k 2 "$limit" qemu-system-x86_64 "${args[@]}" </dev/null >"$dir/qemu" 2>&1 &
qemu=$!
tail -q -s 0.05 -c +1 -f --pid="$qemu" "$dir/out" & tails+=($!)
tail -q -s 0.05 -c +1 -f --pid="$qemu" "$dir/err" >&2 & tails+=($!)
wait "$qemu"; status=$?
qemu=
wait "${tails[@]}" 2>/dev/null; tails=()
rc=$(cat "$dir/rc")
[ -n "$rc" ] && exit "$rc"
case $status in 124 | 137) echo "run.sh: time limit of $limit s" >&2; exit 124 ;; esac
{ echo "run.sh: the guest ended without a status (qemu status $status)"; cat "$dir/qemu"; tail -n 20 "$log"; } >&2
exit 125
