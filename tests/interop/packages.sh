# SPDX-License-Identifier: MIT
# Functions of the scripts that build a guest from Debian packages. The script sets t0 (its start), cache and root.
as_root=; [ "$(id -u)" = 0 ] || as_root=sudo
export PATH=$PATH:/sbin:/usr/sbin DEBIAN_FRONTEND=noninteractive LC_ALL=C

say()  { echo "build.sh: $*"; }
took() { say "$1, $(awk -v a="$t0" -v b="$(date +%s.%N)" 'BEGIN{printf "%.1f s", b-a}')"; }
die()  { say "$*" >&2; exit 1; }
skip() { say "$*" >&2; exit 77; }   # the packages cannot be had here
installed_version() {
    { dpkg-query -W -f '${db:Status-Abbrev}${Version}' "$1" 2>/dev/null || true; } | sed -n 's/^ii *//p'
}
candidate_version() { apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: //p' | grep -v '(none)' || true; }
path_in_package() {
    local files; files=$(dpkg -L "$1")
    grep -E -m1 "$2" <<<"$files" || die "$1 has no file matching $2"
}
install_packages() {  # NAME or NAME=VERSION...: installs what is missing
    local p have missing=()
    for p; do
        have=$(installed_version "${p%%=*}")
        case $p in
            *=*) [ "$have" = "${p#*=}" ] || missing+=("$p") ;;
            *)   [ -n "$have" ] || missing+=("$p") ;;
        esac
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    say "installing ${missing[*]}"
    local install=($as_root apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends "${missing[@]}")
    "${install[@]}" >"$cache/apt.log" 2>&1 ||
        { $as_root apt-get update -qq && "${install[@]}" >"$cache/apt.log" 2>&1; } ||
        { tail -n 20 "$cache/apt.log" >&2; skip "apt-get install failed"; }
}
download_package() {  # DIRECTORY NAME=VERSION: prints the path of the downloaded file
    ( cd "$1" && { apt-get download -qq "$2" || { $as_root apt-get update -qq && apt-get download -qq "$2"; }; } ) \
        2> >(grep -v 'unsandboxed' >&2) >&2 || skip "cannot download ${2%%=*}"
    local debs=("$1"/*.deb)
    [ ${#debs[@]} = 1 ] || die "expected one package, found ${debs[*]}"
    echo "${debs[0]}"
}
add_libraries() {  # the shared libraries that a program or library needs, at their own paths in the guest
    local f
    for f in $(ldd "$1" 2>/dev/null | awk '/=> \//{print $3} /^[[:space:]]*\/.*ld-linux/{print $1}'); do
        [ -e "$root$f" ] || install -D -m 755 "$f" "$root$f"
    done
}
add() {  # the program or library itself, too
    [ -e "$root$1" ] || install -D -m 755 "$1" "$root$1"
    add_libraries "$1"
}
add_program() {  # NAME: the program, found in PATH and linked into /bin
    local f; f=$(command -v "$1") || die "$1 not found"
    add "$f"; [ -e "$root/bin/$1" ] || ln -s "$f" "$root/bin/$1"
}
compile_guest_program() {  # OUTPUT SOURCE... [-lLIBRARY...]
    gcc -std=gnu11 -O2 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror -o "$@"
}
pack_root() {  # FILE: $root as an initramfs
    ( cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet ) >"$1"
}
