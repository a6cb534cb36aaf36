#!/bin/sh
# SPDX-License-Identifier: MIT
# names.sh PREFIX INTERNAL.A SOURCE DIR: a program that has all internal names of the library for variables of its own
# is linked with the installed archive, and runs. With the internal archive the names collide.
set -eu
prefix=$1 internal=$2 source=$3 dir=$4
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
# Names of C alone: an optimisation of the whole library also makes such as CSWTCH.11.lto_priv.0.
names() { nm -g --defined-only "$1" | awk 'NF == 3 && $3 ~ /^[A-Za-z_][A-Za-z0-9_]*$/ { print $3 }' | sort -u; }
names "$prefix/lib/libopenndk.a" >public
names "$internal" | comm -23 - public >private
echo "$(wc -l <public) public names, $(wc -l <private) internal ones"
[ "$(wc -l <private)" -gt 500 ]
grep -v '^ondk_' public && { echo "the names above are public"; exit 1; }
sed 's/.*/char &[1] = { 1 };/' private >names.c
g++ -std=c++17 -I"$prefix/include" -c "$source/tests/install/consumer/loopback.cc"
gcc -w -fno-builtin -c names.c
g++ loopback.o names.o -o collides "$internal" -lisal 2>collisions &&
    { echo "the internal archive does not collide"; exit 1; }
grep -q 'multiple definition' collisions
g++ loopback.o names.o -o loopback "$prefix/lib/libopenndk.a" -lisal
"$source/tests/own_network" ./loopback
