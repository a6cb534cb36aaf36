/* SPDX-License-Identifier: MIT */
/*
 * Implements strings and collections. A collection has a reference on each of its objects; its driver serializes the
 * calls.
 */
#include <stdlib.h>

#include "wdf.h"

#include "wdk/ke/thread.h"
#include "wdk/wdf/device.h"
#include "wdk/wdf/memory.h"

/* ---- Strings ----------------------------------------------------------------------------------------------------- */

struct wdf_string {
    struct wdf_object object;
    UNICODE_STRING text;
};

static void wdf_string_destroy(struct wdf_object *o)
{
    free(CONTAINING_RECORD(o, struct wdf_string, object)->text.Buffer);
}

static NTSTATUS wdf_string_replace(struct wdf_string *s, PCUNICODE_STRING text)
{
    UNICODE_STRING copy;

    if (!wdf_copy_string(&copy, text))
        return STATUS_INSUFFICIENT_RESOURCES;
    free(s->text.Buffer);
    s->text = copy;
    return STATUS_SUCCESS;
}

NTSTATUS wdf_string_set(const char *routine, WDFSTRING string, PCUNICODE_STRING text)
{
    struct wdf_string *s = wdf_object_lookup(routine, string, WDF_STRING);

    return s ? wdf_string_replace(s, text) : STATUS_INVALID_PARAMETER;
}

NTSTATUS wdf_string_new(PCUNICODE_STRING text, PWDF_OBJECT_ATTRIBUTES attributes, const void *caller, WDFSTRING *out)
{
    struct wdf_object *o;
    NTSTATUS status = wdf_object_new_for(WDF_STRING, sizeof(struct wdf_string), attributes, caller, &o);

    if (!NT_SUCCESS(status))
        return status;
    o->destroy = wdf_string_destroy;
    if (text)
        status = wdf_string_replace(CONTAINING_RECORD(o, struct wdf_string, object), text);
    if (NT_SUCCESS(status))
        status = wdf_object_publish(o);
    else
        wdf_object_discard(o);
    if (NT_SUCCESS(status))
        *out = (WDFSTRING)o;
    return status;
}

NTSTATUS WdfStringCreate(PCUNICODE_STRING UnicodeString, PWDF_OBJECT_ATTRIBUTES StringAttributes, WDFSTRING *String)
{
    const void *caller = __builtin_return_address(0);

    irql_check_max("WdfStringCreate", PASSIVE_LEVEL);
    if (irql_now() != PASSIVE_LEVEL)
        return STATUS_INVALID_DEVICE_REQUEST;
    if (!wdf_check_pointer("WdfStringCreate", String, caller))
        return STATUS_INVALID_PARAMETER;
    return wdf_string_new(UnicodeString, StringAttributes, caller, String);
}

VOID WdfStringGetUnicodeString(WDFSTRING String, PUNICODE_STRING UnicodeString)
{
    struct wdf_string *s = wdf_object_lookup("WdfStringGetUnicodeString", String, WDF_STRING);

    irql_check_max("WdfStringGetUnicodeString", PASSIVE_LEVEL);
    if (s && wdf_check_pointer("WdfStringGetUnicodeString", UnicodeString, __builtin_return_address(0)))
        *UnicodeString = s->text;
}

/* ---- Collections ------------------------------------------------------------------------------------------------- */

struct wdf_collection {
    struct wdf_object object;
    struct wdf_object **items;
    ULONG count, room;
};

static void wdf_collection_remove_at(struct wdf_collection *c, ULONG index)
{
    struct wdf_object *o = c->items[index];

    c->count--;
    for (ULONG i = index; i < c->count; i++)
        c->items[i] = c->items[i + 1];
    wdf_object_unref(o);
}

/*
 * Drops the references when the deletion of the collection begins, not in wdf_collection_destroy. An item may be below
 * the collection, and then has a reference on the collection. So the collection would never be destroyed.
 */
static void wdf_collection_stop(struct wdf_object *o)
{
    struct wdf_collection *c = CONTAINING_RECORD(o, struct wdf_collection, object);

    while (c->count)
        wdf_collection_remove_at(c, c->count - 1);
}

static void wdf_collection_destroy(struct wdf_object *o)
{
    free(CONTAINING_RECORD(o, struct wdf_collection, object)->items);
}

static struct wdf_collection *wdf_collection_of(const char *routine, WDFCOLLECTION collection)
{
    irql_check_max(routine, DISPATCH_LEVEL);
    return wdf_object_lookup(routine, collection, WDF_COLLECTION);
}

NTSTATUS WdfCollectionCreate(PWDF_OBJECT_ATTRIBUTES CollectionAttributes, WDFCOLLECTION *Collection)
{
    const void *caller = __builtin_return_address(0);
    struct wdf_object *o;
    NTSTATUS status;

    irql_check_max("WdfCollectionCreate", DISPATCH_LEVEL);
    if (!wdf_check_pointer("WdfCollectionCreate", Collection, caller))
        return STATUS_INVALID_PARAMETER;
    status = wdf_object_new_for(WDF_COLLECTION, sizeof(struct wdf_collection), CollectionAttributes, caller, &o);
    if (!NT_SUCCESS(status))
        return status;
    o->stop = wdf_collection_stop;
    o->destroy = wdf_collection_destroy;
    status = wdf_object_publish(o);
    if (NT_SUCCESS(status))
        *Collection = (WDFCOLLECTION)o;
    return status;
}

ULONG WdfCollectionGetCount(WDFCOLLECTION Collection)
{
    struct wdf_collection *c = wdf_collection_of("WdfCollectionGetCount", Collection);

    return c ? c->count : 0;
}

NTSTATUS WdfCollectionAdd(WDFCOLLECTION Collection, WDFOBJECT Object)
{
    struct wdf_collection *c = wdf_collection_of("WdfCollectionAdd", Collection);
    struct wdf_object *o = wdf_object_lookup("WdfCollectionAdd", Object, WDF_ANY), **grown;

    if (!c || !o)
        return STATUS_INVALID_PARAMETER;
    if (c->count == c->room) {
        grown = realloc(c->items, (c->room * 2 + 8) * sizeof *grown);
        if (!grown)
            return STATUS_INSUFFICIENT_RESOURCES;
        c->items = grown;
        c->room = c->room * 2 + 8;
    }
    wdf_object_ref(o);
    c->items[c->count++] = o;
    return STATUS_SUCCESS;
}

VOID WdfCollectionRemove(WDFCOLLECTION Collection, WDFOBJECT Item)
{
    struct wdf_collection *c = wdf_collection_of("WdfCollectionRemove", Collection);
    ULONG i = 0;

    while (c && i < c->count && c->items[i] != Item)
        i++;
    if (c && i < c->count)
        wdf_collection_remove_at(c, i);
}

VOID WdfCollectionRemoveItem(WDFCOLLECTION Collection, ULONG Index)
{
    struct wdf_collection *c = wdf_collection_of("WdfCollectionRemoveItem", Collection);

    if (c && Index < c->count)
        wdf_collection_remove_at(c, Index);
}

WDFOBJECT WdfCollectionGetItem(WDFCOLLECTION Collection, ULONG Index)
{
    struct wdf_collection *c = wdf_collection_of("WdfCollectionGetItem", Collection);

    return c && Index < c->count ? c->items[Index] : NULL;
}

WDFOBJECT WdfCollectionGetFirstItem(WDFCOLLECTION Collection)
{
    struct wdf_collection *c = wdf_collection_of("WdfCollectionGetFirstItem", Collection);

    return c && c->count ? c->items[0] : NULL;
}

WDFOBJECT WdfCollectionGetLastItem(WDFCOLLECTION Collection)
{
    struct wdf_collection *c = wdf_collection_of("WdfCollectionGetLastItem", Collection);

    return c && c->count ? c->items[c->count - 1] : NULL;
}
