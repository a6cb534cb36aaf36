#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benchmark's evaluation of measurements and their order, with invented measurements."""
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv.pop(1))
import measure  # noqa: E402
import report  # noqa: E402
import rows  # noqa: E402

OURS, BARE, FABRIC = rows.run("ours", "data", "ndk"), rows.run("bare", "data", "tcp"), rows.run("fabric", "fabric", "x")
OTHER, FLOOR = rows.run("ours", "data", "other"), rows.run("floor", "data", "floor")
TIMES = rows.Row("latency", "polling", "us", "us", OURS, BARE, FABRIC, None, True)
ALONE = rows.Row("memory", "own", "us", "B", OTHER, None, None, None, True)


def one(run, at, value, which="near", noisy=False):
    return {"run": run, "at": at, "class": which, "noisy": noisy, "figures": {"us": value}}


def pairs(values, which="near", noisy=(), at=0):
    """Measurements of OpenNDK with these values, in turn with 10 of bare TCP."""
    return [m for n, value in enumerate(values) for m in
            (one(OURS, at + 2 * n, value, which, n in noisy), one(BARE, at + 2 * n + 1, 10, which, n in noisy))]


def lines(taken, row=TIMES):
    return {line["class"]: line for line in report.summary([row], taken)}


class Rows(unittest.TestCase):
    def test_classes_are_not_mixed(self):
        seen = lines(pairs([11, 12, 13]) + pairs([20, 21, 22], "far", at=3))
        self.assertEqual(list(seen), ["near", "far"])
        self.assertEqual([seen[c]["ratio"] for c in seen], [1.2, 2.1])
        self.assertEqual([seen[c]["samples"] for c in seen], [3, 3])

    def test_unsteady_counts_for_nothing(self):
        seen = lines(pairs([11, 11, 11]) + pairs([90] * 20, "unsteady"))
        self.assertEqual(list(seen), ["near"])
        self.assertEqual((seen["near"]["ratio"], seen["near"]["high"]), (1.1, 11))
        self.assertEqual(lines(pairs([11] * 9, "unsteady")), {})

    def test_pairs_are_nearest_in_time(self):
        taken = [one(BARE, 0, 10), one(OURS, 1, 10), one(BARE, 50, 20), one(OURS, 51, 20), one(OURS, 90, 30)]
        line = lines(taken + [one(BARE, 89, 1, "far")])["near"]
        self.assertEqual((line["ratio_low"], line["ratio_high"]), (1, 1.5))
        self.assertEqual((line["samples"], line["ratio"]), (2, 1))

    def test_a_faster_minute_is_one_for_both(self):
        fast = [one(BARE, 0, 5), one(OURS, 1, 6), one(FLOOR, 2, 5.5)]
        slow = [m for n in (10, 20) for m in (one(OURS, n, 12), one(BARE, n + 1, 10))]
        line = lines(fast + slow + [one(BARE, 3, 5), one(BARE, 4, 5)], TIMES._replace(floor=FLOOR))["near"]
        self.assertEqual((line["median"], line["against"]), (12, 5))
        self.assertEqual((line["ratio"], line["floor"]), (1.2, 1.1))

    def test_from_to_is_the_middle_half(self):
        self.assertEqual(report.middle([3, 1, 2]), (1, 3))
        self.assertEqual(report.middle(range(8)), (2, 5))
        line = lines(pairs([1, 10, 10, 10, 11, 11, 11, 90]))["near"]
        self.assertEqual((line["ratio_from"], line["ratio_to"]), (1, 1.1))
        self.assertEqual((line["ratio_low"], line["ratio_high"]), (0.1, 9))

    def test_scatters(self):
        for values, word in (([10, 16] * 4, "scatters"), ([10, 15] * 4, ""), ([10] * 7 + [90], "")):
            self.assertEqual(lines(pairs(values))["near"]["unreliable"], word, values)
        alone = lines([one(OTHER, n, value) for n, value in enumerate((10, 50, 90))], ALONE)["near"]
        self.assertEqual(alone["unreliable"], "")

    def test_too_few_samples(self):
        self.assertEqual(lines(pairs([10, 10]))["near"]["unreliable"], "samples: only 2")
        taken = [one(OURS, n, 10) for n in range(9)] + [one(BARE, 9, 10)]
        self.assertEqual(lines(taken)["near"]["unreliable"], "samples: only 1")

    def test_noisy_ones_count_only_where_most_are(self):
        line = lines(pairs([10, 10, 10, 90], noisy=[3]))["near"]
        self.assertEqual((line["samples"], line["noisy"], line["high"], line["unreliable"]), (3, 2, 10, ""))
        line = lines(pairs([10, 90, 90, 90], noisy=[1, 2, 3]))["near"]
        self.assertEqual((line["samples"], line["unreliable"]), (4, "other load"))

    def test_peers_stand_beside(self):
        line = lines(pairs([10] * 3) + [one(FABRIC, 1, 15), one(FABRIC, 2, 80, "far")])["near"]
        self.assertEqual((line["libfabric"], line["ucx"]), (1.5, None))

    def test_the_floor_stands_beside(self):
        taken = pairs([12] * 3) + [one(FLOOR, 1, 11), one(FLOOR, 2, 80, "far"), one(FLOOR, 3, 90, noisy=True)]
        line = lines(taken, TIMES._replace(floor=FLOOR))["near"]
        self.assertEqual((line["ratio"], line["floor"]), (1.2, 1.1))
        self.assertEqual(report.markdown_row(line)[report.MARKDOWN.index("floor")], "1.10")
        columns = [name for name, _ in report.COLUMNS]
        self.assertEqual(report.cells(line)[columns.index("floor")], "1.10")
        self.assertIsNone(lines(taken)["near"]["floor"])


class Whole(unittest.TestCase):
    def complaint(self, count, silent):
        table = [TIMES._replace(what=str(n)) for n in range(count)]
        taken = pairs([10] * 3)
        return report.complaint(table, report.summary(table[silent:], taken))

    def test_complaint(self):
        self.assertEqual(self.complaint(4, 1), "")
        self.assertIn("2 of 4 main rows are unreliable (not measured)", self.complaint(4, 2))
        self.assertIn("TOO NOISY", self.complaint(0, 0))

    def test_one_class_settles_a_row(self):
        taken = pairs([10]) + pairs([20] * 3, "far")
        self.assertEqual(report.complaint([TIMES], report.summary([TIMES], taken)), "")
        taken = pairs([10]) + pairs([20], "far")
        self.assertIn("1 of 1", report.complaint([TIMES], report.summary([TIMES], taken)))

    def test_near_comes_first(self):
        machine = dict.fromkeys(("date", "openndk", "cpu", "virtual", "processors", "kernel", "congestion_control",
                                 "libfabric", "ucx"), "") | {"load": [0], "load_after": [0]}
        first, second = (report.summary([TIMES], pairs([10] * 3, "far") + pairs([10] * 3)) for _ in range(2))
        text = report.markdown(machine, [("first", first), ("second", second)], "run")
        places = [text.index(f"{title}; cores: {which}.") for which in ("near", "far") for title in ("first", "second")]
        self.assertEqual(places, sorted(places))

    def test_counts(self):
        said = report.counts({"pinned": pairs([10], noisy=[0]) + pairs([10, 10], "unsteady"), "free": []})
        self.assertEqual(said, "Measurements: pinned 4 unsteady, 2 near, of all of them 2 noisy.")

    def test_points_are_near_or_else_steady(self):
        mine = [one(OURS, 0, 10), one(OURS, 1, 20, "far"), one(OURS, 2, 90, "unsteady")]
        self.assertEqual(report.point(1, mine, "us")["y"], 10)
        self.assertEqual(report.point(1, mine[1:], "us")["y"], 20)
        self.assertIsNone(report.point(1, mine[2:], "us"))


class FakeBench:
    """Has a class of processors for each measurement: near, or near>far for a change during it."""

    def __init__(self, story, missing=()):
        self.story, self.order, self.missing, self.broken = list(story), [], {}, missing
        self.watch = types.SimpleNamespace(present=lambda: self.story[0].split(">")[0])

    def measure(self, run, free):
        self.order.append(run)
        what = self.story.pop(0)
        if run in self.broken:
            self.missing[run] = "why"
            return None
        return one(run, 0, 1, "unsteady" if ">" in what else what)


class Order(unittest.TestCase):
    def test_classes(self):
        self.assertEqual(measure.class_of([50, 60]), "near")
        self.assertEqual(measure.class_of([300]), "far")
        self.assertEqual(measure.class_of([0, 0]), "one")
        self.assertEqual(measure.class_of([50] * 9 + [300]), "near")
        self.assertEqual(measure.class_of([50] * 8 + [300] * 2), "unsteady")

    def test_looks_around_a_measurement(self):
        watch = measure.Watch.__new__(measure.Watch)
        with tempfile.TemporaryFile() as watch.file:
            watch.offset, watch.distances = 0, []
            watch.file.write(b"1.0 50\n2.0 51\n3.0 52\n4.0 53\n5.0 54\n6.")
            watch.file.flush()
            self.assertEqual(watch.between(2.5, 3.5), [51, 52, 53])
            self.assertEqual(watch.between(4.2, 4.3), [53, 54])

    def order(self, runs, story, most=1, missing=()):
        bench = FakeBench(story, missing)
        measure.phase(bench, "test", runs, most, float("inf"))
        return bench.order

    def test_each_class_goes_on_where_it_was(self):
        self.assertEqual(self.order([OURS, BARE, OTHER], ["near", "far", "near", "far", "near", "near"]),
                         [OURS, OURS, BARE, BARE, OTHER])

    def test_what_was_unsteady_is_repeated_at_once_but_not_for_ever(self):
        self.assertEqual(self.order([OURS, BARE], ["near>far", "far", "near", "near", "near"]),
                         [OURS, OURS, OURS, BARE])
        self.assertEqual(self.order([OURS, BARE], ["near>far"] * 4 + ["near"]), [OURS, OURS, BARE, BARE])

    def test_noisy_ones_are_repeated_too(self):
        turns = measure.Turns([OURS, BARE])
        for _ in range(2):
            self.assertEqual(turns.next("near"), OURS)
            turns.took("near", one(OURS, 0, 1, noisy=True))
        self.assertEqual(turns.next("near"), BARE)

    def test_peers_have_less_turns(self):
        order = self.order([OURS, FABRIC], ["near"] * 9, most=4)
        self.assertEqual(order, [OURS, FABRIC, OURS, OURS, OURS, FABRIC])

    def test_a_peer_that_is_missing_is_asked_once(self):
        self.assertEqual(self.order([FABRIC, OURS], ["near"] * 5, most=3, missing=[FABRIC]), [FABRIC] + [OURS] * 3)


if __name__ == "__main__":
    unittest.main()
