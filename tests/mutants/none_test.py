#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""none_test.py TREE: a copy of the tree in which no seeded bug can be selected compiles to the same objects."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Debug information and assertions name files and lines, which differ.
OPTIONS = ["-DONDK_TESTS=OFF", "-DONDK_LTO=OFF", "-DCMAKE_BUILD_TYPE=None",
           "-DCMAKE_C_FLAGS=-O1 -g0 -DNDEBUG -fno-asynchronous-unwind-tables -Wno-error -w"]


def run(*command, **options):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}:\n{result.stdout}{result.stderr}")


def objects(tree, build):
    run("cmake", "-S", tree, "-B", build, "-G", "Ninja", *OPTIONS)
    run("cmake", "--build", build, "-j", os.cpu_count() or 1, "--target", "src/all")
    return {path.relative_to(build): path.read_bytes() for path in (build / "src").rglob("*.o")}


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        run(sys.executable, HERE / "mutate", "apply", "--none", sys.argv[1], folder / "copy")
        tree, copy = (objects(source, folder / name) for source, name in
                      ((sys.argv[1], "tree.build"), (folder / "copy", "copy.build")))
    if not tree or set(tree) != set(copy):
        sys.exit(f"the objects are not the same ones: {sorted(map(str, set(tree) ^ set(copy)))}")
    differing = sorted(str(name) for name in tree if tree[name] != copy[name])
    print(f"{len(tree)} objects, {len(differing)} differ", *differing, sep="\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
