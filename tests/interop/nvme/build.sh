#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds what the siw guest needs beside its own initramfs for NVMe over Fabrics: modules, nvme-cli, e2fsprogs and the
# programs of guest/. run.sh appends it to the guest's initramfs.
#   build.sh [CACHE_DIR]          default: $HOME/.cache/openndk/siw-guest, where ../build.sh leaves the guest first
# Leaves nvme.cpio and nvme.stamp in CACHE_DIR. Does nothing when they are current.
# Status: 77 when the packages cannot be had on this machine.
set -euo pipefail
t0=$(date +%s.%N)
here=$(cd "$(dirname "$0")" && pwd)
cache=${1:-$HOME/.cache/openndk/siw-guest}
"$here/../build.sh" "$cache"
. "$here/../packages.sh"
cache=$(cd "$cache" && pwd)
exec 9>"$cache/nvme.lock"; flock 9

read -r _ abi ver <"$cache/stamp"
install_packages nvme-cli e2fsprogs libnl-genl-3-200
nbd_client=$(candidate_version nbd-client)
[ -n "$nbd_client" ] || { $as_root apt-get update -qq; nbd_client=$(candidate_version nbd-client); }
[ -n "$nbd_client" ] || skip "no package nbd-client"

stamp="kernel $abi $ver
nvme-cli $(installed_version nvme-cli) e2fsprogs $(installed_version e2fsprogs) nbd-client $nbd_client
script $(cat "$0" "$here/../packages.sh" "$here"/guest/* | sha256sum | cut -d' ' -f1)"
if [ -s "$cache/nvme.cpio" ] && [ "$(cat "$cache/nvme.stamp" 2>/dev/null)" = "$stamp" ]; then
    took "NVMe: up to date"; exit 0
fi
rm -f "$cache/nvme.stamp"

work=$(mktemp -d "$cache/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{bin,etc/nvme,mnt}

# --- modules: flat as in the guest, with the files that modprobe reads ---
deb=$(download_package "$work" "linux-image-$abi=$ver")
image=$work/image
mkdir "$image"
folders=(arch block crypto drivers/block drivers/infiniband/core drivers/nvme fs lib net)
dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$image" "${folders[@]/#/./lib/modules/$abi/kernel/}"
rm "$deb"
depmod -b "$image" "$abi" 2>/dev/null
kmod_dir=$root/lib/modules/$abi
mkdir -p "$kmod_dir"
for m in nvme_rdma nvme_tcp nvmet_rdma nvmet_tcp brd nbd null_blk loop ext4 crc32_generic; do
    modprobe -d "$image" -S "$abi" --show-depends "$m" >>"$work/needs" || die "no module $m"
done
sed -n 's!^insmod \(/[^ ]*\.ko\).*!\1!p' "$work/needs" | sort -u | xargs cp -t "$kmod_dir"
depmod -b "$root" "$abi" 2>/dev/null
for k in "$kmod_dir"/*.ko; do
    for m in $(modinfo -F depends "$k" | tr , ' '); do
        [ -e "$kmod_dir/$m.ko" ] || [ -e "$kmod_dir/${m//_/-}.ko" ] || die "${k##*/} needs the module $m"
    done
done

# --- programs ---
for p in nvme mke2fs e2fsck; do add_program "$p"; done
cp /etc/mke2fs.conf "$root/etc/"
deb=$(download_package "$work" "nbd-client=$nbd_client")     # not installed, because it would change this machine
mkdir "$work/nbd"
dpkg-deb -x "$deb" "$work/nbd"
install -D -m 755 "$work/nbd/sbin/nbd-client" "$root/usr/sbin/nbd-client"
add_libraries "$root/usr/sbin/nbd-client"
compile_guest_program "$root/bin/blockload" "$here/guest/blockload.c" -lpthread
add_libraries "$root/bin/blockload"
for script in "$here"/guest/nvme-*; do install -m 755 "$script" "$root/bin/"; done
pack_root "$work/nvme.cpio"
mv "$work/nvme.cpio" "$cache/"
printf '%s\n' "$stamp" >"$cache/nvme.stamp"
took "NVMe: built $(du -h "$cache/nvme.cpio" | cut -f1) into the cache"
