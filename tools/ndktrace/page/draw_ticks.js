/* SPDX-License-Identifier: MIT */
/*
 * Draws rows that are too low for text: one mark for all rows in TICK_HEIGHT pixels. A frame is a bar that begins at its
 * sender; the more frames, the longer. Calls fill the space between program and provider, other events are short.
 */

const TICK_HEIGHT = 2;

/* A mark's number: its kind, its side, and its place. */
function tickKey(event, side, y) {
    const kind = event.severity === 2 ? KINDS.length : TICK_KINDS.get(event.type.kind);
    return (y + 1000) * 64 + kind * 4 + (side.out > 0 ? 2 : 0);
}

const TICK_KINDS = new Map(KINDS.map((kind, i) => [kind.id, i]));

function drawTicks(scene, first, last) {
    const marks = new Map(), frames = new Map();
    for (let row = first; row <= last; row++) {
        const event = scene.rows.events[row], side = sideOf(scene.lanes, event);
        const y = Math.floor(yOf(scene, scene.rows.top[row]) / TICK_HEIGHT) * TICK_HEIGHT;
        const kind = event.severity === 2 ? "bad" : event.type.kind;
        if (isFrame(event))
            countFrame(frames, scene, event, y);
        else if (!marks.has(tickKey(event, side, y)))
            marks.set(tickKey(event, side, y), { kind, d: tickPath(event, side, y) });
        if (event.type.name === "outcome" || (event.severity === 2 && ["end", "wait"].includes(event.type.kind)))
            drawTickText(scene, event, side, Math.max(y, 8));
        if (row % 8 === 0)
            drawTickTime(scene, event, Math.max(y, 8));
    }
    const paths = new Map();
    for (const { kind, d } of [...marks.values(), ...frameBars(scene, frames)])
        paths.set(kind, (paths.get(kind) || "") + d);
    for (const [kind, d] of paths)
        svg(scene.layers.ticks, "path", { d, class: `tick t-${kind}` });
}

/* Counts the sent frames of each side. A received one counts only if the sender has no trace. */
function countFrame(frames, scene, event, y) {
    const side = sideOf(scene.lanes, event), isOut = isSent(event), from = isOut ? side : otherSide(scene.lanes, side);
    if (!isOut && event.partner)
        return;
    const key = tickKey(event, from, y), found = frames.get(key);
    if (found)
        found.n++;
    else
        frames.set(key, { kind: event.severity === 2 ? "bad" : event.type.kind, from, y, n: 1 });
}

function frameBars(scene, frames) {
    let most = 4;
    for (const { n } of frames.values())
        most = Math.max(most, n);
    const half = Math.abs(scene.lanes.sides.right.provider - scene.lanes.sides.left.provider) / 2 - 4;
    return [...frames.values()].map(({ kind, from, y, n }) => {
        const length = Math.round(Math.max(12, half * n / most));
        return { kind, d: `M${from.provider} ${y + 1}h${-from.out * length}` };
    });
}

function tickPath(event, side, y) {
    if ((event.type.kind === "call" || event.type.kind === "callback") && side.program !== null)
        return `M${side.program} ${y + 1}H${side.provider}`;
    return `M${side.provider} ${y + 1}h${side.out * 9}`;
}

function drawTickText(scene, event, side, y) {
    if (takeRoom(scene, side.name, y + 4))
        drawText(scene, side.provider + side.out * 14, y + 4, numberOf(scene, event) + labelOf(event),
            { class: `note ${side.name} ${classOf(event)}` }, noteRoom(scene, side));
}

function drawTickTime(scene, event, y) {
    const before = scene.taken.get("time");
    if (before !== undefined && y - before < 32)
        return;
    scene.taken.set("time", y);
    drawText(scene, scene.lanes.time - 12, y + 4, formatSeconds(event.at), { class: "time" }, scene.lanes.time);
}
