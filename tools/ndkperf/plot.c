/* SPDX-License-Identifier: MIT */
/* Draws curves as inline SVG: see plot.h. */
#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "html_text.h"

enum { WIDTH = 760, HEIGHT = 380, LEFT = 84, RIGHT = 190, TOP = 20, BOTTOM = 50, MAX_TICKS = 24, MAX_MARKS = 500 };

struct axis {
    bool is_log;
    double low, high;       /* bounds of the axis, as values */
    double at_low, at_high; /* positions of `low` and `high` in the picture */
    double ticks[MAX_TICKS];
    size_t count;
};

/* ---- curves ---- */

struct plot_curve *plot_add_curve(struct plot *p, const char *name, bool dashed)
{
    struct plot_curve *c = &p->curves[p->count];

    if (p->count == PLOT_MAX_CURVES)
        return NULL;
    p->count++;
    memset(c, 0, sizeof *c);
    snprintf(c->name, sizeof c->name, "%s", name);
    c->dashed = dashed;
    return c;
}

void plot_add_point(const struct plot *p, struct plot_curve *c, double x, double y)
{
    struct plot_point *grown;

    if (!c || (p->x_log && x <= 0) || (p->y_log && y <= 0))
        return;
    grown = realloc(c->points, (c->count + 1) * sizeof *grown);
    if (!grown)
        return;
    c->points = grown;
    c->points[c->count++] = (struct plot_point){ x, y };
}

/* ---- axes ---- */

static double axis_position(const struct axis *a, double value)
{
    double from = a->is_log ? log(a->low) : a->low, to = a->is_log ? log(a->high) : a->high;
    double part = to > from ? ((a->is_log ? log(value) : value) - from) / (to - from) : 0.5;

    return a->at_low + part * (a->at_high - a->at_low);
}

/* Sets ticks at powers of two, or at 1, 2 and 5 times powers of ten. If there are too many ticks, omits some. */
static void axis_set_log_ticks(struct axis *a, bool binary)
{
    static const double decade[] = { 1, 2, 5 };
    double all[400];
    size_t n = 0, step;

    for (int e = -6; e < 16 && !binary; e++)
        for (size_t k = 0; k < 3; k++)
            all[n++] = decade[k] * pow(10, e);
    for (int e = 0; e < 40 && binary; e++)
        all[n++] = pow(2, e);
    while (n > 1 && all[n - 2] >= a->high)
        n--;
    for (step = 0; step + 1 < n && all[step + 1] <= a->low; step++)
        ;
    memmove(all, all + step, (n - step) * sizeof all[0]);
    n -= step;
    if (!binary) {
        a->low = all[0];
        a->high = all[n - 1];
    }
    step = (n + 11) / 12;
    for (size_t i = 0; i < n && a->count < MAX_TICKS; i += step)
        if (all[i] >= a->low * 0.999 && all[i] <= a->high * 1.001)
            a->ticks[a->count++] = all[i];
}

static void axis_set_linear_ticks(struct axis *a)
{
    double step, unit;

    a->low = a->low > 0 ? 0 : a->low;
    if (a->high <= a->low)
        a->high = a->low + 1;
    step = (a->high - a->low) / 8;
    unit = pow(10, floor(log10(step)));
    step = step / unit <= 1 ? unit : step / unit <= 2 ? 2 * unit : step / unit <= 5 ? 5 * unit : 10 * unit;
    a->high = ceil(a->high / step - 1e-9) * step;
    for (double t = a->low; t <= a->high + step / 2 && a->count < MAX_TICKS; t += step)
        a->ticks[a->count++] = t;
}

/* Sets the bounds and ticks according to the points of all curves. Returns false if there is nothing to draw. */
static bool axis_init(struct axis *a, const struct plot *p, bool is_x)
{
    bool any = false;

    memset(a, 0, sizeof *a);
    a->is_log = is_x ? p->x_log : p->y_log;
    for (size_t i = 0; i < p->count; i++)
        for (size_t k = 0; k < p->curves[i].count; k++) {
            double v = is_x ? p->curves[i].points[k].x : p->curves[i].points[k].y;
            a->low = !any || v < a->low ? v : a->low;
            a->high = !any || v > a->high ? v : a->high;
            any = true;
        }
    if (!any)
        return false;
    a->at_low = is_x ? LEFT : HEIGHT - BOTTOM;
    a->at_high = is_x ? WIDTH - RIGHT : TOP;
    if (a->is_log)
        axis_set_log_ticks(a, is_x && p->x_binary);
    else
        axis_set_linear_ticks(a);
    return true;
}

static void plot_number(char *text, size_t size, double value, bool binary)
{
    if (binary && value >= 1048576)
        snprintf(text, size, "%gM", value / 1048576);
    else if (binary && value >= 1024)
        snprintf(text, size, "%gK", value / 1024);
    else if (!binary && value >= 1e6)
        snprintf(text, size, "%gM", value / 1e6);
    else
        snprintf(text, size, "%.6g", fabs(value) < 1e-12 ? 0 : value);
}

/* ---- the picture ---- */

static void plot_write_grid(FILE *out, const struct plot *p, const struct axis *x, const struct axis *y)
{
    char number[32];

    for (size_t i = 0; i < y->count; i++) {
        double at = axis_position(y, y->ticks[i]);
        plot_number(number, sizeof number, y->ticks[i], false);
        fprintf(out,
                "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\" "
                "text-anchor=\"end\">%s</text>\n",
                LEFT, WIDTH - RIGHT, at, at, LEFT - 6, at + 4, number);
    }
    for (size_t i = 0; i < x->count; i++) {
        double at = axis_position(x, x->ticks[i]);
        plot_number(number, sizeof number, x->ticks[i], p->x_binary);
        fprintf(out,
                "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/><text x=\"%.1f\" y=\"%d\" "
                "text-anchor=\"middle\">%s</text>\n",
                at, at, TOP, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 16, number);
    }
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8,
            p->x_label);
    fprintf(out, "<text transform=\"translate(14 %d) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
            (TOP + HEIGHT - BOTTOM) / 2, p->y_label);
}

static void plot_write_curve(FILE *out, const struct plot_curve *c, size_t place, const struct axis *x,
                             const struct axis *y)
{
    const char *dashed = c->dashed ? " dashed" : "";
    int legend = TOP + 12 + 20 * (int)place;

    fprintf(out, "<path class=\"c%zu%s\" d=\"", place, dashed);
    for (size_t i = 0; i < c->count; i++)
        fprintf(out, "%s%.1f %.1f", i ? " L" : "M", axis_position(x, c->points[i].x), axis_position(y, c->points[i].y));
    fputs("\"/>\n", out);
    for (size_t i = 0; i < c->count && c->count <= MAX_MARKS; i++) {
        fprintf(out, "<circle class=\"c%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>", place,
                axis_position(x, c->points[i].x), axis_position(y, c->points[i].y));
        html_text_write(out, c->name);
        fprintf(out, ": %.6g, %.6g</title></circle>\n", c->points[i].x, c->points[i].y);
    }
    fprintf(out, "<path class=\"c%zu%s\" d=\"M%d %dh26\"/><text x=\"%d\" y=\"%d\">", place, dashed, WIDTH - RIGHT + 14,
            legend, WIDTH - RIGHT + 46, legend + 4);
    html_text_write(out, c->name);
    fputs("</text>\n", out);
}

void plot_write(FILE *out, struct plot *p)
{
    struct axis x, y;
    bool has_curve = false;

    for (size_t i = 0; i < p->count; i++)
        has_curve = has_curve || p->curves[i].count > 1;
    if (has_curve && axis_init(&x, p, true) && axis_init(&y, p, false)) {
        fputs("<h2>", out);
        html_text_write(out, p->title);
        fprintf(out, "</h2>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH, HEIGHT);
        html_text_write(out, p->title);
        fputs("\">\n", out);
        plot_write_grid(out, p, &x, &y);
        for (size_t i = 0; i < p->count; i++)
            plot_write_curve(out, &p->curves[i], i, &x, &y);
        fputs("</svg>\n", out);
    }
    for (size_t i = 0; i < p->count; i++)
        free(p->curves[i].points);
    memset(p, 0, sizeof *p);
}
