/* SPDX-License-Identifier: MIT */
/* Draws curves as inline SVG. */
#ifndef NDKPERF_PLOT_H
#define NDKPERF_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct plot_point {
    double x, y;
};

struct plot_curve {
    char name[96];
    bool dashed;
    struct plot_point *points;
    size_t count;
};

enum { PLOT_MAX_CURVES = 8 };

struct plot {
    char title[160];
    const char *x_label, *y_label;
    bool x_log, y_log;
    bool x_binary; /* the ticks are at powers of two */
    struct plot_curve curves[PLOT_MAX_CURVES];
    size_t count;
};

/* Adds a curve to the plot. Returns the curve, or NULL if the plot has no space for another one. */
struct plot_curve *plot_add_curve(struct plot *p, const char *name, bool dashed);
/* Adds a point to a curve. Omits a point that a logarithmic axis cannot show. */
void plot_add_point(const struct plot *p, struct plot_curve *c, double x, double y);
/* Writes the plot with its title, if at least one curve has two or more points. Always frees the curves. */
void plot_write(FILE *out, struct plot *p);

#endif
