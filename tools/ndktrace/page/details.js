/* SPDX-License-Identifier: MIT */
/* The details of the selected event: what it means, what to check, what belongs to it, and all its fields. */

/* Creates an element with a text. Markup in the text stays text. */
function make(parent, name, text, className) {
    const element = document.createElement(name);
    if (text !== undefined)
        element.textContent = text;
    if (className)
        element.className = className;
    parent.append(element);
    return element;
}

function makeButton(parent, text, action) {
    const button = make(parent, "button", text);
    button.type = "button";
    button.addEventListener("click", action);
    return button;
}

function showDetails(event) {
    const details = byId("details");
    details.replaceChildren();
    details.classList.toggle("open", Boolean(event));
    if (!event) {
        showTrouble(details, app.filter.connection);
        make(details, "p", "Click on an event, or select one with the arrow keys, to see all of it.", "quiet");
        return;
    }
    make(details, "h2", labelOf(event), classOf(event));
    make(details, "p", event.type.name, "event-name");
    for (const sentence of sentencesOf(event, app.words))
        make(details, "p", sentence);
    showAdvice(details, event);
    showTimes(details, event);
    showRelated(details, event);
    showFields(details, event);
    for (const own of event.attached || []) {
        make(details, "h3", labelOf(own));
        make(details, "p", app.words.events[own.type.name] || "");
        showFields(details, own);
    }
    showFilters(details, event);
}

function showAdvice(details, event) {
    const advice = adviceOf(event, app.model.data);
    if (!advice)
        return;
    const box = make(details, "div", undefined, event.severity === 2 ? "advice bad" : "advice");
    make(box, "p", `${reasonOf(event) === NONE ? "" : reasonOf(event) + ": "}${advice[0]}`);
    make(box, "p", advice[1]);
}

/* Returns the event of the same end, or file, before this one. */
function eventBefore(event) {
    const events = app.model.events;
    for (let i = event.order - 1; i >= 0; i--)
        if (event.end ? events[i].end === event.end : events[i].file === event.file)
            return events[i];
    return null;
}

function addFact(table, name, value) {
    const row = make(table, "tr");
    make(row, "th", name).scope = "row";
    make(row, "td", value);
}

function showTimes(details, event) {
    const table = make(details, "table", undefined, "facts"), before = eventBefore(event);
    const file = app.model.files[event.file], thread = (file.threads || {})[event.thread];
    if (event.type.isWhole)
        addFact(table, "called at", `${formatSeconds(event.at)} s`);
    addFact(table, event.type.isWhole ? "returned at" : "time", `${formatSeconds(event.time)} s`);
    if (before)
        addFact(table, event.end ? "since the event before" : "since the file's event before",
            formatDuration(event.time - before.time));
    if (event.isEarly)
        addFact(table, "drawn at", `${formatSeconds(event.at)} s, when it arrived: the clocks of the files differ`);
    if (event.isMoved)
        addFact(table, "drawn at", `${formatSeconds(event.at)} s, with the frame that began it`);
    if (event.end)
        addFact(table, "side", `${sideWords(event)}, connection ${event.number || NONE} of the process`);
    addFact(table, "process", fileTitle(file));
    addFact(table, "thread", thread ? `${event.thread} (${thread})` : String(event.thread));
}

function showFields(details, event) {
    const table = make(details, "table", undefined, "facts fields");
    event.type.fields.slice(0, event.values.length).forEach((known, i) => {
        const value = event.values[i], meaning = app.words.fields[known.name];
        const row = make(table, "tr"), name = make(row, "th", known.name), cell = make(row, "td");
        name.scope = "row";
        if (meaning)
            name.title = meaning;
        if (known.kind === "b")
            showBytes(cell, String(value));
        else
            cell.textContent = known.kind === "d" ? formatDuration(value) : String(value);
    });
}

/* Bytes as hexadecimal digits and text, 8 on a line. */
function showBytes(cell, hex) {
    const lines = [];
    for (let at = 0; at < hex.length; at += 16) {
        const part = hex.slice(at, at + 16);
        lines.push(`${part.replace(/(..)(?=.)/g, "$1 ").padEnd(24)} ${bytesAsText(part, 8)}`);
    }
    make(cell, "pre", lines.length ? lines.join("\n") : NONE);
}

/* Buttons that lead to the events that belong to this one. */
function showRelated(details, event) {
    const list = make(details, "ul", undefined, "related");
    const add = (other, words) => other && makeButton(make(list, "li"), `${words}: ${labelOf(other)}`, () => goTo(other));
    const later = (other) => formatDuration(Math.abs(other.time - event.time));
    if (event.partner)
        add(event.partner, `${isSent(event) ? "received" : "sent"} by the other end, ` +
            `${later(event.partner)} ${event.partner.time < event.time ? "before" : "after"}`);
    if (event.isLost)
        make(list, "li", "The other end has not recorded that it received this frame.");
    if (event.completed)
        add(event.completed, `completed ${later(event.completed)} after`);
    if (event.returned && event.returned.host !== event)
        add(event.returned, `returned ${later(event.returned)} after`);
    if (event.call)
        add(event.call, `${event.type.name === "callback_returned" ? "callback" : "call"} ${later(event.call)} before`);
    if (!list.children.length)
        list.remove();
}

function showFilters(details, event) {
    const box = make(details, "p", undefined, "buttons"), key = threadKey(event);
    const set = (changes) => {
        Object.assign(app.filter, changes);
        showControls();
        setFilter({});
    };
    if (event.connection && app.filter.connection !== event.connection)
        makeButton(box, "only its connection", () => set({ connection: event.connection }));
    if (app.filter.thread !== key)
        makeButton(box, "only its thread", () => set({ thread: key }));
}
