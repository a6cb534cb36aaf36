/* SPDX-License-Identifier: MIT */
/*
 * Spans: things that take time. A span goes from one event to another; without an end it goes on until the connection's
 * last event. Spans are waits of a state, stalls, blocked sends, pending calls and callbacks.
 */

/* Pairs each call with its return and its completion, each callback with its return, each post with its result. */
function linkCalls(model) {
    const threads = new Map(), waiting = { pending: new Map(), early: new Map(), posts: new Map(),
                                              results: new Map() };
    for (const event of model.events) {
        const key = event.file + ":" + event.thread, name = event.type.name;
        if (!threads.has(key))
            threads.set(key, []);
        const stack = threads.get(key);
        if (event.type.isWhole)
            beginPost(event, waiting);
        else if (event.type.isCall || isCallback(event))
            stack.push(event);
        if (event.type.isReturn)
            endCall(event, stack, waiting);
        else if (name === "callback_returned")
            popTo(event, stack, isCallback);
        else if (name === "completed" || name === "wsk_completed")
            completeCall(event, waiting);
        else if (name === "result")
            completePost(event, waiting);
    }
}

function isCallback(event) {
    return event.type.kind === "callback" && event.type.name !== "result" && event.type.name !== "callback_returned";
}

function pushTo(map, key, value) {
    if (!map.has(key))
        map.set(key, []);
    map.get(key).push(value);
}

/* A call and its completion have the same object, routine and context; those of the kernel have the same IRP. */
function keyOfCall(event, call) {
    const irp = field(call || event, "irp");
    return (irp === undefined ? [event.file, field(event, "object"), field(event, "routine"), field(event, "context")] :
        [event.file, irp, field(event, "routine")]).join(":");
}

/* Takes the call or callback that has returned from the thread's stack. Returns it, or null. */
function popTo(event, stack, isIt) {
    for (let i = stack.length - 1; i >= 0; i--)
        if (isIt(stack[i])) {
            const found = stack[i];
            stack.length = i;
            found.returned = event;
            joinCall(event, found);
            return found;
        }
    return null;
}

/* `later` belongs to the call, so both belong to the same connection. */
function joinCall(later, call) {
    later.call = call;
    for (const [to, from] of [[later, call], [call, later]]) {
        to.end = to.end || from.end;
        to.connection = to.connection || from.connection;
    }
}

function endCall(event, stack, waiting) {
    const call = popTo(event, stack, (e) => e.type.name === field(event, "routine")), status = field(event, "status");
    if (!call || (status !== "STATUS_PENDING" && status !== "0x103"))
        return;
    const key = keyOfCall(event, call), early = (waiting.early.get(key) || []).shift();
    if (early)
        joinCompletion(early, call);
    else
        pushTo(waiting.pending, key, call);
}

function joinCompletion(completion, call) {
    call.completed = completion;
    joinCall(completion, call);
}

/* The completion routine may run before the call has returned. */
function completeCall(event, waiting) {
    const call = (waiting.pending.get(keyOfCall(event)) || []).shift();
    if (call)
        joinCompletion(event, call);
    else
        pushTo(waiting.early, keyOfCall(event), event);
}

/* ---- posts and their results: they have the same context and operation, and the order of posts ---- */

const MAX_POSTS = 1024; /* that are compared with a result */
const MAX_EARLY = 16;   /* results that a post may have before it is recorded */

function operationOf(name) {
    return String(name).replace(/^Ndk(Srq)?|AndInvalidate$/g, "");
}

function isResultOf(result, post) {
    const operation = field(result, "operation");
    return typeof operation !== "string" || operationOf(operation) === operationOf(post.type.name);
}

/* Removes the first element for which the test is true, and returns it, or null. */
function takeFirst(list, test) {
    const count = Math.min(list ? list.length : 0, MAX_POSTS);
    for (let i = 0; i < count; i++)
        if (test(list[i]))
            return i ? list.splice(i, 1)[0] : list.shift();
    return null;
}

/* A post is recorded when it returns. Meanwhile another thread may have received its result. */
function beginPost(event, waiting) {
    const key = event.file + ":" + field(event, "context"), began = event.time - (field(event, "duration") || 0);
    const early = takeFirst(waiting.results.get(key), (e) => e.time >= began && isResultOf(e, event));
    if (early)
        joinCompletion(early, event);
    else if (event.severity < 2 && !String(field(event, "flags")).includes("SILENT_SUCCESS"))
        pushTo(waiting.posts, key, event);
}

function completePost(event, waiting) {
    const key = event.file + ":" + field(event, "context");
    const post = takeFirst(waiting.posts.get(key), (e) => isResultOf(event, e));
    if (post) {
        joinCompletion(event, post);
        return;
    }
    pushTo(waiting.results, key, event);
    if (waiting.results.get(key).length > MAX_EARLY)
        waiting.results.get(key).shift();
}

/* ---- spans ---- */

function addSpan(spans, kind, from, to, end) {
    spans.push({ kind, from, to, end, connection: from.connection });
}

/* The time limits of an end's states, and its stalls. */
function makeWaits(spans, end) {
    let limit = null, stall = null, blocked = null;
    const close = (kind, from, to) => from && addSpan(spans, kind, from, to, end);
    for (const event of end.events) {
        const name = event.type.name;
        if (limit && (name === "state" || name === "limit" || name === "limit_expired")) {
            close("limit", limit, event);
            limit = null;
        }
        if (stall && (name === "stall_limit" || name === "stall_expired" || name === "outcome" ||
                      (isFrame(event) && !isSent(event)))) {
            close("stall", stall, event);
            stall = null;
        }
        if (name === "unblocked" || name === "outcome") {
            close("blocked", blocked, event);
            blocked = null;
        }
        limit = name === "limit" ? event : limit;
        stall = name === "stall_limit" ? event : stall;
        blocked = name === "blocked" ? event : blocked;
    }
    const last = end.events[end.events.length - 1];
    close("limit", limit, last);
    close("stall", stall, last);
    close("blocked", blocked, last);
}

/* Events that need no row of their own: returns that follow their call at once, the limit of a state, and others. */
function attachEvents(model) {
    const previous = new Map(), states = new Map();
    for (const event of model.events) {
        const key = event.file + ":" + event.thread, before = previous.get(key), name = event.type.name;
        const state = event.end && states.get(event.end);
        if ((event.type.isReturn && event.call && before === event.call) || (name === "callback_returned" && event.call))
            attach(event, event.call);
        if (name === "limit" && state && field(state, "to") === field(event, "state") && state.thread === event.thread &&
            !state.attached)
            attach(event, state);
        if (name === "terminate" && before && field(before, "opcode") === "terminate" && before.end === event.end)
            attach(event, before);
        if (name === "state" && event.end)
            states.set(event.end, event);
        previous.set(key, event);
    }
}

/* An attached event has no row of its own: the row of its host shows it. */
function attach(event, host) {
    event.host = host;
    host.attached = [...(host.attached || []), event];
    host.severity = Math.max(host.severity, event.severity);
}

function makeSpans(model) {
    const spans = [];
    for (const end of model.ends)
        makeWaits(spans, end);
    for (const event of model.events) {
        if (event.type.isCall && event.completed && !/Receive$/.test(event.type.name)) /* receives are always pending */
            addSpan(spans, "pending", event, event.completed, event.end);
        else if (isCallback(event) && event.returned)
            addSpan(spans, "callback", event, event.returned, event.end);
        else if (event.type.isCall && event.returned)
            addSpan(spans, "running", event, event.returned, event.end);
    }
    attachEvents(model);
    return spans;
}
