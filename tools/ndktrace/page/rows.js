/* SPDX-License-Identifier: MIT */
/*
 * Rows: the events that the filter shows, in the order of time, each with its place on the time axis. The unit of the
 * axis is the height of a row. A long time without events becomes a break of BREAK_UNITS with a label.
 */

const BREAK_NS = 10e6;    /* from this time on a gap is a break */
const BREAK_UNITS = 1.7;
const BANNER_UNITS = 4.3; /* the row of an outcome that has advice */

function makeFilter() {
    return { connection: null, kinds: new Set(KINDS.map((k) => k.id)), thread: "", call: "", failures: false,
             loose: true, from: -Infinity, until: Infinity };
}

function threadKey(event) {
    return `${event.file}:${event.thread}`;
}

function isOfCall(event, call) {
    return event.type.name === call || field(event, "routine") === call;
}

/* Does the event belong to the listener at the server's address? */
function isListenerOf(event, connection) {
    if (event.type.name !== "listening" && event.type.name !== "NdkListen")
        return false;
    const local = String(field(event, "local")), server = addressesOf(connection.initiator || connection.acceptor)[1];
    const port = (address) => address.slice(address.lastIndexOf(":"));
    return local === server || (/^(0\.0\.0\.0|\[::\]):/.test(local) && port(local) === port(server));
}

/*
 * Is the event the first one that went wrong, or what led to it, in the shown connection? The filters of kinds, of
 * failures and of events of no connection (for example NdkCloseMr) do not hide it.
 */
function isOfTrouble(filter, event) {
    if (!event.isWrong && !event.isCause && !event.isLast)
        return false;
    const of = (trouble) => trouble && [trouble.event, trouble.cause].some((e) => e && (e.host || e) === event);
    return !filter.connection || event.connection === filter.connection || of(filter.connection.diagnosis);
}

/* Do the filters of kinds, connections and failures show the event? */
function isChosen(filter, event) {
    if (!filter.kinds.has(event.type.kind))
        return false;
    if (filter.connection && event.connection !== filter.connection && (event.connection || !filter.loose) &&
        !isListenerOf(event, filter.connection))
        return false;
    return !filter.failures || event.severity >= 2;
}

/* Does the filter show the event? An attached event has no row. */
function isShown(filter, event) {
    if (event.host || !(isOfTrouble(filter, event) || isChosen(filter, event)))
        return false;
    return (!filter.thread || threadKey(event) === filter.thread) && (!filter.call || isOfCall(event, filter.call)) &&
        event.at >= filter.from && event.at <= filter.until;
}

function rowUnits(event, data) {
    const isLoud = event.type.name === "outcome" && event.severity === 2 && !isConsequence(event);
    return isLoud && adviceOf(event, data) ? BANNER_UNITS : 1;
}

/*
 * Returns the rows: `events`, the top of each in units, the breaks, and the first row that went wrong or -1. event.row is
 * the index of the row, or -1. An event that the filter hides for its kind alone counts as hidden in the break where it
 * is.
 */
function layoutRows(model, filter) {
    const rows = { events: [], top: [], height: [], breaks: [], total: 0, wrong: -1 };
    let hidden = 0, previous = null;
    for (const event of model.events) {
        event.row = -1;
        if (!isShown(filter, event)) {
            hidden += !event.host && (!filter.connection || event.connection === filter.connection) &&
                event.type.name !== "callback_returned";
            continue;
        }
        const gap = previous ? event.at - previous.at : 0;
        if (gap >= BREAK_NS) {
            rows.breaks.push({ row: rows.events.length, top: rows.total, gap, hidden, after: previous, before: event });
            rows.total += BREAK_UNITS;
        }
        event.row = rows.events.length;
        if ((event.isWrong || event.isLast) && rows.wrong < 0)
            rows.wrong = event.row;
        rows.events.push(event);
        rows.top.push(rows.total);
        rows.height.push(rowUnits(event, model.data));
        rows.total += rows.height[event.row];
        previous = event;
        hidden = 0;
    }
    return rows;
}

/* Returns the row at this place of the axis, or the one before it. */
function rowAt(rows, unit) {
    let low = 0, high = rows.top.length - 1;
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (rows.top[middle] <= unit)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The row of an event that has none: that of its host, or the next one in time. */
function rowNear(rows, event) {
    if (event.row >= 0)
        return event.row;
    if (event.host)
        return rowNear(rows, event.host);
    let low = 0, high = rows.events.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (rows.events[middle].order < event.order)
            low = middle + 1;
        else
            high = middle;
    }
    return Math.min(low, rows.events.length - 1);
}

/* ---- lines that cross rows: arrows of frames, spans ---- */

const BLOCK = 64;

/* Makes an index of items with the rows `first` and `last`, so that those in a range are found without a look at all. */
function indexRanges(items) {
    items.sort((a, b) => a.first - b.first);
    const ends = [];
    items.forEach((item, i) => {
        const block = Math.floor(i / BLOCK);
        ends[block] = Math.max(ends[block] ?? -1, item.last);
    });
    return { items, ends };
}

function rangesIn(index, first, last) {
    const found = [];
    for (let block = 0; block < index.ends.length; block++) {
        if (index.ends[block] < first || index.items[block * BLOCK].first > last)
            continue;
        for (const item of index.items.slice(block * BLOCK, block * BLOCK + BLOCK))
            if (item.first <= last && item.last >= first)
                found.push(item);
    }
    return found;
}

/* The arrows between two events that both have rows. */
function indexArrows(rows) {
    const items = [];
    for (const event of rows.events)
        if (event.partner && isFrame(event) && isSent(event) && event.partner.row >= 0)
            items.push({ first: Math.min(event.row, event.partner.row), last: Math.max(event.row, event.partner.row),
                         event });
    return indexRanges(items);
}

function indexSpans(model, rows, filter) {
    const items = [];
    for (const span of model.spans) {
        if (span.from.row < 0 && !(span.from.host && span.from.host.row >= 0))
            continue;
        if (filter.connection && span.connection !== filter.connection)
            continue;
        const first = rowNear(rows, span.from), last = rowNear(rows, span.to);
        if (last > first)
            items.push({ first, last, span });
    }
    return indexRanges(items);
}
