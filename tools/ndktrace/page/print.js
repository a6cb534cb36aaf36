/* SPDX-License-Identifier: MIT */
/* Print and export: the rows of the filter as pages, or as one picture, that need no script. */

const PRINT_WIDTH = 900;
const PRINT_ZOOM = 23;
const PRINT_UNITS = 46;   /* of a page; its height is PRINT_UNITS * PRINT_ZOOM + HEAD_HEIGHT */
const PAPER_WIDTH = 703;  /* pixels of A4 without margins, which is less than those of Letter */
const PAPER_HEIGHT = 940; /* those of Letter, which is less than those of A4 */
const MAX_PRINTED = 3000; /* rows */

/* The rows that are printed: all, or MAX_PRINTED from the first one in view on. */
function printedRows() {
    const count = app.rows.events.length;
    if (count <= MAX_PRINTED)
        return [0, count - 1];
    const first = Math.min(app.visible ? app.visible[0] : 0, count - MAX_PRINTED);
    return [first, first + MAX_PRINTED - 1];
}

function staticScene(parent, lanes, offset, height) {
    return { parent, lanes, rows: app.rows, arrows: app.arrows, spans: app.spans, zoom: PRINT_ZOOM, offset, height,
             model: app.model, filter: app.filter, selected: null, hits: null };
}

function rowBottom(row) {
    return app.rows.top[row] + app.rows.height[row];
}

/* Returns the last row of a page that begins with the row `first`. */
function lastOfPage(first, last, units) {
    const end = topOf(first) + units;
    let row = first;
    while (row < last && rowBottom(row + 1) <= end)
        row++;
    return row;
}

/* The top of a row, or of the break before it. */
function topOf(row) {
    const gap = app.rows.breaks.find((b) => b.row === row);
    return gap ? gap.top : app.rows.top[row];
}

function drawStatic(parent, first, last, width) {
    const lanes = makeLanes(app.model, app.filter.connection, width), top = topOf(first);
    const height = Math.ceil((rowBottom(last) - top) * PRINT_ZOOM) + 6, whole = height + HEAD_HEIGHT;
    const picture = svg(parent, "svg", { xmlns: SVG_NAMESPACE, viewBox: `0 0 ${width} ${whole}`, class: "picture" });
    svg(picture, "rect", { width, height: whole, class: "paper" });
    drawHead(picture, lanes);
    const body = svg(picture, "svg", { x: 0, y: HEAD_HEIGHT, width, height, viewBox: `0 0 ${width} ${height}` });
    drawScene(staticScene(body, lanes, top, height), first, last);
    return picture;
}

/* Returns the units of the first page, which also has the header. The header's height is estimated, not measured. */
function firstUnits() {
    let header = 80;
    for (const [id, size] of [["origin", 10], ["title", 18], ["advice", 12], ["other", 12], ["remarks", 10]])
        header += Math.ceil(textWidth(byId(id).textContent, size) / (PAPER_WIDTH - 60)) * size * 1.45;
    return Math.max((PAPER_HEIGHT - header) * PRINT_WIDTH / PAPER_WIDTH / 1.05 - HEAD_HEIGHT - 10, 0) / PRINT_ZOOM;
}

function fillPrint() {
    const print = byId("print"), [first, last] = printedRows();
    print.replaceChildren();
    if (last < first)
        return;
    if (last - first + 1 < app.rows.events.length)
        make(print, "p", `Rows ${first + 1} to ${last + 1} of ${app.rows.events.length.toLocaleString("en")}. ` +
            "The filter by seconds selects others.");
    let page = 1;
    for (let from = first; from <= last; page++) {
        const to = lastOfPage(from, last, page === 1 ? firstUnits() : PRINT_UNITS);
        const sheet = make(print, "figure");
        drawStatic(sheet, from, to, PRINT_WIDTH);
        make(sheet, "figcaption", `Page ${page}: seconds ${formatSeconds(app.rows.events[from].at)} to ` +
            formatSeconds(app.rows.events[to].at));
        from = to + 1;
    }
}

/* Returns the rows of the filter as an SVG file. Its colours follow the reader's light or dark mode. */
function exportSvg(width) {
    const [first, last] = printedRows(), holder = document.createElement("div");
    const picture = drawStatic(holder, first, Math.max(first, last), width);
    const style = document.createElementNS(SVG_NAMESPACE, "style");
    const [, , w, h] = picture.getAttribute("viewBox").split(" ");
    picture.setAttribute("width", w);
    picture.setAttribute("height", h);
    picture.setAttribute("role", "img");
    style.textContent = byId("drawing-style").textContent;
    picture.prepend(style);
    const title = document.createElementNS(SVG_NAMESPACE, "title");
    title.textContent = byId("title").textContent;
    picture.prepend(title);
    return new XMLSerializer().serializeToString(picture) + "\n";
}

function saveSvg() {
    if (!app.rows.events.length)
        return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([exportSvg(PRINT_WIDTH)], { type: "image/svg+xml" }));
    link.download = "ndktrace.svg";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/* Paper is light. */
function startPrint() {
    const root = document.documentElement;
    let theme = "";
    window.addEventListener("beforeprint", () => {
        theme = root.dataset.theme || "";
        root.dataset.theme = "light";
        fillPrint();
    });
    window.addEventListener("afterprint", () => {
        root.dataset.theme = theme;
        byId("print").replaceChildren();
    });
}
