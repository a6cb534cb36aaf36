/* SPDX-License-Identifier: MIT */
/* The overview beside the diagram: all rows in one column, the failures in red, and a frame around what is in view. */

const overview = { image: null, height: 0, width: 0 };

function colourOf(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || "gray";
}

/* Sums the rows of each pixel: how many there are, how many of each kind, and whether one is a failure. */
function sumPixels(rows, height) {
    const sums = Array.from({ length: height }, () => ({ count: 0, kinds: new Array(KINDS.length).fill(0), bad: 0 }));
    const numbers = new Map(KINDS.map((kind, i) => [kind.id, i]));
    rows.events.forEach((event, row) => {
        const sum = sums[Math.min(height - 1, Math.floor(rows.top[row] / rows.total * height))];
        sum.count++;
        sum.kinds[numbers.get(event.type.kind)]++;
        sum.bad += event.severity === 2 && !event.isEffect;
    });
    return sums;
}

function drawOverview() {
    const canvas = byId("overview"), ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    overview.ratio = ratio;
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.scale(ratio, ratio);
    const sums = sumPixels(app.rows, Math.max(1, Math.floor(height)));
    const most = Math.log1p(Math.max(...sums.map((sum) => sum.count)));
    const colours = KINDS.map((kind) => colourOf(`k-${kind.id}`)), bad = colourOf("bad");
    sums.forEach((sum, y) => {
        if (!sum.count)
            return;
        let x = 4;
        sum.kinds.forEach((count, kind) => {
            const part = Math.max(3, (width - 16) * Math.log1p(sum.count) / most) * count / sum.count;
            context.fillStyle = colours[kind];
            context.fillRect(x, y, part, sums.length > app.rows.events.length * 2 ? 2 : 1);
            x += part;
        });
        if (sum.bad) {
            context.fillStyle = bad;
            context.fillRect(width - 10, y - 1, 10, 3);
        }
    });
    overview.image = context.getImageData(0, 0, canvas.width, canvas.height);
    drawOverviewWindow();
}

/* Draws the frame around the part that is in view. */
function drawOverviewWindow() {
    const canvas = byId("overview"), context = canvas.getContext("2d");
    if (!overview.image || !app.rows.total)
        return;
    context.putImageData(overview.image, 0, 0);
    const height = canvas.clientHeight, units = viewHeight() / app.zoom;
    const top = viewOffset() / app.rows.total * height, size = Math.max(4, units / app.rows.total * height);
    context.strokeStyle = colourOf("accent");
    context.lineWidth = 2;
    context.strokeRect(1, Math.min(top, height - 5) + 1, canvas.clientWidth - 2, Math.min(size, height - top) - 2);
}

function startOverview() {
    const canvas = byId("overview");
    const jump = (mouse) => {
        const part = (mouse.clientY - canvas.getBoundingClientRect().top) / canvas.clientHeight;
        setOffset(part * app.rows.total - viewHeight() / app.zoom / 2);
    };
    canvas.addEventListener("pointerdown", (mouse) => {
        canvas.setPointerCapture(mouse.pointerId);
        jump(mouse);
    });
    canvas.addEventListener("pointermove", (mouse) => mouse.buttons && jump(mouse));
}
