/* SPDX-License-Identifier: MIT */
/* Writes links between events: see html_links.h. */
#include "html_links.h"

/* Writes each end as [file, 1 if the file contains the event `connection` or else 0, index of the other end or -1]. */
static void html_links_ends(FILE *out, const struct ends *e, const struct trace_file *files)
{
    fputs("\"ends\":[", out);
    for (size_t i = 0; i < e->count; i++) {
        const struct end *end = &e->ends[i];

        fprintf(out, "%s[%td,%d,", i ? "," : "", end->file - files, end->has_begin);
        if (end->other == END_NONE)
            fputs("-1]", out);
        else
            fprintf(out, "%zu]", end->other);
    }
    fputs("]", out);
}

void html_links_write(FILE *out, const struct align *a, const struct trace_file *files, const size_t *event_of)
{
    const char *separator = "";

    html_links_ends(out, &a->ends, files);
    fputs(",\n\"endOfEvent\":[", out);
    for (size_t i = 0; i < a->ends.n_records; i++) {
        if (event_of[i] == HTML_NO_EVENT)
            continue;
        if (a->ends.of_record[i] == END_NONE)
            fprintf(out, "%s-1", separator);
        else
            fprintf(out, "%s%zu", separator, a->ends.of_record[i]);
        separator = ",";
    }
    fputs("],\n\"partners\":[", out); /* pairs of indexes: the events of a frame at its two ends, the earlier first */
    separator = "";
    for (size_t i = 0; i < a->ends.n_records; i++) {
        size_t other = a->partner[i];

        if (other == END_NONE || other < i || event_of[i] == HTML_NO_EVENT || event_of[other] == HTML_NO_EVENT)
            continue;
        fprintf(out, "%s%zu,%zu", separator, event_of[i], event_of[other]);
        separator = ",";
    }
    fputs("]", out);
}
