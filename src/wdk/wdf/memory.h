/* SPDX-License-Identifier: MIT */
/* Memory objects and strings: the functions that other files of the framework use. */
#ifndef WDK_WDF_MEMORY_H
#define WDK_WDF_MEMORY_H

#include "wdf.h"

#include "wdk/wdf/object.h"

struct wdf_memory;

struct wdf_object *wdf_memory_object(struct wdf_memory *m);
/*
 * Creates a memory object below `parent` for a buffer that is not freed with the object. The framework deletes the
 * object.
 */
NTSTATUS wdf_memory_new(struct wdf_object *parent, PVOID buffer, size_t size, struct wdf_memory **out);
/*
 * Creates a memory object with a buffer from pool, which is freed with the object. If `tag` is 0, uses a tag of the
 * framework. If the attributes name no parent, the parent is the driver whose code contains `caller`.
 */
NTSTATUS wdf_memory_allocate(PWDF_OBJECT_ATTRIBUTES attributes, POOL_TYPE type, ULONG tag, size_t size,
                             const void *caller, struct wdf_memory **out);
PVOID wdf_memory_buffer(const struct wdf_memory *m);

/* Replaces the string of a WDFSTRING by a copy. */
NTSTATUS wdf_string_set(const char *routine, WDFSTRING string, PCUNICODE_STRING text);
/* Creates a string object like WdfStringCreate. */
NTSTATUS wdf_string_new(PCUNICODE_STRING text, PWDF_OBJECT_ATTRIBUTES attributes, const void *caller, WDFSTRING *out);

#endif
