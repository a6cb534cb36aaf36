"use strict";
/* SPDX-License-Identifier: MIT */
/*
 * The model: the events of the trace, the ends of connections, and the connections. html.c writes the data:
 *
 *   files    for each trace file: path, program, host, library, pid, begin, lost, missing, damaged, threads
 *            (NUMBER: name), and its clock (align.h): method, offset, estimate and uncertainty in ns, frames, early
 *   types    for each file: its events, as [name, [field, kind]...]. Kinds: n number, d duration in ns, x hexadecimal,
 *            p address of an object, f flags, a network address, t text, b bytes in hexadecimal
 *   events   [file, time in ns, thread, connection, index of the type, value...], in the order of time. An index of -1
 *            or less is an event that the file does not explain; its number is -1 - index
 *   ends     for each end of a connection: [file, 1 if its beginning is in the file, index of the other end or -1]
 *   endOfEvent, partners   for each event the index of its end or -1; the indexes of a frame's two events, one frame
 *            after the other
 *   diagnoses   for each failed connection: the end whose reason is the cause, wrong (the first event that went wrong, or
 *            -1), endOfTrace (instead of it, the end where the trace of a process ends), cause (the event that led to it,
 *            or -1) and causeNote (a sentence), and arrays of paragraphs: headline, what, reason, consequence, change,
 *            advice, missing
 *   failedCalls for each kind of call that failed beside them: wrong, cause, causeNote, headline, what, change
 *   listeners  sentences about listeners that failed, and peers that were refused for lack of resources
 *   meanings for each file: LIST: {NAME: [what happened, what to do]}, for example of the list reason
 *
 * The invariant: nothing here trusts the data. A missing or wrong value makes an event less readable, but no error.
 */

/* The kinds of events, as the legend and the filter have them, in the order of their importance in an overview. */
const KINDS = [
    { id: "end", name: "Outcomes", help: "established, ended, failed; Terminates" },
    { id: "startup", name: "MPA frames", help: "the start-up frames: request, accept, reject" },
    { id: "state", name: "States", help: "the steps of a connection" },
    { id: "call", name: "Calls", help: "calls of the program, and their returns" },
    { id: "callback", name: "Callbacks", help: "calls of the provider into the program: completions, notifications" },
    { id: "wait", name: "Waits", help: "time limits, stalls, and a peer that does not read" },
    { id: "data", name: "Data frames", help: "FPDUs: sends, writes, reads" },
    { id: "object", name: "Objects", help: "adapters, listeners, connectors" },
];
const KIND_OF_EVENT = {
    outcome: "end", refused: "end", terminate: "end",
    mpa_sent: "startup", mpa_received: "startup", stream: "startup",
    state: "state",
    returned: "call", kernel_returned: "call", kernel_done: "call",
    DriverEntry: "callback", DriverUnload: "callback",
    completed: "callback", wsk_completed: "callback", completion_routine: "callback", irp_ended: "callback", cq_notification: "callback", srq_notification: "callback", connect_event: "callback",
    disconnect_event: "callback", callback_returned: "callback", result: "callback",
    limit: "wait", limit_expired: "wait", stall_limit: "wait", stall_expired: "wait", nudge: "wait", blocked: "wait",
    unblocked: "wait",
    tagged: "data", untagged: "data", no_segment: "data",
};
/* Reasons that mean no failure. */
const GOOD_REASONS = new Set(["ok", "none", "local-disconnect", "peer-closed", "local-flush", "local-close"]);
/* Statuses that mean no failure. */
const GOOD_STATUSES = new Set(["STATUS_SUCCESS", "STATUS_PENDING", "STATUS_MORE_PROCESSING_REQUIRED",
                               "STATUS_DATA_NOT_ACCEPTED", "0x0", "0x103"]);

function kindOf(name) {
    if (Object.hasOwn(KIND_OF_EVENT, name))
        return KIND_OF_EVENT[name];
    if (/^[A-Z]/.test(name))
        return /Event$/.test(name) ? "callback" : "call";
    return "object";
}

/*
 * Returns the type of an event: its name, and the index of each field. An event with the name of a routine is a call.
 * A call with the field `duration` was recorded when it returned.
 */
function makeType(row) {
    const type = { name: String(row[0]), fields: [], index: new Map() };
    for (const [name, kind] of row.slice(1)) {
        type.index.set(String(name), type.fields.length);
        type.fields.push({ name: String(name), kind });
    }
    type.kind = kindOf(type.name);
    type.isCall = type.kind === "call" && /^[A-Z]/.test(type.name);
    type.isReturn = type.name === "returned" || type.name === "kernel_returned" || type.name === "kernel_done";
    type.isWhole = type.isCall && type.index.has("duration");
    return type;
}

/* Returns the value of the event's field with this name, or undefined. */
function field(event, name) {
    const index = event.type.index.get(name);
    return index === undefined ? undefined : event.values[index];
}

/* Does the event have the addresses of its connection? */
function hasAddresses(event) {
    return event.type.name === "connection" || event.type.name === "ongoing";
}

function isSent(event) {
    if (event.type.name === "mpa_sent" || event.type.name === "mpa_received")
        return event.type.name === "mpa_sent";
    if (hasAddresses(event))
        return event.end.role === "initiated";
    const direction = field(event, "direction");
    return direction === "sent" || direction === 1;
}

/* Does the event go from one side to the other? The beginning of a connection does, too: TCP connects. */
function isFrame(event) {
    const name = event.type.name;
    return event.type.kind === "data" || name === "mpa_sent" || name === "mpa_received" ||
        (name === "connection" && event.end !== null);
}

/* Returns 2 for a failure, 1 for something that may explain one, otherwise 0. */
function severityOf(event) {
    const name = event.type.name, why = field(event, "why"), status = field(event, "status");
    if (name === "outcome" && (field(event, "outcome") === "failed" || !GOOD_REASONS.has(String(why ?? "ok"))))
        return 2;
    if (name === "refused" || name === "terminate" || name.endsWith("_expired") || field(event, "crc") === "bad")
        return 2;
    if (field(event, "opcode") === "terminate" || field(event, "frame") === "reject" ||
        field(event, "frame") === "invalid")
        return 2;
    if (why !== undefined && !GOOD_REASONS.has(String(why)))
        return 2;
    if (status !== undefined && !GOOD_STATUSES.has(String(status)))
        return name === "result" && status === "STATUS_CANCELLED" ? 1 : 2;
    return name === "nudge" || name === "blocked" || name === "disconnect_event" ? 1 : 0;
}

function makeEvents(data) {
    const types = data.types.map((list) => list.map(makeType)), unknown = new Map();
    return data.events.map((row, index) => {
        let type = types[row[0]] && types[row[0]][row[4]];
        if (!type) {
            const name = "event-" + (-1 - row[4]);
            type = unknown.get(name) || makeType([name]);
            unknown.set(name, type);
        }
        const event = { index, file: row[0], time: row[1], at: row[1], thread: row[2], number: row[3], type,
                        values: row.slice(5), end: null, connection: null, partner: null, host: null, attached: null,
                        severity: 0, role: null, isEarly: false };
        event.severity = severityOf(event);
        if (type.isWhole) /* it is drawn when the call began, before what happened during the call */
            event.at = event.time - (Number(field(event, "duration")) || 0);
        return event;
    });
}

/* ---- ends of connections ---- */

function makeEnd(row) {
    return { file: row[0], hasBegin: row[1] === 1, other: row[2], role: null, local: "?", remote: "?",
             objects: new Set(), begin: Infinity, events: [], connection: null, states: [], outcome: null,
             isEstablished: false };
}

function beginEnd(end, event) {
    const role = field(event, "role");
    end.role = role === "initiated" || role === 1 ? "initiated" : "accepted";
    end.local = String(field(event, "local") ?? "?");
    end.remote = String(field(event, "remote") ?? "?");
}

/* A frame or a state shows the role of an end whose beginning is not in the file. */
function inferRole(end, event) {
    if (end.role)
        return;
    const frame = field(event, "frame"), state = field(event, "from");
    if (frame === "request")
        end.role = isSent(event) ? "initiated" : "accepted";
    else if (frame === "accept" || frame === "reject")
        end.role = isSent(event) ? "accepted" : "initiated";
    else if (["TCP_CONNECTING", "REQUEST_SENT", "REPLIED", "COMPLETING"].includes(state))
        end.role = "initiated";
    else if (["WAIT_REQUEST", "REQUESTED", "REPLYING", "WAIT_RTR"].includes(state))
        end.role = "accepted";
}

function noteObject(end, pointer) {
    if (pointer && pointer !== "0x0")
        end.objects.add(pointer);
}

function addToEnd(end, event) {
    event.end = end;
    end.events.push(event);
    end.begin = Math.min(end.begin, event.at);
    if (hasAddresses(event))
        beginEnd(end, event);
    inferRole(end, event);
    if (event.type.name === "state")
        end.states.push(event);
    if (event.type.name === "outcome") {
        end.outcome = event;
        end.isEstablished = end.isEstablished || field(event, "outcome") === "established";
    }
    if (hasAddresses(event) || event.type.name === "connector")
        noteObject(end, field(event, "object"));
    if (event.type.isCall && field(event, "qp"))
        noteObject(end, field(event, "qp"));
}

/* Returns the ends that have events. */
function makeEnds(data, events) {
    const ends = data.ends.map(makeEnd);
    events.forEach((event, i) => {
        const end = ends[data.endOfEvent[i]];
        if (end)
            addToEnd(end, event);
    });
    for (const end of ends) {
        const other = ends[end.other];
        end.role = end.role || (other && other.role === "initiated" ? "accepted" : "initiated");
    }
    return ends;
}

/* ---- connections: one end, or both ---- */

function makeConnection(end) {
    const connection = { initiator: null, acceptor: null, begin: end.begin, index: 0 };
    joinConnection(connection, end);
    return connection;
}

function joinConnection(connection, end) {
    connection[end.role === "accepted" ? "acceptor" : "initiator"] = end;
    connection.begin = Math.min(connection.begin, end.begin);
    end.connection = connection;
}

/* The address of the initiator, then that of the responder. */
function addressesOf(end) {
    return end.role === "accepted" ? [end.remote, end.local] : [end.local, end.remote];
}

function makeConnections(ends) {
    const connections = [];
    for (const end of ends.filter((e) => e.events.length)) {
        const other = ends[end.other];
        if (other && other.connection && other.role !== end.role)
            joinConnection(other.connection, end);
        else
            connections.push(makeConnection(end));
    }
    connections.sort((a, b) => a.begin - b.begin);
    connections.forEach((connection, index) => {
        connection.index = index;
        for (const end of endsOf(connection))
            for (const event of end.events)
                event.connection = connection;
    });
    return connections;
}

function endsOf(connection) {
    return [connection.initiator, connection.acceptor].filter((end) => end);
}

/* Has the connection not ended when the trace of this end does? */
function isOpen(end) {
    return !end.outcome || field(end.outcome, "outcome") === "established";
}

/* Returns 2 if an end failed, 1 if the trace of an end ends before the connection, otherwise 0. */
function severityOfConnection(connection) {
    const ends = endsOf(connection);
    if (ends.some((end) => end.outcome && end.outcome.severity === 2))
        return 2;
    return ends.some(isOpen) ? 1 : 0;
}

/* ---- events without a connection's number: they belong to a connection through an object or an address ---- */

/* Returns the end of an object at the time of the event: the last one that began before, otherwise the first. */
function endOfObject(list, event) {
    const isConnect = event.type.name.startsWith("NdkConnect");
    let found = null;
    for (const end of list) {
        if (isConnect && end.begin >= event.at)
            return end;
        if (!found || end.begin <= event.at)
            found = end;
    }
    return found;
}

function objectsOf(ends, events) {
    const objects = new Map();
    const add = (file, pointer, end) => {
        const key = file + ":" + pointer, list = objects.get(key) || [];
        if (!list.includes(end))
            objects.set(key, [...list, end]);
    };
    for (const end of ends)
        for (const pointer of end.objects)
            add(end.file, pointer, end);
    linkQueuePairs(events, objects, add);
    return objects;
}

/* A queue pair belongs to the connector that connects or accepts with it, a completion queue to its queue pairs. */
function linkQueuePairs(events, objects, add) {
    const creating = new Map();
    for (const event of events) {
        const name = event.type.name, thread = event.file + ":" + event.thread, object = event.file + ":";
        if (field(event, "qp"))
            for (const end of (objects.get(object + field(event, "object")) || []).slice(-1))
                add(event.file, field(event, "qp"), event.end || endOfObject(
                    objects.get(object + field(event, "object")), event) || end);
        if (name.startsWith("NdkCreateQp"))
            creating.set(thread, event);
        const call = creating.get(thread), created = field(event, "created");
        if (call && created && created !== "0x0" && String(field(event, "routine")).startsWith("NdkCreateQp")) {
            call.created = created;
            creating.delete(thread);
        }
    }
    for (const call of events.filter((e) => e.created))
        for (const end of objects.get(call.file + ":" + call.created) || [])
            for (const name of ["receive_cq", "initiator_cq"])
                add(call.file, field(call, name), end);
}

/* Returns the connection that an event without a number speaks of by its addresses, or null. */
function connectionOfAddresses(model, event) {
    const local = field(event, "local"), remote = field(event, "remote");
    if (event.type.name !== "refused" || !remote)
        return null;
    const alike = model.connections.filter((c) => c.initiator && !c.acceptor && c.initiator.local === remote &&
                                                  c.initiator.remote === local);
    alike.sort((a, b) => Math.abs(a.begin - event.at) - Math.abs(b.begin - event.at));
    return alike[0] || null;
}

function linkLooseEvents(model) {
    const objects = objectsOf(model.ends, model.events);
    for (const event of model.events) {
        if (event.end)
            continue;
        for (const name of ["connector", "object", "created"]) {
            const list = objects.get(event.file + ":" + field(event, name));
            if (!event.end && list && (list.length === 1 || !event.type.name.includes("Cq")))
                event.end = endOfObject(list, event);
        }
        event.connection = event.end ? event.end.connection : connectionOfAddresses(model, event);
    }
}

/* Returns for each object the object that has created it, as FILE:POINTER. The first object of all is an adapter. */
function creatorsOf(events) {
    const creators = new Map();
    for (const event of events)
        for (const name of ["created", "connector"]) {
            const created = field(event, name);
            if (created && created !== "0x0" && field(event, "object") !== created)
                creators.set(`${event.file}:${created}`, `${event.file}:${field(event, "object")}`);
        }
    return creators;
}

function rootOf(creators, object) {
    for (let steps = 0; steps < 8 && creators.has(object); steps++)
        object = creators.get(object);
    return object;
}

/*
 * A process may have both ends of a connection. Then an event without a connection belongs to the side whose
 * connections have the same adapter.
 */
function findRoles(model) {
    const creators = creatorsOf(model.events), roles = new Map();
    for (const end of model.ends)
        for (const object of end.objects) {
            const root = rootOf(creators, `${end.file}:${object}`);
            roles.set(root, roles.has(root) && roles.get(root) !== end.role ? null : end.role);
        }
    for (const event of model.events)
        if (!event.end)
            event.role = roles.get(rootOf(creators, `${event.file}:${field(event, "object")}`)) || null;
}

function buildModel(data) {
    const events = makeEvents(data), all = makeEnds(data, events), connections = makeConnections(all);
    const model = { data, events, ends: all.filter((end) => end.connection), connections, files: data.files };
    linkLooseEvents(model);
    linkDiagnoses(model, all);
    linkFrames(model);
    correctStateTimes(model);
    linkCalls(model);
    findRoles(model);
    model.spans = makeSpans(model);
    markDiagnoses(model);
    model.events.sort((a, b) => a.at - b.at || a.index - b.index);
    model.events.forEach((event, order) => { event.order = order; });
    model.types = [...new Set(events.map((e) => e.type.name))];
    return model;
}
