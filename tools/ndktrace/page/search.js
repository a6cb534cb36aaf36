/* SPDX-License-Identifier: MIT */
/* The search: hits among the rows, and steps from one to the next. @SECONDS goes to a time. */

const search = { text: "", list: [], timer: 0 };

function findHits(text) {
    const wanted = text.toLowerCase();
    return app.rows.events.filter((e) => searchText(e).includes(wanted) ||
        (e.attached || []).some((own) => searchText(own).includes(wanted)));
}

/* Searches the rows, for example after the filter has changed. The selection does not move. */
function searchAgain() {
    const text = search.text.trim();
    search.list = text && !text.startsWith("@") ? findHits(text) : [];
    app.hits = search.list.length ? new Set(search.list) : null;
    showCount();
    schedule();
}

function showCount() {
    const at = search.list.indexOf(app.selected);
    byId("search-count").textContent = !search.text.trim() || search.text.startsWith("@") ? "" : search.list.length ?
        `${at >= 0 ? `${(at + 1).toLocaleString("en")} of ` : ""}${plural(search.list.length, "hit")}` : "no hit";
}

/* Goes to the next hit behind the selected row, or before it. */
function moveHit(step) {
    const list = search.list;
    if (!list.length)
        return;
    const row = app.selected ? app.selected.row : app.visible ? app.visible[0] - 1 : -1;
    let next = step > 0 ? list.findIndex((e) => e.row > row) : list.findLastIndex((e) => e.row < row);
    next = next < 0 ? (step > 0 ? 0 : list.length - 1) : next;
    select(list[next]);
    showCount();
}

function goToTime(text) {
    const seconds = Number(text.slice(1)), rows = app.rows;
    if (text.length < 2 || Number.isNaN(seconds) || !rows.events.length)
        return;
    const row = rows.events.findIndex((e) => e.at >= seconds * 1e9);
    select(rows.events[row < 0 ? rows.events.length - 1 : row]);
}

function runSearch() {
    search.text = byId("search").value;
    if (search.text.startsWith("@"))
        goToTime(search.text.trim());
    searchAgain();
    if (search.list.length && !search.list.includes(app.selected))
        moveHit(1);
}

function startSearch() {
    const input = byId("search");
    input.addEventListener("input", () => {
        clearTimeout(search.timer);
        search.timer = setTimeout(runSearch, 150);
    });
    input.addEventListener("keydown", (key) => {
        if (key.key === "Enter") {
            if (search.text !== input.value)
                runSearch();
            else
                moveHit(key.shiftKey ? -1 : 1);
        }
        if (key.key === "Escape")
            byId("scroll").focus();
    });
    byId("search-next").addEventListener("click", () => moveHit(1));
    byId("search-before").addEventListener("click", () => moveHit(-1));
}
