/* SPDX-License-Identifier: MIT */
/* Draws one event: an arrow, a pill, a banner or a note (draw.js). */

function drawEvent(scene, event) {
    const side = sideOf(scene.lanes, event), kind = event.type.kind, name = event.type.name;
    if (isFrame(event)) {
        if (!event.partner || event.partner.row < 0)
            drawLoneFrame(scene, event, side);
        else if (event.isWrong && !isSent(event) && scene.zoom >= LABEL_ZOOM) /* its text is in the sender's row */
            drawText(scene, side.provider + side.out * 13, middleY(scene, event.row) + 4, labelOf(event),
                { class: `note ${side.name} ${classOf(event)}` }, noteRoom(scene, side));
    } else if (name === "state") {
        drawState(scene, event, side);
    } else if (name === "outcome") {
        drawOutcome(scene, event, side);
    } else if ((kind === "call" || kind === "callback") && side.program !== null) {
        drawCall(scene, event, side);
    } else {
        drawNote(scene, event, side, labelOf(event));
    }
    drawCauseNote(scene, event, side);
}

/* The sentence about an event that led to a failure, on the other half of its row. */
function drawCauseNote(scene, event, side) {
    const other = otherSide(scene.lanes, side);
    if (event.isCause && event.causeNote && scene.zoom >= LABEL_ZOOM)
        drawText(scene, (side.provider + other.provider) / 2, textY(scene, event.row) + 3, `\u25c6 ${event.causeNote}`,
            { class: "cause-note" }, Math.abs(other.provider - side.provider) - 24);
}

/* The words in front of a label, if the events of several connections are shown. */
function numberOf(scene, event) {
    return scene.filter.connection || !event.number ? "" : `[${event.connection ? event.connection.index + 1 : "?"}] `;
}

/* ---- frames ---- */

/* Draws an arrow's line and its head. */
function drawLine(scene, x1, y1, x2, y2, className, data) {
    const length = Math.hypot(x2 - x1, y2 - y1) || 1, dx = (x2 - x1) / length, dy = (y2 - y1) / length;
    const size = scene.zoom >= LABEL_ZOOM ? 8 : 5, bx = x2 - dx * size, by = y2 - dy * size, half = size * 0.45;
    svg(scene.layers.arrows, "path", { d: `M${x1} ${y1}L${round(bx)} ${round(by)}`, class: `arrow ${className}`,
        ...data });
    svg(scene.layers.arrows, "path", { class: `arrow-head ${className}`,
        d: `M${round(x2)} ${round(y2)}L${round(bx - dy * half)} ${round(by + dx * half)}` +
           `L${round(bx + dy * half)} ${round(by - dx * half)}z` });
}

function round(value) {
    return Math.round(value * 10) / 10;
}

/* The text of an arrow begins beside its sender. */
function drawArrowText(scene, from, row, text, className, width) {
    const y = textY(scene, row);
    if (takeRoom(scene, "middle" + from.name, y))
        drawText(scene, from.provider - from.out * 12, y, text, { class: `label ${from.name} ${className}` }, width);
}

/* A frame with both its events: from the row where it was sent to the row where it was received. */
function drawArrow(scene, event) {
    const from = sideOf(scene.lanes, event), to = otherSide(scene.lanes, from);
    const className = classOf(event.partner.isWrong ? event.partner : event);
    drawLine(scene, from.provider, lineY(scene, event.row), to.provider, lineY(scene, event.partner.row), className,
        { "data-event": event.index });
    drawArrowText(scene, from, event.row, numberOf(scene, event) + labelOf(event), className,
        Math.abs(to.provider - from.provider) - 24);
}

/*
 * Returns why the other end has no event of a sent frame, as far as the traces show it. An end processes no frame after
 * its connection has failed.
 */
function missingNote(event) {
    const other = event.end && event.connection ? endsOf(event.connection).find((end) => end !== event.end) : null;
    if (!other) {
        const isSilent = event.end && event.end.outcome && field(event.end.outcome, "why") === "connect-timeout";
        return isSilent ? " (no answer)" : " (not in the other trace)";
    }
    return event.isLost && finalOutcome(other) && other.outcome.severity === 2 ?
        " (not processed)" : " (not received)";
}

/* A frame with one event: to or from the line of a peer without trace, otherwise a short arrow. */
function drawLoneFrame(scene, event, side) {
    const other = otherSide(scene.lanes, side), isOut = isSent(event), y = lineY(scene, event.row);
    const isWhole = !other.isTraced || (event.partner && event.partner.row < 0);
    const far = isWhole ? other.provider : side.provider - side.out * Math.abs(other.provider - side.provider) * 0.55;
    const [x1, x2] = isOut ? [side.provider, far] : [far, side.provider];
    const isLost = !isWhole && isOut;
    drawLine(scene, x1, y, x2, y, classOf(event) + (isWhole ? "" : " lone"), { "data-event": event.index });
    const note = isWhole ? "" : isOut ? missingNote(event) : " (sending not recorded)";
    if (isLost)
        svg(scene.layers.arrows, "path", { class: "cross",
            d: `M${far - side.out * 8 - 4} ${y - 4}l8 8m0 -8l-8 8` });
    if (isOut || isWhole) {
        drawArrowText(scene, isOut ? side : other, event.row, numberOf(scene, event) + labelOf(event) + note,
            classOf(event), Math.abs(other.provider - side.provider) - 24);
        return;
    }
    const text = numberOf(scene, event) + labelOf(event) + note;
    drawText(scene, side.provider - side.out * 12, textY(scene, event.row), text,
        { class: `label ${side.name} ${classOf(event)}` }, Math.abs(other.provider - side.provider) - 24);
}

/* ---- states and outcomes ---- */

/* The width between the provider's line and what is outside of it. */
function noteRoom(scene, side) {
    const outer = side.program === null ? side.edge : side.program + side.out * -8;
    return Math.abs(outer - side.provider) - 16;
}

function drawState(scene, event, side) {
    const y = middleY(scene, event.row), text = field(event, "to"), height = Math.min(17, scene.zoom - 5);
    if (scene.zoom < LABEL_ZOOM) {
        svg(scene.layers.bars, "rect", { x: side.provider - 7, y: y - 2, width: 14, height: 4,
            class: `pill ${STATE_CLASSES[text] || "s-none"}` });
        if (takeRoom(scene, "note" + side.name, y))
            drawText(scene, side.provider + side.out * 12, y + 4, labelOf(event), { class: `note ${side.name}` },
                noteRoom(scene, side));
        return;
    }
    const label = numberOf(scene, event) + text, width = textWidth(label, 12) + 14;
    svg(scene.layers.texts, "rect", { x: round(side.provider - width / 2), y: round(y - height / 2),
        width: round(width), height, rx: height / 2, class: `pill ${STATE_CLASSES[text] || "s-none"}`,
        "data-event": event.index });
    svg(scene.layers.texts, "text", { x: side.provider, y: y + 4, class: "pill-text" }).textContent = label;
    drawPacket(scene, event, side, round(width / 2) + 2);
    drawText(scene, side.provider + side.out * (width / 2 + 8), y + 4, stateNote(event),
        { class: `note quiet ${side.name}` }, noteRoom(scene, side) - width / 2);
}

/* TCP packets that end a connection. The peer records no event for them. */
const PACKETS = { refused: "TCP refuses (reset)", "peer-reset": "TCP reset" };

/* Draws the packet that led to the state, from the peer to `gap` pixels before the line. */
function drawPacket(scene, event, side, gap) {
    const text = field(event, "event") === "lost" ? PACKETS[field(event, "why")] : undefined;
    const other = otherSide(scene.lanes, side), y = middleY(scene, event.row), distance = other.provider - side.provider;
    if (!text || !scene.filter.connection)
        return;
    const far = other.isTraced ? side.provider + distance * 0.55 : other.provider;
    const className = `k-state dashed${event.isEffect ? "" : " bad"}`;
    drawLine(scene, far, y, side.provider + Math.sign(distance) * gap, y, className, {});
    drawText(scene, far - Math.sign(distance) * 12, y - 5, text, { class: `label ${other.name} ${className}` },
        Math.abs(far - side.provider) - gap - 12);
}

function drawOutcome(scene, event, side) {
    const y = middleY(scene, event.row), isEffect = isConsequence(event);
    const label = numberOf(scene, event) + (isEffect ? `consequence: ${reasonOf(event)}` : labelOf(event));
    const good = field(event, "outcome") === "established" ? "good" : isEffect ? "effect" :
        event.severity === 2 ? "bad" : "ended";
    if (scene.zoom < LABEL_ZOOM) {
        if (takeRoom(scene, "note" + side.name, y))
            drawNote(scene, event, side, label);
        return;
    }
    if (rowUnits(event, scene.model.data) > 1) {
        drawBanner(scene, event, side, bannerTexts(event, label, scene.model.data));
        return;
    }
    const height = Math.min(scene.zoom - 2, 22), width = Math.min(textWidth(label, 12) * 1.08 + 28,
        2 * noteRoom(scene, side));
    const x = Math.min(Math.max(side.provider - width / 2, scene.lanes.time), scene.lanes.width - width - 2);
    svg(scene.layers.texts, "rect", { x: round(x), y: round(y - height / 2), width: round(width), height, rx: 3,
        class: `outcome ${good}`, "data-event": event.index });
    svg(scene.layers.texts, "text", { x: round(x + width / 2), y: y + 4, class: `outcome-text ${good}` })
        .textContent = fitText(label, width - 12, 12);
}

/* Returns the title, the text and the code of a failure's box: those of the diagnosis, otherwise of the reason. */
function bannerTexts(event, label, data) {
    if (isDiagnosed(event)) {
        const { headline, change, reason } = event.connection.diagnosis;
        return { title: headline, text: change ? `To change: ${change}` : reason[0] || "", code: reasonOf(event) };
    }
    return { title: label, text: adviceOf(event, data).join(" "), code: "" };
}

/* A failure: what happened, and what to do. */
function drawBanner(scene, event, side, { title, text, code }) {
    const top = yOf(scene, scene.rows.top[event.row]) + 2, unit = Math.min(scene.zoom, 28);
    const other = otherSide(scene.lanes, side), inner = side.provider - side.out *
        Math.abs(other.provider - side.provider) * (scene.lanes.isSingle ? 0.92 : 0.75);
    const left = Math.min(side.edge, inner), width = Math.abs(inner - side.edge);
    svg(scene.layers.texts, "rect", { x: left, y: top, width, height: unit * BANNER_UNITS - 4, rx: 4,
        class: "outcome bad", "data-event": event.index });
    svg(scene.layers.texts, "path", { d: `M${side.provider - 6} ${top}h12l-6 -7z`, class: "outcome-mark" });
    const titles = wrapText(`\u2715 ${title}`, (width - 30) / 1.12, 13, 2);
    titles.forEach((line, i) => {
        svg(scene.layers.texts, "text", { x: left + 10, y: top + unit * 0.72 + 15 * i, class: "banner-title" })
            .textContent = line;
    });
    if (code)
        svg(scene.layers.texts, "text", { x: left + width - 8, y: top + unit * BANNER_UNITS - 9, class: "banner-code" })
            .textContent = code;
    const most = (unit < 20 ? 4 : 6) - titles.length;
    const below = top + unit * 0.72 + 15 * titles.length;
    wrapText(text, width - 20 - (code ? textWidth(code, 11) : 0), 11, most).forEach((line, i) => {
        svg(scene.layers.texts, "text", { x: left + 10, y: below + 14 * i, class: "banner-text" })
            .textContent = line;
    });
}

/* ---- calls and notes ---- */

/* A call goes from the program to the provider. A return, a completion and a callback go to the program. */
function drawCall(scene, event, side) {
    const y = lineY(scene, event.row), isDown = event.call && isCallback(event.call); /* a return of a callback */
    const isToProgram = event.type.isReturn ? !isDown : event.type.kind === "callback";
    const [x1, x2] = isToProgram ? [side.provider, side.program] : [side.program, side.provider];
    const className = classOf(event) + (event.type.isReturn ? " dashed" : "");
    drawLine(scene, x1 + Math.sign(x2 - x1) * 4, y, x2 - Math.sign(x2 - x1) * 4, y, className,
        { "data-event": event.index });
    const top = textY(scene, event.row), label = numberOf(scene, event) + labelOf(event), width = Math.abs(x2 - x1) + 6;
    if (takeRoom(scene, "calls" + side.name, top))
        drawText(scene, (x1 + x2) / 2, top, label + durationLabel(event, label, width),
            { class: `label middle ${classOf(event)}` }, width);
}

function drawNote(scene, event, side, text) {
    const y = middleY(scene, event.row);
    svg(scene.layers.bars, "circle", { cx: side.provider, cy: y, r: Math.min(4, scene.zoom / 4),
        class: `dot ${classOf(event)}`, "data-event": event.index });
    if (takeRoom(scene, "note" + side.name, y))
        drawText(scene, side.provider + side.out * 13, y + 4, numberOf(scene, event) + text,
            { class: `note ${side.name} ${classOf(event)}` }, noteRoom(scene, side));
}
