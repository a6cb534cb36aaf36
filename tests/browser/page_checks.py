# SPDX-License-Identifier: MIT
"""Checks of a page in a browser that several tests use."""

failed = []
# Colours of text, and the colours that may be behind them (drawing.css).
TEXTS = ("ink", "quiet", "bad", "bad-weak", "good", "k-end", "k-startup", "k-state", "k-call", "k-callback", "k-wait",
         "k-data", "k-object")
BEHIND = {"ink": ("paper", "shade", "select", "hit", "bad-back", "good-back", "begin-back", "end-back"),
          "quiet": ("paper", "shade", "select", "bad-back"), "bad": ("paper", "bad-back", "select"),
          **{f"k-{kind}": ("paper", "bad-back") for kind in
             ("end", "startup", "state", "call", "callback", "wait", "data")}}
LEAST_CONTRAST = 4.5  # WCAG 2.1, level AA


def check(what, good, seen=""):
    if not good:
        failed.append(what)
        print(f"FAILED: {what}\n{str(seen)[:3000]}", flush=True)


def no_problems(browser, what):
    problems = [line for line in browser.problems() if line.startswith("file:")]
    check(f"{what}: no message in the console", not problems, problems)


def report(browser, what):
    """Prints how long the page took until the first drawing, and the part of it that its script took."""
    events, script, drawn = browser.run("return [app.model.events.length, app.startMs, app.drawnMs]")
    print(f"    {what}: {events} events, first drawing after {drawn:.0f} ms, of it {script:.0f} ms in the script",
          flush=True)


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrasts(browser, theme):
    """Text can be read on each colour that is behind it."""
    colour = {name: browser.run("return colourOf(arguments[0])", name) for name in
              {*TEXTS, *(name for names in BEHIND.values() for name in names)}}
    for text in TEXTS:
        for behind in BEHIND.get(text, ("paper",)):
            low, high = sorted((luminance(colour[text]), luminance(colour[behind])))
            ratio = (high + 0.05) / (low + 0.05)
            check(f"{theme}: {text} on {behind}", ratio >= LEAST_CONTRAST, f"{ratio:.2f}")
