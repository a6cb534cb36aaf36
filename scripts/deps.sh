#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the Debian packages that are missing, each for the reason in docs/dependencies.md. usage: deps.sh [build|test|interop|bench]...
set -euo pipefail
build=(gcc g++ cmake ninja-build pkg-config ccache libisal-dev libbsd-dev uthash-dev libjansson-dev)
test=(clang libclang-rt-14-dev libcmocka-dev mingw-w64-common gcc-mingw-w64-x86-64 iproute2 nftables gdb tshark python3 valgrind)
interop=(qemu-system-x86 rdma-core ibverbs-providers ibverbs-utils rdmacm-utils perftest librdmacm-dev libibverbs-dev
         busybox-static cpio kmod xz-utils zstd)
bench=(libfabric-dev libucx-dev)
want=()
for group in "${@:-build}"; do
    case $group in
        build) want+=("${build[@]}") ;;
        test) want+=("${test[@]}") ;;
        interop) want+=("${interop[@]}") ;;
        bench) want+=("${bench[@]}") ;;
        *) echo "deps.sh: unknown group $group (build, test, interop, bench)" >&2; exit 2 ;;
    esac
done
missing=()
for package in "${want[@]}"; do
    dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for try in 1 2 3; do
    { $as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends "${missing[@]}"; } \
        >"$log" 2>&1 && exit 0
    sleep $((try * 3))
done
tail -n 20 "$log" >&2
echo "deps.sh: could not install: ${missing[*]}" >&2
exit 1
