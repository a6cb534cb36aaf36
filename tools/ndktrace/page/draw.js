/* SPDX-License-Identifier: MIT */
/*
 * Drawing: SVG elements for a range of rows. The same functions draw the screen, a printed page and an exported file.
 * A scene has: parent, lanes, rows, arrows, spans, zoom (pixels of a unit), offset (the unit at the top), height,
 * model, filter, selected, hits. All text is set with textContent.
 */

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";
const LABEL_ZOOM = 14; /* from this height of a row on each row has its text */
const COMPACT_ZOOM = 6; /* below, rows are drawn as ticks */
const STATE_CLASSES = {
    IDLE: "s-none", TCP_CONNECTING: "s-begin", REQUEST_SENT: "s-begin", REPLIED: "s-begin", COMPLETING: "s-begin",
    WAIT_REQUEST: "s-begin", REQUESTED: "s-begin", REPLYING: "s-begin", WAIT_RTR: "s-begin", ESTABLISHED: "s-up",
    DRAINING: "s-end", NOTICE_SENT: "s-end", PEER_CLOSED: "s-end", CLOSING: "s-end", LINGERING: "s-end",
    LAST_WORDS: "s-end", DEAD: "s-none", CLOSED: "s-none",
};

function svg(parent, name, attributes) {
    const element = document.createElementNS(SVG_NAMESPACE, name);
    for (const [key, value] of Object.entries(attributes))
        element.setAttribute(key, value);
    parent.append(element);
    return element;
}

/* ---- text that fits ---- */

const measure = { context: null, widths: new Map() };

function textWidth(text, size) {
    const key = size + text;
    let width = measure.widths.get(key);
    if (width !== undefined)
        return width;
    measure.context = measure.context || document.createElement("canvas").getContext("2d");
    measure.context.font = `${size}px system-ui, sans-serif`;
    width = measure.context.measureText(text).width * 1.02;
    if (measure.widths.size > 20000)
        measure.widths.clear();
    measure.widths.set(key, width);
    return width;
}

/* Cuts a text so that it fits into the width. */
function fitText(text, width, size) {
    if (textWidth(text, size) <= width)
        return text;
    let low = 0, high = text.length;
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (textWidth(text.slice(0, middle) + "\u2026", size) <= width)
            low = middle;
        else
            high = middle - 1;
    }
    return low > 1 ? text.slice(0, low) + "\u2026" : "";
}

/* Returns the lines of a text that is broken at spaces; the last one is cut. */
function wrapText(text, width, size, most) {
    const lines = [""];
    for (const word of text.split(" ")) {
        const last = lines[lines.length - 1], longer = last ? `${last} ${word}` : word;
        if (textWidth(longer, size) <= width || !last)
            lines[lines.length - 1] = longer;
        else
            lines.push(word);
    }
    return lines.length <= most ? lines : [...lines.slice(0, most - 1), fitText(lines.slice(most - 1).join(" "), width, size)];
}

/* ---- the scene ---- */

function yOf(scene, unit) {
    return (unit - scene.offset) * scene.zoom;
}

/* Where a row's arrow begins or ends. */
function lineY(scene, row) {
    return yOf(scene, scene.rows.top[row]) + Math.min(scene.zoom, 28) * 0.74;
}

/* The text of an arrow is above its line. */
function textY(scene, row) {
    if (scene.zoom < LABEL_ZOOM)
        return lineY(scene, row) - 3;
    return yOf(scene, scene.rows.top[row]) + Math.min(scene.zoom, 28) * 0.5 + 1;
}

function middleY(scene, row) {
    return yOf(scene, scene.rows.top[row]) + Math.min(scene.zoom, 28) / 2;
}

function classOf(event) {
    if (event.isWrong)
        return `k-${event.type.kind} bad`;
    return `k-${event.type.kind}` + (event.severity < 2 ? "" : event.isEffect ? " bad weak" : " bad");
}

/* Draws the rows from `first` to `last`, and what crosses them. */
function drawScene(scene, first, last) {
    const layers = {};
    for (const name of ["back", "lines", "bars", "ticks", "arrows", "texts", "over"])
        layers[name] = svg(scene.parent, "g", { class: name });
    scene.layers = layers;
    scene.taken = new Map();
    drawMarks(scene, first, last);
    drawLifelines(scene);
    if (!scene.rows.events.length)
        return;
    drawBreaks(scene, first, last);
    if (scene.zoom < COMPACT_ZOOM) {
        drawTicks(scene, first, last);
        return;
    }
    drawStateBars(scene, first, last);
    drawSpans(scene, first, last);
    for (const { event } of rangesIn(scene.arrows, first, last))
        drawArrow(scene, event);
    for (let row = first; row <= last; row++) {
        drawTime(scene, row);
        drawEvent(scene, scene.rows.events[row]);
    }
}

function drawMarks(scene, first, last) {
    for (let row = first; row <= last; row++) {
        const event = scene.rows.events[row];
        const layer = event === scene.selected ? "over" : "back";
        if (event.isWrong || event.isCause)
            svg(scene.layers.back, "rect", { x: 0, y: yOf(scene, scene.rows.top[row]), width: scene.lanes.width,
                height: Math.max(scene.rows.height[row] * scene.zoom, 2), class: event.isWrong ? "wrong" : "cause" });
        if (event === scene.selected || (scene.hits && scene.hits.has(event)))
            svg(scene.layers[layer], "rect", { x: 0, y: yOf(scene, scene.rows.top[row]), width: scene.lanes.width,
                height: Math.max(scene.rows.height[row] * scene.zoom, 2), class: layer === "over" ? "selected" : "hit" });
    }
}

function drawLifelines(scene) {
    for (const side of Object.values(scene.lanes.sides))
        for (const x of [side.program, side.provider])
            if (x !== null)
                svg(scene.layers.lines, "path", { d: `M${x} 0V${scene.height}`,
                    class: side.isTraced ? "lifeline" : "lifeline peer" });
}

/* Has this region room for a text at this height? */
function takeRoom(scene, region, y) {
    if (scene.zoom >= LABEL_ZOOM)
        return true;
    const before = scene.taken.get(region);
    if (before !== undefined && Math.abs(y - before) < 13)
        return false;
    scene.taken.set(region, y);
    return true;
}

function drawText(scene, x, y, text, attributes, width) {
    const shown = fitText(text, width, 12);
    if (shown)
        svg(scene.layers.texts, "text", { x, y, ...attributes }).textContent = shown;
}

/* The sign in front of the time of an event. */
function markOf(event) {
    return event.isWrong ? "\u25b6 " : event.isCause ? "\u25c6 " : event.isEarly ? "\u2264 " : "";
}

function drawTime(scene, row) {
    const event = scene.rows.events[row], y = textY(scene, row) + 3;
    if (takeRoom(scene, "time", y))
        drawText(scene, scene.lanes.time - 12, y, markOf(event) + formatSeconds(event.at),
            { class: event.isWrong ? "time bad" : event.isCause ? "time led" : "time" }, scene.lanes.time);
}

/* ---- breaks ---- */

/* What a break is for: the time limit, the stall or the call that goes on meanwhile. */
function breakReason(scene, gap) {
    const filter = scene.filter;
    for (const kind of ["limit", "stall", "blocked", "pending"])
        for (const { span } of rangesIn(scene.spans, gap.row - 1, gap.row)) {
            if (span.kind !== kind || span.from.at > gap.after.at || span.to.at < gap.before.at)
                continue;
            if (filter.connection || span.connection === gap.before.connection)
                return spanText(span);
        }
    return "";
}

function spanText(span) {
    if (span.kind === "limit")
        return `${clientOrServer(span.end)} waits in ${field(span.from, "state")}, ` +
            `limit ${formatMs(field(span.from, "ms"))}`;
    if (span.kind === "stall")
        return `the peer has begun a message, and must continue within ${formatMs(field(span.from, "ms"))}`;
    return span.kind === "blocked" ? "TCP has no room: the peer does not read" : `${span.from.type.name} is pending`;
}

function breakText(scene, gap) {
    const reason = breakReason(scene, gap);
    return `${formatDuration(gap.gap)} ${gap.hidden ? `with ${plural(gap.hidden, "hidden event")}` : "nothing"}` +
        (reason ? `: ${reason}` : "");
}

function drawBreaks(scene, first, last) {
    for (const gap of scene.rows.breaks) {
        if (gap.row < first || gap.row > last + 1)
            continue;
        const y = yOf(scene, gap.top), height = BREAK_UNITS * scene.zoom;
        svg(scene.layers.back, "rect", { x: scene.lanes.time, y: y + height * 0.14,
            width: scene.lanes.width - scene.lanes.time, height: height * 0.72, class: "break" });
        if (height < 16)
            continue;
        for (const side of Object.values(scene.lanes.sides))
            for (const x of [side.program, side.provider])
                if (x !== null)
                    drawZigzag(scene, x, y + height * 0.14, height * 0.72);
        const middle = (scene.lanes.time + scene.lanes.width) / 2;
        const text = fitText(breakText(scene, gap), scene.lanes.width - scene.lanes.time - 20, 12);
        svg(scene.layers.texts, "text", { x: middle, y: y + height / 2 + 4, class: "break-text" }).textContent = text;
    }
}

function drawZigzag(scene, x, y, height) {
    const step = height / 4;
    svg(scene.layers.lines, "path", { d: `M${x} ${y}v${height}`, class: "gap" });
    svg(scene.layers.lines, "path", { class: "zigzag",
        d: `M${x} ${y}l5 ${step / 2}l-10 ${step}l10 ${step}l-10 ${step}l5 ${step / 2}` });
}

/* ---- bars along the lines ---- */

/* The provider's line has the colour of its state, from each step of the connection to the next one. */
function drawStateBars(scene, first, last) {
    const connection = scene.filter.connection;
    for (const end of connection ? endsOf(connection) : []) {
        const side = sideOf(scene.lanes, end.events[0]), final = end.events[end.events.length - 1];
        const steps = end.hasBegin ? [end.events[0], ...end.states] : end.states;
        steps.forEach((event, i) => {
            const name = event.type.name === "state" ? STATE_CLASSES[field(event, "to")] : "s-begin";
            const from = rowNear(scene.rows, event), to = rowNear(scene.rows, steps[i + 1] || final);
            if (to < first || from > last || !name || name === "s-none")
                return;
            const y = Math.max(middleY(scene, from), -10), bottom = Math.min(middleY(scene, to), scene.height + 10);
            svg(scene.layers.bars, "rect", { x: side.provider - 3, y, width: 6, height: Math.max(bottom - y, 1),
                class: `state-bar ${name}` });
        });
        if (isOpen(end))
            drawTraceEnd(scene, side, end.last || final, first, last);
    }
}

/* Marks the last event of an end whose trace ends before the connection does. */
function drawTraceEnd(scene, side, event, first, last) {
    const row = rowNear(scene.rows, event), isWrong = event.isLast ? " bad" : "";
    if (row < first || row > last)
        return;
    const y = yOf(scene, scene.rows.top[row] + scene.rows.height[row]) + 2;
    svg(scene.layers.texts, "path", { d: `M${side.provider - 6} ${y}l12 12m0 -12l-12 12`, class: `trace-end${isWrong}` });
    drawText(scene, side.provider + side.out * 12, y + 10, `${event.isLast ? "\u25b6 " : ""}the trace ends here`,
        { class: `note${isWrong || " quiet"} ${side.name}` }, noteRoom(scene, side));
}

function drawSpans(scene, first, last) {
    const slots = [];
    for (const { first: from, last: to, span } of rangesIn(scene.spans, first, last)) {
        const side = sideOf(scene.lanes, span.from), y = middleY(scene, from), bottom = middleY(scene, to);
        const isWait = span.kind === "limit" || span.kind === "stall" || span.kind === "blocked";
        if (isWait) {
            drawBracket(scene, side, span, y, bottom);
            continue;
        }
        if (side.program === null)
            continue;
        let slot = slots.findIndex((row) => row < from);
        slot = slot < 0 ? slots.length : slot;
        slots[slot] = to;
        const x = span.kind === "pending" ? side.program - side.out * (7 + 5 * Math.min(slot, 4)) : side.program;
        const top = Math.max(y, -10), height = Math.max(Math.min(bottom, scene.height + 10) - top, 0);
        svg(scene.layers.bars, "rect", { x: x - (span.kind === "pending" ? 1.5 : 4), y: top, height,
            width: span.kind === "pending" ? 3 : 8,
            class: `span-${span.kind}` });
    }
}

/* A wait is a bracket outside of the provider's line, red if its limit has passed. */
function drawBracket(scene, side, span, y, bottom) {
    const x = side.provider + side.out * 9, top = Math.max(y, -10), end = Math.min(bottom, scene.height + 10);
    const isBad = span.to.severity === 2 && span.to.type.name.endsWith("_expired");
    svg(scene.layers.bars, "path", { class: isBad ? "bracket bad" : "bracket",
        d: `M${x - side.out * 4} ${top}h${side.out * 4}V${end}h${-side.out * 4}` });
}
