#!/bin/sh
# SPDX-License-Identifier: MIT
# consume.sh WAY COMPILER SOURCE PREFIX DIR [DRIVER]: builds the project in consumer/ in DIR and runs its programs. WAY
# is pkg-config, find_package, add_subdirectory or FetchContent, COMPILER gcc or clang. PREFIX is an installation. With
# DRIVER also builds and runs a driver.
set -eu
way=$1 source=$3 prefix=$4 dir=$5 driver=${6:-}
here=$source/tests/install/consumer
case $2 in
    gcc) cc=gcc cxx=g++ generator=Ninja ;;
    clang) cc=clang cxx=clang++ generator="Unix Makefiles" ;; # the other generator on the way
esac
command -v $cxx >/dev/null || { echo "skipped: $cxx is not installed"; exit 77; }
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
quiet() { # prints the command's output only if the command fails
    "$@" >log 2>&1 || { echo "$*"; cat log; exit 1; }
}

if [ "$way" = pkg-config ]; then
    for kind in shared static; do
        name=openndk
        [ $kind = shared ] || name=openndk-static
        flags=$(pkg-config --cflags --libs $name)
        mkdir $kind
        for example in first fetch server; do
            # shellcheck disable=SC2086
            quiet $cc "$source/examples/$example.c" -o $kind/$example $flags
        done
        # shellcheck disable=SC2086
        quiet $cxx -std=c++17 "$here/loopback.cc" -o $kind/loopback $flags
    done
    # --static has what an archive needs, for a program that is linked with archives only or finds no shared library.
    mkdir archive
    cp "$prefix/lib/libopenndk.a" archive
    # shellcheck disable=SC2046
    quiet $cxx -std=c++17 "$here/loopback.cc" -o archive/loopback -Larchive $(pkg-config --cflags openndk) \
        $(pkg-config --static --libs openndk | sed "s,-L[^ ]*,,")
    "$source/tests/own_network" archive/loopback
    if [ "$driver" ]; then
        # shellcheck disable=SC2046
        quiet $cc -shared -fPIC "$here/driver.c" -o driver.so \
            $(pkg-config --cflags --libs openndk-wdk)
        quiet $cc "$here/host.c" -o host -I"$prefix/include" -L"$prefix/lib" -lopenndk-wdk \
            -Wl,-rpath-link,"$prefix/lib"
    fi
    export LD_LIBRARY_PATH="$prefix/lib"
else
    launcher=
    [ -z "$(command -v ccache)" ] || launcher=-DCMAKE_C_COMPILER_LAUNCHER=ccache
    export CCACHE_BASEDIR="$dir"
    # Without link-time optimisation, which takes longest; the installation in PREFIX has it.
    quiet cmake -S "$here" -B . -G "$generator" -DCMAKE_C_COMPILER=$cc -DCMAKE_CXX_COMPILER=$cxx -DWAY="$way" \
        -DOPENNDK="$source" -DDRIVER="${driver:+ON}" -DONDK_WDK="${driver:+ON}" -DONDK_LTO=OFF \
        -DCMAKE_PREFIX_PATH="$prefix" $launcher
    quiet cmake --build . -j 2
    ! grep -i warning log || exit 1
    quiet cmake --install . --prefix "$dir/installed"
    [ ! -e installed ] || { echo "OpenNDK has installed itself"; find installed; exit 1; }
fi

for kind in shared static; do
    "$source/tests/own_network" "$source/examples/test_examples" "$dir/$kind"
    "$source/tests/own_network" $kind/loopback
    readelf -d $kind/* >needs
    count=$(grep -c 'NEEDED.*libopenndk\.so\.0' needs || true)
    case $kind:$count in
        shared:4 | static:0) ;;
        *) echo "$kind: $count programs need libopenndk.so.0"; exit 1 ;;
    esac
done
if [ "$driver" ]; then
    ./host "$(find "$dir" -name driver.so)" >said
    cat said
    grep -q 'Services.driver is loaded' said && grep -q 'the driver is unloaded' said
fi
