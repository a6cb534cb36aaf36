/* SPDX-License-Identifier: MIT */
/* Links the two events of a frame: where it was sent, and where it was received. */

function joinFrames(one, other) {
    const [sent, received] = isSent(one) ? [one, other] : [other, one];
    sent.partner = received;
    received.partner = sent;
}

/* A sent frame behind the last one that was received never arrived, or was not read any more. */
function markLost(end) {
    const sent = end.events.filter((e) => e.type.kind !== "object" && isFrame(e) && isSent(e));
    for (let i = sent.length - 1; i >= 0 && !sent[i].partner; i--)
        sent[i].isLost = true;
}

/*
 * The clocks of two files may differ a little, so a frame may seem to arrive before it was sent. It is drawn at the time
 * of its arrival then, but not before the previous event of its thread.
 */
function correctSendTimes(model) {
    const last = new Map();
    for (const event of model.events) {
        const thread = event.file + ":" + event.thread, before = last.get(thread);
        if (event.partner && isSent(event) && event.partner.time < event.time) {
            event.at = Math.max(event.partner.time - 1, before === undefined ? -Infinity : before);
            event.isEarly = true;
        }
        last.set(thread, event.at);
    }
}

/* A client's first states are recorded after the frames that begin them. They are drawn directly after these. */
function correctStateTimes(model) {
    for (const end of model.ends.filter((e) => e.role === "initiated" && e.hasBegin)) {
        const causes = { TCP_CONNECTING: end.events[0], REQUEST_SENT: end.events.find((e) => e.type.name === "mpa_sent") };
        for (const state of end.states) {
            const name = field(state, "to"), cause = Object.hasOwn(causes, name) ? causes[name] : null;
            if (!cause || state.at <= cause.at)
                continue;
            state.at = cause.at;
            state.isMoved = true;
        }
    }
}

function linkFrames(model) {
    const pairs = model.data.partners;
    for (let i = 0; i + 1 < pairs.length; i += 2) {
        const one = model.events[pairs[i]], other = model.events[pairs[i + 1]];
        if (one && other && isFrame(one) && isFrame(other) && isSent(one) !== isSent(other))
            joinFrames(one, other);
    }
    for (const { initiator, acceptor } of model.connections)
        if (initiator && acceptor) {
            if (initiator.hasBegin && acceptor.hasBegin && initiator.events[0].type.name === "connection" &&
                acceptor.events[0].type.name === "connection")
                joinFrames(initiator.events[0], acceptor.events[0]);
            markLost(initiator);
            markLost(acceptor);
        }
    correctSendTimes(model);
}
