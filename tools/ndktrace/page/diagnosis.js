/* SPDX-License-Identifier: MIT */
/*
 * Diagnoses: the texts of `ndktrace explain`, the first event that went wrong, and the event that led to it. All
 * sentences are in the data. A trouble is a diagnosis of a connection or a failed call: event and cause (may be null),
 * headline, and texts.
 */

function makeTrouble(model, row) {
    const texts = (name) => Array.isArray(row[name]) ? row[name].map(String) : [];
    return { event: model.events[row.wrong] || null, cause: model.events[row.cause] || null,
             causeNote: String(row.causeNote || ""), headline: texts("headline").join(" "), what: texts("what"),
             reason: texts("reason"), consequence: texts("consequence").join(" "), change: texts("change").join(" "),
             advice: texts("advice"), missing: texts("missing"), end: null };
}

/* Gives each failed connection its diagnosis. The events are in the order of the data, `ends` has all ends. */
function linkDiagnoses(model, ends) {
    for (const row of model.data.diagnoses || []) {
        const end = ends[row.end];
        if (end && end.connection)
            end.connection.diagnosis = Object.assign(makeTrouble(model, row), { end, endOfTrace: ends[row.endOfTrace] });
    }
    model.failedCalls = (model.data.failedCalls || []).map((row) => makeTrouble(model, row));
    model.listeners = (model.data.listeners || []).map(String);
}

/* The outcome after which an end's calls can only fail, or null. */
function finalOutcome(end) {
    return end && end.outcome && !isOpen(end) ? end.outcome : null;
}

/* Marks the first events that went wrong, and the failures that are only the consequence of an ended connection. */
function markDiagnoses(model) {
    for (const event of [...model.events].sort((a, b) => a.at - b.at))
        if (event.end && !event.host)
            event.end.last = event;
    for (const { diagnosis } of model.connections)
        if (diagnosis && diagnosis.endOfTrace)
            diagnosis.event = diagnosis.endOfTrace.last || null;
    const causes = [...model.connections.map((c) => c.diagnosis).filter((d) => d), ...model.failedCalls];
    const wrong = new Set(causes.filter((d) => d.event).map((d) => d.event.host || d.event));
    for (const { event, endOfTrace } of causes.filter((d) => d.event)) {
        if (endOfTrace) /* not the event is wrong, but that nothing follows it */
            event.isLast = true;
        else
            (event.host || event).isWrong = true;
    }
    for (const { cause, causeNote } of causes.filter((d) => d.cause))
        Object.assign(cause.host || cause, { isCause: true, causeNote });
    for (const event of model.events) {
        const diagnosis = event.connection && event.connection.diagnosis, own = finalOutcome(event.end);
        const cause = diagnosis && diagnosis.end.outcome, outcome = cause && cause.at < (own || cause).at ? cause : own;
        event.isEffect = !wrong.has(event) && Boolean(outcome) && event !== cause && event.at >= outcome.at;
    }
}

/* Returns the trouble of a connection, or null. Without a connection: the first failed call, if no connection failed. */
function troubleOf(model, connection) {
    if (connection)
        return connection.diagnosis || model.failedCalls.find((d) => d.event && d.event.connection === connection) || null;
    return model.connections.some((c) => severityOfConnection(c) === 2) ? null : model.failedCalls[0] || null;
}

/* Is this the outcome that the diagnosis explains? */
function isDiagnosed(event) {
    const diagnosis = event.connection && event.connection.diagnosis;
    return Boolean(diagnosis) && diagnosis.end.outcome === event;
}

/* Is this the outcome of the other end of a diagnosed connection? */
function isConsequence(event) {
    const diagnosis = event.connection && event.connection.diagnosis;
    return Boolean(diagnosis) && event.severity === 2 && event.end !== diagnosis.end;
}

function clientOrServer(end) {
    return end.role === "accepted" ? "server" : "client";
}

/* ---- the page ---- */

function showTroubleCode(parent, connection) {
    const diagnosis = connection && connection.diagnosis;
    if (diagnosis && diagnosis.end.outcome)
        make(parent, "span", ` ${reasonOf(diagnosis.end.outcome)}`, "code");
}

function makeList(parent, title, texts) {
    if (!texts.length)
        return;
    make(parent, "h3", title);
    const list = make(parent, "ul", undefined, "texts");
    for (const text of texts)
        make(list, "li", text);
}

function showChange(parent, trouble) {
    if (trouble.change)
        make(parent, "p", `To change: ${trouble.change}`, "change");
}

/* Shows the texts of explain where a selected event would be. */
function showTrouble(parent, connection) {
    const trouble = troubleOf(app.model, connection);
    makeList(parent, "Listeners", app.model.listeners);
    if (!trouble)
        return;
    make(parent, "h2", trouble.headline, "bad");
    showChange(parent, trouble);
    if (trouble.what.length)
        make(parent, "h3", trouble.reason.length ? "What went wrong" : "Cause");
    for (const text of trouble.what)
        make(parent, "p", text);
    for (const text of trouble.reason)
        make(parent, "p", text, "code");
    if (trouble.consequence)
        make(parent, "p", trouble.consequence);
    makeList(parent, "What else to check", trouble.advice);
    makeList(parent, "What these traces do not have", trouble.missing);
    if (trouble.cause)
        makeButton(make(parent, "p"), "select what led to it", () => goTo(trouble.cause));
    if (trouble.event)
        makeButton(make(parent, "p"), "select the first event that went wrong", () => goTo(trouble.event));
}

/* The lowest zoom that the page chooses itself. */
const TROUBLE_ZOOM = 17;

/*
 * Scrolls to the first event that went wrong: it is then in the upper third, or below what led to it, if the view has
 * room for both. Without one, scrolls to the first failure.
 */
function revealTrouble() {
    const trouble = troubleOf(app.model, app.filter.connection), rows = app.rows;
    const event = trouble && (trouble.event || rows.events.find((e) => e.severity === 2));
    if (!event || !rows.events.length)
        return;
    const wrong = rows.top[rowNear(rows, event)], led = trouble.cause ? rows.top[rowNear(rows, trouble.cause)] : wrong;
    const zoom = viewHeight() / (wrong - led + 2 + 2 * BANNER_UNITS), hasBoth = led < wrong && zoom >= TROUBLE_ZOOM;
    if (hasBoth && zoom < app.zoom)
        setZoom(zoom);
    setOffset(hasBoth ? led - 2 : wrong - viewHeight() / app.zoom * TROUBLE_PLACE);
}
