#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds the siw guest (kernel image, siw.ko, initramfs with our cmtool and exchange) from Debian 12 packages.
#   build.sh [CACHE_DIR]          default: $HOME/.cache/openndk/siw-guest
# Leaves vmlinux, initrd.cpio and stamp in CACHE_DIR. Does nothing when they are current.
# Status: 77 when the packages cannot be had on this machine.
set -euo pipefail
t0=$(date +%s.%N)
here=$(cd "$(dirname "$0")" && pwd)
cache=${1:-$HOME/.cache/openndk/siw-guest}
. "$here/packages.sh"

command -v apt-get dpkg-query >/dev/null || skip "needs apt and dpkg"
[ "$(uname -m)" = x86_64 ] || skip "builds an x86-64 guest only"
mkdir -p "$cache"; cache=$(cd "$cache" && pwd)
exec 9>"$cache/lock"; flock 9

# --- which kernel: source, headers and image must be one version ---
find_kernel() {
    ver=$(installed_version linux-source-6.1)
    abi=${KABI:-}
    if [ -z "$abi" ]; then   # headers of that version already installed, and an image to download?
        abi=$(dpkg-query -W -f '${db:Status-Abbrev} ${Version} ${Package}\n' 'linux-headers-6.1.0-*-amd64' 2>/dev/null |
              awk -v v="$ver" '$1=="ii" && $2==v {sub("linux-headers-","",$3); print $3}' | sort -V | tail -n1)
        apt-cache show "linux-image-$abi=$ver" 2>/dev/null | grep -q ^Package: || abi=
    fi
    if [ -z "$abi" ]; then   # else what the meta package names: of newer sources there may be no image yet
        ver=$(candidate_version linux-headers-amd64)
        abi=$(apt-cache show "linux-headers-amd64=$ver" 2>/dev/null |
              sed -n 's/^Depends: linux-headers-\(6\.1\.0-[0-9]*-amd64\).*/\1/p' | head -n1)
    fi
    [ -n "$ver" ] && [ -n "$abi" ]
}
if ! find_kernel; then
    $as_root apt-get update -qq
    find_kernel || skip "no matching linux-source-6.1 / linux-headers-6.1.0-N-amd64 in the package lists"
fi

# --- packages ---
want=(qemu-system-x86 rdma-core ibverbs-providers ibverbs-utils rdmacm-utils perftest
      librdmacm-dev libibverbs-dev
      iproute2 busybox-static cpio kmod xz-utils zstd gcc make binutils
      "linux-headers-$abi=$ver")
install_packages "${want[@]}"

# --- up to date? ---
stamp="kernel $abi $ver
rdma-core $(installed_version ibverbs-providers) perftest $(installed_version perftest) \
busybox $(installed_version busybox-static)
script $(cat "$0" "$here/packages.sh" "$here"/guest/* | sha256sum | cut -d' ' -f1)"
if [ -s "$cache/vmlinux" ] && [ -s "$cache/initrd.cpio" ] && [ "$(cat "$cache/stamp" 2>/dev/null)" = "$stamp" ]; then
    took "up to date ($abi $ver)"; exit 0
fi
rm -f "$cache/stamp"

work=$(mktemp -d "$cache/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{bin,dev,etc/libibverbs.d,lib/modules,proc,sys,tmp,root,run,var/run,usr/bin}

# --- kernel image package: exactly this version ---
say "kernel $abi $ver"
deb=$(download_package "$work" "linux-image-$abi=$ver")
mods='arch/x86/crypto/crc32c-intel crypto/crc32c_generic lib/libcrc32c
      drivers/virtio/virtio drivers/virtio/virtio_ring drivers/virtio/virtio_pci_modern_dev
      drivers/virtio/virtio_pci_legacy_dev drivers/virtio/virtio_pci
      fs/configfs/configfs net/core/failover drivers/net/net_failover drivers/net/virtio_net
      drivers/char/virtio_console drivers/firmware/qemu_fw_cfg
      drivers/infiniband/core/ib_core drivers/infiniband/core/ib_uverbs
      drivers/infiniband/core/iw_cm drivers/infiniband/core/ib_cm
      drivers/infiniband/core/rdma_cm drivers/infiniband/core/rdma_ucm'
mkdir "$work/image"
members=("./boot/vmlinuz-$abi")
for m in $mods; do members+=("./lib/modules/$abi/kernel/$m.ko"); done
dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$work/image" "${members[@]}"
rm "$deb"

# --- siw.ko, unmodified, from the same version's source ---
if [ "$(installed_version linux-source-6.1)" = "$ver" ]; then
    tarball=$(path_in_package linux-source-6.1 '/linux-source-6\.1\.tar\.xz$')
else   # another version may stay installed
    mkdir "$work/source"
    deb=$(download_package "$work/source" "linux-source-6.1=$ver")
    tarball=$work/source/usr/src/linux-source-6.1.tar.xz
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$work/source" "./${tarball#"$work/source/"}"
    rm "$deb"
fi
headers=$(path_in_package "linux-headers-$abi" '/Module\.symvers$'); headers=${headers%/*}
mkdir "$work/src"
tar -xJf "$tarball" -C "$work/src" --strip-components=1 \
    linux-source-6.1/drivers/infiniband/sw/siw linux-source-6.1/scripts/extract-vmlinux
siw=$work/src/drivers/infiniband/sw/siw
make -s -C "$headers" M="$siw" CONFIG_RDMA_SIW=m modules >"$work/make.log" 2>&1 ||
    { cat "$work/make.log" >&2; die "siw.ko did not build"; }
strip --strip-debug "$siw/siw.ko"

# An uncompressed vmlinux boots by the PVH entry: no decompression in the guest.
sh "$work/src/scripts/extract-vmlinux" "$work/image/boot/vmlinuz-$abi" >"$work/vmlinux"
[ -s "$work/vmlinux" ] || die "could not extract vmlinux"

# --- initramfs: modules in load order ---
kmod_dir=$root/lib/modules/$abi
mkdir -p "$kmod_dir"
find "$work/image/lib/modules" -name '*.ko' -exec cp {} "$kmod_dir/" \;
cp "$siw/siw.ko" "$kmod_dir/"
depmod -b "$root" "$abi" 2>/dev/null
for k in "$kmod_dir"/*.ko; do
    for m in $(modinfo -F depends "$k" | tr , ' '); do
        [ -e "$kmod_dir/$m.ko" ] || die "${k##*/} needs the module $m: add it to mods"
    done
done
for m in crc32c_intel crc32c_generic virtio_pci virtio_console qemu_fw_cfg virtio_net rdma_ucm siw; do
    modprobe -d "$root" -S "$abi" --show-depends "$m" | sed -n 's!^insmod.*/\([^/ ]*\.ko\).*!\1!p'
done | awk '!seen[$0]++' >"$work/order"
rm -f "$kmod_dir"/modules.*
sed "s!^!/lib/modules/$abi/!" "$work/order" >"$root/etc/modules.order"

# --- initramfs: user space ---
cp "$(command -v busybox)" "$root/bin/busybox"
for a in $("$root/bin/busybox" --list); do [ "$a" = busybox ] || ln -s busybox "$root/bin/$a"; done
for p in rping ucmatose rdma_client rdma_server rdma_xclient rdma_xserver ibv_devices ibv_devinfo ibv_rc_pingpong \
         ib_send_bw ib_send_lat ib_write_bw ib_write_lat ib_read_bw ib_read_lat rdma; do
    add_program "$p"
done
compile() {  # NAME SOURCE...
    local name=$1; shift
    compile_guest_program "$work/$name" "${@/#/$here/guest/}" -lrdmacm -libverbs
    install -m 755 "$work/$name" "$root/bin/$name"
    add_libraries "$work/$name"
}
compile cmtool cmtool.c
compile exchange exchange.c verbs_side.c
add "$(path_in_package ibverbs-providers '/libsiw-rdmav[0-9]+\.so$')"
add "$(path_in_package libgcc-s1 '/libgcc_s\.so\.1$')"   # glibc loads it in pthread_exit
cp "$(path_in_package ibverbs-providers '/libibverbs\.d/siw\.driver$')" "$root/etc/libibverbs.d/"
echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo '127.0.0.1 localhost' >"$root/etc/hosts"
install -m 755 "$here/guest/init" "$root/init"
install -m 755 "$here/guest/wait-listen" "$root/bin/wait-listen"
# Uncompressed, for the same reason as vmlinux.
pack_root "$work/initrd.cpio"

mv "$work/vmlinux" "$work/initrd.cpio" "$cache/"
printf '%s\n' "$stamp" >"$cache/stamp"
took "built $(du -shc "$cache"/vmlinux "$cache"/initrd.cpio | tail -n1 | cut -f1) into the cache"
