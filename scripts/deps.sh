#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the Debian packages that are missing, each for the reason in docs/dependencies.md.
# usage: deps.sh [build|test|interop|browser|bench|package]...
set -euo pipefail
LOCK_SECONDS=900 # that it waits for another apt, at most
build=(gcc cmake ninja-build pkg-config ccache python3 libisal-dev libbsd-dev uthash-dev libjansson-dev
       nettle-dev)
test=(abigail-tools g++ clang clang-format-14 libclang-rt-14-dev libcmocka-dev mingw-w64-common
      gcc-mingw-w64-x86-64 iproute2 nftables gdb mandoc tshark valgrind zsh
      e2fsprogs libnbd-bin nbdkit-plugin-dev qemu-utils)
interop=(qemu-system-x86 rdma-core ibverbs-providers ibverbs-utils rdmacm-utils perftest librdmacm-dev libibverbs-dev
         busybox-static cpio kmod xz-utils zstd nvme-cli e2fsprogs libnl-genl-3-200)
browser=(chromium chromium-driver fonts-dejavu-core)
bench=(libfabric-dev libucx-dev)
package=(dpkg-dev debhelper lintian libcmocka-dev nbdkit-plugin-dev mmdebstrap uidmap gcc-aarch64-linux-gnu
         qemu-user-static)
want=()
for group in "${@:-build}"; do
    case $group in
        build) want+=("${build[@]}") ;;
        test) want+=("${test[@]}") ;;
        interop) want+=("${interop[@]}") ;;
        browser) want+=("${browser[@]}") ;;
        bench) want+=("${bench[@]}") ;;
        package) want+=("${package[@]}") ;;
        *) echo "deps.sh: unknown group $group (build, test, interop, browser, bench, package)" >&2; exit 2 ;;
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
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { $as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get "$@"; }
install_missing() {
    { apt update -qq && apt install -y -qq --no-install-recommends "${missing[@]}"; } >"$log" 2>&1
}
# Another apt (unattended upgrades, a second ./check) has the lock of the lists, of the archives or of dpkg. apt's own
# waiting (DPkg::Lock::Timeout) is for the last alone.
is_locked() { grep -qE 'Could not get lock|Unable to lock|Unable to acquire the dpkg' "$log"; }
tries=3 waiting=
until install_missing; do
    if is_locked && [ "$SECONDS" -lt "$LOCK_SECONDS" ]; then
        [ -n "$waiting" ] || echo "waiting for another apt to end: $(grep -m 1 -E 'lock' "$log")"
        waiting=yes
        sleep 1
        continue
    fi
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || { tail -n 20 "$log" >&2; echo "deps.sh: could not install: ${missing[*]}" >&2; exit 1; }
    sleep $(((3 - tries) * 3))
done
