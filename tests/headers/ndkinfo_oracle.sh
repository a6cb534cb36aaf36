#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares our ndkinfo.h with that of Debian's mingw-w64-common.
# usage: ndkinfo_oracle.sh compiler include-directory work-directory [their ndkinfo.h]
# Exits with 77, and says why, where their header is not installed.
set -eu
compiler=$1
include=$2
work=$3
theirs=${4:-/usr/share/mingw-w64/include/ndkinfo.h}
here=$(cd "$(dirname "$0")" && pwd)

if [ ! -r "$theirs" ]; then
    echo "skipped: $theirs is not there (Debian package mingw-w64-common)"
    exit 77
fi
mkdir -p "$work"
# Only what the host does not have, their winapifamily.h, may come from their directory.
their_flags="-std=gnu11 -Wall -Wextra -Werror -idirafter $(dirname "$theirs")"

# A list of the constants that they define and of the members of the two structures.
"$compiler" $their_flags -E -dM "$theirs" | awk '/^#define NDK_[A-Z0-9_]+ / { print "CONSTANT(" $2 ")" }' |
    sort > "$work/ndkinfo_facts.inc"
"$compiler" $their_flags -E -P "$theirs" | tr '\n' ' ' | awk -v RS='typedef ' '
    function fields(type,   i, parts, count, words) {
        sub(/^[^{]*{/, ""); sub(/}.*/, "")
        count = split($0, parts, ";")
        for (i = 1; i < count; i++) {
            split(parts[i], words, " ")
            print "FIELD(" type ", " words[2] ")"
        }
    }
    /^struct.*} *NDK_VERSION *;/ { fields("NDK_VERSION"); next }
    /^struct.*} *NDK_ADAPTER_INFO *;/ { fields("NDK_ADAPTER_INFO") }
' >> "$work/ndkinfo_facts.inc"

constants=$(grep -c '^CONSTANT' "$work/ndkinfo_facts.inc" || true)
members=$(grep -c '^FIELD' "$work/ndkinfo_facts.inc" || true)
if [ "$constants" -lt 6 ] || [ "$members" -lt 22 ]; then
    echo "read $constants constants and $members members from $theirs, where 6 and 22 are the least"
    exit 1
fi

"$compiler" $their_flags -I "$work" -DTHEIR_NDKINFO="\"$theirs\"" -c -o "$work/theirs.o" "$here/ndkinfo_theirs.c"
"$compiler" -std=gnu11 -Wall -Wextra -Werror -I "$include" -I "$work" -o "$work/ndkinfo_oracle" \
    "$here/ndkinfo_oracle.c" "$work/theirs.o"
exec "$work/ndkinfo_oracle"
