/* SPDX-License-Identifier: MIT */
/* Words: times, labels of events, and sentences about events, connections and files. */

const NONE = "\u2013";
const ARROW = "\u2192";

function byId(id) {
    return document.getElementById(id);
}

/* ---- numbers ---- */

function formatDuration(ns) {
    const n = Math.abs(ns), sign = ns < 0 ? "\u2212" : "";
    if (n < 1000)
        return `${sign}${Math.round(n)} ns`;
    for (const [unit, size] of [["\u00b5s", 1e3], ["ms", 1e6]])
        if (n < 999.5 * size)
            return `${sign}${(n / size).toPrecision(3)} ${unit}`;
    return `${sign}${(n / 1e9).toFixed(3)} s`;
}

function formatSeconds(ns) {
    return (ns / 1e9).toFixed(6);
}

function formatMs(ms) {
    return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(3).replace(/\.?0+$/, "")} s`;
}

function formatSize(bytes) {
    if (bytes < 1024)
        return `${bytes} B`;
    for (const [unit, size] of [["KiB", 1024], ["MiB", 1048576]])
        if (bytes < 1024 * size)
            return `${(bytes / size).toFixed(1).replace(/\.0$/, "")} ${unit}`;
    return `${(bytes / 1073741824).toFixed(1)} GiB`;
}

function plural(n, noun) {
    return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

/* ---- labels: a few words for the row of an event ---- */

function mpaLabel(e) {
    const f = (name) => field(e, name), size = f("data_size");
    if (f("frame") === "invalid")
        return `no MPA frame: ${bytesAsText(f("bytes"), 24)}`;
    const limits = f("revision") > 1 ? `, reads in ${f("ird")}, out ${f("ord")}` : "";
    return `MPA ${f("frame")}: revision ${f("revision")}` + (size ? `, ${size} B private data` : "") + limits;
}

function taggedLabel(e) {
    const size = formatSize(field(e, "payload"));
    return `${String(field(e, "opcode")).replace("-", " ")} ${size} to ${field(e, "stag")}`;
}

function untaggedLabel(e) {
    const f = (name) => field(e, name), crc = f("crc") === "bad" ? ", bad checksum" : "";
    if (f("opcode") === "terminate") {
        const own = (e.attached || []).find((a) => a.type.name === "terminate");
        return "Terminate" + (own ? `: ${field(own, "name")}` : "") + crc;
    }
    if (f("opcode") === "read-request")
        return `read request #${f("msn")}${crc}`;
    return `${f("opcode")} #${f("msn")}, ${formatSize(f("payload"))}` + (f("offset") ? ` at ${f("offset")}` : "") + crc;
}

function outcomeLabel(e) {
    const outcome = field(e, "outcome"), why = reasonOf(e);
    if (outcome === "established")
        return "established";
    return `${outcome === undefined ? "ended" : outcome}: ${why}`;
}

/* Returns the reason with the Terminate, for example peer-terminate/ddp-tagged-bounds. */
function reasonOf(e) {
    const terminate = field(e, "terminate"), why = String(field(e, "why") ?? NONE);
    return typeof terminate === "string" && terminate !== "none" ? `${why}/${terminate}` : why;
}

function callLabel(e) {
    const own = e.attached && e.returned ? field(e.returned, "status") : undefined, status = field(e, "status") ?? own;
    const size = field(e, "bytes"), address = field(e, "remote") ?? field(e, "local") ?? field(e, "name");
    const inside = address ?? (typeof size === "number" ? formatSize(size) : "");
    const result = shortStatus(status ?? "");
    return e.type.name + (inside === "" ? "" : `(${inside})`) + (result === "SUCCESS" ? " \u2713" :
        result ? ` = ${result}` : "");
}

function completionLabel(e) {
    return `${field(e, "routine")}: ${shortStatus(field(e, "status"))}`;
}

/* How long the call took that has completed, if there is room for it behind the label. */
function durationLabel(e, label, width) {
    const text = e.call && isCallback(e) ? ` after ${formatDuration(e.time - e.call.time)}` : "";
    return textWidth(label + text, 12) <= width ? text : "";
}

function shortStatus(status) {
    return String(status).replace(/^STATUS_/, "");
}

const LABELS = {
    adapter: (e) => `adapter ${field(e, "name")} opened`,
    adapter_close: () => "adapter closes",
    listening: (e) => `listening on ${field(e, "local")}` + whyNot(e),
    refused: (e) => `peer ${field(e, "remote")} refused: ${field(e, "why")}`,
    connection: (e) => isSent(e) ? `TCP connect to ${field(e, "remote")}` : `TCP connect from ${field(e, "remote")}`,
    ongoing: (e) => `connection ${isSent(e) ? "to" : "from"} ${field(e, "remote")}, ${field(e, "state")} already`,
    connector: () => "connector for the program",
    state: (e) => String(field(e, "to")),
    outcome: outcomeLabel,
    mpa_sent: mpaLabel,
    mpa_received: mpaLabel,
    stream: (e) => `agreed: reads in ${field(e, "ird")}, out ${field(e, "ord")}` + (field(e, "crc") ? "" : ", no CRC"),
    terminate: (e) => `Terminate ${field(e, "direction")}: ${field(e, "name")}`,
    limit: (e) => `${field(e, "state")}, limit ${formatMs(field(e, "ms"))}`,
    limit_expired: (e) => `limit passed: ${field(e, "why")}`,
    stall_limit: (e) => `unfinished input, limit ${formatMs(field(e, "ms"))}`,
    stall_expired: (e) => `the peer did not continue: ${field(e, "why")}`,
    nudge: (e) => `empty write to a silent peer, ${field(e, "nudges_left")} left`,
    blocked: (e) => `TCP took ${formatSize(field(e, "sent"))} of ${formatSize(field(e, "wanted"))}`,
    unblocked: () => "TCP has room again",
    tagged: taggedLabel,
    untagged: untaggedLabel,
    no_segment: (e) => field(e, "length") ? `invalid frame, ${formatSize(field(e, "length"))}` :
        "ready-to-receive (empty FPDU)",
    returned: (e) => `${field(e, "routine")} returns ${shortStatus(field(e, "status"))}`,
    kernel_returned: (e) => `${field(e, "routine")} returns ${shortStatus(field(e, "status"))}`,
    kernel_done: (e) => `${field(e, "routine")} returns`,
    completed: completionLabel,
    cq_notification: () => "completion queue has results",
    srq_notification: () => "shared receive queue runs low",
    connect_event: () => "connect event: a peer asks",
    disconnect_event: () => "disconnect event",
    wsk_completed: completionLabel,
    irp_ended: (e) => `IRP ended: ${shortStatus(field(e, "status"))}`,
    completion_routine: () => "completion routine",
    callback_returned: () => "callback returns",
    result: (e) => `result: ${field(e, "operation") || "request"} ${shortStatus(field(e, "status"))}`,
};

function whyNot(e) {
    const why = field(e, "why");
    return why === undefined || why === "ok" ? "" : ` failed: ${why}`;
}

function labelOf(e) {
    if (Object.hasOwn(LABELS, e.type.name))
        return LABELS[e.type.name](e);
    return /^[A-Z]/.test(e.type.name) ? callLabel(e) : fieldsText(e, e.type.name);
}

/* The words beside the pill of a state: why the connection is in it, and its time limit. */
function stateNote(e) {
    const limit = (e.attached || []).find((a) => a.type.name === "limit"), why = field(e, "why");
    const cause = String(field(e, "event"));
    return (cause === "lost" ? "ended" : cause) + (why !== undefined && why !== "ok" ? ` (${why})` : "") +
        (limit ? `, limit ${formatMs(field(limit, "ms"))}` : "");
}

/* ---- text of an event ---- */

function fieldsText(e, first) {
    const words = e.type.fields.slice(0, e.values.length).map((f, i) => `${f.name}=${e.values[i]}`);
    return [first, ...words].join(" ");
}

/* Everything that a search finds. */
function searchText(e) {
    if (e.text === undefined)
        e.text = `${fieldsText(e, e.type.name)} ${labelOf(e)} thread=${e.thread}`.toLowerCase();
    return e.text;
}

function bytesAsText(hex, most) {
    let text = "";
    for (let i = 0; i + 1 < String(hex ?? "").length && text.length < most; i += 2) {
        const code = parseInt(hex.slice(i, i + 2), 16);
        text += code >= 32 && code < 127 ? String.fromCharCode(code) : ".";
    }
    return text;
}

/* Returns the sentences that explain an event. */
function sentencesOf(e, words) {
    const sentences = [words.events[e.type.name] || "This page has no words for this event."];
    for (const [list, name] of [["states", "to"], ["frames", "frame"], ["opcodes", "opcode"]]) {
        const value = field(e, name);
        if (typeof value === "string" && Object.hasOwn(words[list], value) && (name !== "to" || e.type.name === "state"))
            sentences.push((name === "to" ? `${value}: ` : "") + words[list][value]);
    }
    return sentences;
}

/* Returns [what happened, what to do] of a value, as the event's file explains it, or null. */
function meaningOf(e, data, list, name) {
    const values = (data.meanings[e.file] || {})[list] || {};
    return typeof name === "string" && Object.hasOwn(values, name) ? values[name] : null;
}

/* Returns [what happened, what to do] of the event's reason or status, or null. */
function adviceOf(e, data) {
    const why = field(e, "why"), cause = meaningOf(e, data, "reason", why);
    const name = e.type.name === "terminate" ? field(e, "name") : field(e, "terminate");
    const found = name === "none" ? null : meaningOf(e, data, "terminate", name);
    if (why === "ok" || why === "none")
        return null;
    if (cause && found) /* this side's own requests have the advice of the cause */
        return [`${cause[0]} ${found[0]}`, why === "local-flush" || why === "local-error" ? cause[1] : found[1]];
    if (cause || found)
        return cause || found;
    const status = field(e, "status"), meaning = GOOD_STATUSES.has(status) ? null : meaningOf(e, data, "status", status);
    return meaning && [`${status} ${meaning[0]}`.trim(), meaning[1]];
}

/* ---- sentences about a connection, a file, and the clocks ---- */

function connectionTitle(connection) {
    return addressesOf(connection.initiator || connection.acceptor).join(` ${ARROW} `);
}

/* The outcome that explains most: a failure, the initiator's before the responder's. */
function mainOutcome(connection) {
    const outcomes = endsOf(connection).map((end) => end.outcome).filter((e) => e);
    return outcomes.find((e) => e.severity === 2 && field(e, "outcome") === "failed") ||
        outcomes.find((e) => e.severity === 2) || outcomes[0] || null;
}

/* Returns what became of one end, for example "failed while requesting: rejected". */
function endFate(end) {
    const state = end.states.length ? field(end.states[end.states.length - 1], "to") : NONE;
    if (isOpen(end))
        return `${end.isEstablished ? "established; " : ""}the trace ends in the state ${state}`;
    if (end.isEstablished && field(end.outcome, "outcome") === "ended")
        return `established, then ${end.outcome.severity === 2 ? "ended" : "disconnected"}: ${reasonOf(end.outcome)}`;
    return outcomeLabel(end.outcome);
}

/* The end whose outcome explains most. */
function mainEnd(connection) {
    const ends = endsOf(connection), outcome = mainOutcome(connection);
    return ends.find((end) => end.outcome === outcome) || ends[0];
}

function connectionFate(connection) {
    const trouble = troubleOf(app.model, connection);
    if (trouble)
        return trouble.headline;
    const end = mainEnd(connection);
    return (end.role === "accepted" && connection.initiator ? "server: " : "") + endFate(end);
}

/* Returns a sentence about the other end, if it says more. */
function otherEndSentence(connection, data) {
    const end = endsOf(connection).find((e) => e !== mainEnd(connection));
    if (!end || (severityOfConnection(connection) === 0))
        return "";
    const advice = end.outcome && !isOpen(end) ? adviceOf(end.outcome, data) : null;
    return `The ${clientOrServer(end)}: ${endFate(end)}. ${advice ? advice.join(" ") : ""}`;
}

function fileTitle(file) {
    return `${file.program || "program"} ${file.pid} on ${file.host || "?"}`;
}

/* How the clock of each file was compared with that of the first one. */
function clockSentences(model) {
    const first = fileTitle(model.files[0] || {});
    return model.files.slice(1).map((file) => {
        const { method, offset, estimate, uncertainty, hasEstimate, frames, early } = file.clock;
        const measured = `${plural(frames, "frame")} ${frames === 1 ? "says" : "say"} ${aheadOf(estimate)} ` +
            `\u00b1 ${formatDuration(uncertainty)}`;
        const words = {
            reference: `unknown, because it has no connection in common with ${first}`,
            same: `that of ${first}${hasEstimate ? `; ${measured}` : ""}`,
            measured: `about ${aheadOf(estimate)} of ${first} (from ${plural(frames, "frame")}), and the times are ` +
                `corrected; compare times of the two clocks only to \u00b1 ${formatDuration(uncertainty)}`,
            "one-way": `unknown; ${aheadOf(offset)} of ${first} is assumed, so that no frame arrives before it was sent`,
        }[method];
        return `Clock of ${fileTitle(file)}: ${words}` +
            (early ? `; ${plural(early, "frame")} still seem to arrive before they were sent, as the clocks drift.` : ".");
    });
}

function aheadOf(ns) {
    return `${formatDuration(Math.abs(ns))} ${ns < 0 ? "behind" : "ahead"}`;
}

/* What the files lack. */
function lackSentences(file) {
    const lacks = [];
    if (file.lost)
        lacks.push(`${plural(file.lost, "event")} lost, because more threads recorded than there are segments`);
    if (file.missing)
        lacks.push(`the file is truncated: ${plural(file.missing, "segment")} missing or incomplete`);
    if (file.damaged)
        lacks.push(`the file is damaged: the rest of ${plural(file.damaged, "segment")} was skipped`);
    return lacks.map((text) => `${file.path}: ${text}.`);
}
