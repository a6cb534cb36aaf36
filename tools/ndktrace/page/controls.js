/* SPDX-License-Identifier: MIT */
/* The header, the list of connections, the filters and the buttons. */

const MAX_LISTED = 400; /* connections in the list; a text field finds others */

/* ---- header ---- */

function showHeader() {
    const { model, filter } = app, connection = filter.connection;
    byId("origin").textContent = `${model.files.map((f) => f.path || fileTitle(f)).join(", ")}: ` +
        `${model.files.map(fileTitle).join("; ")}, recorded from ${model.data.begin}`;
    const trouble = troubleOf(model, connection);
    const title = connection ? `${connectionTitle(connection)}: ${connectionFate(connection)}` : allTitle();
    byId("title").textContent = title;
    byId("title").className = trouble || (connection && severityOfConnection(connection) === 2) ? "bad" : "";
    document.title = `${title} \u2013 ndktrace`;
    const outcome = connection && mainOutcome(connection), advice = outcome && adviceOf(outcome, model.data);
    byId("advice").textContent = trouble ? trouble.what.join(" ") : advice ? advice.join(" ") : "";
    showTroubleCode(byId("advice"), connection);
    byId("change").replaceChildren();
    if (trouble)
        showChange(byId("change"), trouble);
    byId("other").textContent = trouble ? trouble.consequence : connection ? otherEndSentence(connection, model.data) : "";
    showRemarks();
}

function allTitle() {
    const { connections, events } = app.model, failed = connections.filter((c) => severityOfConnection(c) === 2).length;
    const trouble = troubleOf(app.model, null), call = trouble ? `; ${trouble.headline}` : "";
    if (!connections.length)
        return `${plural(events.length, "event")}, no connection${call}`;
    return `${plural(connections.length, "connection")}, ` +
        `${failed ? `${failed.toLocaleString("en")} failed` : "none failed"}${call}`;
}

function showRemarks() {
    const list = byId("remarks"), files = app.model.files;
    list.replaceChildren();
    const ends = app.filter.connection ? endsOf(app.filter.connection) : [];
    const cut = ends.filter((end) => !end.hasBegin).map((end) =>
        `The beginning of the connection is not in the file of ${fileTitle(files[end.file])} any more.`);
    for (const text of [...clockSentences(app.model), ...files.flatMap(lackSentences), ...cut])
        if (text)
            make(list, "li", text);
    if (files.length === 1 && app.model.connections.some((c) => !c.initiator || !c.acceptor))
        make(list, "li", "With the trace of the other end as a second file, the picture has both ends.");
}

/* ---- connections ---- */

function connectionButton(list, connection, text, detail) {
    const button = makeButton(list, undefined, () => {
        app.filter.connection = connection;
        showControls();
        setFilter({});
        if (!app.selected) {
            showDetails(null);
            revealTrouble();
        }
    });
    make(button, "span", text, "name");
    make(button, "span", detail, "fate");
    button.setAttribute("aria-pressed", String(app.filter.connection === connection));
    if (connection)
        button.classList.add(troubleOf(app.model, connection) ? "bad" :
            ["good", "open", "bad"][severityOfConnection(connection)]);
    return button;
}

function showConnections() {
    const nav = byId("connections"), all = app.model.connections;
    nav.hidden = all.length < 2;
    if (nav.hidden)
        return;
    if (!byId("connection-list")) {
        const find = make(nav, "input");
        find.type = "search";
        find.id = "connection-find";
        find.placeholder = "find a connection";
        find.setAttribute("aria-label", "find a connection by its address or outcome");
        find.addEventListener("input", showConnections);
        make(nav, "div").id = "connection-list";
    }
    const list = byId("connection-list"), wanted = byId("connection-find").value.toLowerCase();
    list.replaceChildren();
    connectionButton(list, null, "all connections", allTitle());
    const found = all.filter((c) => `${c.index + 1} ${connectionTitle(c)} ${connectionFate(c)}`.toLowerCase()
        .includes(wanted));
    found.sort((a, b) => severityOfConnection(b) - severityOfConnection(a) || a.index - b.index);
    for (const connection of found.slice(0, MAX_LISTED))
        connectionButton(list, connection, `${connection.index + 1}: ${connectionTitle(connection)}`,
            connectionFate(connection));
    if (found.length > MAX_LISTED)
        make(list, "p", `${(found.length - MAX_LISTED).toLocaleString("en")} more; find them by a part of their address`);
}

/* ---- filters ---- */

function fillSelect(select, first, options) {
    select.replaceChildren();
    for (const [value, text] of [["", first], ...options]) {
        const option = make(select, "option", text);
        option.value = value;
    }
}

function threadOptions() {
    const seen = new Map(), files = app.model.files;
    for (const event of app.model.events)
        if (!seen.has(threadKey(event))) {
            const file = files[event.file], name = (file.threads || {})[event.thread];
            seen.set(threadKey(event), `${event.thread}${name ? ` ${name}` : ""}` +
                (files.length > 1 ? ` of ${file.program} ${file.pid}` : ""));
        }
    return [...seen].slice(0, 1000);
}

function makeKinds() {
    for (const kind of KINDS) {
        const label = make(byId("kinds"), "label", undefined, `chip t-${kind.id}`), box = make(label, "input");
        box.type = "checkbox";
        box.id = `kind-${kind.id}`;
        label.title = kind.help;
        make(label, "span", "", "sample");
        const count = app.model.events.filter((e) => e.type.kind === kind.id).length;
        label.hidden = !count;
        make(label, "span", `${kind.name} `);
        make(label, "span", count.toLocaleString("en"), "count");
        box.addEventListener("change", () => {
            app.filter.kinds[box.checked ? "add" : "delete"](kind.id);
            setFilter({});
        });
    }
}

function readSeconds(input, otherwise) {
    const value = input.value.trim() === "" ? otherwise : Number(input.value) * 1e9;
    input.setAttribute("aria-invalid", String(Number.isNaN(value)));
    return Number.isNaN(value) ? otherwise : value;
}

/* Shows the filter in the controls. */
function showControls() {
    const filter = app.filter;
    for (const kind of KINDS)
        byId(`kind-${kind.id}`).checked = filter.kinds.has(kind.id);
    byId("thread").value = filter.thread;
    byId("call").value = filter.call;
    byId("failures").checked = filter.failures;
    byId("loose").checked = filter.loose;
    byId("loose-label").hidden = !filter.connection;
    if (filter.from === -Infinity)
        byId("from").value = "";
    if (filter.until === Infinity)
        byId("until").value = "";
    showHeader();
    showConnections();
}

function startControls() {
    const on = (id, event, action) => byId(id).addEventListener(event, action);
    makeKinds();
    fillSelect(byId("thread"), "all", threadOptions());
    const calls = app.model.types.filter((name) => kindOf(name) === "call" && /^[A-Z]/.test(name)).sort();
    fillSelect(byId("call"), calls.length ? "all" : "none", calls.map((name) => [name, name]));
    byId("call").disabled = !calls.length;
    on("thread", "change", () => setFilter({ thread: byId("thread").value }));
    on("call", "change", () => setFilter({ call: byId("call").value }));
    on("failures", "change", () => setFilter({ failures: byId("failures").checked }));
    on("loose", "change", () => setFilter({ loose: byId("loose").checked }));
    on("from", "change", () => setFilter({ from: readSeconds(byId("from"), -Infinity) }));
    on("until", "change", () => setFilter({ until: readSeconds(byId("until"), Infinity) }));
    on("zoom-in", "click", () => setZoom(app.zoom * 1.4));
    on("zoom-out", "click", () => setZoom(app.zoom / 1.4));
    on("zoom-fit", "click", () => setZoom(0));
    on("zoom-text", "click", () => setZoom(TEXT_ZOOM));
    on("next-failure", "click", () => nextFailure(1));
    on("show-table", "click", toggleTable);
    on("print-page", "click", () => window.print());
    on("save-svg", "click", saveSvg);
    on("theme", "click", nextTheme);
    on("help", "click", toggleHelp);
}

function nextTheme() {
    const themes = ["", "light", "dark"], root = document.documentElement;
    const next = themes[(themes.indexOf(root.dataset.theme || "") + 1) % 3];
    root.dataset.theme = next;
    byId("theme").textContent = next || "theme";
    drawOverview();
}

/* ---- help ---- */

const HELP = [
    ["arrow keys, Page Up, Page Down, Home, End", "select an event"],
    ["Enter, Escape", "go to the details; select nothing"],
    ["+, -, 0, 1, Ctrl and the mouse wheel", "zoom; 0 shows all rows, 1 rows with text"],
    ["/, n, N", "search; next and previous hit. @1.5 goes to second 1.5"],
    ["f, F", "next and previous failure"],
    ["t, ?", "the events as a table; this help"],
];
const SIGNS = [
    "A line down is a program or its provider. Time goes down; a row is an event.",
    "An arrow between providers is a frame, from the moment when it was sent to the moment when it was received. An " +
    "arrow with a cross was not received, or not processed because the connection had already failed.",
    "A pill is a state. The colour of the line shows it until the next one: orange while the connection begins, green " +
    "while it is established, grey while it ends.",
    "A bracket beside a line is a wait with a time limit; a red one has passed its limit.",
    "A bar beside the program's line is a call that is pending, from the call to its completion.",
    "A red row with \u25b6 is the first event that went wrong, a yellow one with \u25c6 what led to it. A dashed box and " +
    "muted red are consequences: what failed because the connection had ended already.",
    "A band with zigzag lines is a time in which nothing was recorded.",
    "\u2264 is before the time of a frame that seems to have arrived before it was sent, because clocks differ.",
];

function toggleHelp() {
    const help = byId("help-text");
    if (!help.children.length) {
        const table = make(help, "table", undefined, "facts"), list = make(help, "ul");
        for (const [keys, effect] of HELP)
            addFact(table, keys, effect);
        for (const sign of SIGNS)
            make(list, "li", sign);
    }
    help.hidden = !help.hidden;
    byId("help").setAttribute("aria-expanded", String(!help.hidden));
}
