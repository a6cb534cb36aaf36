#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""blocks.py finds each fault of a document, and none in a correct one. usage: blocks_test.py SOURCE BUILD"""
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

GOOD = """\
# A document

<!-- setup: echo from setup >file -->
```console run
$ cat file
from setup
$ printf 'took 17 us, process 4711\\nnoise\\nend of the line\\n'
took 3.5 ms, process 12
...
end of ...
$ for i in 1 2; do
>     echo $i
> done
1
2
```

```console run background ctrl-c exit=130
$ sh -c 'echo ready; exec sleep 3600'
ready
```

```console run exit=3
$ (exit 3)
```

```c compile
int main(void) { return 0; }
```

```c compile from=examples/first.c:on_closed
static void on_closed(void *context)
{
    on_created(context, STATUS_SUCCESS, NULL);
}
```

```text text=picture
anything
```
"""
# The change of the good document, and what blocks.py must print about it.
BAD = (
    ("from setup\n$", "from elsewhere\n$", "from elsewhere"),
    ("process 12", "thread 12", "took TIME, thread PID"),
    ("end of ...", "end of it", "end of it"),
    ("exit=3", "exit=4", "its exit status is 3, not 4"),
    ("exit=130", "exit=0", "its exit status is 130, not 0"),
    ("return 0;", "return x;", "does not compile"),
    ("STATUS_SUCCESS", "STATUS_PENDING", "differs from examples/first.c:on_closed"),
    ("first.c:on_closed", "first.c:nothing", "has not all of nothing"),
    ("text=picture", "text=laziness", "text needs a reason"),
    ("```text text=picture", "```text", "neither run nor compile nor text"),
    ("# A document\n", "# A document\n\n    $ true\n", "an indented block has no mark"),
    ("anything\n```\n", "anything\n", "the block has no end"),
    ("setup: echo from setup >file", "setup: false", "setup failed: false"),
)


def check(source, build, text):
    with tempfile.NamedTemporaryFile("w", suffix=".md") as file:
        file.write(text)
        file.flush()
        blocks = pathlib.Path(__file__).with_name("blocks.py")
        result = subprocess.run([sys.executable, str(blocks), source, build, file.name], capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


def main():
    source, build = sys.argv[1:]
    status, output = check(source, build, GOOD)
    failed = status != 0
    if failed:
        print(f"a correct document has faults:\n{output}")
    assert all(GOOD.count(old) == 1 for old, _, _ in BAD)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda bad: check(source, build, GOOD.replace(bad[0], bad[1])), BAD))
    for (_, new, fault), (status, output) in zip(BAD, results):
        if status != 1 or fault not in output:
            print(f"{new!r}: exit status {status}, and not {fault!r} in:\n{output}")
            failed = True
    print(f"{len(BAD)} faults were {'not all ' if failed else ''}found")
    sys.exit(failed)


main()
