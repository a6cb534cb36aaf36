/* SPDX-License-Identifier: MIT */
/* Reports in JSON and in JUnit XML. The output of a case may contain any bytes. */
#include <time.h>

#include "contract/program/runner.h"

const char *rules_of(const char *name)
{
    for (const struct case_rules *r = case_rules; r && r->name; r++)
        if (strcmp(r->name, name) == 0)
            return r->rules;
    return "";
}

/* ---- text ---- */

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD, for bytes that are not text */

/*
 * Returns the length of the UTF-8 character at the start of `text`, or 0 if there is none. *number receives its code
 * point.
 */
static size_t character(const char *text, size_t len, uint32_t *number)
{
    const uint8_t *at = (const uint8_t *)text;
    /* For each length in bytes: the first code point that needs it */
    static const uint32_t first[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t size = at[0] < 0x80 ? 1 : at[0] < 0xc0 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf8 ? 4 : 0;

    if (size == 0 || size > len)
        return 0;
    *number = size == 1 ? at[0] : at[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        *number = *number << 6 | (at[i] & 0x3f);
    }
    return *number < first[size] || *number > 0x10ffff || (*number >= 0xd800 && *number < 0xe000) ? 0 : size;
}

static void json_character(FILE *out, const char *text, size_t size, uint32_t number)
{
    if (number == '"' || number == '\\')
        fprintf(out, "\\%c", (char)number);
    else if (number < 0x20)
        fprintf(out, "\\u%04x", (unsigned)number);
    else
        fwrite(text, 1, size, out);
}

/* XML 1.0 cannot represent most control characters. */
static void xml_character(FILE *out, const char *text, size_t size, uint32_t number)
{
    if (number == '\n' || number == '\t' || number == '\r' || number == '"' || number == '&' || number == '<' ||
        number == '>')
        fprintf(out, "&#%u;", (unsigned)number);
    else if (number < 0x20 || number == 0xfffe || number == 0xffff)
        fputs(replacement, out);
    else
        fwrite(text, 1, size, out);
}

typedef void write_character(FILE *out, const char *text, size_t size, uint32_t number);

static void write_text(FILE *out, const char *text, size_t len, write_character *write)
{
    while (len > 0) {
        uint32_t number = 0;
        size_t size = character(text, len, &number);

        if (size)
            write(out, text, size, number);
        else
            fputs(replacement, out);
        text += size ? size : 1;
        len -= size ? size : 1;
    }
}

static void json_text(FILE *out, const char *text, size_t len)
{
    fputc('"', out);
    write_text(out, text, len, json_character);
    fputc('"', out);
}

static void json_string(FILE *out, const char *text)
{
    if (text)
        json_text(out, text, strlen(text));
    else
        fputs("null", out);
}

static void xml_attribute(FILE *out, const char *name, const char *text)
{
    fprintf(out, " %s=\"", name);
    write_text(out, text, strlen(text), xml_character);
    fputc('"', out);
}

/* ---- JSON ---- */

enum { JSON_FORMAT = 1 }; /* grows if a member changes its meaning */

static void json_rules(FILE *out, const char *rules)
{
    const char *between = "";

    fputc('[', out);
    while (*rules) {
        size_t len = strcspn(rules, " ");

        fputs(between, out);
        json_text(out, rules, len);
        between = ", ";
        rules += len + (rules[len] == ' ');
    }
    fputc(']', out);
}

static void json_case(FILE *out, const struct run_result *r)
{
    static const char *const names[] = { [RUN_PASSED] = "passed", [RUN_FAILED] = "failed", [RUN_SKIPPED] = "skipped" };

    fputs("    {\"name\": ", out);
    json_string(out, r->c->name);
    fputs(", \"family\": ", out);
    json_string(out, run_family_name(r));
    fputs(", \"rules\": ", out);
    json_rules(out, rules_of(r->c->name));
    fprintf(out, ", \"result\": \"%s\", \"seconds\": %.6f, \"reason\": ", names[r->outcome], r->seconds);
    json_string(out, r->outcome == RUN_PASSED ? NULL : r->reason);
    fputs(", \"output\": ", out);
    json_text(out, r->output ? r->output : "", r->len);
    fputc('}', out);
}

static void json_adapter(FILE *out)
{
    const NDK_ADAPTER_INFO *info = &kit_adapter.info;

    if (!kit_adapter.known) {
        fputs("null", out);
        return;
    }
    fprintf(out, "{\"version\": \"%u.%u\", \"vendor\": %u, \"device\": %u, \"technology\": %u, \"flags\": %u}",
            info->Version.Major, info->Version.Minor, info->VendorId, info->DeviceId, (unsigned)info->RdmaTechnology,
            info->AdapterFlags);
}

static unsigned count_of(const struct report *r, enum run_outcome outcome)
{
    unsigned n = 0;

    for (size_t i = 0; i < r->count; i++)
        n += r->results[i].outcome == outcome;
    return n;
}

void report_json(FILE *out, const struct report *r)
{
    fprintf(out, "{\n  \"tool\": \"ndkconform\", \"version\": \"%s\", \"format\": %d,\n", TOOL_VERSION, JSON_FORMAT);
    fputs("  \"provider\": {\"name\": ", out);
    json_string(out, kit_provider->name);
    fputs(", \"version\": ", out);
    json_string(out, kit_provider->version);
    fputs(", \"module\": ", out);
    json_string(out, r->module);
    fputs("},\n  \"adapter\": ", out);
    json_adapter(out);
    fprintf(out, ",\n  \"passed\": %u, \"failed\": %u, \"skipped\": %u,\n  \"cases\": [", count_of(r, RUN_PASSED),
            count_of(r, RUN_FAILED), count_of(r, RUN_SKIPPED));
    for (size_t i = 0; i < r->count; i++) {
        fputs(i ? ",\n" : "\n", out);
        json_case(out, &r->results[i]);
    }
    fprintf(out, "\n  ],\n  \"interrupted\": %s\n}\n", r->is_interrupted ? "true" : "false");
}

/* ---- JUnit: a suite for each section of the contract ---- */

static size_t section_len(const char *name)
{
    return strcspn(name, "_");
}

static bool same_section(const struct run_result *a, const struct run_result *b)
{
    size_t len = section_len(a->c->name);

    return len == section_len(b->c->name) && memcmp(a->c->name, b->c->name, len) == 0;
}

static void junit_output(FILE *out, const struct run_result *r)
{
    write_text(out, r->output ? r->output : "", r->len, xml_character);
}

static void junit_case(FILE *out, const struct run_result *r)
{
    const char *family = run_family_name(r);

    fprintf(out, "    <testcase classname=\"ndkconform.%.*s\" name=\"%s%s%s%s\" time=\"%.3f\"",
            (int)section_len(r->c->name), r->c->name, r->c->name, family ? " (" : "", family ? family : "",
            family ? ")" : "", r->seconds);
    if (r->outcome == RUN_PASSED && r->len == 0) {
        fputs("/>\n", out);
        return;
    }
    fputc('>', out);
    if (r->outcome == RUN_PASSED) {
        fputs("<system-out>", out);
        junit_output(out, r);
        fputs("</system-out>", out);
    } else if (r->outcome == RUN_SKIPPED) {
        fputs("<skipped", out);
        xml_attribute(out, "message", r->reason);
        fputs("/>", out);
    } else {
        fputs("<failure", out);
        xml_attribute(out, "message", r->reason);
        fputc('>', out);
        junit_output(out, r);
        fputs("</failure>", out);
    }
    fputs("</testcase>\n", out);
}

static void junit_suite(FILE *out, const struct report *report, size_t first, const char *started)
{
    const struct run_result *r = report->results;
    unsigned counts[3] = { 0 };
    double seconds = 0;

    for (size_t i = first; i < report->count; i++) {
        if (!same_section(&r[first], &r[i]))
            continue;
        counts[r[i].outcome]++;
        seconds += r[i].seconds;
    }
    fprintf(out,
            "  <testsuite name=\"ndkconform.%.*s\" tests=\"%u\" failures=\"%u\" errors=\"0\" skipped=\"%u\" "
            "time=\"%.3f\" timestamp=\"%s\">\n    <properties><property name=\"provider\"",
            (int)section_len(r[first].c->name), r[first].c->name,
            counts[RUN_PASSED] + counts[RUN_FAILED] + counts[RUN_SKIPPED], counts[RUN_FAILED], counts[RUN_SKIPPED],
            seconds, started);
    xml_attribute(out, "value", kit_provider->name);
    fputs("/></properties>\n", out);
    for (size_t i = first; i < report->count; i++)
        if (same_section(&r[first], &r[i]))
            junit_case(out, &r[i]);
    fputs("  </testsuite>\n", out);
}

void report_junit(FILE *out, const struct report *r)
{
    time_t at = (time_t)r->started;
    struct tm broken;
    char started[32];

    strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%S", gmtime_r(&at, &broken));
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", out);
    for (size_t i = 0; i < r->count; i++) {
        bool first = true;

        for (size_t k = 0; first && k < i; k++)
            first = !same_section(&r->results[k], &r->results[i]);
        if (first)
            junit_suite(out, r, i, started);
    }
    fputs("</testsuites>\n", out);
}
