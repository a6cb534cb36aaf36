#!/bin/sh
# SPDX-License-Identifier: MIT
# prefix.sh BUILD DIR: installs BUILD to DIR/prefix for the tests that need an installation. Every file must belong to
# one component, and each component must be installable by itself.
set -eu
build=$1 dir=$2
rm -rf "$dir"
mkdir -p "$dir"
cmake --install "$build" --prefix "$dir/first" >"$dir/log"
mv "$dir/first" "$dir/prefix" # an installation can be moved
list() { (cd "$1" && find . ! -type d | sort); }
list "$dir/prefix" >"$dir/all"
for component in openndk-lib openndk-dev openndk-tools openndk-wdk-lib openndk-wdk-dev openndk-wdk-tools openndk-doc; do
    cmake --install "$build" --prefix "$dir/$component" --component $component >"$dir/log"
    [ -d "$dir/$component" ] || { echo "component $component is empty"; exit 1; }
    list "$dir/$component"
    rm -rf "${dir:?}/$component"
done | sort >"$dir/components"
diff "$dir/all" "$dir/components"
[ "$(grep -c 'libopenndk' "$dir/all")" -ge 13 ] || { echo "libraries are missing"; exit 1; }
# The pkg-config file finds the installation where it is now, by a path that needs no cleaning.
file=$(find "$dir/prefix" -name openndk.pc)
found=$(PKG_CONFIG_PATH=${file%/*} pkg-config --variable=prefix openndk)
[ "$(realpath "$found")" = "$(realpath "$dir/prefix")" ] || { echo "openndk.pc has the prefix $found"; exit 1; }
! PKG_CONFIG_PATH=${file%/*} pkg-config --cflags openndk | grep -q // || { echo "openndk.pc has //"; exit 1; }
! grep -rIl "$build" "$dir/prefix" || { echo "these files name the build directory"; exit 1; }
