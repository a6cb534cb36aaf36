/* SPDX-License-Identifier: MIT */
/* Writes the information structures about keys and values: see information.h. */
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "wdk/cm/information.h"

/*
 * The parts of an information structure for the driver: the fixed part, a tail directly behind it, and a second tail
 * at offset second_at. If second_at is 0, there is no second tail. The driver receives as much as fits.
 */
struct registry_info {
    const void *fixed;
    ULONG fixed_size;
    const void *tail;
    ULONG tail_size, second_at;
    const void *second;
    ULONG second_size;
};

static void registry_copy_part(char *out, ULONG cap, ULONG at, const void *from, ULONG size)
{
    if (at < cap && size)
        memcpy(out + at, from, min(size, cap - at));
}

static NTSTATUS registry_info_copy(const struct registry_info *a, PVOID out, ULONG length, PULONG result_length)
{
    ULONG whole = a->second_at ? a->second_at + a->second_size : a->fixed_size + a->tail_size;

    *result_length = whole;
    if (!out || length < a->fixed_size)
        return STATUS_BUFFER_TOO_SMALL;
    registry_copy_part(out, length, 0, a->fixed, a->fixed_size);
    registry_copy_part(out, length, a->fixed_size, a->tail, a->tail_size);
    if (a->second_at)
        registry_copy_part(out, length, a->second_at, a->second, a->second_size);
    return length < whole ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;
}

static NTSTATUS registry_info_full_key(const struct registry_key *key, PVOID out, ULONG length, PULONG result_length)
{
    KEY_FULL_INFORMATION full = { .LastWriteTime = key->written, .ClassOffset = MAXULONG };
    struct registry_info a = { .fixed = &full, .fixed_size = offsetof(KEY_FULL_INFORMATION, Class) };

    for (const struct registry_key *c = key->children; c; c = c->next) {
        full.SubKeys++;
        full.MaxNameLen = max(full.MaxNameLen, (ULONG)c->name.Length);
    }
    for (const struct registry_value *v = key->values; v; v = v->next) {
        full.Values++;
        full.MaxValueNameLen = max(full.MaxValueNameLen, (ULONG)v->name.Length);
        full.MaxValueDataLen = max(full.MaxValueDataLen, v->size);
    }
    return registry_info_copy(&a, out, length, result_length);
}

/* Writes the key's path from the root: \Registry\... */
static NTSTATUS registry_info_path(const struct registry_key *key, PVOID out, ULONG length, PULONG result_length)
{
    KEY_NAME_INFORMATION name = { .NameLength = registry_path_length(key) };
    struct registry_info a = { .fixed = &name, .fixed_size = offsetof(KEY_NAME_INFORMATION, Name) };
    WCHAR *path = malloc(name.NameLength);
    NTSTATUS status;

    if (!path)
        return STATUS_INSUFFICIENT_RESOURCES;
    registry_copy_path(key, path, name.NameLength);
    a.tail = path;
    a.tail_size = name.NameLength;
    status = registry_info_copy(&a, out, length, result_length);
    free(path);
    return status;
}

NTSTATUS registry_info_key(const struct registry_key *key, KEY_INFORMATION_CLASS class, PVOID out, ULONG length,
                           PULONG result_length)
{
    KEY_BASIC_INFORMATION basic = { .LastWriteTime = key->written, .NameLength = key->name.Length };
    KEY_NODE_INFORMATION node = { .LastWriteTime = key->written,
                                  .ClassOffset = MAXULONG,
                                  .NameLength = key->name.Length };
    struct registry_info a = { .tail = key->name.Buffer, .tail_size = key->name.Length };

    switch (class) {
    case KeyBasicInformation:
        a.fixed = &basic;
        a.fixed_size = offsetof(KEY_BASIC_INFORMATION, Name);
        return registry_info_copy(&a, out, length, result_length);
    case KeyNodeInformation:
        a.fixed = &node;
        a.fixed_size = offsetof(KEY_NODE_INFORMATION, Name);
        return registry_info_copy(&a, out, length, result_length);
    case KeyFullInformation:
        return registry_info_full_key(key, out, length, result_length);
    case KeyNameInformation:
        return registry_info_path(key, out, length, result_length);
    default:
        return STATUS_INVALID_PARAMETER;
    }
}

static NTSTATUS registry_info_full_value(const struct registry_value *v, PVOID out, ULONG length, PULONG result_length)
{
    ULONG fixed = offsetof(KEY_VALUE_FULL_INFORMATION, Name);
    ULONG at = (fixed + v->name.Length + 7) & ~7u;
    KEY_VALUE_FULL_INFORMATION full = {
        .Type = v->type, .DataOffset = at, .DataLength = v->size, .NameLength = v->name.Length
    };
    struct registry_info a = { &full, fixed, v->name.Buffer, v->name.Length, at, v->data, v->size };

    return registry_info_copy(&a, out, length, result_length);
}

NTSTATUS registry_info_value(const struct registry_value *v, KEY_VALUE_INFORMATION_CLASS class, PVOID out, ULONG length,
                             PULONG result_length)
{
    KEY_VALUE_BASIC_INFORMATION basic = { .Type = v->type, .NameLength = v->name.Length };
    KEY_VALUE_PARTIAL_INFORMATION partial = { .Type = v->type, .DataLength = v->size };
    KEY_VALUE_PARTIAL_INFORMATION_ALIGN64 aligned = { .Type = v->type, .DataLength = v->size };
    struct registry_info a = { .tail = v->data, .tail_size = v->size };

    switch (class) {
    case KeyValueBasicInformation:
        a = (struct registry_info){
            &basic, offsetof(KEY_VALUE_BASIC_INFORMATION, Name), v->name.Buffer, v->name.Length, 0, NULL, 0
        };
        return registry_info_copy(&a, out, length, result_length);
    case KeyValueFullInformation:
    case KeyValueFullInformationAlign64:
        return registry_info_full_value(v, out, length, result_length);
    case KeyValuePartialInformation:
        a.fixed = &partial;
        a.fixed_size = offsetof(KEY_VALUE_PARTIAL_INFORMATION, Data);
        return registry_info_copy(&a, out, length, result_length);
    case KeyValuePartialInformationAlign64:
        a.fixed = &aligned;
        a.fixed_size = offsetof(KEY_VALUE_PARTIAL_INFORMATION_ALIGN64, Data);
        return registry_info_copy(&a, out, length, result_length);
    default:
        return STATUS_INVALID_PARAMETER;
    }
}
