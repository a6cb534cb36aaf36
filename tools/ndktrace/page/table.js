/* SPDX-License-Identifier: MIT */
/* The events as a table, which a screen reader can read and a browser can search and copy. It has pages. */

const PAGE_ROWS = 200;
const table = { page: 0 };

function toggleTable() {
    const section = byId("table"), isShown = section.hidden;
    section.hidden = !isShown;
    byId("diagram").hidden = isShown;
    byId("overview").hidden = isShown;
    byId("show-table").setAttribute("aria-pressed", String(isShown));
    table.page = app.selected && app.selected.row >= 0 ? Math.floor(app.selected.row / PAGE_ROWS) : 0;
    showTable();
    if (!isShown) {
        measureLanes();
        drawOverview();
        if (app.selected)
            reveal(app.selected);
        schedule();
    }
}

function tableCells(event) {
    return [formatSeconds(event.at), sideWords(event), event.connection ? String(event.connection.index + 1) : NONE,
            String(event.thread), event.type.name, labelOf(event), eventTail(event)];
}

/* The fields that the label may lack, and those of events in the same row. */
function eventTail(event) {
    return [event, ...(event.attached || [])].map((e) => fieldsText(e, e === event ? "" : `; ${e.type.name}`).trim())
        .join("");
}

function showTable() {
    const section = byId("table");
    section.replaceChildren();
    if (section.hidden)
        return;
    const count = app.rows.events.length, pages = Math.max(1, Math.ceil(count / PAGE_ROWS));
    table.page = Math.min(Math.max(table.page, 0), pages - 1);
    const first = table.page * PAGE_ROWS, last = Math.min(first + PAGE_ROWS, count);
    const bar = make(section, "p", undefined, "buttons");
    const turn = (words, page, isOff) => {
        makeButton(bar, words, () => {
            table.page = page;
            showTable();
        }).disabled = isOff;
    };
    turn("first", 0, table.page === 0);
    turn("previous", table.page - 1, table.page === 0);
    turn("next", table.page + 1, table.page === pages - 1);
    turn("last", pages - 1, table.page === pages - 1);
    make(bar, "span", count ? ` rows ${first + 1} to ${last} of ${count.toLocaleString("en")}` : " no rows");
    const wide = make(section, "div", undefined, "wide"), grid = make(wide, "table", undefined, "events");
    make(grid, "caption", byId("title").textContent);
    const head = make(make(grid, "thead"), "tr"), body = make(grid, "tbody");
    for (const name of ["seconds", "side", "connection", "thread", "event", "in words", "fields"])
        make(head, "th", name).scope = "col";
    for (const event of app.rows.events.slice(first, last))
        addTableRow(body, event);
    markTableRow();
}

function addTableRow(body, event) {
    const row = make(body, "tr", undefined, event.severity === 2 ? "bad" : "");
    row.dataset.event = event.index;
    for (const text of tableCells(event))
        make(row, "td", text);
    row.addEventListener("click", () => select(event));
}

function markTableRow() {
    for (const row of byId("table").querySelectorAll("tbody tr"))
        row.classList.toggle("selected", Boolean(app.selected) && Number(row.dataset.event) === app.selected.index);
}
