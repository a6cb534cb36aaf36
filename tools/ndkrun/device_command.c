/* SPDX-License-Identifier: MIT */
/* Parses requests to devices: see device_command.h. */
#include "device_command.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "number.h"

enum { MAX_WORD = 8192, MAX_BYTES = 16 << 20, STANDARD_OUTPUT = 65536, MAX_FIRST = 32 };

/* ---- The form --------------------------------------------------------------------------------------------------- */

static bool device_parse_u32(const char *text, uint32_t high, uint32_t *value)
{
    uint64_t wide;

    if (!number_parse_c(text, high, &wide))
        return false;
    *value = (uint32_t)wide;
    return true;
}

/*
 * Returns true if the text is @FILE, or an even number of hexadecimal digits. Returns `may_be_empty` if the text is
 * empty.
 */
static bool device_is_input(const char *text, bool may_be_empty)
{
    size_t digits = strspn(text, "0123456789abcdefABCDEF");

    if (text[0] == '@')
        return text[1] != '\0';
    return !text[digits] && digits % 2 == 0 && (digits || may_be_empty);
}

/*
 * Splits "INPUT:NUMBER" at its last colon, if a number up to `high` follows that colon. Stores the number. Otherwise
 * leaves *number unchanged, and the whole text is the input. The name of a file may contain colons.
 */
static void device_split_input(char *text, uint64_t high, uint64_t *number)
{
    char *colon = strrchr(text, ':');

    if (colon && number_parse_c(colon + 1, high, number))
        *colon = '\0';
}

/* Parses "CODE[:INPUT[:LENGTH]]". Modifies `rest`. Sets *input to the INPUT. Returns false if the form is wrong. */
static bool device_parse_control(struct device_command *c, char *rest, const char **input)
{
    char *colon = strchr(rest, ':');
    uint64_t length = STANDARD_OUTPUT;

    *input = "";
    if (colon) {
        *colon = '\0';
        *input = colon + 1;
        if (strchr(colon + 1, ':'))
            device_split_input(colon + 1, MAX_BYTES, &length);
    }
    c->output_length = (uint32_t)length;
    return device_parse_u32(rest, UINT32_MAX, &c->code) && device_is_input(*input, true);
}

/* Parses "LENGTH[:OFFSET]". Modifies `rest`. */
static bool device_parse_read(struct device_command *c, char *rest)
{
    char *colon = strchr(rest, ':');

    if (colon)
        *colon = '\0';
    return device_parse_u32(rest, MAX_BYTES, &c->output_length) &&
           (!colon || number_parse_c(colon + 1, INT64_MAX, &c->offset));
}

/* Parses "INPUT[:OFFSET]". Modifies `rest`. */
static bool device_parse_write(struct device_command *c, char *rest, const char **input)
{
    *input = rest;
    if (strchr(rest, ':'))
        device_split_input(rest, INT64_MAX, &c->offset);
    return device_is_input(rest, false);
}

/*
 * Parses the text that follows the device's name. Copies the text to `rest` first, because the parsers modify it. Sets
 * *input to the INPUT, which is in `rest`, or to "". Returns false if the form is wrong.
 */
static bool device_parse_rest(struct device_command *c, const char *text, char rest[MAX_WORD], const char **input)
{
    c->offset = 0;
    c->output_length = 0;
    memcpy(rest, text, strlen(text) + 1);
    switch (c->kind) {
    case DEVICE_CONTROL:
        return device_parse_control(c, rest, input);
    case DEVICE_READ:
        *input = "";
        return device_parse_read(c, rest);
    default:
        return device_parse_write(c, rest, input);
    }
}

/* ---- The input -------------------------------------------------------------------------------------------------- */

static const char *device_read_failed(const char *file, const char *why)
{
    static char message[512];

    snprintf(message, sizeof message, "%.400s: %s", file, why);
    return message;
}

/* Reads the whole file. Returns NULL, or a text that describes the mistake. */
static const char *device_read_file(struct device_command *c, const char *file)
{
    FILE *in = fopen(file, "re");
    size_t room = 4096, length = 0, n;
    uint8_t *data = in ? malloc(room) : NULL;

    if (!in)
        return device_read_failed(file, strerror(errno));
    while (data && (n = fread(data + length, 1, room - length, in)) > 0) {
        length += n;
        if (length == room && room <= MAX_BYTES) {
            uint8_t *more = realloc(data, room *= 2);

            if (!more)
                free(data);
            data = more;
        }
    }
    n = (size_t)(data && ferror(in) ? errno : 0);
    fclose(in);
    if (data && !n && length <= MAX_BYTES) {
        c->input = data;
        c->input_length = (uint32_t)length;
        return NULL;
    }
    free(data);
    return device_read_failed(file, !data ? "out of memory" : n ? strerror((int)n) : "more than 16 MiB");
}

static const char *device_read_input(struct device_command *c, const char *input)
{
    uint32_t room = (uint32_t)strlen(input) / 2;

    c->input = NULL;
    c->input_length = 0;
    if (input[0] == '@')
        return device_read_file(c, input + 1);
    if (!room)
        return NULL;
    c->input = malloc(room);
    if (!c->input)
        return "out of memory";
    return hex_parse(input, c->input, room, &c->input_length) ? NULL : "hexadecimal digits are expected";
}

/* ---- The whole -------------------------------------------------------------------------------------------------- */

/* Returns true if the text may follow a device's name: for DEVICE_WRITE it begins with an INPUT, else with a number. */
static bool device_begins_rest(enum device_command_kind kind, const char *text)
{
    size_t length = strcspn(text, ":");
    char first[MAX_FIRST];
    uint64_t number;

    if (text[0] == '@')
        return kind == DEVICE_WRITE;
    if (kind == DEVICE_WRITE)
        return length > 0 && strspn(text, "0123456789abcdefABCDEF") == length;
    if (length >= sizeof first)
        return false;
    memcpy(first, text, length);
    first[length] = '\0';
    return number_parse_c(first, UINT64_MAX, &number);
}

/* Returns the colon that ends the device's name, and sets *name and *length. Returns NULL if there is none. */
static const char *device_find_end(enum device_command_kind kind, const char *word, const char **name, size_t *length)
{
    const char *colon = strchr(word, ':'), *quote = word[0] == '"' ? strchr(word + 1, '"') : NULL;

    *name = word + (quote != NULL);
    if (quote)
        colon = quote[1] == ':' ? quote + 1 : NULL;
    else
        while (colon && !device_begins_rest(kind, colon + 1))
            colon = strchr(colon + 1, ':');
    *length = colon ? (size_t)((quote ? quote : colon) - *name) : 0;
    return *length > 0 && *length < DEVICE_MAX_NAME ? colon : NULL;
}

const char *device_command_parse(struct device_command *c, enum device_command_kind kind, const char *word)
{
    static const char *const forms[] = {
        [DEVICE_CONTROL] = ("DEVICE:CODE[:INPUT[:LENGTH]] is expected, where INPUT is hexadecimal or @FILE, and LENGTH "
                            "the size of the output buffer in bytes: Echo:0x12a004:00100000"),
        [DEVICE_READ] = "DEVICE:LENGTH[:OFFSET] is expected, in bytes: Disk:4096:0x10000",
        [DEVICE_WRITE] = "DEVICE:INPUT[:OFFSET] is expected, where INPUT is hexadecimal or @FILE: Disk:@block.bin:512",
    };
    static char rest[MAX_WORD];
    const char *input = "", *colon, *name;
    size_t length;

    c->kind = kind;
    if (strlen(word) >= sizeof rest)
        return "more than 8191 characters: put the input into a file, and give it as @FILE";
    colon = device_find_end(kind, word, &name, &length);
    if (!colon || !device_parse_rest(c, colon + 1, rest, &input))
        return forms[kind];
    memcpy(c->device, name, length);
    c->device[length] = '\0';
    return device_read_input(c, input);
}

const char *device_command_describe(const struct device_command *c, char text[DEVICE_MAX_TEXT])
{
    if (c->kind == DEVICE_CONTROL)
        snprintf(text, DEVICE_MAX_TEXT, "%s 0x%X", c->device, c->code);
    else
        snprintf(text, DEVICE_MAX_TEXT, "%s %s", c->device, c->kind == DEVICE_READ ? "read" : "write");
    return text;
}
