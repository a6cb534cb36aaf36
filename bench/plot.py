# SPDX-License-Identifier: MIT
"""Plots as SVG, in one HTML page without external resources."""
import html
import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 380, 80, 170, 20, 50
LARGE = ((1 << 20, "Mi"), (1 << 10, "Ki"))

STYLE = """
:root { color-scheme: light dark; --line: #c8c8c8; --ours: #c2410c; --bare: #525252; --fabric: #1d6fb8; --ucx: #15803d }
@media (prefers-color-scheme: dark) {
  :root { --line: #505050; --ours: #fb923c; --bare: #b4b4b4; --fabric: #60a5fa; --ucx: #4ade80 } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums }
td, th { padding: 2px 8px; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }
td:nth-child(-n+4), th:nth-child(-n+4), td:last-child { text-align: left }
.wide { overflow-x: auto }
svg { width: 100%; max-width: 760px; height: auto } svg text { fill: currentColor; font-size: 12px }
.grid { stroke: var(--line); stroke-width: 1 } path { fill: none; stroke-width: 2 } .dashed { stroke-dasharray: 5 4 }
""" + "".join(f"path.{k}, line.{k} {{ stroke: var(--{k}) }} circle.{k} {{ fill: var(--{k}) }}\n"
              for k in ("ours", "bare", "fabric", "ucx"))


def short(value, binary):
    if binary:
        for unit, suffix in LARGE:
            if value >= unit:
                return f"{value / unit:g} {suffix}"
        return f"{value:g}"
    for unit, suffix in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{suffix}"
    return f"{value:g}"


def decades(low, high):
    """Returns ticks that span `low` to `high`: 1, 2 and 5 times powers of ten."""
    ticks = [m * 10.0 ** e for e in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
             for m in (1, 2, 5)]
    first = max((t for t in ticks if t <= low), default=low)
    last = min((t for t in ticks if t >= high), default=high)
    inside = [t for t in ticks if first <= t <= last]
    return inside if len(inside) <= 10 else [t for t in inside if t in (first, last) or
                                             math.isclose(math.log10(t), round(math.log10(t)))]


class Axes:
    """The two axes, both logarithmic."""

    def __init__(self, xs, ys):
        self.x0, self.x1 = math.log(min(xs)), math.log(max(xs))
        self.ticks = decades(min(ys), max(ys))
        self.y0, self.y1 = math.log(self.ticks[0]), math.log(self.ticks[-1])

    def x(self, value):
        return LEFT + (math.log(value) - self.x0) / ((self.x1 - self.x0) or 1) * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        return HEIGHT - BOTTOM - (math.log(value) - self.y0) / ((self.y1 - self.y0) or 1) * (HEIGHT - TOP - BOTTOM)


def grid(axes, xs, plot):
    parts = []
    for tick in axes.ticks:
        y = axes.y(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
                     f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{short(tick, False)}</text>')
    for x in xs:
        parts.append(f'<line class="grid" x1="{axes.x(x):.1f}" x2="{axes.x(x):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
                     f'<text x="{axes.x(x):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">'
                     f'{short(x, plot["x"] == "bytes")}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">'
                 f'{html.escape(plot["x"])}</text>')
    parts.append(f'<text transform="translate(14 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">'
                 f'{html.escape(plot["y"])}</text>')
    return parts


def draw_series(axes, series, place):
    kind, points, dashed = series["kind"], series["points"], " dashed" if series["dashed"] else ""
    path = " ".join(f"{'L' if n else 'M'}{axes.x(p['x']):.1f} {axes.y(p['y']):.1f}" for n, p in enumerate(points))
    parts = [f'<path class="{kind}{dashed}" d="{path}"/>']
    for p in points:
        x, name = axes.x(p["x"]), html.escape(series["name"])
        parts.append(f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{axes.y(p["low"]):.1f}" '
                     f'y2="{axes.y(p["high"]):.1f}"/><circle class="{kind}" cx="{x:.1f}" cy="{axes.y(p["y"]):.1f}" '
                     f'r="3.5"><title>{name}, {p["x"]}: {p["y"]:.2f} ({p["low"]:.2f} to {p["high"]:.2f})</title>'
                     '</circle>')
    y = TOP + 12 + 20 * place
    parts.append(f'<path class="{kind}{dashed}" d="M{WIDTH - RIGHT + 14} {y}h26"/>'
                 f'<text x="{WIDTH - RIGHT + 46}" y="{y + 4}">{html.escape(series["name"])}</text>')
    return parts


def svg(plot):
    drawn = [s for s in plot["series"] if s["points"]]
    if not drawn:
        return "<p>Not measured.</p>"
    xs = sorted({p["x"] for s in drawn for p in s["points"]})
    axes = Axes(xs, [v for s in drawn for p in s["points"] for v in (p["low"], p["high"])])
    parts = grid(axes, xs, plot)
    for place, series in enumerate(drawn):
        parts += draw_series(axes, series, place)
    return (f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(plot["title"])}">'
            + "".join(parts) + "</svg>")


def table(title, names, lines):
    head = "".join(f"<th>{html.escape(n)}</th>" for n in names)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in line) + "</tr>\n" for line in lines)
    return f'<h2>{html.escape(title)}</h2><div class="wide"><table><tr>{head}</tr>\n{body}</table></div>'


def page(machine, tables, notes, plots):
    facts = "".join(f"<tr><th>{html.escape(k.replace('_', ' '))}</th><td>{html.escape(str(v))}</td></tr>"
                    for k, v in machine.items())
    drawn = "".join(f"<h2>{html.escape(p['title'])}</h2>{svg(p)}" for p in plots)
    return (f'<!doctype html><html lang="en"><meta charset="utf-8"><title>OpenNDK benchmark</title>'
            f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style><h1>OpenNDK benchmark</h1>'
            f'<table>{facts}</table>{"".join(table(*t) for t in tables)}<p>{html.escape(" ".join(notes))}</p>'
            f"{drawn}<p>Points are medians, bars show the middle half of the measurements; both axes "
            "are logarithmic.</p></html>\n")
