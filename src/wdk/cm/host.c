/* SPDX-License-Identifier: MIT */
/*
 * Implements the host program's access to the registry, and reads .reg files: see openndk/wdk.h. Failures set
 * ondk_wdk_error.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "wdm.h"

#include "openndk/wdk.h"
#include "wdk/cm/registry.h"
#include "wdk/common/host_error.h"
#include "wdk/common/text.h"
#include "wdk/ob/object.h"

enum { MAX_PATH_SIZE = 2000 };

static bool registry_host_widen(UNICODE_STRING *out, const char *text)
{
    size_t n;

    out->Buffer = text_wide_copy(text);
    if (!out->Buffer)
        return false;
    n = text_wide_length(out->Buffer) * sizeof(WCHAR);
    out->Length = out->MaximumLength = (USHORT)min(n, (size_t)UNICODE_STRING_MAX_BYTES);
    return true;
}

/*
 * Translates a path, for example HKEY_LOCAL_MACHINE\A to \Registry\Machine\A. A path that begins with \ is copied
 * unchanged. Returns false for any other path, and for a path that is too long.
 */
static bool registry_host_translate_path(char *out, const char *key)
{
    static const struct {
        const char *front, *instead;
    } roots[] = {
        { "HKEY_LOCAL_MACHINE", "\\Registry\\Machine" },
        { "HKLM", "\\Registry\\Machine" },
        { "HKEY_USERS", "\\Registry\\User" },
        { "HKU", "\\Registry\\User" },
    };

    if (strlen(key) > MAX_PATH_SIZE - 32)
        return false;
    for (size_t i = 0; i < RTL_NUMBER_OF(roots); i++) {
        size_t n = strlen(roots[i].front);

        if (!strncasecmp(key, roots[i].front, n) && (!key[n] || key[n] == '\\')) {
            snprintf(out, MAX_PATH_SIZE, "%s%s", roots[i].instead, key + n);
            return true;
        }
    }
    snprintf(out, MAX_PATH_SIZE, "%s", key);
    return key[0] == '\\';
}

static struct registry_key *registry_host_open(const char *key, enum registry_make make, NTSTATUS *status)
{
    char path[MAX_PATH_SIZE];
    UNICODE_STRING wide;
    struct registry_key *found;

    *status = STATUS_OBJECT_NAME_INVALID;
    if (!registry_host_translate_path(path, key) || !registry_host_widen(&wide, path))
        return NULL;
    found = registry_open(NULL, &wide, make, NULL, status);
    free(wide.Buffer);
    return found;
}

static int registry_host_fail(const char *key, NTSTATUS status)
{
    return host_error("registry key %s: 0x%08X", key, (uint32_t)status);
}

/*
 * If `remove` is true, removes a value of the key, and succeeds even if the value does not exist. Otherwise creates
 * the key if it does not exist, and then sets the value. If `name` is NULL, does nothing with values.
 */
static int registry_host_change(const char *key, const char *name, bool remove, uint32_t type, const void *data,
                                uint32_t size)
{
    UNICODE_STRING wide;
    NTSTATUS status;
    struct registry_key *found = registry_host_open(key, remove ? REGISTRY_MAKE_NONE : REGISTRY_MAKE_ALL, &status);

    if (!found)
        return remove ? 0 : registry_host_fail(key, status);
    if (name) {
        if (!registry_host_widen(&wide, name)) {
            ob_unref(found);
            return registry_host_fail(key, STATUS_NO_MEMORY);
        }
        registry_lock();
        status = remove ? registry_remove_value(found, &wide) : registry_set(found, &wide, type, data, size);
        registry_unlock();
        free(wide.Buffer);
    }
    ob_unref(found);
    return NT_SUCCESS(status) || remove ? 0 : registry_host_fail(key, status);
}

int ondk_wdk_registry_set(const char *key, const char *name, uint32_t type, const void *data, uint32_t size)
{
    return registry_host_change(key, name, false, type, data, size);
}

/*
 * Sets a value to a string or to a list of strings. `text` must not have the final terminator, which ends the string or
 * the list: the function adds it. In a list, `length` includes the terminator after each string.
 */
int ondk_wdk_registry_set_text(const char *key, const char *name, uint32_t type, const char *text, uint32_t length)
{
    size_t units = text_to_utf16(NULL, 0, text, length, NULL, NULL);
    WCHAR *wide = calloc(units + 1, sizeof *wide);
    int result;

    if (!wide)
        return registry_host_fail(key, STATUS_NO_MEMORY);
    text_to_utf16(wide, units, text, length, NULL, NULL);
    result = registry_host_change(key, name, false, type, wide, (uint32_t)((units + 1) * sizeof *wide));
    free(wide);
    return result;
}

static int registry_host_remove_key(const char *key)
{
    NTSTATUS status;
    struct registry_key *found = registry_host_open(key, REGISTRY_MAKE_NONE, &status);

    if (!found)
        return 0;
    registry_lock();
    while (found->children && !status) { /* removes the deepest keys first */
        struct registry_key *leaf = found->children;

        while (leaf->children)
            leaf = leaf->children;
        status = registry_remove(leaf);
    }
    if (!status)
        status = registry_remove(found);
    registry_unlock();
    ob_unref(found);
    return status ? registry_host_fail(key, status) : 0;
}

/* ---- .reg files ------------------------------------------------------------------------------------------------- */

struct registry_file {
    const char *path;
    char *text, *at; /* UTF-8 */
    int line;
    char key[MAX_PATH_SIZE];
};

static int registry_file_fail(const struct registry_file *f, const char *what)
{
    return host_error("%s:%d: %s", f->path, f->line, what);
}

/* Returns the next line, or NULL at the end. A line that ends with a backslash is joined with the following line. */
static char *registry_file_next_line(struct registry_file *f)
{
    char *start = f->at, *out = start;

    if (!*f->at)
        return NULL;
    for (;;) {
        f->line++;
        while (*f->at && *f->at != '\n')
            *out++ = *f->at++;
        while (out > start && (out[-1] == '\r' || out[-1] == ' ' || out[-1] == '\t'))
            out--;
        if (!*f->at)
            break;
        f->at++;
        if (out == start || out[-1] != '\\')
            break;
        out--;
        while (*f->at == ' ' || *f->at == '\t')
            f->at++;
    }
    *out = 0;
    while (*start == ' ' || *start == '\t')
        start++;
    return start;
}

/*
 * Decodes the quoted string at `at`, in which \" and \\ stand for " and \. Overwrites the string with the decoded text,
 * adds a terminator, and returns the text. *end receives the address behind the closing quotation mark. Returns NULL if
 * that mark is missing.
 */
static char *registry_file_unquote(char *at, char **end)
{
    char *start = ++at, *out = start;

    for (; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1])
            at++;
        *out++ = *at;
    }
    if (!*at)
        return NULL;
    *end = at + 1;
    *out = 0;
    return start;
}

/* Parses bytes like 01,02,0a. Stores the bytes in `out`, their number in *size. Returns false for a malformed text. */
static bool registry_file_parse_bytes(char *at, uint8_t *out, uint32_t *size)
{
    *size = 0;
    while (*at) {
        char *end;
        unsigned long byte = strtoul(at, &end, 16);

        if (end == at || byte > 255)
            return false;
        out[(*size)++] = (uint8_t)byte;
        at = end;
        while (*at == ',' || *at == ' ' || *at == '\t')
            at++;
    }
    return true;
}

static int registry_file_set_bytes(struct registry_file *f, const char *name, uint32_t type, char *at)
{
    uint8_t *bytes = malloc(strlen(at) + 1);
    uint32_t size;
    int result;

    if (!bytes)
        return host_error("no memory");
    result = registry_file_parse_bytes(at, bytes, &size)
                 ? registry_host_change(f->key, name, false, type, bytes, size)
                 : registry_file_fail(f, "bytes in hexadecimal, with commas between them, are expected");
    free(bytes);
    return result;
}

static int registry_file_set_number(struct registry_file *f, const char *name, const char *at)
{
    char *end;
    unsigned long value = strtoul(at, &end, 16);
    uint32_t number = (uint32_t)value;

    if (end == at || *end || value > UINT32_MAX)
        return registry_file_fail(f, "a number of at most eight hexadecimal digits is expected");
    return registry_host_change(f->key, name, false, REG_DWORD, &number, sizeof number);
}

/* Sets the value from the text behind the equals sign. */
static int registry_file_set_value(struct registry_file *f, const char *name, char *at)
{
    char *end;

    if (!strcmp(at, "-"))
        return registry_host_change(f->key, name, true, 0, NULL, 0);
    if (*at == '"') {
        char *text = registry_file_unquote(at, &end);

        return text && !*end ? ondk_wdk_registry_set_text(f->key, name, REG_SZ, text, (uint32_t)strlen(text))
                             : registry_file_fail(f, "a text in quotation marks is expected");
    }
    if (!strncmp(at, "dword:", 6))
        return registry_file_set_number(f, name, at + 6);
    if (!strncmp(at, "hex:", 4))
        return registry_file_set_bytes(f, name, REG_BINARY, at + 4);
    if (!strncmp(at, "hex(", 4)) {
        unsigned long type = strtoul(at + 4, &end, 16);

        if (end > at + 4 && end[0] == ')' && end[1] == ':')
            return registry_file_set_bytes(f, name, (uint32_t)type, end + 2);
    }
    return registry_file_fail(f, "\"text\", dword:, hex:, hex(type): or - is expected after the equals sign");
}

static int registry_file_parse_value(struct registry_file *f, char *line)
{
    char *end = line + 1, *name = line[0] == '@' ? (char *)(uintptr_t) "" : registry_file_unquote(line, &end);

    if (!name)
        return registry_file_fail(f, "the name's quotation mark is missing");
    while (*end == ' ')
        end++;
    if (*end != '=')
        return registry_file_fail(f, "an equals sign is expected behind the name");
    for (end++; *end == ' '; end++)
        ;
    return f->key[0] ? registry_file_set_value(f, name, end) : registry_file_fail(f, "a [key] comes before its values");
}

static int registry_file_parse_key(struct registry_file *f, char *line)
{
    char *end = strrchr(line, ']');
    bool remove = line[1] == '-';

    if (!end || end[1] || (size_t)(end - line) >= sizeof f->key)
        return registry_file_fail(f, "[key] is expected");
    *end = 0;
    snprintf(f->key, sizeof f->key, "%s", line + 1 + remove);
    if (!remove)
        return registry_host_change(f->key, NULL, false, 0, NULL, 0);
    if (registry_host_remove_key(f->key))
        return -1;
    f->key[0] = 0;
    return 0;
}

static int registry_file_parse_line(struct registry_file *f, char *line)
{
    switch (line[0]) {
    case 0:
    case ';':
        return 0;
    case '[':
        return registry_file_parse_key(f, line);
    case '"':
    case '@':
        return registry_file_parse_value(f, line);
    default:
        return registry_file_fail(f, "neither [key] nor \"name\"=value");
    }
}

/*
 * Returns the file's text as UTF-8, or NULL. Windows writes .reg files in UTF-16 with a byte order mark, other programs
 * in UTF-8.
 */
static char *registry_file_read(const char *path)
{
    FILE *in = fopen(path, "re");
    char *raw = NULL, *text;
    size_t size = 0;
    long length = -1;

    if (in && !fseek(in, 0, SEEK_END) && (length = ftell(in)) >= 0 && !fseek(in, 0, SEEK_SET))
        raw = calloc(1, (size_t)length + 2);
    if (raw)
        size = fread(raw, 1, (size_t)length, in);
    if (in)
        fclose(in);
    if (!raw)
        return NULL;
    if (size >= 2 && !memcmp(raw, "\xff\xfe", 2))
        text = text_narrow_copy((const WCHAR *)(const void *)raw + 1, size / sizeof(WCHAR) - 1);
    else
        text = strdup(raw + (size >= 3 && !memcmp(raw, "\xef\xbb\xbf", 3) ? 3 : 0));
    free(raw);
    return text;
}

int ondk_wdk_registry_load(const char *path)
{
    struct registry_file *f = calloc(1, sizeof *f);
    int result = 0;
    char *line;

    if (!f)
        return host_error("no memory");
    f->path = path;
    f->text = f->at = registry_file_read(path);
    line = f->text ? registry_file_next_line(f) : NULL;
    if (!f->text)
        result = host_error("%s: %s", path, strerror(errno));
    else if (!line || (strcmp(line, "Windows Registry Editor Version 5.00") && strcmp(line, "REGEDIT4")))
        result = registry_file_fail(f, "\"Windows Registry Editor Version 5.00\" is expected");
    while (!result && (line = registry_file_next_line(f)))
        result = registry_file_parse_line(f, line);
    free(f->text);
    free(f);
    return result;
}
