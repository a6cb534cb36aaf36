# SPDX-License-Identifier: MIT
"""The interop scenarios: the commands of guest and host, and their expected output.

guest, host: the two commands; {port} is the port between them. The host command is that of `program`, without the
address options. `listens` is the listening side. Each side has an expected exit status (an int or "failure"; None for a
guest command that does not end by itself) and regular expressions that must each match its output.
"""
# covers: WIR-01
from dataclasses import dataclass

RPING_SERVER = "rping -s -a 0.0.0.0 -p {port} -v -V"
RPING_CLIENT = "rping -c -a 10.0.2.2 -p {port} -v -V -C 5 -S 4000"
CMTOOL_SERVER = "cmtool server {port} --timeout 15 "
CMTOOL_CLIENT = "cmtool client 10.0.2.2 {port} --timeout 15 --iterations 3 "
PRIVATE = "00ff10a5"
ANSWER = "c0ffee"
# Beside the read limits siw takes 252 bytes, but sends no more than 251 with a length that is true.
LONGEST = bytes(range(252)).hex()
LONGEST_ANSWER = LONGEST[:2 * 251]
COMPLETES = (r"completes",)
ESTABLISHED = r"event=RDMA_CM_EVENT_ESTABLISHED status=0 "


@dataclass(frozen=True)
class Scenario:
    name: str
    listens: str                # "guest" or "host"
    guest: str
    host: str = ""
    guest_says: tuple = ()
    host_says: tuple = COMPLETES
    guest_exit: object = 0
    host_exit: object = 0
    times: int = 1              # runs of the host command against one guest command
    program: str = "ndkping"
    wrecks_guest: bool = False  # nothing is asked of the guest any more, the next scenario boots another one


def responders():
    """siw as responder: revisions, ready-to-receive forms, CRC."""
    for crc in ("on", "off"):
        # rping's server accepts with the request's read limits; a request without any leaves it no RDMA Read.
        for rev in (0, 1):
            yield Scenario(f"cmtool-server-rev{rev}-crc-{crc}", "guest", CMTOOL_SERVER, f"--mpa-rev {rev} --crc {crc}",
                           guest_says=(r"event=data iteration=0 ", r"result=ok"))
        for form in ("none", "write", "read"):
            yield Scenario(f"rping-server-rev2-rtr-{form}-crc-{crc}", "guest", RPING_SERVER,
                           f"--mpa-rev 2 --rtr {form} --crc {crc}", guest_says=(r"server ping data: \S",))


def perftest(tool, role, size, iterations, crc):
    """perftest's program in the guest, and `ndkperf perftest` in this role on the host."""
    options = f"-R -F -s {size} -n {iterations} -p {{port}}"
    guest = f"ib_{tool} {options}" + ("" if role == "client" else " 10.0.2.2")
    return Scenario(f"perftest-{tool.replace('_', '-')}-{role}-{size}{'' if crc == 'on' else '-crc-off'}",
                    "guest" if role == "client" else "host", guest,
                    f"--test {tool} -s {size} -n {iterations} --crc {crc}",
                    guest_says=() if role == "client" and tool == "read_lat" else (rf"(?m)^ {size} +{iterations} ",),
                    host_says=(rf"ib_{tool}", r"perftest \d+\.\d+",
                               rf"(?m)^ {size} +{iterations} |The client measures"),
                    program="ndkperf")


def perftests():
    for tool in ("send_bw", "send_lat", "write_bw", "write_lat", "read_bw", "read_lat"):
        # As server ib_write_lat writes first, which MPA forbids a responder that no FPDU of the initiator has reached:
        # ours holds that write back for ever. siw's does not.
        for role in ("client",) if tool == "write_lat" else ("client", "server"):
            for size, iterations in ((4, 400), (2000, 400), (65536, 200), (1 << 20, 40)):
                yield perftest(tool, role, size, iterations, "on")
            yield perftest(tool, role, 65536, 200, "off")


def exchange(case, client, crc, host_says=(), guest_says=()):
    """exchange at both ends; `client` is "siw" or "ndk"."""
    listens = "guest" if client == "ndk" else "host"
    return Scenario(f"{client}-{case}{'' if crc == 'on' else '-crc-off'}", listens,
                    f"exchange {'server {port}' if client == 'ndk' else 'client 10.0.2.2 {port} --empty'} {case}",
                    f"{case} --crc {crc}", program="ndk_exchange", host_says=(r"result=ok", *host_says),
                    guest_says=(r"result=ok", *guest_says))


# What becomes of the connection in each case that ends it: the Terminate that we send when siw does it, what we make of
# siw's when we do. siw's code has layer and type the wrong way round, which shows where these differ: see the README.
ENDS = (
    ("send-invalidate", "ddp-tagged-stag", "ddp-tagged-stag"),
    ("write-bad-token", "ddp-tagged-stag", "ddp-tagged-stag"),
    ("write-beyond", "ddp-tagged-bounds", "ddp-tagged-bounds"),
    ("write-without-right", "rdmap-access", "ddp-tagged-stag"),
    ("read-bad-token", "rdmap-stag", "ddp-catastrophic"),
    ("read-beyond", "rdmap-bounds", "other"),
    ("read-without-right", "rdmap-access", None),    # siw asks for no right there
    ("invalidate-bad-token", "rdmap-stag", "other"),
    ("send-too-long", "ddp-too-long", "other"),
    ("send-too-many", "ddp-no-receive", "other"),
)


def exchanges():
    for crc in ("on", "off"):
        for client in ("siw", "ndk"):
            for case, done in (("write", "written=21"), ("read", "read=2[01]"), ("send", "sent=53")):
                says = (rf"{done} largest=1048576",)
                end = (r"ended=peer-closed disconnect=STATUS_SUCCESS",)
                yield (exchange(case, client, crc, end, says) if client == "siw" else
                       exchange(case, client, crc, end + says))
        for case, ours, theirs in ENDS:
            more = (r"received-invalidated=offered",) if case == "send-invalidate" else ()
            yield exchange(case, "siw", crc, (rf"ended=protocol/{ours}\n", *more), (r"ended=disconnected",))
            if theirs:
                yield exchange(case, "ndk", crc, (rf"ended=peer-terminate/{theirs}\n",))


SCENARIOS = [
    *responders(),
    # siw's responder handles a first FPDU right behind its reply only when more bytes arrive: no connection may stall.
    Scenario("rping-server-first-fpdu", "guest", "rping -s -P -a 0.0.0.0 -p {port}", "--mpa-rev 2 --rtr none --crc on",
             guest_exit=None, times=20),
    Scenario("rping-server-first-fpdu-rtr", "guest", "rping -s -P -a 0.0.0.0 -p {port}",
             "--mpa-rev 2 --rtr write --crc on", guest_exit=None, times=20),
    # siw as initiator never asks for CRC, and uses it when the reply does.
    Scenario("rping-client-crc-on", "host", RPING_CLIENT, "--crc on", guest_says=(r"ping data: rdma-ping-4",)),
    Scenario("rping-client-crc-off", "host", RPING_CLIENT, "--crc off", guest_says=(r"ping data: rdma-ping-4",)),
    Scenario("rping-client-large", "host", "rping -c -a 10.0.2.2 -p {port} -v -V -C 3 -S 65000", "--crc on",
             guest_says=(r"ping data: rdma-ping-2",)),
    # Private data of request and reply, both ways; read limits; reject.
    Scenario("private-data-to-siw", "guest", CMTOOL_SERVER + f"--private-data {ANSWER}", f"--private-data {PRIVATE}",
             guest_says=(rf"CONNECT_REQUEST .* private={PRIVATE}\n", r"event=data iteration=0 ", r"result=ok"),
             host_says=(rf"private-data={ANSWER}\b", *COMPLETES)),
    Scenario("private-data-to-siw-rev1", "guest", CMTOOL_SERVER + f"--private-data {ANSWER}",
             f"--mpa-rev 1 --private-data {PRIVATE}",
             guest_says=(rf"CONNECT_REQUEST .* private={PRIVATE}\n", r"result=ok"),
             host_says=(rf"private-data={ANSWER}\b", *COMPLETES)),
    Scenario("private-data-to-siw-longest", "guest", CMTOOL_SERVER + "--private-size 251", f"--private-data {LONGEST}",
             guest_says=(rf"CONNECT_REQUEST .* private-length=252 private={LONGEST}\n", r"result=ok"),
             host_says=(rf"private-data={LONGEST_ANSWER}\b", *COMPLETES)),
    Scenario("private-data-from-siw", "host", CMTOOL_CLIENT + f"--private-data {PRIVATE}", f"--private-data {ANSWER}",
             guest_says=(ESTABLISHED + rf".* private={ANSWER}\n", r"event=verified iteration=2 ", r"result=ok"),
             host_says=(rf"private-data={PRIVATE}\b", *COMPLETES)),
    Scenario("private-data-from-siw-longest", "host", CMTOOL_CLIENT + "--private-size 251", f"--private-data {LONGEST}",
             guest_says=(ESTABLISHED + rf".* private-length=252 private={LONGEST}\n", r"result=ok"),
             host_says=(rf"private-data={LONGEST_ANSWER}\b", *COMPLETES)),
    # Each side's own limits here are 5, 6 and 7, 3: in effect are the lower of what one takes and the other one makes.
    Scenario("read-limits-to-siw", "guest", CMTOOL_SERVER + "--ird 7 --ord 3", "--mpa-rev 2 --ird 5 --ord 6",
             guest_says=(r"CONNECT_REQUEST .* responder-resources=6 initiator-depth=5 ", r"result=ok"),
             host_says=(r"read-limits inbound=3 outbound=6\b", *COMPLETES)),
    Scenario("read-limits-from-siw", "host", CMTOOL_CLIENT + "--ird 7 --ord 3", "--ird 5 --ord 6",
             guest_says=(ESTABLISHED + r"responder-resources=[35] initiator-depth=6 ", r"result=ok"),
             host_says=(r"read-limits inbound=3 outbound=6\b", *COMPLETES)),
    Scenario("reject-by-siw", "guest", CMTOOL_SERVER + f"--reject --private-data {ANSWER}", f"--private-data {PRIVATE}",
             guest_says=(rf"CONNECT_REQUEST .* private={PRIVATE}\n", r"event=reject-sent ", r"result=ok"),
             host_says=(r"STATUS_CONNECTION_REFUSED", rf"private-data={ANSWER}\b"), host_exit="failure"),
    Scenario("reject-to-siw", "host", CMTOOL_CLIENT + f"--private-data {PRIVATE}", f"--reject --private-data {ANSWER}",
             guest_says=(rf"event=RDMA_CM_EVENT_REJECTED status=-104 .* private={ANSWER}\n",), guest_exit="failure",
             host_says=(rf"private-data={PRIVATE}\b",)),
    # siw answers an offer of only the empty FPDU with the empty RDMA Write. OpenNDK refuses that reply by a Terminate,
    # which arrives before the ready-to-receive frame and causes a BUG() in iw_cm of Linux 6.1.
    Scenario("rping-server-rev2-rtr-zero-refused", "guest", RPING_SERVER, "--mpa-rev 2 --rtr zero --crc on",
             host_says=(r"(?i)ready-to-receive",), host_exit="failure", wrecks_guest=True),
    *perftests(),
    *exchanges(),
]
