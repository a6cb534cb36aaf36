# SPDX-License-Identifier: MIT
"""What the benchmark's figures come to: rows with medians, spread and ratios, as table, JSON and page."""
import json
import statistics

import plot

CLASSES = ("near", "far", "one", "unsteady")
FEWEST = 3          # rounds of one class: fewer say nothing
MOST_SPREAD = 1.5   # of a row's ratio from round to round, highest to lowest: beyond that it says nothing
MOST_SILENT = 0.25  # of the rows with an aim: beyond that all of it says nothing


def figure(one, run, field):
    """A figure of a round; None where there is none."""
    if run is None:
        return None
    return one["figures"].get(run, {}).get(field) or None


def ratio_of(mine, run, other, field):
    """Ratio of the medians, and the ratios of each round."""
    pairs = [(figure(r, run, field), figure(r, other, field)) for r in mine]
    pairs = [(a, b) for a, b in pairs if a is not None and b is not None]
    if not pairs:
        return None, []
    medians = [statistics.median(p[i] for p in pairs) for i in (0, 1)]
    return medians[0] / medians[1], [a / b for a, b in pairs]


def why_silent(line, mine):
    """Why a row says nothing; empty where it does say something."""
    if line["class"] == "unsteady":
        return "processors unsteady"
    if line["measured"] < FEWEST:
        return f"rounds: only {line['measured']}"
    if sum(r["noisy"] for r in mine) * 2 > len(mine):
        return "others busy"
    if line["ratio_high"] and line["ratio_high"] > MOST_SPREAD * line["ratio_low"]:
        return "scatters"
    return ""


def verdict(line):
    if line["aim"] is None:
        return ""
    sign, number = line["aim"]
    value = line["median"] if line["ratio"] is None else line["ratio"]
    met = value >= number if sign == ">=" else value <= number if sign == "<=" else value < number
    word = "met" if met else "MISSED"
    return word if not line["silent"] else f"says nothing ({line['silent']})"


def one_line(row, which, mine):
    values = [v for v in (figure(r, row.ours, row.field) for r in mine) if v is not None]
    if not values:
        return None
    reference = [v for v in (figure(r, row.against, row.field) for r in mine) if v is not None]
    ratio, ratios = ratio_of(mine, row.ours, row.against, row.field)
    line = {"group": row.group, "what": row.what, "field": row.field, "unit": row.unit, "class": which,
            "rounds": len(mine), "measured": len(ratios if row.against else values),
            "noisy": sum(r["noisy"] for r in mine), "median": statistics.median(values),
            "low": min(values), "high": max(values), "against": statistics.median(reference) if reference else None,
            "ratio": ratio, "ratio_low": min(ratios, default=None), "ratio_high": max(ratios, default=None),
            "libfabric": ratio_of(mine, row.fabric, row.against, row.field)[0],
            "ucx": ratio_of(mine, row.ucx, row.against, row.field)[0], "aim": row.aim}
    line["silent"] = why_silent(line, mine)
    line["verdict"] = verdict(line)
    return line


def summary(table, taken):
    """The lines of a table, each class of processors by itself."""
    lines = []
    for row in table:
        for which in CLASSES:
            mine = [r for r in taken.get(row.group, []) if r["class"] == which]
            line = one_line(row, which, mine) if mine else None
            if line:
                lines.append(line)
    return lines


# ---- in words ----

def number(value):
    return "-" if value is None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2f}"


COLUMNS = (("what", -22), ("row", -24), ("unit", -5), ("cores", -8), ("rounds", 6), ("noisy", 5), ("median", 10),
           ("low", 10), ("high", 10), ("against", 10), ("ratio", 7), ("from-to", 13), ("libfabric", 9), ("UCX", 7),
           ("aim", 8), ("", -1))


def cells(line):
    spread = "-" if line["ratio"] is None else f"{line['ratio_low']:.2f}-{line['ratio_high']:.2f}"
    return (line["group"], line["what"], line["unit"], line["class"], str(line["rounds"]), str(line["noisy"]),
            number(line["median"]), number(line["low"]), number(line["high"]), number(line["against"]),
            number(line["ratio"]), spread, number(line["libfabric"]), number(line["ucx"]),
            f"{line['aim'][0]} {line['aim'][1]}" if line["aim"] else "", line["verdict"])


def print_table(title, lines):
    if not lines:
        return
    print(f"\n{title}")
    for texts in [[name for name, _ in COLUMNS], *[cells(line) for line in lines]]:
        print(" ".join(t.ljust(-w) if w < 0 else t.rjust(w) for t, (_, w) in zip(texts, COLUMNS)).rstrip())


def sockets(taken):
    """What the sockets of each kind of run had."""
    seen = {}
    for groups in taken.values():
        for rounds in groups.values():
            for one in rounds:
                for run, figures in one["figures"].items():
                    if "congestion" in figures:
                        seen.setdefault((figures["congestion"], figures.get("buffers")), set()).add(run.kind)
    return seen


def pinned(taken):
    """Kinds of runs of the pinned rounds whose ends were, and were not."""
    seen = {True: set(), False: set()}
    for rounds in taken["pinned"].values():
        for one in rounds:
            for run, figures in one["figures"].items():
                seen[figures.get("pinned", False)].add(f"{run.kind} {run.program}")
    return seen


def notes(taken, missing, noise, near_ns):
    lines = ["Ratio: the figure divided by what it is against (bare TCP; of CRC on/off ours without CRC; of memory",
             "and shared queues the smallest), of the medians; from-to: of each round. Of times less is better, of",
             "rates more. Says nothing, because: rounds: too few; others busy: most rounds noisy; scatters: from-to",
             "too wide. libfabric, UCX: their ratios. CRC is on unless a row says otherwise; bare TCP and the peers",
             f"have none. Cores: near is a cache line there and back in less than {near_ns} ns; unsteady changed",
             f"meanwhile. Noisy: rounds in which others used more than {noise:.0%} of the machine."]
    seen = sockets(taken)
    for (congestion, buffers), kinds in sorted(seen.items()):
        lines.append(f"Sockets with congestion control {congestion}, buffers {buffers} (auto: the kernel's tuning): "
                     f"{', '.join(sorted(kinds))}.")
    if len(seen) > 1:
        lines.append("WARNING: the sockets were not the same on all sides; do not compare.")
    ends = pinned(taken)
    if ends[True] or ends[False]:
        lines.append("First table, pinned, each end with all its threads to one processor: "
                     f"{', '.join(sorted(ends[True])) or 'none'}; not pinned: "
                     f"{', '.join(sorted(ends[False])) or 'none'}.")
    lines.append("Other tables: nothing pinned but ping-pong over many connections. Both ends free: "
                 f"{'measured' if any(taken['free'].values()) else 'not measured'}.")
    for reason in sorted(set(missing.values())):
        lines.append(f"No figure: {reason}")
    return lines


def complaint(lines):
    """What to say when the run says nothing; empty where it does. A row that one class of processors settles is one."""
    rows = {}
    for line in lines:
        if line["aim"]:
            rows.setdefault((line["group"], line["what"]), []).append(line["silent"])
    silent = [reasons for reasons in rows.values() if all(reasons)]
    if rows and len(silent) <= MOST_SILENT * len(rows):
        return ""
    reasons = sorted({reason.split(":")[0] for every in silent for reason in every})
    return (f"TOO NOISY: {len(silent)} of {len(rows)} rows with an aim say nothing ({', '.join(reasons)}). "
            "Nothing may be concluded from this run; stop what else runs on the machine and try again.")


# ---- for README.md ----

MARKDOWN = ("", "", "OpenNDK", "bare TCP", "ratio", "from-to", "libfabric", "UCX", "aim", "")


def with_unit(value, unit):
    return "-" if value is None else f"{number(value)} {unit}".strip()


def markdown_row(line):
    spread = "-" if line["ratio"] is None else f"{line['ratio_low']:.2f}-{line['ratio_high']:.2f}"
    aim = f"{line['aim'][0].replace('<=', '≤').replace('>=', '≥')} {line['aim'][1]:,}"
    return (line["group"], line["what"], with_unit(line["median"], line["unit"]), with_unit(line["against"], line["unit"]),
            number(line["ratio"]), spread, number(line["libfabric"]), number(line["ucx"]), aim, line["verdict"])


def markdown(machine, sections, command):
    """The rows with an aim, with date, machine and command."""
    out = [f"`{command}`, {machine['date']}, OpenNDK {machine['openndk']}, {machine['cpu']}"
           f"{' (virtual machine)' if machine['virtual'] else ''}, {machine['processors']} processors, "
           f"Linux {machine['kernel']}, {machine['congestion_control']}, libfabric {machine['libfabric']}, "
           f"UCX {machine['ucx']}; load {machine['load'][0]} before, {machine['load_after'][0]} after."]
    for title, lines in sections:
        for which in CLASSES:
            mine = [line for line in lines if line["aim"] and line["class"] == which]
            if mine:
                out += ["", f"{title}; cores: {which}.", "", "| " + " | ".join(MARKDOWN) + " |",
                        "|" + "---|" * len(MARKDOWN)]
                out += ["| " + " | ".join(markdown_row(line)) + " |" for line in mine]
    return "\n".join(out)


# ---- files ----

def name_of(run):
    return " ".join([run.program, *run.arguments, *(f"{k}={v}" for k, v in run.environment)])


def plot_points(plots, phases):
    """For each plot its series, with the median, lowest and highest figure of each point, near or else any rounds."""
    measured = {}
    for groups in phases:
        for rounds in groups.values():
            for one in rounds:
                for run, figures in one["figures"].items():
                    measured.setdefault(run, []).append((one["class"], figures))
    out = []
    for p in plots:
        series = []
        for name, kind, dashed, points in p.series:
            mine = []
            for x, run in points:
                every = measured.get(run, [])
                every = [(c, f[p.field]) for c, f in every if f.get(p.field)]
                values = [v for c, v in every if c == "near"] or [v for _, v in every]
                if values:
                    mine.append({"x": x, "y": statistics.median(values), "low": min(values), "high": max(values)})
            series.append({"name": name, "kind": kind, "dashed": dashed, "points": mine})
        out.append({"title": p.title, "x": p.x, "y": p.y, "series": series})
    return out


def write_json(path, machine, options, sections, taken, said, plots):
    rounds = {name: {group: [dict(one, figures={name_of(run): f for run, f in one["figures"].items()})
                             for one in of_group] for group, of_group in groups.items()}
              for name, groups in taken.items()}
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"machine": machine, "options": vars(options), "notes": said, "plots": plots,
                   "tables": [{"title": title, "rows": lines} for title, lines in sections], "rounds": rounds},
                  f, indent=1)


def write_html(path, machine, sections, said, plots):
    tables = [(title, [name for name, _ in COLUMNS], [cells(line) for line in lines]) for title, lines in sections
              if lines]
    with open(path, "w", encoding="utf-8") as f:
        f.write(plot.page(machine, tables, said, plots))
