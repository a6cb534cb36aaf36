#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run_hostile.py --binaries DIR [--ndkrun FILE --samples DIR] [--long] [--sanitized] ATTACK

Attacks a service and judges what is left of it: it survives, ends without a leak, serves others meanwhile, and gives
back descriptors and memory. Counts decide; times are printed alone.
"""
import argparse
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

import judge
from judge import Process, Victim, check, show, skip, together

args = None
tests = {}


def test(function):
    tests[function.__name__.replace("_", "-")] = function
    return function


def pick(short, long):
    return long if args.long else short


def victim(*options, **config):
    return Victim(args.binaries, *options, **config)


def expect_reasons(seen, allowed):
    """Checks that each connection has ended by one of these reasons."""
    others = {name: n for name, n in seen["reasons"].items() if name not in allowed}
    check("connections ended for the expected reasons", not others, others)


def expect_all_right(name, seen):
    check(f"{name}: every client was served", seen.get("served") == seen.get("tried", seen.get("started")), seen)
    check(f"{name}: every byte is right", seen.get("wrong_bytes") == 0 and not seen.get("wrong_crc"), seen)


# ---- 1: peers that go away at once ----

@test
def abrupt():
    for options in ((), ("--srq", 1024)):
        with victim(*options) as v:
            v.warm_up()
            stay = v.good("--threads", 4, "--until-stdin").ready()
            seen = v.hostile("abrupt", "--connections", 40, "--total", pick(600, 20000), "--reconnect",
                             "--seconds", 200).end()
            show("abrupt", seen)
            check("all attackers came", seen["started"] == pick(600, 20000) and not seen["failed"], seen)
            expect_all_right("clients beside", stay.end())
            end = v.expect_recovered()
            expect_reasons(end, {"peer-closed", "peer-reset", "STATUS_CONNECTION_ABORTED"})


# ---- 2: peers that never send a request ----

def idle_case(title, files, sources, reconnect, waiting, address="127.0.0.1:0", first="127.1.0.1", clients="127.77.0.1",
              listeners=1):
    attackers = pick(1200, 5000)
    # Attackers at many addresses that come again at once cannot be told from clients: most of these must get in.
    share = 0.99 if sources == 1 or not reconnect else 0.9
    if judge.hard_limit() < max(files, attackers + 100):
        skip(f"the hard limit of descriptors is {judge.hard_limit()}")
    # The victim's own limit of time would free what attackers hold: it is far away.
    with victim("--listeners", listeners, address=address, files=files, request_ms=600000) as v:
        v.warm_up()
        attacks = [v.hostile("idle", "--connections", attackers // listeners, "--from", first, "--sources", sources,
                             "--until-stdin", "--seconds", 250, *(("--reconnect",) if reconnect else ()), address=to)
                   for to in v.addresses]
        for a in attacks:
            a.ready()
        seen = v.good("--threads", 2, "--rounds", pick(100, 500)).end()
        check(f"{title}: clients of the library", seen["served"] >= share * seen["tried"], seen)
        show(f"{title}, clients of the library", seen)
        for delay in (0, 200) if waiting else (0,):
            seen = v.hostile("client", "--connections", 10, "--total", pick(100, 500), "--reconnect", "--from", clients,
                             "--sources", 10, "--delay-ms", delay, "--seconds", 200).end()
            show(f"{title}, clients that wait {delay} ms", seen)
            check(f"{title}: clients that wait {delay} ms", seen["served"] >= share * pick(100, 500), seen)
        for a in attacks:
            show(f"{title}, attack", a.end())
        v.expect_recovered(kib=32768)


def idle_cases(sources):
    for files in pick((256,), (256, 1024, 20000)):
        for reconnect in (False, True):
            idle_case(f"{files} descriptors, {sources} sources{', again at once' if reconnect else ''}", files, sources,
                      reconnect, waiting=sources == 1)


@test
def idle_one_source():
    idle_cases(1)


@test
def idle_many_sources():
    idle_cases(1000)


def with_ipv6():
    """IPv6 addresses of many networks on the loopback interface."""
    if subprocess.run(["ip", "-6", "route", "add", "local", "2001:db8::/32", "dev", "lo"], check=False).returncode:
        skip("no network namespace of its own, or no IPv6")


@test
def idle_ipv6():
    with_ipv6()
    for sources in (1, 1000):
        idle_case(f"IPv6, {sources} networks", 256, sources, True, waiting=sources == 1, address="[::1]:0",
                  first="2001:db8::1", clients="2001:db8:ff00::1")


@test
def idle_listeners():
    listeners = pick(3, 8)
    idle_case(f"{listeners} listeners", 256, 1, True, waiting=args.long, listeners=listeners)


@test
def exhaust():
    """Established connections use all descriptors: they continue, and others connect after they have ended."""
    with victim(files=256) as v:
        v.warm_up()
        stay = v.good("--threads", 4, "--until-stdin").ready()
        attack = v.hostile("quiet", "--connections", pick(400, 2000), "--until-stdin", "--seconds", 250).ready()
        full = v.stat()
        check("descriptors are used up", full["descriptors"] > 256, full)
        show("exhaust", attack.end())
        v.until(lambda s: s["now"] == 4)
        v.expect_served("after the attack")
        expect_all_right("clients from before", stay.end())
        v.expect_recovered()


@test
def slow_request():
    with victim(request_ms=pick(500, 2000)) as v:
        v.warm_up()
        attack = v.hostile("slow-request", "--connections", 100, "--delay-ms", pick(200, 500), "--until-stdin",
                           "--seconds", 250).ready()
        v.expect_served("beside slow requests")
        v.until(lambda s: s["descriptors"] <= v.base["descriptors"])
        seen = attack.end()
        show("slow-request", seen)
        check("each was dropped", sum(seen["ended"].values()) == 100 and seen["replied"] == 0, seen)
        v.expect_recovered()


@test
def mute():
    """An accept or a reject without a reaction of the peer does not keep its descriptor."""
    with victim("--connections", 20, establish_ms=10000) as v:
        v.warm_up()
        attack = v.hostile("mute", "--connections", 100, "--until-stdin", "--seconds", 250).ready()
        seen = v.until(lambda s: s["requests"] - v.base["requests"] == 100 and s["now"] == 0 and
                       s["descriptors"] <= v.base["descriptors"])
        accepted = seen["reasons"].get("STATUS_IO_TIMEOUT", 0)
        check("each was rejected, or accepted in vain", accepted >= 20 and accepted + seen["rejects"] == 100, seen)
        v.expect_served("beside mute peers")
        show("mute", {"victim": seen, "attack": attack.end()})
        v.expect_recovered()


# ---- 3: frames that carry nothing ----

@test
def flood():
    pings = pick(20 if judge.SANITIZED else 100, 1000)
    for hogs in pick((8,), (1, 64)):
        with victim(shards=1) as v:
            v.warm_up()
            alone = v.good("--threads", 2, "--count", pings).end()
            attack = v.hostile("flood", "--connections", hogs, "--until-stdin", "--seconds", 250).ready()
            beside = v.good("--threads", 2, "--count", pings).end()
            seen = attack.end()
            show(f"flood, {hogs} connections", seen)
            for title, times in (("alone", alone), ("beside the flood", beside)):
                print(f"ping {title}: p50 {times['p50_us']} us, p99 {times['p99_us']} us", flush=True)
                expect_all_right(f"ping {title}", times)
            check("no attacker was ended", not seen["ended"], seen)
            v.expect_recovered()
    pin_case("flood", connections=pick(8, 200), kib_each=400, shards=1)


@test
def burst():
    """Connections end while most of their data is not processed."""
    with victim(shards=1) as v:
        v.warm_up()
        stay = v.good("--threads", 4, "--until-stdin").ready()
        seen = v.hostile("burst", "--connections", 20, "--total", pick(200, 5000), "--reconnect", "--seconds",
                         250).end()
        show("burst", seen)
        check("all attackers came", seen["started"] == pick(200, 5000) and not seen["failed"], seen)
        expect_all_right("clients beside", stay.end())
        end = v.expect_recovered()
        expect_reasons(end, {"peer-closed", "peer-reset", "protocol/ddp-msn"})


# ---- 4: messages without an end, into a shared receive queue ----

def starve_case(title, keep, *options, **config):
    """Attackers that connect once: at most `keep` of 64 receives remain used."""
    with victim("--srq", 64, **config) as v:
        v.warm_up()
        attack = v.hostile("starve", "--connections", 256, "--until-stdin", "--seconds", 250, *options).ready()
        seen = v.until(lambda s: s["reasons"].get("srq-share", 0) >= 64 - keep and s["now"] <= keep)
        check(f"{title}: those beyond the share were ended", seen["reasons"].get("srq-share", 0) >= 64 - keep, seen)
        check(f"{title}: the others stay within it", seen["now"] <= keep, seen)
        stay = v.good("--threads", 4, "--until-stdin").ready()
        for _ in range(pick(3, 20)):
            v.expect_served(f"beside {title}")
        expect_all_right(f"{title}, clients that stay", stay.end())
        show(title, {"victim": v.stat()["reasons"], "attack": attack.end()})
        v.expect_recovered()


@test
def starve():
    together(lambda: starve_case("half of the queue", 32),
             lambda: starve_case("a quarter of the queue", 16, srq_share_percent=25))


def starve_again_case(title, *options, **config):
    """Attackers that reconnect at once, or send a little: good clients are always served."""
    with victim("--srq", 64, **config) as v:
        v.warm_up()
        stay = v.good("--threads", 4, "--until-stdin").ready()
        attack = v.hostile("starve", "--connections", 256, "--total", pick(20000, 200000), "--reconnect",
                           "--until-stdin", "--seconds", 250, *options).ready()
        for _ in range(pick(3, 20)):
            v.expect_served(f"beside {title}")
        expect_all_right(f"{title}, clients from before", stay.end())
        show(title, {"victim": v.stat()["reasons"], "attack": attack.end()})
        v.expect_recovered()


@test
def starve_again():
    starve_again_case("first segments, again at once")
    starve_again_case("first segments, again at once, no grace", srq_stall_ms=1)
    starve_again_case("segments of one byte", "--delay-ms", 50)


# ---- 5: connections that do not move ----

def stall_case(title, attack, *options, reasons, **config):
    """Each of 50 attackers ends with one of the reasons, while good clients continue."""
    with victim(**config) as v:
        v.warm_up()
        stay = v.good("--threads", 4, "--until-stdin").ready()
        before = v.stat()["opened"]
        process = v.hostile(attack, "--connections", 50, "--until-stdin", "--seconds", 250, *options).ready()
        v.until(lambda s: s["opened"] - before == 50 and s["now"] <= 4, seconds=100)
        expect_all_right(f"{title}, clients beside", stay.end())
        end = v.until(lambda s: s["now"] == 0)
        ended = sum(end["reasons"].get(reason, 0) for reason in reasons)
        check(f"{title}: each was ended with its reason", ended == 50, end)
        seen = process.end()
        show(title, {"victim": end["reasons"], "attack": seen})
        v.expect_recovered()


@test
def stall():
    together(lambda: stall_case("half an FPDU", "stall", reasons={"frame-stalled"}, stall_ms=1000),
             lambda: stall_case("byte by byte", "stall", "--delay-ms", 200, "--size", 200, reasons={"frame-stalled"},
                                stall_ms=1000),
             lambda: stall_case("half a message", "starve", reasons={"message-stalled"}, stall_ms=1000))


def quiet_case():
    """The same limits do not end connections that are only silent."""
    with victim(keepalive_idle_ms=1000, keepalive_interval_ms=1000, unacked_ms=2000, stall_ms=1000) as v:
        v.warm_up()
        process = v.hostile("quiet", "--connections", 50, "--until-stdin", "--seconds", 250).ready()
        before = v.until(lambda s: s["now"] == 50)
        time.sleep(pick(4, 30))  # longer than all limits
        after = v.stat()
        check("silent connections stay", after["now"] == 50 and after["reasons"] == before["reasons"], (before, after))
        process.end()
        v.expect_recovered()


@test
def silent():
    limits = {"keepalive_idle_ms": 1000, "keepalive_interval_ms": 1000, "unacked_ms": 3000}
    together(lambda: stall_case("deaf, nothing to say", "deaf", "--count", 0, reasons={"peer-silent"}, **limits),
             lambda: stall_case("deaf, with answers under way", "deaf", reasons={"peer-silent"}, **limits),
             lambda: stall_case("never reads", "unread", "--count", 8, reasons={"peer-silent"}, **limits), quiet_case)


@test
def interface():
    """Connections end when the interface that they use disappears."""
    link = "hostile0"
    for command in (f"ip link add {link} type veth peer name hostile1", f"ip address add 198.51.100.1/24 dev {link}",
                    "ip link set hostile1 up", f"ip link set {link} up"):
        if subprocess.run(command.split(), check=False).returncode:
            skip("no network namespace of its own")
    with victim(address="198.51.100.1:0") as v:
        v.warm_up()
        process = v.hostile("quiet", "--connections", 50, "--until-stdin", "--seconds", 250).ready()
        v.until(lambda s: s["now"] == 50)
        subprocess.run(f"ip link delete {link}".split(), check=True)
        seen = v.until(lambda s: s["now"] == 0)
        show("interface", {"victim": seen, "attack": process.end()})
        check("each was ended with its reason", seen["reasons"].get("interface-gone") == 50, seen)


# ---- what a connection can pin: memory, the socket after a fault, the shard's time ----

def pin_case(attack, *options, connections, kib_each, **config):
    """Measures the victim's memory during the attack, and checks that all of it is freed."""
    with victim(**config) as v:
        v.warm_up()
        process = v.hostile(attack, "--connections", connections, "--until-stdin", "--seconds", 250, *options).ready()
        seen = v.until(lambda s: s["opened"] - v.base["opened"] >= connections)
        beside = v.expect_served(f"beside {attack}", "--count", pick(10, 100))
        seen = v.stat()
        print(f"{attack}: {(seen['rss_kib'] - v.base['rss_kib']) / connections:.1f} KiB a connection, "
              f"ping beside: p50 {beside.get('p50_us')} us, p99 {beside.get('p99_us')} us", flush=True)
        if not judge.SANITIZED:
            check(f"{attack}: memory is bounded", seen["rss_kib"] <= v.base["rss_kib"] + 4096 + kib_each * connections,
                  (v.base, seen))
        show(attack, process.end())
        v.expect_recovered()


@test
def pin():
    connections = pick(50, 800)
    pin_case("large", connections=connections, kib_each=96)
    pin_case("stall", connections=connections, kib_each=16)
    pin_case("unread", connections=connections, kib_each=16)
    pin_case("linger", connections=connections, kib_each=16)
    pin_case("reads", connections=pick(2, 8), kib_each=256, shards=1)
    pin_case("reads", "--mss", 88, connections=pick(2, 8), kib_each=256, shards=1)


@test
def cling():
    """NdkDisconnect completes although the peer receives the rest a few bytes at a time."""
    with victim(disconnect_ms=1000) as v:
        v.warm_up()
        process = v.hostile("cling", "--connections", 4, "--size", 100, "--mss", 88, "--delay-ms", 200, "--until-stdin",
                            "--seconds", 60).ready()
        v.process.stdin.write("quit\n")
        v.process.stdin.flush()
        v.process.wait()
        seen = process.end()
        show("cling", seen)
        check("the service has ended each", seen["ended"] == {"reset": 4}, seen)


# ---- 6: requests whose peer is gone ----

@test
def ghosts():
    backlog = 64
    with victim("--hold", backlog=backlog) as v:
        v.base = v.stat()
        show("ghosts", v.hostile("ghosts", "--connections", backlog, "--seconds", 200).end())
        # A ghost's descriptor is closed when its end has been seen.
        seen = v.until(lambda s: s["requests"] == backlog and s["descriptors"] <= v.base["descriptors"])
        check("the consumer has all of them", seen["requests"] == backlog, seen)
        good = v.good("--threads", backlog)
        v.until(lambda s: s["requests"] + s["refused_requests"] >= 2 * backlog)
        v.command("answer")
        expect_all_right("clients behind ghosts", good.end())
        v.expect_recovered()
    total = pick(2000, 20000)
    with victim("--hold", backlog=backlog) as v:
        v.base = v.stat()
        show("ghosts", v.hostile("ghosts", "--connections", 50, "--total", total, "--reconnect", "--seconds",
                                 200).end())
        seen = v.until(lambda s: s["requests"] + s["refused_requests"] + s["dropped_peers"] >= total)
        check("the consumer sees a bounded number of ghosts", seen["requests"] <= 2 * backlog, seen)
        v.command("answer")
        v.expect_recovered()


@test
def backlog():
    with victim("--hold", backlog=64) as v:
        v.base = v.stat()
        attack = v.hostile("living", "--connections", 500, "--until-stdin", "--seconds", 250).ready()
        full = v.until(lambda s: s["requests"] + s["refused_requests"] == 500)
        check("living requests fill the backlog and no more", full["requests"] == 64, full)
        v.command("answer")
        v.until(lambda s: s["opened"] == 64)
        show("living", attack.end())
        v.expect_recovered()


# ---- garbage ----

@test
def garbage():
    kinds, rounds = 35, pick(10, 100)
    for options, config, crc in (((), {}, ()), (("--srq", 1024), {}, ()), ((), {"shards": 1}, ()),
                                 ((), {"crc": 0}, ("--no-crc",))):
        with victim(*options, **config) as v:
            v.warm_up()
            stay = v.good("--threads", 4, "--until-stdin", env={"ONDK_CRC": "0"} if crc else None).ready()
            for seed in pick((1,), (1, 2, 3)):
                seen = v.hostile("garbage", "--connections", 20, "--total", kinds * rounds, "--reconnect", "--seed",
                                 seed, "--seconds", pick(1, 10) if crc else 200, *crc).end()
                show("garbage", seen)
                # Without checksums some kinds are valid messages, or the beginning of one that does not end.
                check("each kind got its answer", crc or (seen["unexpected"] == 0 and not seen["wrong_crc"]), seen)
                check("all of it was sent", crc or (seen["started"] == kinds * rounds and not seen["failed"]), seen)
            expect_all_right("clients beside", stay.end())
            v.expect_recovered()


# ---- the samples ----

def ndkrun(*arguments):
    """Uses the loopback interface for both interfaces of the samples."""
    return subprocess.Popen([args.ndkrun, "--map", "12=lo", "--map", "13=lo", *arguments], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def with_sample_addresses():
    for address in ("192.168.1.1/24", "192.168.1.2/24"):
        if subprocess.run(["ip", "address", "add", address, "dev", "lo"], check=False).returncode:
            skip("no network namespace of its own")


def wait_for_listener(process, host, port):
    while process.poll() is None:
        with socket.socket() as s:
            if s.connect_ex((host, port)) == 0:
                return
        time.sleep(0.05)


@test
def sample_echo():
    with_sample_addresses()
    for attack, connections, total in (("abrupt", 1, pick(120, 2000)), ("abrupt", 10, pick(300, 5000)),
                                       ("garbage", 10, pick(350, 5250)), ("starve", 64, pick(300, 3000))):
        process = ndkrun(args.samples / "echo.so")
        wait_for_listener(process, "192.168.1.1", 54321)
        seen = Process(args.binaries / "hostile", "--connections", connections, "--total", total, "--reconnect",
                       "--seconds", 3 if attack == "starve" else 200, attack, "192.168.1.1:54321").end()
        show(f"echo, {attack}", seen)
        served = Process(args.binaries / "hostile", "--connections", 4, "client", "192.168.1.1:54321").end()
        check(f"echo, {attack}: serves others afterwards", served.get("served") == 4, served)
        process.send_signal(signal.SIGINT)
        text = process.communicate(timeout=judge.LOCAL_LIMIT_S)[0]
        check(f"echo, {attack}: unloads and leaves nothing",
              process.returncode == 0 and "nothing left, no rule broken" in text, (process.returncode, text[-3000:]))


@test
def sample_hello():
    with_sample_addresses()
    server = Process(args.binaries / "hostile", "server", "192.168.1.1:54321", "--until-stdin", "--seconds",
                     250).ready()
    for _ in range(pick(20, 100)):
        process = ndkrun("--run-for", "0", args.samples / "hello.so")
        text = process.communicate(timeout=judge.LOCAL_LIMIT_S)[0]
        check("hello fails and leaves nothing", process.returncode == 3 and not re.search(r"left|rule|Sanitizer", text),
              (process.returncode, text[-3000:]))
    seen = server.end()
    show("hello", seen)
    check("hello met every kind of server", seen["started"] == pick(20, 100), seen)


def main():
    global args
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=pathlib.Path, required=True)
    parser.add_argument("--ndkrun", type=pathlib.Path)
    parser.add_argument("--samples", type=pathlib.Path)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--sanitized", action="store_true")
    parser.add_argument("attack", choices=sorted(tests))
    args = parser.parse_args()
    judge.SANITIZED = args.sanitized
    start = time.monotonic()
    tests[args.attack]()
    print(f"{args.attack}: {judge.failures} failures, {time.monotonic() - start:.1f} s", flush=True)
    return judge.failures != 0


if __name__ == "__main__":
    sys.exit(main())
