#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndkconform's own test: options, reports, and that it sees nothing but the provider it is given.

    conform_test.py NDKCONFORM MODULES CONTRACT.md
"""
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

PROGRAM, MODULES, CONTRACT = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
MARK = "\ufffd" # in place of what is no text


def run(*args, **kwargs):
    return subprocess.run([PROGRAM, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=250,
                          check=False, **kwargs)


def lines(done):
    return done.stdout.decode(errors="replace").splitlines()


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def report(self, *args, expected):
        """Runs with both reports. Returns the lines, JSON's object, and JUnit's cases by name."""
        names = [Path(self.directory.name) / name for name in ("report.json", "report.xml")]
        done = run("--json", names[0], "--junit", names[1], *args)
        self.assertEqual(done.returncode, expected, done)
        suites = ElementTree.parse(names[1]).getroot()
        self.assertEqual(suites.tag, "testsuites")
        for suite in suites:
            self.assertEqual(int(suite.get("tests")), len(suite.findall("testcase")))
            for kind, tag in (("failures", "failure"), ("skipped", "skipped")):
                self.assertEqual(int(suite.get(kind)), len(suite.findall(f"testcase/{tag}")))
            self.assertGreaterEqual(float(suite.get("time")), 0)
        return lines(done), json.loads(names[0].read_bytes()), {c.get("name"): c for c in suites.iter("testcase")}

    def report_hang(self, name, *args, expected):
        """Works like report. Raises the watchdog's time limit until it ends no case except `name`, which hangs."""
        for seconds in 1, 10, 60:
            reports = self.report("--watchdog", seconds, *args, expected=expected)
            hung = [case["name"] for case in reports[1]["cases"] if "the watchdog ended it" in (case["reason"] or "")]
            if hung == [name]:
                break
        return reports


class Lists(Case):
    def test_every_case_covers_rules_that_there_are(self):
        rules = set(re.findall(r"^- ([A-Z]{3}-\d\d)", CONTRACT.read_text(), re.M))
        names = lines(run("--list"))
        self.assertGreater(len(names), 200)
        self.assertEqual(len(names), len(set(names)))
        rows = [row.split() for row in lines(run("--list", "--rules"))]
        self.assertEqual([row[0] for row in rows], names)
        for row in rows:
            self.assertGreater(len(row), 1, row)
            self.assertLessEqual(set(row[1:]), rules, row)
        self.assertIn(["adp_01_short_buffers", "ADP-01"], rows)
        self.assertIn(["con_12_taken_by_a_foreign_socket", "CON-12", "CON-17"], rows)

    def test_filter(self):
        self.assertEqual(lines(run("--list", "--filter", "adp_01_short,adp_01_suff")),
                         ["adp_01_short_buffers", "adp_01_sufficient_buffers"])

    def test_help(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0)
        for option in ("provider", "list", "rules", "filter", "family", "slow", "jobs", "interface", "watchdog", "json",
                       "junit", "version"):
            self.assertIn(f"--{option}".encode(), done.stdout)


class Reports(Case):
    def test_both_families(self):
        out, report, junit = self.report("--filter", "gcd_01,adp_01_short", expected=0)
        self.assertEqual(report["provider"]["name"], "OpenNDK")
        self.assertIsNone(report["provider"]["module"])
        self.assertEqual((report["adapter"]["technology"], report["adapter"]["version"]), (1, "2.1"))
        self.assertEqual((report["failed"], report["skipped"]), (0, 0))
        self.assertEqual(report["passed"], len(report["cases"]))
        named = {case["name"] + (f" ({case['family']})" if case["family"] else ""): case for case in report["cases"]}
        self.assertEqual([f"{name}: passed" for name in named], out[:-1])
        self.assertEqual(out[-1], f"{len(named)} passed, 0 failed, 0 skipped")
        self.assertEqual(set(junit), set(named))
        self.assertEqual({c.get("classname") for c in junit.values()}, {"ndkconform.gcd", "ndkconform.adp"})
        self.assertEqual({case["family"] for case in report["cases"]}, {None, "IPv4", "IPv6"})
        self.assertEqual(named["adp_01_short_buffers"]["rules"], ["ADP-01"])
        for case in report["cases"]:
            self.assertEqual((case["result"], case["reason"]), ("passed", None))
            self.assertGreaterEqual(case["seconds"], 0)
        self.assertGreater(sum(case["seconds"] for case in report["cases"]), 0)

    def test_one_family(self):
        _, report, _ = self.report("--filter", "gcd_01", "--family", "6", expected=0)
        self.assertEqual({case["family"] for case in report["cases"]}, {"IPv6"})

    def test_to_standard_output(self):
        done = run("--filter", "adp_01_short", "--json", "-")
        report = json.loads(done.stdout)
        self.assertEqual(list(report)[:3], ["tool", "version", "format"])
        self.assertEqual((report["tool"], report["format"], report["passed"]), ("ndkconform", 1, 1))
        self.assertIn(b"adp_01_short_buffers: passed", done.stderr)
        done = run("--filter", "adp_01_short", "--junit", "-")
        self.assertEqual(ElementTree.fromstring(done.stdout).tag, "testsuites")


class Providers(Case):
    def test_the_same_as_a_module(self):
        module = MODULES / "conform_openndk.so"
        out, report, _ = self.report("--provider", module, "--filter", "adp_01,gcd_,obj_06", expected=0)
        self.assertEqual(report["provider"]["module"], str(module))
        own, _, _ = self.report("--filter", "adp_01,gcd_,obj_06", expected=0)
        self.assertEqual(out, own)
        self.assertEqual(report["skipped"], 0)

    def test_a_broken_status_is_seen(self):
        out, report, junit = self.report("--provider", MODULES / "conform_broken.so", "--filter", "adp_01", expected=1)
        results = {case["name"]: case for case in report["cases"]}
        self.assertEqual({name: case["result"] for name, case in results.items()},
                         {"adp_01_short_buffers": "failed", "adp_01_sufficient_buffers": "passed",
                          "adp_01_the_structure_of_ndk_1": "failed"})
        reason = results["adp_01_short_buffers"]["reason"]
        self.assertTrue(reason.endswith("expected STATUS_BUFFER_TOO_SMALL, saw STATUS_BUFFER_OVERFLOW"), reason)
        self.assertIn("adp_01_short_buffers: FAILED", out)
        self.assertTrue(any(line.endswith(reason) for line in out))
        failure = junit["adp_01_short_buffers"].find("failure")
        self.assertEqual(failure.get("message"), reason)
        self.assertIn(reason, failure.text)
        self.assertEqual(out[-1], "1 passed, 2 failed, 0 skipped")

    def test_what_is_no_text(self):
        _, report, junit = self.report("--provider", MODULES / "conform_broken.so", "--filter", "adp_01", expected=1)
        name = 'a "broken" <provider> & more: \u20ac ' + MARK
        self.assertEqual(report["provider"]["name"], name)
        printed = {case["name"]: case["output"] for case in report["cases"]}
        self.assertEqual(printed["adp_01_sufficient_buffers"], '\x1b[31m<&"\\> ' + MARK * 2 + "( ]]>\x01\n")
        self.assertEqual(junit["adp_01_sufficient_buffers"].find("system-out").text,
                         MARK + '[31m<&"\\> ' + MARK * 2 + "( ]]>" + MARK + "\n")

    def test_a_case_that_does_not_end(self):
        out, report, junit = self.report_hang("adp_04_versions_served", "--provider", MODULES / "conform_broken.so",
                                              "--filter", "adp_04_versions", expected=1)
        reasons = {case["name"]: case["reason"] for case in report["cases"]}
        self.assertEqual(reasons, {"adp_04_versions_served": "still waiting when the watchdog ended it",
                                   "adp_04_versions_refused": "killed by signal 6"})
        for name, reason in reasons.items():
            self.assertIn(f"  {reason}", out)
            self.assertEqual(junit[name].find("failure").get("message"), reason)

    def test_what_is_absent_is_skipped(self):
        cases = ["wir_02_revision_2", "obj_06_pending_creates_leave", "acc_03_peer_never", "adp_01_suff"]
        out, report, junit = self.report("--provider", MODULES / "conform_narrow.so", "--family", "4",
                                         "--filter", ",".join(cases), expected=0)
        reasons = {case["name"]: case["reason"] for case in report["cases"]}
        self.assertIsNone(reasons.pop("adp_01_sufficient_buffers"))
        wanted = {"acc_03": "the provider cannot set establish_ms to 100",
                  "obj_06": "the provider cannot set pend_creates to 1",
                  "wir_02": "the adapter's technology is 4, not iWARP (1)"}
        self.assertEqual({name[:6] for name in reasons}, set(wanted))
        for name, reason in reasons.items():
            self.assertEqual(reason, wanted[name[:6]])
            self.assertIn(f"  skipped: {reason}", out)
        for name, case in junit.items():
            if not name.startswith("adp_01"):
                self.assertEqual(case.find("skipped").get("message"), reasons[name.split()[0]])
        self.assertEqual(out[-1], f"1 passed, 0 failed, {len(reasons)} skipped")

    def test_every_case_by_hand_is_skipped_for_another_technology(self):
        out = lines(run("--provider", MODULES / "conform_narrow.so", "--family", "4", "--filter", "wir_0"))
        self.assertRegex(out[-1], r"^\d+ passed, 0 failed, [1-9]\d* skipped$")
        self.assertGreater(len([line for line in out if "not iWARP" in line]), 10)


@unittest.skipUnless(os.path.exists("/dev/full"), "this system has no /dev/full")
class FullDisk(Case):
    def test_standard_output(self):
        for args in (("--filter", "adp_01_short"), ("--list",), ("--rules",), ("--help",), ("--version",),
                     ("--filter", "adp_01_short", "--json", "-")):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([PROGRAM, *args], stdout=full, stderr=subprocess.PIPE, timeout=250, check=False)
            self.assertEqual(done.returncode, 6, args)
            self.assertIn(b"No space left on device", done.stderr)

    def test_reports(self):
        for kind in "--json", "--junit":
            done = run("--filter", "adp_01_short", kind, "/dev/full")
            self.assertEqual(done.returncode, 6, done)
            self.assertIn(b"/dev/full: No space left on device", done.stderr)


class Jobs(Case):
    SOME = "adp_01,gcd_,obj_06,con_01"

    def test_the_same_lines_in_the_same_order(self):
        out, report, _ = self.report("--filter", self.SOME, expected=0)
        for jobs in 2, 5, 200:
            again, other, _ = self.report("--filter", self.SOME, "--jobs", jobs, expected=0)
            self.assertEqual(out, again)
            for case in report["cases"] + other["cases"]:
                case.pop("seconds", None)
            self.assertEqual(report, other)

    def test_what_failed_cases_print(self):
        broken = ("--provider", MODULES / "conform_broken.so", "--filter", "adp_01")
        out, _, _ = self.report(*broken, expected=1)
        again, report, _ = self.report(*broken, "--jobs", 3, expected=1)
        self.assertEqual(out, again)
        self.assertEqual(report["failed"], 2)

    def test_a_case_that_does_not_end(self):
        _, report, _ = self.report_hang("adp_04_versions_served", "--provider", MODULES / "conform_broken.so",
                                        "--jobs", 3, "--filter", "adp_04_versions,adp_01_suff", expected=1)
        self.assertEqual({case["name"]: case["reason"] for case in report["cases"]},
                         {"adp_01_sufficient_buffers": None, "adp_04_versions_refused": "killed by signal 6",
                          "adp_04_versions_served": "still waiting when the watchdog ended it"})


class Interrupted(Case):
    def test_summary_and_reports(self):
        for jobs in "1", "4":
            report = Path(self.directory.name) / "report.json"
            command = [PROGRAM, "--provider", MODULES / "conform_broken.so", "--watchdog", "600", "--jobs", jobs,
                       "--filter", "adp_01_suff,adp_04_versions_serv", "--json", report] # the second one never ends
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
                first = [p.stdout.readline(), p.stdout.readline()]
                p.send_signal(signal.SIGINT)
                out, err = p.communicate(timeout=250)
            self.assertEqual(p.returncode, 130, (first, out, err))
            self.assertIn(b"adp_01_sufficient_buffers: passed\n", first)
            self.assertEqual(out.splitlines()[-1], b"1 passed, 0 failed, 0 skipped; interrupted, 1 not run")
            read = json.loads(report.read_bytes())
            self.assertEqual((read["interrupted"], [case["name"] for case in read["cases"]]),
                             (True, ["adp_01_sufficient_buffers"]))


class Interfaces(Case):
    def test_lo_by_its_name_its_index_and_its_addresses(self):
        index = Path("/sys/class/net/lo/ifindex").read_text(encoding="ascii").strip()
        for interface, option in ("lo", "both"), (index, "both"), ("127.0.0.1", "4"), ("::1", "6"):
            out, report, _ = self.report("--interface", interface, "--filter", "gcd_01", "--family", option, expected=0)
            self.assertGreater(report["passed"], 0, out)
            self.assertEqual(report["skipped"], 0, out)

    def test_cases_connect_over_the_interface(self):
        """An adapter of lo on a second address: its connections have that address."""
        script = ("ip link set lo up && ip address add 10.77.0.1/32 dev lo && "
                  f"exec {PROGRAM} --interface 10.77.0.1 --family 4 --filter con_0,acc_0")
        done = subprocess.run(["unshare", "--net", "sh", "-c", script], capture_output=True, timeout=300, check=False)
        if b"unshare failed" in done.stderr or b"Operation not permitted" in done.stderr:
            self.skipTest("no network namespace to be had")
        self.assertEqual(done.returncode, 0, done)
        self.assertGreater(done.stdout.count(b": passed"), 10)

    def test_an_interface_without_the_family(self):
        script = ("ip link set lo up && ip link add near type veth peer name far && ip link set far up && "
                  "ip link set near up && ip -6 address add fd77::1/64 dev near nodad && "
                  "while ! ip -6 route get fd77::1 | grep -q ^local; do sleep 0.1; done && "
                  f"exec {PROGRAM} --interface near --filter gcd_01,adp_01")
        done = subprocess.run(["unshare", "--net", "sh", "-c", script], capture_output=True, timeout=300, check=False)
        if b"ndkconform" not in done.stderr and b"passed" not in done.stdout:
            self.skipTest(f"no network namespace or veth to be had: {done.stderr}")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn(b"skipped: the interface has no IPv4 address", done.stdout)
        self.assertIn(b"(IPv6): passed", done.stdout)


class Progress(Case):
    def test_on_a_terminal(self):
        master, slave = pty.openpty()
        seen = b""
        command = [PROGRAM, "--provider", MODULES / "conform_broken.so", "--filter", "adp_01_suff,adp_04_versions_serv",
                   "--watchdog", "600"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave) as p:
            os.close(slave)
            while b"1 of 2 cases, 0 failed; adp_04_versions_served" not in seen:
                seen += os.read(master, 4096)
            p.send_signal(signal.SIGTERM)
            p.communicate(timeout=250)
        os.close(master)
        self.assertEqual(p.returncode, 130)


class WrongUsage(Case):
    def check(self, *args, says):
        done = run(*args)
        self.assertEqual(done.returncode, 2, done)
        self.assertIn(says, done.stderr.decode())

    def test_options(self):
        for args in (["--nonsense"], ["case"], ["--family", "5"], ["--watchdog", "0"], ["--watchdog", "1x"],
                     ["--watchdog", "-18446744073709551615"], ["--watchdog", "+1"], ["--json", "-", "--junit", "-"],
                     ["--json"], ["--jobs", "0"], ["--jobs", "257"], ["--interface", "no_such0"],
                     ["--interface", "192.0.2.77"], ["--interface", "lo", "--jobs", "2"]):
            self.check(*args, says="Try 'ndkconform --help'.")

    def test_no_case(self):
        self.check("--filter", "no_such_case", says="no case matches")
        self.assertEqual(lines(run("--filter", "no_such_case")), ["0 passed, 0 failed, 0 skipped"])

    def test_no_report(self):
        self.check("--filter", "adp_01_short", "--json", os.path.join(self.directory.name, "no", "where"),
                   says="No such file or directory")

    def test_a_variable_that_is_not_used(self):
        for more in (), ("--provider", MODULES / "conform_openndk.so"):
            done = run("--filter", "adp_01_short", *more, env={**os.environ, "ONDK_CONECT_MS": "5"})
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(b"ONDK_CONECT_MS=5 is not used", done.stderr)

    def test_no_provider(self):
        self.check("--provider", "./no_such.so", says="no_such.so")
        self.check("--provider", "libm.so.6", says="ndkconform_provider")
        self.check("--provider", MODULES / "conform_other_interface.so", says="expected interface 1, saw 2")
        self.check("--provider", MODULES / "conform_unusable.so", says="no such card")
        self.check("--provider", MODULES / "conform_incomplete.so", says="only set may be NULL")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
