#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of ndktrace html in a headless Chromium: what it draws, and what clicks, keys, filters and paper do.

usage: page_test.py NDKTRACE NDKPING
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import page_checks
import trace_stories
import webdriver

NDKTRACE, NDKPING = (os.path.abspath(path) for path in sys.argv[1:3])
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}
check, failed = page_checks.check, page_checks.failed


def page_of(path, story, name):
    folder = path / name
    folder.mkdir()
    files = story.write(folder) if hasattr(story, "client") else [story.write(folder / "one") or folder / "one"]
    out = path / f"{name}.html"
    done = subprocess.run([NDKTRACE, "html", "-o", str(out), *map(str, files)], env=ENVIRONMENT, timeout=300,
                          check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(f"{name}: written", done.returncode == 0, done)
    return out


def text(browser, selector):
    return browser.run("const e = document.querySelector(arguments[0]); return e ? e.textContent : null", selector)


def count(browser, selector):
    return browser.run("return document.querySelectorAll(arguments[0]).length", selector)


def selected(browser):
    return browser.run("return app.selected ? [app.selected.type.name, labelOf(app.selected)] : null")


def shown(browser):
    return browser.run("return app.rows.events.map((e) => e.type.name)")


def arrows(browser):
    """For each arrow: the index of its event, its label, and where its line begins and ends."""
    return browser.run("""return [...document.querySelectorAll('#scene .arrow[data-event]')].map((path) => {
        const event = app.model.byIndex[Number(path.dataset.event)], [x1, y1, x2, y2] = path.getAttribute('d')
            .split(/[ML ]/).filter((n) => n).map(Number);
        return {label: labelOf(event), x1, y1, x2, y2, className: path.getAttribute('class'),
                row: event.row, to: event.partner ? event.partner.row : null};
    })""")


def lane(browser, side, line="provider"):
    return browser.run("return app.lanes.sides[arguments[0]][arguments[1]]", side, line)


def near(one, other, slack=10):
    return abs(one - other) <= slack


def until(browser, script):
    """Waits until the script returns a true value: a wheel or a pause of typing takes effect later."""
    while not browser.run(script):
        browser.settle()


# ---- what is drawn ----

def test_both_ends(browser, path, schema):
    """Each frame goes from the line and row of its sender to those of its receiver."""
    browser.open(page_of(path, trace_stories.killed(schema), "killed"))
    left, right = lane(browser, "left"), lane(browser, "right")
    drawn = {arrow["label"]: arrow for arrow in arrows(browser)}
    check("frames", list(drawn) and {"send #1, 100 B", "ready-to-receive (empty FPDU)"} <= set(drawn), list(drawn))
    rows = browser.run("return app.rows.events.map((_, row) => lineY(makeScene(null, 0), row))")
    for arrow in drawn.values():
        if "lone" in arrow["className"]:
            continue
        from_left = arrow["x1"] < arrow["x2"]
        check(f"{arrow['label']}: ends", near(arrow["x1"], left if from_left else right) and
              near(arrow["x2"], right if from_left else left), (arrow, left, right))
        check(f"{arrow['label']}: rows", near(arrow["y1"], rows[arrow["row"]], 1) and
              near(arrow["y2"], rows[arrow["to"]], 4), (arrow, rows))
    lost = drawn["send #2, 100 B"]
    check("a frame that did not arrive", "lone" in lost["className"] and lost["x2"] > left + 50 and
          count(browser, "#scene .cross") == 1, lost)
    check("where the trace of the killed process ends", count(browser, "#scene .trace-end") == 1)
    check("states", count(browser, "#scene rect.pill") == 10, count(browser, "#scene rect.pill"))
    check("a failure has its advice in the picture", "was killed, has crashed" in
          (text(browser, "#scene .banner-title") or "") and "how the client's process" in
          text(browser, "#scene .banner-text") and text(browser, "#scene .banner-code") == "peer-reset",
          text(browser, "#scene"))
    check("two outcomes that are good", count(browser, "#scene .outcome.good") == 2)
    check("title", text(browser, "#title") == "10.0.0.1:49152 \u2192 10.0.0.2:7174: the client's process was "
          "killed, has crashed, or called exit", text(browser, "#title"))
    check("what went wrong", "a TCP reset of the client arrived" in text(browser, "#advice") and
          text(browser, "#advice .code").strip() == "peer-reset", text(browser, "#advice"))
    check("what to change", text(browser, "#change").startswith("To change: Nothing in the network. Find out how"),
          text(browser, "#change"))
    check("time goes down", rows == sorted(rows))
    check("the client's first states follow the frames that begin them", browser.run("""
        const names = app.rows.events.filter((e) => sideOf(app.lanes, e).name === 'left').slice(0, 4)
            .map((e) => e.type.name === 'state' ? field(e, 'to') : e.type.name);
        return names.join(' ')""") == "connection TCP_CONNECTING mpa_sent REQUEST_SENT" and
          browser.run("return app.model.events.filter((e) => e.isMoved).every((e) => e.at < e.time)"))
    check("the reset of the killed process", browser.run(
        "return [...document.querySelectorAll('#scene .label')].filter((t) => t.textContent === 'TCP reset').length") ==
        1)


def test_waits(browser, path, schema):
    browser.open(page_of(path, trace_stories.unanswered(schema, 0), "unanswered"))
    check("a break with its length and reason", text(browser, "#scene .break-text") ==
          "10.000 s nothing: client waits in REQUEST_SENT, limit 10 s", text(browser, "#scene .break-text"))
    check("a wait whose limit passed", count(browser, "#scene .bracket.bad") == 1)
    check("a pending call", count(browser, "#scene .span-pending") == 1)
    check("lines of both programs", lane(browser, "left", "program") < lane(browser, "left") <
          lane(browser, "right") < lane(browser, "right", "program"))
    calls = [arrow for arrow in arrows(browser) if "k-call" in arrow["className"]]
    check("calls go from the program to the provider", len(calls) >= 4 and all(
        abs(arrow["x2"] - arrow["x1"]) < abs(lane(browser, "left", "program") - lane(browser, "left")) + 5
        for arrow in calls), calls)
    check("a pending return is dashed", sum("dashed" in arrow["className"] for arrow in calls) == 1, calls)
    check("title", "the server's program never answered the request" in text(browser, "#title"),
          text(browser, "#title"))
    check("the other end's failure is a consequence", text(browser, "#scene .outcome-text") == "consequence: unanswered"
          and text(browser, "#other").startswith("Consequence at the server: at "), text(browser, "#other"))
    check("clock", "Clock of store 200 on beta: unknown" in text(browser, "#remarks"), text(browser, "#remarks"))
    browser.run("select(app.rows.events.find((e) => e.type.name === 'NdkConnect'))")
    check("from a call to its completion", "completed 10.0" in text(browser, "#details .related"),
          text(browser, "#details"))
    browser.run("[...document.querySelectorAll('#details .related button')].find((b) => "
                "b.textContent.startsWith('completed')).click()")
    check("... by a click", selected(browser) == ["completed", "NdkConnect: IO_TIMEOUT"], selected(browser))


def test_terminate(browser, path, schema):
    browser.open(page_of(path, trace_stories.terminated(schema), "terminated"))
    check("title: the cause, not the consequence", "the client accessed memory outside of the region" in
          text(browser, "#title") and text(browser, "#advice .code").strip() == "protocol/ddp-tagged-bounds",
          text(browser, "#title"))
    check("the consequence", re.match(r"Consequence at the client: at [\d.]+ s the Terminate of the server arrived",
                                      text(browser, "#other")) and
          "consequence: peer-terminate/" in text(browser, "#scene .outcome.effect + text"), text(browser, "#other"))
    check("a Terminate is one arrow", [a["className"] for a in arrows(browser) if "Terminate" in a["label"]] ==
          ["arrow k-data bad"] and "terminate" not in shown(browser), shown(browser))
    check("what went wrong", "outside of the memory region" in text(browser, "#advice"), text(browser, "#advice"))
    check("clock", re.search(r"about .* ahead of backup 100 on alpha \(from .* frames\).* only to \u00b1 40.0 \u00b5s",
                             text(browser, "#remarks")), text(browser, "#remarks"))


def test_one_end(browser, path, schema):
    """Without the peer's trace its line is dashed, and frames end there."""
    for side, line, far in (("client", "left", "right"), ("server", "right", "left")):
        browser.open(page_of(path, getattr(trace_stories.killed(schema), side), f"one-{side}"))
        check(f"{side}: the peer's line", count(browser, "#scene .lifeline.peer") == 1 and
              count(browser, "#scene .lifeline") == 2)
        check(f"{side}: frames", all({round(a["x1"], -1), round(a["x2"], -1)} <= {round(lane(browser, s) + d, -1)
              for s in (line, far) for d in (-8, 0, 8)} for a in arrows(browser)), arrows(browser))
        check(f"{side}: what is missing", "trace of the other end" in text(browser, "#remarks"))


def test_one_process(browser, path, schema):
    """A file with both ends: what belongs to no connection is on the side of its adapter."""
    browser.open(page_of(path, trace_stories.one_process(schema), "one-process"))
    check("two ends", lane(browser, "left") < lane(browser, "right") and count(browser, "#scene .lifeline.peer") == 0)
    check("its frame", any(a["to"] is not None and a["label"].startswith("MPA request") for a in arrows(browser)))
    browser.click("#loose")
    sides = browser.run("return app.rows.events.map((e) => [e.type.name, field(e, 'object'), "
                        "sideOf(app.lanes, e).name])")
    check("sides of calls", {(name, thing, side) for name, thing, side in sides if name.startswith("NdkCreate")} == {
        ("NdkCreatePd", "0x51", "left"), ("NdkCreatePd", "0x52", "right"), ("NdkCreateConnector", "0x51", "left"),
        ("NdkCreateListener", "0x52", "right")}, sides)


# ---- failures ----

def explained(*files):
    """What ndktrace explain prints, in one line, and the time of its first event that went wrong."""
    out = subprocess.run([NDKTRACE, "explain", *map(str, files)], env=ENVIRONMENT, timeout=300, check=True,
                         stdout=subprocess.PIPE).stdout.decode()
    wrong = re.search(r"^> +([\d.]+)", out, re.M)
    return " ".join(out.split()), wrong and wrong[1]


def marked(browser):
    """The time of the marked event, and where it is, as a part of the view's height."""
    return (text(browser, "#scene .time.bad"),
            browser.run("return (document.querySelector('#scene .wrong, #scene .trace-end.bad')"
                        ".getBoundingClientRect().top"
                        " - document.getElementById('scroll').getBoundingClientRect().top) / viewHeight()"))


def test_failures(browser, path, schema):
    """The page opens at the first event that went wrong, with the texts of ndktrace explain."""
    browser.size(1400, 560)
    for name in ("killed", "terminated", "unanswered"):
        page = page_of(path, getattr(trace_stories, name)(schema), f"failure-{name}")
        words, wrong = explained(path / f"failure-{name}" / "client", path / f"failure-{name}" / "server")
        browser.open(page)
        browser.settle()
        time, place = marked(browser)
        if name == "killed": # no event is wrong, but that nothing follows
            check("killed: the end of the trace is marked", time is None and
                  "\u25b6 the trace ends here" in browser.run(
                "return [...document.querySelectorAll('#scene .note.bad')].map((t) => t.textContent)"), time)
        else:
            check(f"{name}: the first event that went wrong is marked", time == f"\u25b6 {wrong}", (time, wrong))
        check(f"{name}: the rows do not fit", browser.run("return app.rows.total * app.zoom > viewHeight()"))
        led = text(browser, "#scene .time.led")
        check(f"{name}: it is in the upper third, or below what led to it",
              0 <= place <= (1 / 3 if led is None else 0.9),
              (place, led))
        if name == "unanswered":
            check("unanswered: what led to it", led and led.startswith("\u25c6 ") and "Neither NdkAccept" in
                  text(browser, "#scene .cause-note"), led)
        texts = browser.run("return [...document.querySelectorAll("
                            "'#details h2, #details > p, #details li')].map((e) => "
                            "e.textContent).filter((t) => !/^(Click on|select)/.test(t))")
        check(f"{name}: the pane has explain's texts", len(texts) >= 4 and all(t in words for t in texts),
              (texts, words))
        check(f"{name}: the headline is explain's", texts[0] in text(browser, "#title") and
              browser.run("return document.getElementById('title').className") == "bad", text(browser, "#title"))
        browser.run("select(app.rows.events[0])")
        check(f"{name}: a selected event replaces the texts", "What went wrong" not in text(browser, "#details"))
        browser.run("select(null)")
        check(f"{name}: they come back", "What went wrong" in text(browser, "#details"))
    browser.size(1400, 1500)


def test_failed_call(browser, path, schema):
    """A call that failed has a headline if no connection failed; after the end of a connection it is no cause."""
    story, start = trace_stories.Story(schema), trace_stories.MS
    story.begin(start)
    story.establish(start + 200 * trace_stories.US)
    story.call(story.client, "NdkAccept", start + 500 * trace_stories.US, "STATUS_NOT_SUPPORTED", object=0x4001)
    story.end(start + 600 * trace_stories.US)
    browser.open(page_of(path, story, "failed-call"))
    check("the headline is the call", text(browser, "#title").endswith(": NdkAccept returned STATUS_NOT_SUPPORTED") and
          browser.run("return document.getElementById('title').className") == "bad", text(browser, "#title"))
    check("the call is marked",
          browser.run("return app.model.events.filter((e) => e.isWrong).map((e) => e.type.name)") ==
          ["NdkAccept"])
    story = trace_stories.killed(schema)
    story.call(story.server, "NdkDisconnect", start + 950 * trace_stories.US, "STATUS_INVALID_DEVICE_STATE",
               object=0x9101)
    browser.open(page_of(path, story, "late-call"))
    check("a call after the end is weak", "weak" in next(arrow["className"] for arrow in arrows(browser)
                                                         if arrow["label"].startswith("NdkDisconnect")),
          arrows(browser))


# ---- keys, clicks, zoom ----

def test_keys(browser, path, schema):
    browser.open(page_of(path, trace_stories.traffic(schema, 8), "keys"))
    browser.click("#scroll")
    browser.keys("Home", "ArrowDown", "ArrowDown")
    check("arrows select", browser.run("return app.selected.row") == 2)
    check("the selected event is announced", text(browser, "#live").startswith("0.0"), text(browser, "#live"))
    check("and shown", text(browser, "#details h2") == selected(browser)[1])
    browser.keys("End")
    check("End", browser.run("return app.selected.row === app.rows.events.length - 1"))
    visible = browser.run("return app.visible")
    browser.settle()
    check("a selected row is in view", browser.run("return app.visible[1] >= app.selected.row"), visible)
    browser.keys("Enter")
    check("Enter goes to the details", browser.run("return document.activeElement.id") == "details")
    browser.keys("/")
    check("/ goes to the search", browser.run("return document.activeElement.id") == "search")
    browser.keys("f")
    check("keys are text in a field", browser.run("return document.getElementById('search').value") == "f")
    browser.keys("Escape")
    check("Escape goes back", browser.run("return document.activeElement.id") == "scroll")
    browser.keys("?")
    check("? shows the help", browser.run("return !document.getElementById('help-text').hidden"))
    browser.keys("?", "Escape")
    check("Escape selects nothing", selected(browser) is None)
    names = browser.run("return [...document.querySelectorAll('button, input, select, [tabindex=\"0\"]')]"
                        ".filter((e) => e.offsetParent).map((e, i) => { e.dataset.n = i; return i; })")
    for i in names:
        control = f'[data-n="{i}"]'
        label = browser.call("GET", f"/element/{browser.find(control)}/computedlabel")
        check("each control has a name", label.strip(), browser.run(
            "return document.querySelector(arguments[0]).outerHTML", control))


def test_clicks(browser, path, schema):
    browser.open(page_of(path, trace_stories.killed(schema), "clicks"))
    box = browser.run("const b = document.getElementById('scroll').getBoundingClientRect(); return [b.left, b.top]")
    row = browser.run("return app.rows.events.findIndex((e) => e.type.name === 'mpa_sent')")
    browser.run("setOffset(app.rows.top[arguments[0]] - 1)", row)
    browser.settle()
    y = browser.run("return middleY(makeScene(null, 0), arguments[0])", row)
    browser.click_at(box[0] + 30, box[1] + y)
    check("a click selects the row", selected(browser) and selected(browser)[0] == "mpa_sent", selected(browser))
    details = text(browser, "#details")
    check("details: the sentence", "The client asks for a connection" in details, details)
    check("details: fields", all(f"{name}{value}" in details for name, value in
                                 (("frame", "request"), ("revision", "2"), ("ird", "8"), ("data_size", "4"))), details)
    check("details: bytes", "4d 50 41 20 49 44 20 52  MPA ID R" in text(browser, "#details pre"), details)
    check("details: thread and process", "2 (openndk-shard)" in details and "backup 100 on alpha" in details, details)
    browser.click("#details .related button")
    check("from a frame to where it arrived", selected(browser)[0] == "mpa_received", selected(browser))
    browser.settle()
    check("the selected row is marked", count(browser, "#scene .selected") == 1)
    arrow = browser.run("""const b = [...document.querySelectorAll('#scene .arrow-head')].pop().getBoundingClientRect();
        const line = [...document.querySelectorAll('#scene .arrow[data-event]')].pop();
        const m = line.getScreenCTM(), at = line.getPointAtLength(line.getTotalLength() / 2);
        return [m.e + at.x, m.f + at.y, line.dataset.event]""")
    browser.click_at(arrow[0], arrow[1])
    check("a click on an arrow selects its frame", browser.run("return app.selected.index") == int(arrow[2]), arrow)


def test_zoom(browser, path, schema):
    browser.open(page_of(path, trace_stories.traffic(schema, 400), "zoom"))
    browser.settle()
    box = browser.run("const b = document.getElementById('scroll').getBoundingClientRect();"
                      "return [b.left, b.top, b.height]")
    browser.run("setOffset(300)")
    browser.settle()
    unit = "return viewOffset() + arguments[0] / app.zoom"
    before = browser.run(unit, 200), browser.run("return app.zoom")
    browser.wheel(box[0] + 200, box[1] + 200, 300, control=True)
    until(browser, f"return app.zoom < {before[1] / 2}")
    browser.settle()
    after = browser.run(unit, 200), browser.run("return app.zoom")
    check("Ctrl and the wheel zoom", after[1] < before[1] / 2 and near(before[0], after[0], 1), (before, after))
    browser.keys("0")
    browser.settle()
    check("0 shows all rows",
          browser.run("return app.visible[0] === 0 && app.visible[1] === app.rows.events.length - 1 &&"
                                          "app.zoom < COMPACT_ZOOM"))
    check("rows without room are ticks", count(browser, "#scene .tick") > 0 and count(browser, "#scene .arrow") == 0)
    check("time labels do not overlap", browser.run("""
        const y = [...document.querySelectorAll('#scene .time')].map((t) => Number(t.getAttribute('y')));
        return y.length > 3 && y.every((v, i) => !i || v - y[i - 1] >= 12)"""))
    browser.keys("1")
    browser.settle()
    check("1 shows text", browser.run("return app.zoom === TEXT_ZOOM") and count(browser, "#scene .arrow") > 5)
    for _ in range(3):
        browser.click("#zoom-out")
    browser.settle()
    check("labels skip rows instead of overlapping", browser.run("""
        const y = [...document.querySelectorAll('#scene .label.left')].map((t) => Number(t.getAttribute('y')));
        return app.zoom < LABEL_ZOOM && y.length > 2 &&
            y.sort((a, b) => a - b).every((v, i) => !i || v - y[i - 1] >= 12)"""))
    offset = browser.run("return viewOffset()")
    browser.wheel(box[0] + 200, box[1] + 200, 400)
    until(browser, f"return viewOffset() > {offset + 5}")  # the wheel scrolls
    over = browser.run("const b = document.getElementById('overview').getBoundingClientRect();"
                       "return [b.left + b.width / 2, b.top + b.height * 0.9]")
    browser.click_at(*over)
    browser.settle()
    check("a click in the overview jumps", near(browser.run(
        "return (viewOffset() + viewHeight() / app.zoom / 2) / app.rows.total"), 0.9, 0.06))


# ---- search and filters ----

def test_search(browser, path, schema):
    browser.open(page_of(path, trace_stories.traffic(schema, 60), "search"))
    browser.type("#search", "opcode=send")
    until(browser, "return search.text === 'opcode=send'")
    check("hits while typing", text(browser, "#search-count").endswith("of 120 hits"), text(browser, "#search-count"))
    browser.run("select(null); setOffset(0)")
    browser.settle()
    browser.run("document.getElementById('search').focus()")
    browser.keys("Enter", "Enter", "Enter")
    check("Enter goes on", text(browser, "#search-count") == "3 of 120 hits" and selected(browser)[0] == "untagged",
          text(browser, "#search-count"))
    browser.click("#search-before")
    check("and back", text(browser, "#search-count") == "2 of 120 hits", text(browser, "#search-count"))
    browser.settle()
    check("hits are marked", count(browser, "#scene .hit") > 1)
    browser.run("document.getElementById('search').value = ''")
    browser.type("#search", "no such text")
    until(browser, "return search.text === 'no such text'")
    check("no hit", text(browser, "#search-count") == "no hit")
    browser.run("document.getElementById('search').value = ''")
    at = browser.run("return app.rows.events[40].at / 1e9")
    browser.type("#search", f"@{at:.9f}")
    browser.keys("Enter")
    check("a time", browser.run("return app.selected.row") in (39, 40, 41), browser.run("return app.selected.row"))


def test_filters(browser, path, schema):
    browser.open(page_of(path, trace_stories.traffic(schema, 4, 30), "filters"))
    check("the first failure is shown first", "10.0.0.1:49161" in text(browser, "#title") and
          "rejected the client" in text(browser, "#title"), text(browser, "#title"))
    check("connections, failures first", browser.run("return [...document.querySelectorAll('#connection-list .name')]"
          ".slice(0, 5).map((e) => e.textContent.split(':')[0])") == ["all connections", "10", "20", "30", "1"])
    browser.run("document.querySelectorAll('#connection-list button')[4].click()")
    check("a click shows another", "established, then disconnected" in text(browser, "#title"), text(browser, "#title"))
    only = len(shown(browser))
    browser.type("#connection-find", "49170")
    check("find a connection", count(browser, "#connection-list button") == 2)
    browser.run("document.querySelectorAll('#connection-list button')[0].click()")
    check("all", text(browser, "#title") == "30 connections, 3 failed" and len(shown(browser)) > 20 * only,
          text(browser, "#title"))
    everything = len(shown(browser))
    browser.click("#kind-data")
    check("without data frames", 0 < len(shown(browser)) < everything and "untagged" not in shown(browser))
    browser.click("#kind-data")
    browser.click("#failures")
    check("only failures", {"outcome"} <= set(shown(browser)) and browser.run(
        "return app.rows.events.every((e) => e.severity === 2 || e.isWrong || e.isCause)"), shown(browser))
    browser.click("#failures")
    thread = browser.run("const t = document.getElementById('thread'); t.value = '1:2';"
                         "t.dispatchEvent(new Event('change')); return t.selectedOptions[0].textContent")
    check("a thread", thread == "2 openndk-shard of store 200" and browser.run(
        "return app.rows.events.every((e) => e.file === 1 && e.thread === 2)"), thread)
    browser.run("const t = document.getElementById('thread'); t.value = ''; t.dispatchEvent(new Event('change'))")
    browser.type("#from", "0.01")
    browser.type("#until", "0.02")
    browser.click("#title")
    check("seconds", browser.run("return app.rows.events.length > 0 && app.rows.events.every((e) => e.at >= 1e7 && "
                                 "e.at <= 2e7)"))
    browser.run("document.getElementById('until').value = 'x'")
    browser.type("#until", "y")
    browser.click("#title")
    check("what is no number",
          browser.run("return document.getElementById('until').getAttribute('aria-invalid')") == "true")
    browser.run("goTo(app.model.events[0])")
    check("an event that the filter hides", browser.run("return app.selected === app.model.events[0] && "
          "app.selected.row >= 0 && app.filter.from === -Infinity"))


def test_calls(browser, path, schema):
    browser.open(page_of(path, trace_stories.unanswered(schema, 0), "calls"))
    own = shown(browser)
    check("only the connection's events, and those of its objects and its listener", "adapter" not in own and
          {"NdkListen", "listening", "NdkCreateQp", "NdkCreateCq", "NdkConnect", "connect_event"} <= set(own), own)
    browser.run("const c = document.getElementById('call'); c.value = 'NdkConnect'; "
                "c.dispatchEvent(new Event('change'))")
    check("a call", shown(browser) == ["NdkConnect", "returned", "completed"], shown(browser))
    browser.settle()
    check("hidden events are counted", "hidden events" in text(browser, "#scene .break-text"),
          text(browser, "#scene .break-text"))
    browser.run("const c = document.getElementById('call'); c.value = ''; c.dispatchEvent(new Event('change'))")
    browser.click("#loose")
    check("with events of no connection", "adapter" in shown(browser), shown(browser))


def test_posts(browser, path, schema):
    """A result belongs to a post with its context and operation."""
    browser.open(page_of(path, trace_stories.posts(schema), "posts"))
    pairs = browser.run("return app.model.events.filter((e) => e.type.isWhole)"
                        ".map((e) => [e.type.name, field(e, 'bytes'),"
                        " e.completed ? e.completed.time / 1000 : null])")
    check("results of posts", pairs == [["NdkReceive", 1, 70], ["NdkSend", 2, None], ["NdkSend", 3, 40],
                                        ["NdkSend", 4, 52]], pairs)
    check("a post is where it began", browser.run("return app.rows.events.map((e) => Math.round(e.at / 1000))") ==
          [9, 19, 29, 40, 50, 52, 70])


# ---- table, paper, picture ----

def test_table(browser, path, schema):
    browser.open(page_of(path, trace_stories.traffic(schema, 200), "table"))
    rows = len(shown(browser))
    browser.click("#scroll")
    browser.keys("t")
    cells = browser.run("return [...document.querySelectorAll('#table tbody tr')].map((r) => [...r.cells].map("
                        "(c) => c.textContent))")
    check("a page of the table", len(cells) == 200 and rows > 400 and all(len(row) == 7 for row in cells), len(cells))
    check("a row in words", [row[1:] for row in cells if row[4] == "mpa_sent"][0][:5] ==
          ["client", "1", "2", "mpa_sent", "MPA request: revision 2, 4 B private data, reads in 8, out 8"], cells[4])
    check("its fields", any("frame=request revision=2" in row[6] for row in cells))
    browser.run("[...document.querySelectorAll('#table button')].find((b) => b.textContent === 'last').click()")
    check("the last page", f"to {rows} of {rows}" in text(browser, "#table .buttons"), text(browser, "#table .buttons"))
    browser.run("document.querySelector('#table tbody tr:last-child').click()")
    check("a row selects its event", browser.run("return app.selected.row") == rows - 1 and
          count(browser, "#table tr.selected") == 1)
    browser.click("#show-table")
    browser.settle()
    check("back to the diagram", browser.run("return !document.getElementById('diagram').hidden") and
          count(browser, "#scene .selected") == 1)


def test_print(browser, path, schema):
    browser.open(page_of(path, trace_stories.traffic(schema, 60), "print"))
    pdf = browser.print(path / "page.pdf")
    pages = browser.run("""document.documentElement.dataset.theme = 'dark';
        dispatchEvent(new Event('beforeprint'));
        const paper = getComputedStyle(document.querySelector('#print .paper')).fill;
        return [[...document.querySelectorAll('#print figure')].map((figure) => ({
            times: [...figure.querySelectorAll('.time')].map((t) => t.textContent),
            box: figure.querySelector('svg').getAttribute('viewBox').split(' ').map(Number) })), paper]""")
    browser.run("dispatchEvent(new Event('afterprint'))")
    times = [time for page in pages[0] for time in page["times"]]
    check("all rows are printed, once", times == browser.run("return app.rows.events.map((e) => (e.isEarly ? "
          "'\u2264 ' : '') + formatSeconds(e.at))") and len(pages[0]) > 3, (len(times), len(pages[0])))
    check("as many pages of paper", len(re.findall(rb"/Type\s*/Page\b", pdf)) == len(pages[0]),
          (len(re.findall(rb"/Type\s*/Page\b", pdf)), len(pages[0])))
    check("a page fits on A4 and Letter", all(page["box"][3] <= 1.26 * page["box"][2] for page in pages[0]), pages[0])
    check("paper is white", pages[1] == "rgb(255, 255, 255)" and
          browser.run("return document.documentElement.dataset.theme") == "dark", pages[1])
    check("the paper's figures are removed", count(browser, "#print *") == 0)


def test_picture(browser, path, schema):
    browser.open(page_of(path, trace_stories.unanswered(schema, 0), "picture"))
    picture = browser.run("return exportSvg(1000)")
    root = xml.etree.ElementTree.fromstring(picture)
    name = "{http://www.w3.org/2000/svg}"
    texts = ["".join(t.itertext()) for t in root.iter(name + "text")]
    check("a saved picture", root.tag == name + "svg" and root.get("width") == "1000" and
          "never answered the request" in root.find(name + "title").text, root.attrib)
    check("has all rows", {"NdkConnect(10.0.0.2:7174)", "TCP_CONNECTING", "REQUESTED"} <= set(texts), texts)
    check("has no script", not list(root.iter(name + "script")) and "href" not in picture and "onload" not in picture)
    check("follows the reader's mode", "prefers-color-scheme: dark" in root.find(name + "style").text)


# ---- hostile files, colours, size ----

def test_hostile(browser, path, schema):
    story = trace_stories.killed(schema)
    evil = "<img src=x onerror=alert(1)></script><script>document.title='evil'</script>"
    story.client.host = evil[:60]
    story.client.program = "</text><a href='javascript:alert(1)'>x"
    story.client.threads[2] = b"<b>shard</b>\xff"
    story.client.schema = story.client.schema.replace("2=REQUEST_SENT", "2=<i>SENT</i>").replace(
        "event 14 state", "event 14 <u>state")
    browser.open(page_of(path, story, "hostile"))
    page_checks.no_problems(browser, "hostile")
    check("no markup from a file", count(browser, "img, b, i, u, a") == 0 and
          browser.run("return document.title").endswith("ndktrace"))
    check("its text is shown", evil[:20] in text(browser, "#origin"), text(browser, "#origin"))
    browser.run("toggleTable()")
    check("also in the table", "<u>state" in text(browser, "#table") and count(browser, "#table u") == 0)
    browser.run("const s = document.createElement('script'); "
                "s.textContent = 'window.evil = 1'; document.body.append(s)")
    check("the policy stops other scripts", browser.run("return window.evil") is None)
    check("... and tells so", any("Content Security Policy" in line for line in browser.problems()))


def test_colours(browser, path, schema):
    browser.open(page_of(path, trace_stories.killed(schema), "colours"))
    for theme in ("light", "dark"):
        browser.run("document.documentElement.dataset.theme = arguments[0]", theme)
        page_checks.contrasts(browser, theme)
    browser.run("document.documentElement.dataset.theme = ''")
    browser.click("#theme")
    check("the button selects a theme", browser.run("return document.documentElement.dataset.theme") == "light")


def test_large(browser, path, schema):
    """
    Ten events, and more than 100,000: the time is printed, not judged. What is drawn does not grow with the trace.
    """
    story = trace_stories.Story(schema)
    story.begin(trace_stories.MS)
    browser.open(page_of(path, story, "small"))
    check("few events", browser.run("return app.model.events.length") == 11)
    page_checks.report(browser, "small")
    browser.open(page_of(path, trace_stories.traffic(schema, 53000), "large"))
    events = browser.run("return app.model.events.length")
    check("many events", events > 100000, events)
    page_checks.report(browser, "large")
    for words, script in (("at the beginning", "setOffset(0)"), ("in the middle", "setOffset(app.rows.total / 2)"),
                          ("at the end", "setOffset(app.rows.total)"), ("all", "setZoom(0)"),
                          ("enlarged", "setZoom(3)"), ("smaller", "setZoom(8)")):
        ms = browser.run(f"{script}; render(); const began = performance.now(); render(); "
                         "return performance.now() - began")
        elements = count(browser, "#scene *")
        print(f"    {words}: {elements} elements in {ms:.1f} ms")
        check(f"{words}: few elements are drawn", 20 < elements < 4000, elements)
    browser.run("setZoom(TEXT_ZOOM)")
    for words, script in (("search", "findHits('msn=26000')"), ("filter", "setFilter({failures: false})"),
                          ("overview", "drawOverview()")):
        print("    {}: {:.0f} ms".format(words, browser.run(
            f"const began = performance.now(); {script}; return performance.now() - began")))
    browser.type("#search", "msn=26000")
    browser.keys("Enter")
    check("search in many events", "hit" in text(browser, "#search-count") and selected(browser)[0] == "untagged",
          text(browser, "#search-count"))
    browser.settle()
    check("the hit is in view",
          browser.run("return app.selected.row >= app.visible[0] && app.selected.row <= app.visible[1]"))
    check("the overview is drawn", browser.run("return new Set(overview.image.data).size > 5"))


def main():
    if not webdriver.CHROMIUM or not webdriver.CHROMEDRIVER:
        print("chromium and chromedriver are missing: scripts/deps.sh browser installs them")
        sys.exit(77)
    tests = [test for name, test in globals().items() if name.startswith("test_")]
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory)
        schema = trace_stories.schema_of(NDKPING, path / "schema")
        with webdriver.Browser(directory, height=1500) as browser:
            for test in tests:
                print(test.__name__, flush=True)
                test(browser, path, schema)
                page_checks.no_problems(browser, test.__name__)
    sys.exit(1 if failed else 0)


main()
