/* SPDX-License-Identifier: MIT */
/* What a host puts into the registry: see openndk/wdk.h. */
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

enum { PATH_MOST = 2000 };

static bool wide_name(UNICODE_STRING *out, const char *text)
{
    size_t n;

    out->Buffer = text_wide_copy(text);
    if (!out->Buffer)
        return false;
    n = text_wide_length(out->Buffer) * sizeof(WCHAR);
    out->Length = out->MaximumLength = (USHORT)min(n, (size_t)UNICODE_STRING_MAX_BYTES);
    return true;
}

/* HKEY_LOCAL_MACHINE\..., HKLM\..., or \Registry\Machine\... as it is. */
static bool translate(char *out, const char *key)
{
    static const struct {
        const char *front, *instead;
    } roots[] = {
        { "HKEY_LOCAL_MACHINE", "\\Registry\\Machine" }, { "HKLM", "\\Registry\\Machine" },
        { "HKEY_USERS", "\\Registry\\User" }, { "HKU", "\\Registry\\User" },
    };

    if (strlen(key) > PATH_MOST - 32)
        return false;
    for (size_t i = 0; i < RTL_NUMBER_OF(roots); i++) {
        size_t n = strlen(roots[i].front);

        if (!strncasecmp(key, roots[i].front, n) && (!key[n] || key[n] == '\\')) {
            snprintf(out, PATH_MOST, "%s%s", roots[i].instead, key + n);
            return true;
        }
    }
    snprintf(out, PATH_MOST, "%s", key);
    return key[0] == '\\';
}

static struct reg_key *open_host(const char *key, enum registry_make make, NTSTATUS *status)
{
    char path[PATH_MOST];
    UNICODE_STRING wide;
    struct reg_key *found;

    *status = STATUS_OBJECT_NAME_INVALID;
    if (!translate(path, key) || !wide_name(&wide, path))
        return NULL;
    found = registry_open(NULL, &wide, make, NULL, status);
    free(wide.Buffer);
    return found;
}

static int fail(const char *key, NTSTATUS status)
{
    return host_error("registry key %s: 0x%08X", key, (uint32_t)status);
}

/* data NULL with size 0: the key alone, or (remove) the value goes. */
static int change(const char *key, const char *name, bool remove, uint32_t type, const void *data, uint32_t size)
{
    UNICODE_STRING wide;
    NTSTATUS status;
    struct reg_key *found = open_host(key, remove ? REGISTRY_MAKE_NONE : REGISTRY_MAKE_ALL, &status);

    if (!found)
        return remove ? 0 : fail(key, status);
    if (name) {
        if (!wide_name(&wide, name)) {
            ob_unref(found);
            return fail(key, STATUS_NO_MEMORY);
        }
        registry_lock();
        status = remove ? registry_remove_value(found, &wide) : registry_set(found, &wide, type, data, size);
        registry_unlock();
        free(wide.Buffer);
    }
    ob_unref(found);
    return NT_SUCCESS(status) || remove ? 0 : fail(key, status);
}

int ondk_wdk_registry_set(const char *key, const char *name, uint32_t type, const void *data, uint32_t size)
{
    return change(key, name, false, type, data, size);
}

/* Every string of the list has its terminator in `size`. */
int ondk_wdk_registry_set_text(const char *key, const char *name, uint32_t type, const char *text, uint32_t length)
{
    size_t units = text_to_utf16(NULL, 0, text, length, NULL, NULL);
    WCHAR *wide = calloc(units + 1, sizeof *wide);
    int result;

    if (!wide)
        return fail(key, STATUS_NO_MEMORY);
    text_to_utf16(wide, units, text, length, NULL, NULL);
    result = change(key, name, false, type, wide, (uint32_t)((units + 1) * sizeof *wide));
    free(wide);
    return result;
}

static int remove_key(const char *key)
{
    NTSTATUS status;
    struct reg_key *found = open_host(key, REGISTRY_MAKE_NONE, &status);

    if (!found)
        return 0;
    registry_lock();
    while (found->children && !status) { /* from the leaves up */
        struct reg_key *leaf = found->children;

        while (leaf->children)
            leaf = leaf->children;
        status = registry_remove(leaf);
    }
    if (!status)
        status = registry_remove(found);
    registry_unlock();
    ob_unref(found);
    return status ? fail(key, status) : 0;
}

/* ---- .reg files ------------------------------------------------------------------------------------------------- */

struct reg_file {
    const char *path;
    char *text, *at; /* UTF-8 */
    int line;
    char key[PATH_MOST];
};

static int bad_line(const struct reg_file *f, const char *what)
{
    return host_error("%s:%d: %s", f->path, f->line, what);
}

/* The next one, joined with those that a backslash at the end continues; NULL at the end. */
static char *next_line(struct reg_file *f)
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

/* "text" with \" and \\; *end is behind it. NULL: not terminated. */
static char *unquote(char *at, char **end)
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

/* 01,02,0a */
static bool read_octets(char *at, uint8_t *out, uint32_t *size)
{
    *size = 0;
    while (*at) {
        char *end;
        unsigned long octet = strtoul(at, &end, 16);

        if (end == at || octet > 255)
            return false;
        out[(*size)++] = (uint8_t)octet;
        at = end;
        while (*at == ',' || *at == ' ' || *at == '\t')
            at++;
    }
    return true;
}

static int set_octets(struct reg_file *f, const char *name, uint32_t type, char *at)
{
    uint8_t *octets = malloc(strlen(at) + 1);
    uint32_t size;
    int result;

    if (!octets)
        return host_error("no memory");
    result = read_octets(at, octets, &size)
                 ? change(f->key, name, false, type, octets, size)
                 : bad_line(f, "octets in hexadecimal, with commas between them, are expected");
    free(octets);
    return result;
}

static int set_number(struct reg_file *f, const char *name, const char *at)
{
    char *end;
    unsigned long value = strtoul(at, &end, 16);
    uint32_t number = (uint32_t)value;

    if (end == at || *end || value > UINT32_MAX)
        return bad_line(f, "a number of at most eight hexadecimal digits is expected");
    return change(f->key, name, false, REG_DWORD, &number, sizeof number);
}

/* What follows the equals sign. */
static int set_value(struct reg_file *f, const char *name, char *at)
{
    char *end;

    if (!strcmp(at, "-"))
        return change(f->key, name, true, 0, NULL, 0);
    if (*at == '"') {
        char *text = unquote(at, &end);

        return text && !*end ? ondk_wdk_registry_set_text(f->key, name, REG_SZ, text, (uint32_t)strlen(text))
                             : bad_line(f, "a text in quotation marks is expected");
    }
    if (!strncmp(at, "dword:", 6))
        return set_number(f, name, at + 6);
    if (!strncmp(at, "hex:", 4))
        return set_octets(f, name, REG_BINARY, at + 4);
    if (!strncmp(at, "hex(", 4)) {
        unsigned long type = strtoul(at + 4, &end, 16);

        if (end > at + 4 && end[0] == ')' && end[1] == ':')
            return set_octets(f, name, (uint32_t)type, end + 2);
    }
    return bad_line(f, "\"text\", dword:, hex:, hex(type): or - is expected after the equals sign");
}

static int read_value(struct reg_file *f, char *line)
{
    char *end = line + 1, *name = line[0] == '@' ? (char *)(uintptr_t)"" : unquote(line, &end);

    if (!name)
        return bad_line(f, "the name's quotation mark is missing");
    while (*end == ' ')
        end++;
    if (*end != '=')
        return bad_line(f, "an equals sign is expected behind the name");
    for (end++; *end == ' '; end++)
        ;
    return f->key[0] ? set_value(f, name, end) : bad_line(f, "a [key] comes before its values");
}

static int read_key(struct reg_file *f, char *line)
{
    char *end = strrchr(line, ']');
    bool remove = line[1] == '-';

    if (!end || end[1] || (size_t)(end - line) >= sizeof f->key)
        return bad_line(f, "[key] is expected");
    *end = 0;
    snprintf(f->key, sizeof f->key, "%s", line + 1 + remove);
    if (!remove)
        return change(f->key, NULL, false, 0, NULL, 0);
    if (remove_key(f->key))
        return -1;
    f->key[0] = 0;
    return 0;
}

static int read_line(struct reg_file *f, char *line)
{
    switch (line[0]) {
    case 0:
    case ';':
        return 0;
    case '[':
        return read_key(f, line);
    case '"':
    case '@':
        return read_value(f, line);
    default:
        return bad_line(f, "neither [key] nor \"name\"=value");
    }
}

/* Windows writes UTF-16 with a mark in front; others UTF-8. */
static char *read_text(const char *path)
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
    struct reg_file *f = calloc(1, sizeof *f);
    int result = 0;
    char *line;

    if (!f)
        return host_error("no memory");
    f->path = path;
    f->text = f->at = read_text(path);
    line = f->text ? next_line(f) : NULL;
    if (!f->text)
        result = host_error("%s: %s", path, strerror(errno));
    else if (!line || (strcmp(line, "Windows Registry Editor Version 5.00") && strcmp(line, "REGEDIT4")))
        result = bad_line(f, "\"Windows Registry Editor Version 5.00\" is expected");
    while (!result && (line = next_line(f)))
        result = read_line(f, line);
    free(f->text);
    free(f);
    return result;
}
