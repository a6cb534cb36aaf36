/* SPDX-License-Identifier: MIT */
/*
 * Lanes: the vertical lines of the diagram. The initiator is on the left, the responder on the right. Each has a line
 * for its provider and, if the file has calls, one for its program. A side without a trace is the line of the peer.
 */

const TIME_WIDTH = 96;
const HEAD_HEIGHT = 44;
/* Where the lines are, as a part of the width behind the times: [program, provider] left, [provider, program] right. */
const PLACES = {
    both: [[0.06, 0.31], [0.69, 0.94]],
    bothPlain: [[null, 0.26], [0.74, null]],
    left: [[0.1, 0.42], [0.9, null]],
    leftPlain: [[null, 0.34], [0.9, null]],
    right: [[null, 0.1], [0.58, 0.9]],
    rightPlain: [[null, 0.1], [0.66, null]],
};

/* Returns which side the events of a file without a connection are drawn on. */
function sideOfFile(model, connection, file) {
    const ends = connection ? endsOf(connection) : model.ends;
    const own = ends.filter((end) => end.file === file);
    if (!own.length && connection && ends.length === 1)
        return ends[0].role === "accepted" ? "left" : "right";
    return own.filter((end) => end.role === "accepted").length * 2 > own.length ? "right" : "left";
}

function hasCalls(model, file) {
    if (!model.filesWithCalls)
        model.filesWithCalls = new Set(model.events.filter((e) => e.type.kind === "call" || e.type.kind === "callback")
            .map((e) => e.file));
    return model.filesWithCalls.has(file);
}

/* Returns the files that a side has events of. */
function filesOfSide(model, connection, role, side) {
    const ends = (connection ? endsOf(connection) : model.ends).filter((end) => end.role === role);
    const files = new Set(ends.map((end) => end.file));
    model.files.forEach((_, file) => {
        if (!model.ends.some((end) => end.file === file) && sideOfFile(model, connection, file) === side)
            files.add(file);
    });
    return files;
}

function sideTitle(model, connection, files, role) {
    if (!files.size) {
        const end = connection && endsOf(connection)[0];
        return end ? `peer ${end.remote}` : "peers";
    }
    return files.size === 1 ? fileTitle(model.files[[...files][0]]) : `${files.size} ${role}s`;
}

function makeLanes(model, connection, width) {
    const left = filesOfSide(model, connection, "initiated", "left");
    const right = filesOfSide(model, connection, "accepted", "right");
    const calls = [...left, ...right].some((file) => hasCalls(model, file));
    const shape = left.size && right.size ? "both" : right.size ? "right" : "left";
    const [[p1, v1], [v2, p2]] = PLACES[calls ? shape : shape + "Plain"];
    const x = (part) => part === null ? null : Math.round(TIME_WIDTH + part * (width - TIME_WIDTH));
    const lanes = { width, time: TIME_WIDTH, isSingle: shape !== "both", sides: {
        left: { name: "left", program: x(p1), provider: x(v1), out: -1, edge: TIME_WIDTH + 4, isTraced: left.size > 0,
                title: sideTitle(model, connection, left, "client"), role: "client" },
        right: { name: "right", program: x(p2), provider: x(v2), out: 1, edge: width - 4, isTraced: right.size > 0,
                 title: sideTitle(model, connection, right, "server"), role: "server" } },
        fileSides: model.files.map((_, file) => sideOfFile(model, connection, file)),
        hasBoth: model.files.map((_, file) => left.has(file) && right.has(file)) };
    return lanes;
}

/* Returns the side that the event is drawn on. */
function sideOf(lanes, event) {
    const role = event.end ? event.end.role : lanes.hasBoth[event.file] ? event.role : null;
    return lanes.sides[role ? (role === "accepted" ? "right" : "left") : lanes.fileSides[event.file]];
}

function otherSide(lanes, side) {
    return side === lanes.sides.left ? lanes.sides.right : lanes.sides.left;
}

/* Draws the names of the lines. */
function drawHead(parent, lanes, data) {
    for (const side of [lanes.sides.left, lanes.sides.right]) {
        const middle = side.program === null ? side.provider : (side.program + side.provider) / 2;
        const room = 2 * Math.min(middle - lanes.time + 60, lanes.width - middle, 220);
        const title = svg(parent, "text", { x: clampX(lanes, middle, side.title, 13), y: 16, class: "head" });
        title.textContent = fitText(side.title, room, 13);
        drawLaneName(parent, lanes, side.provider, side.isTraced ? `${side.role} NDK provider` :
            `${side.role}, not traced`);
        if (side.program !== null)
            drawLaneName(parent, lanes, side.program, `${side.role} program`);
    }
    svg(parent, "text", { x: lanes.time - 12, y: 32, class: "time-name" }).textContent = "seconds";
    return data;
}

/* Keeps a centred text inside the drawing. */
function clampX(lanes, x, text, size) {
    const half = textWidth(text, size) / 2;
    return Math.min(Math.max(x, lanes.time - 60 + half), lanes.width - half - 2);
}

function drawLaneName(parent, lanes, x, name) {
    svg(parent, "text", { x: clampX(lanes, x, name, 12), y: 32, class: "lane-name" }).textContent = name;
    svg(parent, "path", { d: `M${x - 5} 37h10l-5 6z`, class: "lane-mark" });
}
