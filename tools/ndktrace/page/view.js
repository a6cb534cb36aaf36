/* SPDX-License-Identifier: MIT */
/*
 * The view: which rows are on the screen. Only these are drawn. The scroll bar belongs to a spacer as high as all rows,
 * up to MAX_SPACER pixels; above that a pixel of the scroll bar is more than one of the drawing.
 */

const MAX_SPACER = 8e6;
const TEXT_ZOOM = 24;
const MAX_ZOOM = 44;
const TROUBLE_PLACE = 0.25; /* where the page opens at the first event that went wrong, as a part of the view */

const app = { model: null, words: null, filter: null, rows: null, zoom: TEXT_ZOOM, selected: null, hits: null,
              lanes: null, isScheduled: false, draws: 0 };

function viewHeight() {
    return byId("scroll").clientHeight || 400;
}

function minZoom() {
    return Math.min(TEXT_ZOOM, (viewHeight() - 4) / Math.max(app.rows.total, 1));
}

/* All rows, and below them as much room as the first event that went wrong needs to be in the upper third. */
function contentHeight() {
    const rows = app.rows, height = rows.total * app.zoom + app.zoom;
    if (rows.wrong < 0 || height <= viewHeight())
        return height;
    return Math.max(height, rows.top[rows.wrong] * app.zoom + viewHeight() * (1 - TROUBLE_PLACE));
}

/* The unit at the top of the view. */
function viewOffset() {
    const scroll = byId("scroll"), hidden = Math.max(app.spacer - viewHeight(), 0);
    const part = hidden ? Math.min(scroll.scrollTop / hidden, 1) : 0;
    return part * Math.max(contentHeight() - viewHeight(), 0) / app.zoom;
}

function setOffset(unit) {
    const most = Math.max(contentHeight() - viewHeight(), 0), hidden = Math.max(app.spacer - viewHeight(), 0);
    const pixels = Math.min(Math.max(unit * app.zoom, 0), most);
    byId("scroll").scrollTop = most ? pixels / most * hidden : 0;
    schedule();
}

function resizeSpacer() {
    app.spacer = Math.min(contentHeight(), MAX_SPACER);
    byId("spacer").style.height = `${app.spacer}px`;
}

/* Sets the zoom. The unit `at` stays where it is, `y` pixels below the top. */
function setZoom(zoom, at, y) {
    const offset = viewOffset();
    const fixed = at ?? (app.selected && app.selected.row >= 0 ? app.rows.top[app.selected.row] : offset);
    const pixels = y ?? (at === undefined && app.selected && app.selected.row >= 0 ? (fixed - offset) * app.zoom : 0);
    app.zoom = Math.min(Math.max(zoom, minZoom()), MAX_ZOOM);
    resizeSpacer();
    setOffset(fixed - pixels / app.zoom);
}

function schedule() {
    if (app.isScheduled)
        return;
    app.isScheduled = true;
    requestAnimationFrame(() => {
        app.isScheduled = false;
        render();
    });
}

function makeScene(parent, height) {
    return { parent, lanes: app.lanes, rows: app.rows, arrows: app.arrows, spans: app.spans, zoom: app.zoom,
             offset: viewOffset(), height, model: app.model, filter: app.filter, selected: app.selected,
             hits: app.hits };
}

function render() {
    const scene = byId("scene"), height = viewHeight();
    scene.replaceChildren();
    scene.setAttribute("width", app.lanes.width);
    scene.setAttribute("height", height);
    byId("empty").hidden = app.rows.events.length > 0;
    const made = makeScene(scene, height);
    const first = rowAt(app.rows, made.offset - 1), last = rowAt(app.rows, made.offset + height / app.zoom);
    drawScene(made, first, last);
    app.visible = [first, last];
    app.draws++;
    drawOverviewWindow();
}

/* Computes the rows again, after the filter or the size has changed. */
function layout() {
    app.rows = layoutRows(app.model, app.filter);
    app.arrows = indexArrows(app.rows);
    app.spans = indexSpans(app.model, app.rows, app.filter);
    measureLanes();
    app.zoom = Math.min(Math.max(app.zoom, minZoom()), MAX_ZOOM);
    resizeSpacer();
    drawOverview();
    showStatus();
}

function measureLanes() {
    const width = Math.max(byId("scroll").clientWidth, 640), head = byId("head");
    app.lanes = makeLanes(app.model, app.filter.connection, width);
    head.replaceChildren();
    head.setAttribute("width", width);
    head.setAttribute("height", HEAD_HEIGHT);
    drawHead(head, app.lanes);
}

/* Changes the filter. The selected event stays selected, and in view if it has a row. */
function setFilter(changes) {
    Object.assign(app.filter, changes);
    layout();
    if (app.selected && app.selected.row < 0)
        select(null);
    if (app.selected)
        reveal(app.selected);
    else
        setOffset(0);
    searchAgain();
    showTable();
    schedule();
}

function showStatus() {
    const shown = app.rows.events.length, all = app.model.events.length;
    const attached = app.model.events.filter((e) => e.host && e.host.row >= 0).length;
    byId("status").textContent = `${plural(shown + attached, "event")} of ${all.toLocaleString("en")} shown` +
        (attached ? `, ${attached.toLocaleString("en")} of them together with another event in one row` : "") +
        ". Rows are in the order of time; the distance of two rows does not show how much time passed.";
}

/* ---- selection ---- */

/* Scrolls so that the event's row is in view. */
function reveal(event) {
    const row = rowNear(app.rows, event), top = app.rows.top[row], offset = viewOffset();
    const units = viewHeight() / app.zoom;
    if (row < 0)
        return;
    if (top < offset + 1 || top + app.rows.height[row] > offset + units - 1)
        setOffset(top - units * 0.35);
}

function select(event) {
    const shown = event && event.host ? event.host : event;
    app.selected = shown;
    showDetails(shown);
    if (shown) {
        reveal(shown);
        byId("live").textContent = `${formatSeconds(shown.at)} seconds, ${sideWords(shown)}: ${labelOf(shown)}`;
    }
    schedule();
    markTableRow();
}

function sideWords(event) {
    return event.end ? (clientOrServer(event.end)) : fileTitle(app.model.files[event.file]);
}

/* Selects an event, also one that the filter hides: then the filter shows everything of its connection. */
function goTo(event) {
    const target = event.host || event;
    if (target.row < 0) {
        Object.assign(app.filter, makeFilter(), { connection: app.filter.connection &&
            target.connection === app.filter.connection ? app.filter.connection : target.connection });
        showControls();
        setFilter({});
    }
    select(target);
}

function moveSelection(steps) {
    const last = app.rows.events.length - 1;
    if (last < 0)
        return;
    const from = app.selected && app.selected.row >= 0 ? app.selected.row + steps : steps > 0 ? app.visible[0] : last;
    select(app.rows.events[Math.min(Math.max(from, 0), last)]);
}

function nextFailure(step) {
    const events = app.rows.events, count = events.length;
    let row = app.selected && app.selected.row >= 0 ? app.selected.row : step > 0 ? -1 : count;
    for (let i = 0; i < count; i++) {
        row = (row + step + count) % count;
        if (events[row].severity === 2 && !events[row].isEffect) {
            select(events[row]);
            return;
        }
    }
    byId("live").textContent = "No failure is shown.";
}

/* ---- mouse and keys ---- */

function eventAt(mouse) {
    const mark = mouse.target.closest && mouse.target.closest("[data-event]");
    if (mark)
        return app.model.byIndex[Number(mark.dataset.event)];
    const y = mouse.clientY - byId("scroll").getBoundingClientRect().top;
    return app.rows.events[rowAt(app.rows, viewOffset() + y / app.zoom)] || null;
}

function handleWheel(wheel) {
    if (!wheel.ctrlKey)
        return;
    wheel.preventDefault();
    const y = wheel.clientY - byId("scroll").getBoundingClientRect().top;
    setZoom(app.zoom * Math.exp(-wheel.deltaY / 300), viewOffset() + y / app.zoom, y);
}

const KEYS = {
    ArrowDown: () => moveSelection(1), ArrowUp: () => moveSelection(-1), j: () => moveSelection(1),
    k: () => moveSelection(-1), PageDown: () => moveSelection(pageRows()), PageUp: () => moveSelection(-pageRows()),
    Home: () => moveSelection(-Infinity), End: () => moveSelection(Infinity), Enter: () => byId("details").focus(),
    Escape: () => select(null),
};
/* These work wherever the focus is, except in a text field. */
const PAGE_KEYS = {
    "+": () => setZoom(app.zoom * 1.4), "=": () => setZoom(app.zoom * 1.4), "-": () => setZoom(app.zoom / 1.4),
    0: () => setZoom(0), 1: () => setZoom(TEXT_ZOOM), f: () => nextFailure(1), F: () => nextFailure(-1),
    "/": () => byId("search").focus(), n: () => moveHit(1), N: () => moveHit(-1), t: () => toggleTable(),
    "?": () => toggleHelp(),
};

function pageRows() {
    return Math.max(1, Math.floor(viewHeight() / app.zoom) - 1);
}

function handleKey(key) {
    const isField = ["INPUT", "SELECT", "TEXTAREA"].includes(key.target.tagName) && key.target.type !== "checkbox";
    if (key.ctrlKey || key.altKey || key.metaKey || isField)
        return;
    const isDiagram = byId("scroll").contains(key.target) || key.target === document.body;
    const action = (isDiagram && Object.hasOwn(KEYS, key.key) && KEYS[key.key]) ||
        (Object.hasOwn(PAGE_KEYS, key.key) && PAGE_KEYS[key.key]);
    if (!action)
        return;
    key.preventDefault();
    action();
}

function startView() {
    const scroll = byId("scroll");
    scroll.addEventListener("scroll", schedule, { passive: true });
    scroll.addEventListener("wheel", handleWheel, { passive: false });
    byId("scene").addEventListener("click", (mouse) => {
        scroll.focus({ preventScroll: true });
        select(eventAt(mouse));
    });
    document.addEventListener("keydown", handleKey);
    new ResizeObserver(() => {
        measureLanes();
        const offset = viewOffset();
        app.zoom = Math.max(app.zoom, minZoom());
        resizeSpacer();
        setOffset(offset);
        drawOverview();
    }).observe(scroll);
}
