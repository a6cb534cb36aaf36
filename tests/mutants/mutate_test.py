#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutate: places that it finds and refuses, what it writes, and a copy that is compiled and run."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from mutate_lib.edits import EditError, Edit, Bug, Source, rename_text, render  # noqa: E402

CODE = """\
#include "answers.h"
enum { SIZE = 4 };
static int table[SIZE] = { 1, 2 };

/* The comment says: return a + b; */
int sum(int a, int b)
{
    static const int limits[] = { 7, 8 };
    int carry = 0, wide[SIZE];

    if (a > 0 && b > 0)   /* both */
        carry = a +
            b;
    else
        carry--;
    switch (a) {
    case 1:
        return -1;
    default:
        break;
    }
    twice(&a);
    twice(&a);
    carry += !a || b == 3 ? limits[0] : wide[b];
    return carry - a - b;
}

int other(int a) { return a > 0; }
"""


def locate(function, kind, before, after="x", index=0):
    bug = Bug("b", "list:1")
    return Source("a.c", CODE).locate(bug, Edit("list:2", "a.c", function, kind, index, before, after))


class Places(unittest.TestCase):
    def found(self, *args, **named):
        place = locate(*args, **named)
        return CODE[place.start:place.end]

    def refused(self, reason, *args, **named):
        with self.assertRaises(EditError) as caught:
            locate(*args, **named)
        self.assertIn(reason, str(caught.exception))

    def test_white_space_and_comments_do_not_count(self):
        self.assertEqual(self.found("sum", "statement", "if (a>0&&b>0) carry=a+b; else carry--;").count("\n"), 4)

    def test_function_limits_the_search(self):
        self.assertEqual(self.found("other", "expression", "a > 0"), "a > 0")
        self.refused("defines no function sun; is it sum now?", "sun", "expression", "a > 0")

    def test_several(self):
        self.refused("2 times: say which", "sum", "statement", "twice(&a);")
        first, second = (locate("sum", "statement", "twice(&a);", index=i) for i in (1, 2))
        self.assertLess(first.end, second.start)
        self.refused("2 times, not 3", "sum", "statement", "twice(&a);", index=3)

    def test_near_miss_is_a_diff(self):
        with self.assertRaises(EditError) as caught:
            locate("sum", "expression", "a > 0 && b > 1")
        self.assertIn("-1", str(caught.exception))
        self.assertIn("+++ the source", str(caught.exception))

    def test_operands_of_stronger_operators(self):
        self.refused("operand of '-'", "sum", "expression", "a - b")
        self.assertEqual(self.found("sum", "expression", "carry - a"), "carry - a")
        self.refused("stronger '=='", "sum", "expression", "!a || b")
        self.assertEqual(self.found("sum", "expression", "b == 3"), "b == 3")
        self.assertEqual(self.found("sum", "expression", "!a || b == 3 ? limits[0] : wide[b]").count("?"), 1)
        self.refused("operand of '>'", "sum", "expression", "0 && b > 0", after="1")

    def test_lvalues(self):
        self.refused("lvalue", "sum", "expression", "a", index=4)
        self.refused("lvalue", "sum", "expression", "carry", index=2)
        self.refused("lvalue", "sum", "expression", "carry", index=3)

    def test_constants_and_initialisers(self):
        self.refused("case label", "sum", "expression", "1", index=1)
        self.refused("static", "sum", "expression", "7")
        self.refused("declared array", "sum", "expression", "SIZE")
        self.assertEqual(self.found("sum", "expression", "0", index=1), "0")

    def test_statements(self):
        self.refused("no whole statement", "sum", "statement", "if (a > 0 && b > 0) carry = a + b;")
        self.refused("a declaration", "sum", "statement", "int carry = 0, wide[SIZE];")
        self.refused("body of a switch", "sum", "statement", "{ case 1: return -1; default: break; }")
        self.refused("a label", "sum", "statement", "case 1: return -1;")
        self.refused("changes nothing", "sum", "statement", "carry--;", after="carry --;")
        self.assertEqual(self.found("sum", "statement", "twice(&a); twice(&a);").count("twice"), 2)


class Rendering(unittest.TestCase):
    def test_nested_equal_and_overlapping(self):
        source = Source("a.c", CODE)

        def place(name, before, after, kind="expression"):
            return source.locate(Bug(name, ""), Edit("", "a.c", "other", kind, 0, before, after))

        text = render(CODE, [place("inner", "a", "2"), place("outer", "a > 0", "1"), place("twin", "a > 0", "0"),
                             place("all", "return a > 0;", "", "statement")])
        self.assertIn("{ if (mutant_selected == M_all) {  } else { return (mutant_selected == M_outer ? (1) : "
                      "(mutant_selected == M_twin ? (0) : ((mutant_selected == M_inner ? (2) : (a)) > 0)));", text)
        self.assertEqual(text.count("\n"), CODE.count("\n"))

    def test_rename(self):
        text = "# sum\nedit sum.c sum expression\n- sum + summand\n+ sum\n"
        self.assertEqual(rename_text(text, "sum", "add"), "# sum\nedit sum.c add expression\n- add + summand\n+ add\n")


class Copies(unittest.TestCase):
    FILES = {
        "src/low.h": "static inline int low(int a)\n{\n    return a + 1;\n}\n",
        "src/main.c": '#include <stdio.h>\n#include "low.h"\nint main(void)\n{\n'
                      '    printf("%d\\n", low(1));\n    return 0;\n}\n',
        "tests/mutants/all.mut": "bug off_by_one\nrule LOW-01\ntests low\n"
                                 "edit src/low.h low expression\n- a + 1\n+ a + 2\n"
                                 "bug silent\nrule LOW-02\ntests low\nedit src/main.c main statement\n"
                                 '- printf("%d\\n", low(1));\n',
    }

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.src, self.dst = Path(self.folder.name, "src"), Path(self.folder.name, "dst")
        for name, text in self.FILES.items():
            (self.src / name).parent.mkdir(parents=True, exist_ok=True)
            (self.src / name).write_text(text)

    def mutate(self, *args):
        return subprocess.run([sys.executable, str(HERE / "mutate"), *map(str, args)], capture_output=True, text=True)

    def compile(self, tree, *options):
        subprocess.run(["cc", "-Wall", "-Werror", *options, "src/main.c"], cwd=tree, check=True)

    def run_copy(self, mutant):
        env = dict(os.environ, MUTANT=mutant)
        return subprocess.run([str(self.dst / "a.out")], env=env, capture_output=True, text=True)

    def test_one_is_selected_at_run_time(self):
        self.assertEqual(self.mutate("apply", self.src, self.dst).returncode, 0)
        self.compile(self.dst)
        self.assertEqual(self.run_copy("").stdout, "2\n")
        self.assertEqual(self.run_copy("off_by_one").stdout, "3\n")
        self.assertEqual(self.run_copy("silent").stdout, "")
        self.assertIn("no seeded bug of", self.run_copy("of").stderr)

    def test_none_makes_the_same_object(self):
        self.assertEqual(self.mutate("apply", "--none", self.src, self.dst).returncode, 0)
        for tree in (self.src, self.dst):
            self.compile(tree, "-O2", "-g0", "-c")
        self.assertEqual((self.src / "main.o").read_bytes(), (self.dst / "main.o").read_bytes())

    def test_one_file_alone(self):
        self.assertEqual(self.mutate("source", "src/low.h", self.dst, self.src).returncode, 0)
        self.assertEqual({path.name for path in self.dst.iterdir()}, {"low.h", "mutants_selected.h"})
        self.assertNotIn("silent", (self.dst / "mutants_selected.h").read_text())
        self.assertIn("no seeded bug is in", self.mutate("source", "src/none.c", self.dst, self.src).stderr)

    def test_several_rules_of_one_bug(self):
        lists = self.src / "tests/mutants/all.mut"
        lists.write_text(lists.read_text().replace("rule LOW-02\n", "rule LOW-02\ntests first\nrule LOW-04\n"))
        self.assertEqual(self.mutate("list", self.src).stdout,
                         "off_by_one LOW-01 low\nsilent LOW-02 first\nsilent LOW-04 low\n")

    def test_a_moved_file_is_followed(self):
        (self.src / "src/low.h").rename(self.src / "src/lower.h")
        (self.src / "src/main.c").write_text(self.FILES["src/main.c"].replace("low.h", "lower.h"))
        self.assertIn("No such file", self.mutate("check", self.src).stderr)
        self.assertEqual(self.mutate("rename", "src/low.h", "src/lower.h", self.src).returncode, 0)
        self.assertEqual(self.mutate("check", self.src).returncode, 0)

    def test_features_are_still_the_files_choice(self):
        """What is included in front of a file must not decide what the C library declares."""
        (self.src / "src/main.c").write_text('#define _GNU_SOURCE\n#include <string.h>\n' +
                                             self.FILES["src/main.c"].replace(
            "printf(", '(void)strchrnul("a", 97);\n    printf('))
        self.assertEqual(self.mutate("apply", self.src, self.dst).returncode, 0)
        self.compile(self.dst)

    def test_follows_the_tree(self):
        self.mutate("apply", self.src, self.dst)
        kept = (self.dst / "src/main.c").stat().st_mtime_ns
        (self.src / "src/new.c").write_text("int n;\n")
        self.mutate("apply", self.src, self.dst)
        self.assertTrue((self.dst / "src/new.c").exists())
        self.assertEqual((self.dst / "src/main.c").stat().st_mtime_ns, kept)
        (self.src / "src/new.c").unlink()
        self.mutate("apply", self.src, self.dst)
        self.assertFalse((self.dst / "src/new.c").exists())

    def test_check(self):
        folder = self.src / "tests/contract/cases"
        folder.mkdir(parents=True)
        (folder / "low.c").write_text("/* covers: LOW-01 */\n/* covers: LOW-03 */\n")
        result = self.mutate("check", self.src)
        self.assertEqual(result.returncode, 1)
        self.assertIn("LOW-03: claimed", result.stdout)
        (self.src / "src/low.h").write_text("static inline int low(int a)\n{\n    return 1 + a;\n}\n")
        result = self.mutate("check", self.src)
        self.assertEqual(result.returncode, 1)
        self.assertIn("low in src/low.h does not contain this", result.stderr)


if __name__ == "__main__":
    unittest.main()
