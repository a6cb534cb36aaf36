/* SPDX-License-Identifier: MIT */
/*
 * Implements the Rtl registry routines, which find keys by path: see wdm/zw.h. The driver's query routines receive
 * copies of the values and run without the registry's lock.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "wdk/cm/registry.h"
#include "wdk/common/text.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/object.h"

#define QUERY_TAG 'qrtR'

static PCWSTR const roots[RTL_REGISTRY_MAXIMUM] = {
    L"",
    L"\\Registry\\Machine\\System\\CurrentControlSet\\Services\\",
    L"\\Registry\\Machine\\System\\CurrentControlSet\\Control\\",
    L"\\Registry\\Machine\\Software\\Microsoft\\Windows NT\\CurrentVersion\\",
    L"\\Registry\\Machine\\Hardware\\DeviceMap\\",
    L"\\Registry\\User\\.Default\\",
};

static struct registry_key *registry_open_text(struct registry_key *from, PCWSTR root, PCWSTR path,
                                               enum registry_make make, NTSTATUS *status)
{
    UNICODE_STRING whole = { 0 };
    struct registry_key *key;
    size_t bytes = (text_wide_length(root) + text_wide_length(path)) * sizeof(WCHAR);

    if (bytes > UNICODE_STRING_MAX_BYTES) {
        *status = STATUS_OBJECT_NAME_INVALID;
        return NULL;
    }
    whole.MaximumLength = (USHORT)bytes;
    whole.Buffer = malloc(bytes + sizeof(WCHAR));
    if (!whole.Buffer) {
        *status = STATUS_NO_MEMORY;
        return NULL;
    }
    (void)RtlAppendUnicodeToString(&whole, root);
    (void)RtlAppendUnicodeToString(&whole, path);
    key = registry_open(from, &whole, make, NULL, status);
    free(whole.Buffer);
    return key;
}

/*
 * Opens the key at `path` below the root key that `relative` selects, and returns the key with a reference. With
 * RTL_REGISTRY_HANDLE, `path` is a handle instead.
 */
static struct registry_key *registry_open_relative(const char *routine, ULONG relative, PCWSTR path,
                                                   enum registry_make make, NTSTATUS *status)
{
    irql_check_max(routine, PASSIVE_LEVEL);
    if (relative & RTL_REGISTRY_HANDLE)
        return registry_key_of_handle(routine, (HANDLE)(uintptr_t)path, status);
    relative &= ~RTL_REGISTRY_OPTIONAL;
    if (relative >= RTL_REGISTRY_MAXIMUM) {
        *status = STATUS_INVALID_PARAMETER;
        return NULL;
    }
    return registry_open_text(NULL, roots[relative], path ? path : L"", make, status);
}

/* ---- One value or key ------------------------------------------------------------------------------------------- */

static NTSTATUS registry_check_relative(const char *routine, ULONG relative, PCWSTR path, enum registry_make make)
{
    NTSTATUS status;
    struct registry_key *key = registry_open_relative(routine, relative, path, make, &status);

    if (key)
        ob_unref(key);
    return status;
}

NTSTATUS RtlCheckRegistryKey(ULONG RelativeTo, PWSTR Path)
{
    return registry_check_relative("RtlCheckRegistryKey", RelativeTo, Path, REGISTRY_MAKE_NONE);
}

NTSTATUS RtlCreateRegistryKey(ULONG RelativeTo, PWSTR Path)
{
    return registry_check_relative("RtlCreateRegistryKey", RelativeTo, Path, REGISTRY_MAKE_LAST);
}

NTSTATUS RtlWriteRegistryValue(ULONG RelativeTo, PCWSTR Path, PCWSTR ValueName, ULONG ValueType, PVOID ValueData,
                               ULONG ValueLength)
{
    NTSTATUS status;
    struct registry_key *key = registry_open_relative("RtlWriteRegistryValue", RelativeTo, Path, REGISTRY_MAKE_LAST,
                                                      &status);
    UNICODE_STRING name;

    if (!key)
        return status;
    RtlInitUnicodeString(&name, ValueName);
    registry_lock();
    status = registry_set(key, &name, ValueType, ValueData, ValueLength);
    registry_unlock();
    ob_unref(key);
    return status;
}

NTSTATUS RtlDeleteRegistryValue(ULONG RelativeTo, PCWSTR Path, PCWSTR ValueName)
{
    NTSTATUS status;
    struct registry_key *key = registry_open_relative("RtlDeleteRegistryValue", RelativeTo, Path, REGISTRY_MAKE_NONE,
                                                      &status);
    UNICODE_STRING name;

    if (!key)
        return status;
    RtlInitUnicodeString(&name, ValueName);
    registry_lock();
    status = registry_remove_value(key, &name);
    registry_unlock();
    ob_unref(key);
    return status;
}

/* ---- A table of queries ----------------------------------------------------------------------------------------- */

/* The arguments of RtlQueryRegistryValues that apply to every entry of its table. */
struct registry_query {
    PVOID context;
    const WCHAR *environment;
};

/* A copy of a value: the tree may change while the driver's routine runs. A terminator follows the data. */
struct registry_value_copy {
    PWSTR name;
    ULONG type, size;
    void *data;
};

static void registry_query_free_copy(struct registry_value_copy *copy)
{
    free(copy->name);
    free(copy->data);
}

static bool registry_query_copy(struct registry_value_copy *copy, const WCHAR *name, ULONG type, const void *data,
                                ULONG size)
{
    size_t n = text_wide_length(name);

    *copy = (struct registry_value_copy){ malloc((n + 1) * sizeof(WCHAR)), type, size,
                                          calloc(1, (size_t)size + 2 * sizeof(WCHAR)) };
    if (!copy->name || !copy->data) {
        registry_query_free_copy(copy);
        return false;
    }
    memcpy(copy->name, name, (n + 1) * sizeof(WCHAR));
    if (size)
        memcpy(copy->data, data, size);
    return true;
}

static bool registry_is_text(ULONG type)
{
    return type == REG_SZ || type == REG_EXPAND_SZ;
}

/* Returns the size of the text without its terminator. The terminator may be missing. */
static ULONG registry_text_size(const void *text, ULONG size)
{
    const WCHAR *s = text;
    ULONG n = 0;

    while ((n + 1) * sizeof(WCHAR) <= size && s[n])
        n++;
    return n * (ULONG)sizeof(WCHAR);
}

/*
 * Copies a string or a list, and adds a terminator. For a string, out->Length does not include the terminator. For a
 * list, out->Length includes the terminator of each string, but not the terminator of the list. If out->Buffer is NULL,
 * allocates the buffer from paged pool, and the driver frees it.
 */
static NTSTATUS registry_query_store_text(const struct registry_value_copy *copy, PUNICODE_STRING out)
{
    ULONG units = copy->size / sizeof(WCHAR);
    ULONG size = copy->type != REG_MULTI_SZ ? registry_text_size(copy->data, copy->size)
                 : units                    ? (units - 1) * sizeof(WCHAR)
                                            : 0;

    if (size + sizeof(WCHAR) > UNICODE_STRING_MAX_BYTES)
        return STATUS_BUFFER_TOO_SMALL;
    if (!out->Buffer) {
        out->Buffer = ExAllocatePoolWithTag(PagedPool, size + sizeof(WCHAR), QUERY_TAG);
        if (!out->Buffer)
            return STATUS_NO_MEMORY;
        out->MaximumLength = (USHORT)(size + sizeof(WCHAR));
    } else if (size + sizeof(WCHAR) > out->MaximumLength) {
        return STATUS_BUFFER_TOO_SMALL;
    }
    out->Length = (USHORT)size;
    memcpy(out->Buffer, copy->data, size);
    out->Buffer[size / sizeof(WCHAR)] = 0;
    return STATUS_SUCCESS;
}

/*
 * Copies the data to `out`, the driver's EntryContext. For more than four bytes of data, the driver has set the first
 * LONG of its buffer to the buffer's size or to the negated size. If that LONG is negative, writes only the data. If it
 * is positive, writes size, type and data.
 */
static NTSTATUS registry_query_store_data(const struct registry_value_copy *copy, void *out)
{
    LONG room;

    if (copy->size <= sizeof(ULONG)) {
        memcpy(out, copy->data, copy->size);
        return STATUS_SUCCESS;
    }
    memcpy(&room, out, sizeof room);
    if (room < 0) {
        if (0 - (ULONG)room < copy->size)
            return STATUS_BUFFER_TOO_SMALL;
        memcpy(out, copy->data, copy->size);
        return STATUS_SUCCESS;
    }
    if ((ULONG)room < 2 * sizeof(ULONG) + copy->size)
        return STATUS_BUFFER_TOO_SMALL;
    memcpy(out, &copy->size, sizeof copy->size);
    memcpy((char *)out + sizeof(ULONG), &copy->type, sizeof copy->type);
    memcpy((char *)out + 2 * sizeof(ULONG), copy->data, copy->size);
    return STATUS_SUCCESS;
}

static NTSTATUS registry_query_store(const RTL_QUERY_REGISTRY_TABLE *entry, const struct registry_value_copy *copy)
{
    ULONG wanted = entry->DefaultType >> RTL_QUERY_REGISTRY_TYPECHECK_SHIFT;

    if (entry->Flags & RTL_QUERY_REGISTRY_TYPECHECK && wanted != REG_NONE && wanted != copy->type)
        return STATUS_OBJECT_TYPE_MISMATCH;
    return registry_is_text(copy->type) || copy->type == REG_MULTI_SZ
               ? registry_query_store_text(copy, entry->EntryContext)
               : registry_query_store_data(copy, entry->EntryContext);
}

static bool registry_query_expand(struct registry_value_copy *copy, const WCHAR *environment)
{
    size_t units;
    WCHAR *text = registry_expand(copy->data, registry_text_size(copy->data, copy->size) / sizeof(WCHAR), environment,
                                  &units);

    if (!text)
        return false;
    free(copy->data);
    copy->data = text;
    copy->size = (ULONG)((units + 1) * sizeof(WCHAR));
    return true;
}

/*
 * Delivers a value to the driver. With RTL_QUERY_REGISTRY_DIRECT, stores the value at the entry's EntryContext.
 * Otherwise calls QueryRoutine. If the value is a list, QueryRoutine is called once for each string of the list. With
 * RTL_QUERY_REGISTRY_NOEXPAND, QueryRoutine receives the whole list in one call.
 */
static NTSTATUS registry_query_deliver(const RTL_QUERY_REGISTRY_TABLE *entry, struct registry_value_copy *copy,
                                       const struct registry_query *query)
{
    NTSTATUS status = STATUS_SUCCESS;
    char *at, *end;

    if (copy->type == REG_EXPAND_SZ && !(entry->Flags & RTL_QUERY_REGISTRY_NOEXPAND) &&
        !registry_query_expand(copy, query->environment))
        return STATUS_NO_MEMORY;
    at = copy->data;
    end = at + copy->size;
    if (entry->Flags & RTL_QUERY_REGISTRY_DIRECT)
        return registry_query_store(entry, copy);
    if (copy->type != REG_MULTI_SZ || entry->Flags & RTL_QUERY_REGISTRY_NOEXPAND) {
        ULONG type = copy->type == REG_EXPAND_SZ && !(entry->Flags & RTL_QUERY_REGISTRY_NOEXPAND) ? REG_SZ : copy->type;

        return entry->QueryRoutine(copy->name, type, copy->data, copy->size, query->context, entry->EntryContext);
    }
    while (at < end && !status) {
        ULONG size = registry_text_size(at, (ULONG)(end - at));

        if (!size)
            break;
        status = entry->QueryRoutine(copy->name, REG_SZ, at, size + sizeof(WCHAR), query->context, entry->EntryContext);
        at += size + sizeof(WCHAR);
    }
    return status == STATUS_BUFFER_TOO_SMALL ? STATUS_SUCCESS : status;
}

/*
 * Returns the size of a default value with its terminators, or 0 if the type is not text. A list ends with an empty
 * string.
 */
static ULONG registry_query_default_size(ULONG type, const WCHAR *text)
{
    ULONG units = 0;

    if (type == REG_MULTI_SZ)
        while (text[units])
            units += (ULONG)text_wide_length(text + units) + 1;
    else if (registry_is_text(type))
        units = (ULONG)text_wide_length(text);
    return type == REG_MULTI_SZ || registry_is_text(type) ? (units + 1) * (ULONG)sizeof(WCHAR) : 0;
}

static NTSTATUS registry_query_deliver_default(const RTL_QUERY_REGISTRY_TABLE *entry,
                                               const struct registry_query *query)
{
    ULONG type = entry->Flags & RTL_QUERY_REGISTRY_TYPECHECK ? entry->DefaultType & 0xffffff : entry->DefaultType;
    ULONG size = entry->DefaultLength;
    struct registry_value_copy copy;
    NTSTATUS status;

    if (entry->Flags & RTL_QUERY_REGISTRY_REQUIRED)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    if (type == REG_NONE)
        return STATUS_SUCCESS;
    if (!size && entry->DefaultData)
        size = registry_query_default_size(type, entry->DefaultData);
    if (!registry_query_copy(&copy, entry->Name, type, entry->DefaultData, size))
        return STATUS_NO_MEMORY;
    status = registry_query_deliver(entry, &copy, query);
    registry_query_free_copy(&copy);
    return status;
}

static NTSTATUS registry_query_value(struct registry_key *key, const RTL_QUERY_REGISTRY_TABLE *entry,
                                     const struct registry_query *query)
{
    UNICODE_STRING name;
    struct registry_value *v;
    struct registry_value_copy copy;
    NTSTATUS status;
    bool copied;

    RtlInitUnicodeString(&name, entry->Name);
    registry_lock();
    v = registry_find(key, &name);
    copied = v && registry_query_copy(&copy, entry->Name, v->type, v->data, v->size);
    registry_unlock();
    if (!v)
        return registry_query_deliver_default(entry, query);
    if (!copied)
        return STATUS_NO_MEMORY;
    status = registry_query_deliver(entry, &copy, query);
    registry_query_free_copy(&copy);
    if (!status && entry->Flags & RTL_QUERY_REGISTRY_DELETE) {
        registry_lock();
        (void)registry_remove_value(key, &name);
        registry_unlock();
    }
    return status;
}

/*
 * Copies the value at `index`. Returns false if there is no such value or memory ran out. Sets *has_memory to false if
 * memory ran out, otherwise to true.
 */
static bool registry_query_copy_at(struct registry_key *key, ULONG index, struct registry_value_copy *copy,
                                   bool *has_memory)
{
    struct registry_value *v;
    bool copied = false;

    registry_lock();
    for (v = key->values; v && index; v = v->next)
        index--;
    if (v)
        copied = registry_query_copy(copy, v->name.Buffer, v->type, v->data, v->size);
    registry_unlock();
    *has_memory = !v || copied;
    return copied;
}

static NTSTATUS registry_query_all(struct registry_key *key, const RTL_QUERY_REGISTRY_TABLE *entry,
                                   const struct registry_query *query)
{
    NTSTATUS status = STATUS_SUCCESS;
    bool has_memory = true, any = false;
    struct registry_value_copy copy;

    for (ULONG i = 0; !status && registry_query_copy_at(key, i, &copy, &has_memory); i++) {
        status = registry_query_deliver(entry, &copy, query);
        registry_query_free_copy(&copy);
        any = true;
    }
    if (!has_memory)
        return STATUS_NO_MEMORY;
    return !any && entry->Flags & RTL_QUERY_REGISTRY_REQUIRED ? STATUS_OBJECT_NAME_NOT_FOUND : status;
}

static bool registry_query_is_last(const RTL_QUERY_REGISTRY_TABLE *entry)
{
    return !entry->QueryRoutine && !(entry->Flags & (RTL_QUERY_REGISTRY_SUBKEY | RTL_QUERY_REGISTRY_DIRECT));
}

static NTSTATUS registry_query_entry(struct registry_key *top, struct registry_key **at,
                                     const RTL_QUERY_REGISTRY_TABLE *entry, const struct registry_query *query)
{
    NTSTATUS status;

    if (entry->Flags & RTL_QUERY_REGISTRY_DIRECT &&
        (!entry->Name || entry->QueryRoutine ||
         entry->Flags & (RTL_QUERY_REGISTRY_SUBKEY | RTL_QUERY_REGISTRY_NOVALUE)))
        return STATUS_INVALID_PARAMETER;
    if (entry->Flags & (RTL_QUERY_REGISTRY_TOPKEY | RTL_QUERY_REGISTRY_SUBKEY) && *at != top) {
        ob_unref(*at);
        *at = top;
    }
    if (entry->Flags & RTL_QUERY_REGISTRY_SUBKEY) {
        struct registry_key *sub = registry_open_text(top, L"", entry->Name ? entry->Name : L"", REGISTRY_MAKE_NONE,
                                                      &status);

        if (!sub)
            return entry->Flags & RTL_QUERY_REGISTRY_REQUIRED ? status : STATUS_SUCCESS;
        *at = sub;
        return entry->QueryRoutine ? registry_query_all(sub, entry, query) : STATUS_SUCCESS;
    }
    if (entry->Flags & RTL_QUERY_REGISTRY_NOVALUE)
        return entry->QueryRoutine(NULL, REG_NONE, NULL, 0, query->context, entry->EntryContext);
    return entry->Name ? registry_query_value(*at, entry, query) : registry_query_all(*at, entry, query);
}

NTSTATUS RtlQueryRegistryValues(ULONG RelativeTo, PCWSTR Path, PRTL_QUERY_REGISTRY_TABLE QueryTable, PVOID Context,
                                PVOID Environment)
{
    NTSTATUS status;
    struct registry_key *top = registry_open_relative("RtlQueryRegistryValues", RelativeTo, Path, REGISTRY_MAKE_NONE,
                                                      &status),
                        *at = top;
    struct registry_query query = { Context, Environment };

    if (!top)
        return status;
    for (; !registry_query_is_last(QueryTable) && !status; QueryTable++)
        status = registry_query_entry(top, &at, QueryTable, &query);
    if (at != top)
        ob_unref(at);
    ob_unref(top);
    return status;
}
