#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndktrace html: the page has the files' data, nothing in a file can become markup, and errors are reported.

No browser is needed. tests/browser tests what the page draws. usage: ndktrace_html_test.py NDKTRACE NDKPING
"""
import base64
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import trace_stories

NDKTRACE, NDKPING = (os.path.abspath(path) for path in sys.argv[1:3])
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}
failed = []


def check(what, good, seen=""):
    if not good:
        failed.append(what)
        print(f"FAILED: {what}\n{str(seen)[:3000]}", flush=True)


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                          check=False, env=ENVIRONMENT, **options)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def element(page, start):
    """The text of the element that begins with `start`."""
    at = page.index(start) + len(start)
    return page[at:page.index("</script>", at)]


def data_of(page):
    return json.loads(element(page, '<script type="application/json" id="data">'))


def page_of(path, *arguments):
    code, out, err = run(NDKTRACE, "html", "-o", path / "page.html", *arguments)
    check(f"html {arguments}", code == 0 and not out and "open it with a browser" in err, (code, out, err))
    return (path / "page.html").read_text()


def show(*arguments):
    return [json.loads(line) for line in run(NDKTRACE, "show", "--json", *arguments)[1].splitlines()]


def events_of(data):
    """The events as `show --json` prints them."""
    for file, time, thread, number, index, *values in data["events"]:
        if index < 0:
            yield file, time, thread, number, None, {}
            continue
        name, *fields = data["types"][file][index]
        yield file, time, thread, number, name, {field: value for (field, _), value in zip(fields, values)}


def connect(path):
    """Traces of ndkping's two ends."""
    server = subprocess.Popen([NDKTRACE, "run", "-o", path / "server", "--", NDKPING, "-S", "-ServerAddr",
                               "127.0.0.1:50400", "--count", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=ENVIRONMENT)
    check("the server listens", server.stdout.readline().startswith(b"listening"))
    code, out, err = run(NDKTRACE, "run", "-o", path / "client", "--", NDKPING, "-C", "-ServerAddr", "127.0.0.1:50400",
                         "--count", "1")
    server.communicate(timeout=120)
    check("ndkping", code == 0, (out, err))
    return path / "client", path / "server"


def is_call(name):
    return name.startswith("Ndk") or name in ("returned", "completed", "result", "callback_returned", "cq_notification",
                                              "srq_notification", "connect_event", "disconnect_event")


def test_data(path):
    files = connect(path)
    data, shown = data_of(page_of(path, *files)), show(*files)
    events = list(events_of(data))
    check("as many events as show has", len(events) == len(shown), (len(events), len(shown)))
    for (file, time, thread, number, name, fields), line in zip(events, shown):
        check("an event", (time, thread, number or None, name, fields) == (
            round(line["seconds"] * 1e9) if abs(time - line["seconds"] * 1e9) > 1 else time, line["thread"],
            line["connection"], line["event"], line["fields"]) and data["files"][file]["pid"] == line["process"],
            (fields, line))
    check("files", [f["program"] for f in data["files"]] == ["ndkping", "ndkping"] and
          [f["path"] for f in data["files"]] == [str(file) for file in files], data["files"])
    check("names of threads", {"ndkping", "openndk-shard"} <= set(data["files"][0]["threads"].values()), data["files"])
    check("clocks", [f["clock"]["method"] for f in data["files"]] == ["reference", "same"], data["files"])
    check("the two ends", [end[2] for end in data["ends"]] == [1, 0], data["ends"])
    test_partners(data, events)
    test_filters(path, files, data)


def test_partners(data, events):
    pairs = list(zip(data["partners"][::2], data["partners"][1::2]))
    frames = [i for i, event in enumerate(events) if event[4] in
              ("mpa_sent", "mpa_received", "tagged", "untagged", "no_segment")]
    check("each frame has both its events", sorted(i for pair in pairs for i in pair) == frames, (pairs, frames))
    for one, other in pairs:
        (file, _, _, _, name, fields), (file2, _, _, _, name2, fields2) = events[one], events[other]
        same = {**fields, "direction": 0} == {**fields2, "direction": 0}
        check("a frame's events", file != file2 and same and {name, name2} != {"mpa_sent"}, (fields, fields2))
    check("each event of a connection has its end, calls aside", [data["ends"][end][0] if end >= 0 else None
          for end in data["endOfEvent"]] == [event[0] if event[3] and not is_call(event[4]) else None
                                             for event in events], data["endOfEvent"])
    check("calls have their connection", {"NdkConnect", "completed", "result"} <= {event[4] for event in events
                                                                                   if event[3]}, events)


def test_filters(path, files, data):
    some = data_of(page_of(path, "-e", "outcome,mpa_sent,mpa_received", *files))
    check("-e", {event[4] for event in events_of(some)} == {"outcome", "mpa_sent", "mpa_received"} and
          len(some["partners"]) == 4 and max(some["partners"]) < len(some["events"]), some["partners"])
    one = data_of(page_of(path, "-c", "1", files[0]))
    check("one file, one connection", {event[3] for event in events_of(one)} == {1} and one["ends"] == [[0, 1, -1]] and
          not one["partners"], one["ends"])
    middle = data["events"][20][1] / 1e9
    late = data_of(page_of(path, "--since", f"{middle:.9f}", *files))
    check("--since", len(data["events"]) - 20 >= len(late["events"]) >= len(data["events"]) - 21, len(late["events"]))
    check("nothing", not data_of(page_of(path, "-c", "77", *files))["events"])


def test_diagnoses(path):
    """The page has the texts of ndktrace explain, and the first event that went wrong."""
    schema = trace_stories.schema_of(NDKPING, path / "schema")
    for name in ("terminated", "unanswered", "killed"):
        (path / name).mkdir()
        files = getattr(trace_stories, name)(schema).write(path / name)
        data, out = data_of(page_of(path, *files)), run(NDKTRACE, "explain", *files)[1]
        words, wrong = " ".join(out.split()), re.search(r"^> +([\d.]+)", out, re.M)[1]
        check(f"{name}: one diagnosis", len(data["diagnoses"]) == 1 and not data["failedCalls"], data["diagnoses"])
        found = data["diagnoses"][0]
        texts = [text for kind in ("headline", "what", "reason", "consequence", "change", "advice", "missing")
                 for text in found[kind]]
        check(f"{name}: explain's texts", len(texts) >= 4 and all(text in words for text in texts), (texts, words))
        led = re.search(r"^\* +([\d.]+)", out, re.M)
        check(f"{name}: what led to it",
              (f'{data["events"][found["cause"]][1] / 1e9:.6f}' if found["cause"] >= 0 else None)
              == (led and led[1]) and found["causeNote"] in words, (found, led))
        if name == "killed":
            check("the end of a trace", found["wrong"] == -1 and data["ends"][found["endOfTrace"]][0] == 0, found)
        else:
            check(f"{name}: explain's first event that went wrong",
                  f'{data["events"][found["wrong"]][1] / 1e9:.6f}' == wrong, (found, wrong))
    data = data_of(page_of(path, "-e", "adapter", *files))
    check("an event that the filter hides", [d["wrong"] for d in data["diagnoses"]] == [-1], data["diagnoses"])


def test_listeners(path):
    """The page has the texts of explain about listeners that failed, and failed calls with what to change."""
    maker = trace_stories.Story(trace_stories.schema_of(NDKPING, path / "schema")).server
    maker.add("NdkCreateQp", 10, object=0x40)
    maker.add("returned", 20, object=0x40, routine="NdkCreateQp", status="STATUS_INVALID_PARAMETER")
    maker.add("listening", 30, object=0x50, local="10.0.0.2:7174", why="address-taken")
    maker.write(path / "trace")
    data, words = data_of(page_of(path, path / "trace")), " ".join(run(NDKTRACE, "explain", path / "trace")[1].split())
    check("a listener", len(data["listeners"]) == 1 and "could not listen at 10.0.0.2:7174" in data["listeners"][0] and
          data["listeners"][0] in words, (data["listeners"], words))
    check("a failed call",
          [call["change"] for call in data["failedCalls"]] == [["Compare with NdkQueryAdapterInfo."]] and
          "To change: Compare with NdkQueryAdapterInfo." in words, data["failedCalls"])


def policy_hash(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def test_page(path):
    """The page is one file that loads nothing; its policy allows its own script and styles alone."""
    schema = trace_stories.schema_of(NDKPING, path / "schema")
    page = page_of(path, *trace_stories.killed(schema).write(path))
    policy = dict(part.strip().split(" ", 1) for part in
                  re.search('Content-Security-Policy" content="(.*?)"', page)[1].split(";"))
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    styles = re.findall(r"<style[^>]*>(.*?)</style>", page, re.S)
    check("policy", policy.pop("default-src") == "'none'" and set(policy) == {"script-src", "style-src", "base-uri",
                                                                             "form-action"}, policy)
    check("the script", len(scripts) == 1 and policy["script-src"] == policy_hash(scripts[0]), policy)
    check("the styles", policy["style-src"].split() == [policy_hash(style) for style in styles], policy)
    check("no text becomes markup", not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|"
                                                  r"new Function|DOMParser|srcdoc", scripts[0]))
    check("nothing is loaded",
          not re.search(r"""(src|href)=["']?\w+:|@import|url\(|fetch\(|XMLHttp|WebSocket|import\(""",
                                             page.replace("link.href = URL", "")))
    check("no script but ours", page.count("<script") == 3 and not re.search(r"\son\w+=", page.split("<script>")[0]))
    words = json.loads(element(page, '<script type="application/json" id="words">'))
    test_words(schema, words)


def test_words(schema, words):
    """The page has a sentence for each event, state, frame and opcode that the library records."""
    names = dict(re.findall(r"^names (\S+) (.*)$", schema, re.M))
    values = {name: [word.split("=", 1)[1] for word in text.split()] for name, text in names.items()}
    values["event"] = re.findall(r"^event \d+ (\S+)", schema, re.M)
    for kind, own in (("event", "events"), ("state", "states"), ("mpa_frame", "frames"), ("opcode", "opcodes")):
        missing = [name for name in values[kind] if not words[own].get(name)]
        check(f"words for each {kind}", len(values[kind]) > 3 and not missing, missing)


HOSTILE = "</script><script>alert(1)</script><!--<b>&\"'\\"


def test_hostile(path):
    """Texts of a file that would be markup, or end the data, or not be JSON."""
    schema = "names l 1=</script><b> 2=\x1b]0;x\x07 3=\"\\\nevent 5 </script> </td><i>:u8:l t:text16 x:bytes\n" + \
        trace_stories.trace_maker.schema_of(make_plain(path))
    maker = trace_stories.trace_maker.Maker(schema, host=HOSTILE, program=b"<!--\xff\xfe\x00<script>")
    maker.threads = {1: b"</script><b>\x01\xe2\x80\xa8"}
    maker.numbers = {**maker.numbers, "evil": (5, [("a", "u8", {}), ("t", "text16", {}), ("x", "bytes", {})])}
    for i in range(1, 4):
        maker.add("evil", i, i, a=i, t=b"</script>\xff\"\\<!", x=b"</script>")
    maker.add("evil", 2**62, 4, a=255)
    file = path / "<b>'\"&"
    maker.write(file)
    page = page_of(path, file)
    text = element(page, '<script type="application/json" id="data">')
    data = data_of(page)
    check("no markup in the data", not re.search("[<>&]", text) and "\x1b" not in page and page.count("</script>") == 3,
          text[:500])
    check("the texts are kept", data["files"][0]["host"] == HOSTILE and data["files"][0]["path"] == str(file) and
          data["files"][0]["program"] == "<!--\\xff\\xfe" and
          data["files"][0]["threads"]["1"].startswith("</script><b>"),
          data["files"])
    check("names and values", [event[5:] for event in data["events"]] == [
        ["</script><b>", "</script>\\xff\"\\<!", b"</script>".hex()],
        ["?]0;x?", "</script>\\xff\"\\<!", b"</script>".hex()],
        ["\"\\", "</script>\\xff\"\\<!", b"</script>".hex()], [255, "", ""]], data["events"])
    check("a name of an event", data["types"][0][0][0] == "</script>", data["types"][0][0])


def make_plain(path):
    trace_stories.trace_maker.Maker("event 1 thread thread:u32 name:text16\n").write(path / "plain")
    return path / "plain"


def test_damage(path):
    whole = trace_stories.traffic(trace_stories.schema_of(NDKPING, path / "schema"), 50, 2).write(path)[0].read_bytes()
    cut = path / "cut"
    for size in (0, 100, 5000):
        cut.write_bytes(whole[:size])
        code, out, err = run(NDKTRACE, "html", "-o", path / "none", cut)
        check(f"{size} bytes", (code == 1 and "not a trace file" in err and not (path / "none").exists()) or
              (size == 5000 and code == 0), (code, out, err))
    cut.write_bytes(whole[:len(whole) - 9000])
    check("a truncated file", data_of(page_of(path, cut))["files"][0]["missing"] > 0)
    broken = bytearray(whole)
    broken[len(whole) - 8000:len(whole) - 7000] = b"\xff" * 1000
    cut.write_bytes(broken)
    check("a damaged file", data_of(page_of(path, cut))["files"][0]["damaged"] == 1)
    maker = trace_stories.trace_maker.Maker("event 1 thread thread:u32 name:text16\nevent 3 known\n")
    maker.add("known", 1)
    maker.numbers["unknown"] = (4, [])
    maker.add("unknown", 2)
    maker.write(cut)
    check("an event that the schema lacks", [event[4] for event in data_of(page_of(path, cut))["events"]] == [1, -5])


def foreign_output(path, file):
    """A file that others may read, and whose mode cannot be changed, is refused and stays as it is."""
    output = path / "foreign"
    output.write_bytes(b"another user's")
    output.chmod(0o646)
    limited = ["setpriv", "--bounding-set=-fowner", "--"]
    try:
        os.chown(output, 1, -1)
        subprocess.run([*limited, "true"], check=True, stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as e:
        print(f"a file of another user: skipped, {e}")
        return
    code, _, err = run(*limited, NDKTRACE, "pcap", "-o", output, file)
    check("a file of another user", code == 1 and "other users may access this file (mode 0646)" in err and
          output.read_bytes() == b"another user's", (code, err))


def test_output(path):
    file = make_plain(path)
    code, out, err = run(NDKTRACE, "html", "-o", "-", file)
    check("standard output", code == 0 and out.startswith("<!doctype html>") and out.endswith("</html>\n") and not err,
          (code, err))
    code, _, err = run(NDKTRACE, "html", file, cwd=path)
    check("the name without -o", code == 0 and (path / "ndktrace.html").read_text() == out, err)
    before = os.umask(0)
    for command in ("html", "pcap", "perfetto"):
        output = path / f"private.{command}"
        code, _, err = run(NDKTRACE, command, "-o", output, file)
        check(f"only the owner reads the output of {command}", code == 0 and output.stat().st_mode & 0o777 == 0o600,
              (code, err, output.exists() and oct(output.stat().st_mode)))
        output.chmod(0o644)
        with open(output, "ab") as f:
            f.write(b"rest" * 1000)
        size = output.stat().st_size
        code, _, err = run(NDKTRACE, command, "-o", output, file)
        seen = oct(output.stat().st_mode & 0o777), output.stat().st_size
        check(f"{command} takes the others' rights from an existing file, and its rest", code == 0 and
              seen == ("0o600", size - 4000), (code, err, seen, size))
    os.umask(before)
    foreign_output(path, file)
    with open("/dev/full", "wb") as full:
        done = subprocess.run([NDKTRACE, "html", "-o", "-", file], stdout=full, stderr=subprocess.PIPE, timeout=120,
                              check=False, env=ENVIRONMENT)
    check("a full disk", done.returncode == 6 and b"not all of the output was written" in done.stderr, done)
    check("a full disk as a file", run(NDKTRACE, "html", "-o", "/dev/full", file)[0] == 6)
    check("no such directory", run(NDKTRACE, "html", "-o", path / "none" / "x", file)[0] == 1)
    before = file.read_bytes()
    code, _, err = run(NDKTRACE, "html", "-o", file, file)
    check("a trace file is not overwritten", code == 1 and "not overwritten" in err and file.read_bytes() == before,
          err)
    check("no file", run(NDKTRACE, "html")[0] == 2 and run(NDKTRACE, "html", path / "none")[0] == 1)
    check("too many files", "more than 64 files" in run(NDKTRACE, "html", *[file] * 65)[2])


TESTS = (test_data, test_diagnoses, test_listeners, test_page, test_hostile, test_damage, test_output)
for test in TESTS:
    with tempfile.TemporaryDirectory() as directory:
        test(pathlib.Path(directory))
sys.exit(1 if failed else 0)
