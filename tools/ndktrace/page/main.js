/* SPDX-License-Identifier: MIT */
/* Starts the page. */

/* Shows the first connection that failed, or with a failed call; without one the first; or everything, if there is no connection. */
function firstConnection(model) {
    return model.connections.find((c) => severityOfConnection(c) === 2) ||
        model.connections.find((c) => troubleOf(model, c)) || model.connections[0] || null;
}

function start() {
    const began = performance.now();
    const model = buildModel(JSON.parse(byId("data").textContent));
    byId("data").textContent = "";
    model.byIndex = [];
    for (const event of model.events)
        model.byIndex[event.index] = event;
    app.model = model;
    app.words = JSON.parse(byId("words").textContent);
    app.filter = makeFilter();
    app.filter.connection = firstConnection(model);
    app.filter.loose = model.connections.length < 3 && !model.files.some((_, file) => hasCalls(model, file));
    startControls();
    startSearch();
    startPrint();
    showControls();
    layout();
    startView();
    startOverview();
    showDetails(null);
    revealTrouble();
    render();
    app.startMs = performance.now() - began; /* for a look at the page's speed: the script, and all since it was opened */
    app.drawnMs = performance.now();
}

start();
