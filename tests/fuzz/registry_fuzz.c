/* SPDX-License-Identifier: MIT */
/*
 * Loads any bytes as a .reg file into the registry, with a valid header if the input's first byte is odd. This file has
 * minimal versions of the functions that the registry needs: objects, and the text of an error.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "wdm.h"

#include "openndk/wdk.h"
#include "wdk/cm/registry.h"
#include "wdk/common/host_error.h"
#include "wdk/ob/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int memfd_create(const char *name, unsigned flags);

static void require(bool ok)
{
    if (!ok)
        abort();
}

/* ---- Objects ---------------------------------------------------------------------------------------------------- */

struct object {
    POBJECT_TYPE type;
    int references;
    _Alignas(16) char data[];
};

void *ob_new(POBJECT_TYPE type, size_t size)
{
    struct object *o = calloc(1, sizeof *o + size);

    require(o != NULL);
    o->type = type;
    o->references = 1;
    return o->data;
}

void ob_ref(void *object)
{
    CONTAINING_RECORD(object, struct object, data)->references++;
}

void ob_unref(void *object)
{
    struct object *o = CONTAINING_RECORD(object, struct object, data);

    require(o->references > 0);
    if (--o->references)
        return;
    o->type->destroy(object);
    free(o);
}

int host_error(const char *text, ...)
{
    char sentence[4096];
    va_list args;

    va_start(args, text);
    (void)vsnprintf(sentence, sizeof sentence, text, args);
    va_end(args);
    return -1;
}

/* ---- The tree --------------------------------------------------------------------------------------------------- */

/* Checks parents and values, and removes everything, so that a leak is reported for this input. */
static void walk_and_remove(struct registry_key *key, int depth)
{
    require(depth < 2000);
    for (struct registry_value *v = key->values; v; v = v->next)
        require(v->data && v->name.Buffer && registry_find(key, &v->name));
    while (key->children) {
        struct registry_key *child = key->children;

        require(child->parent == key && !child->deleted && child->name.Length);
        walk_and_remove(child, depth + 1);
        require(registry_remove(child) == STATUS_SUCCESS);
    }
    while (key->values)
        require(registry_remove_value(key, &(UNICODE_STRING){ key->values->name.Length, key->values->name.Length,
                                                              key->values->name.Buffer }) == STATUS_SUCCESS);
}

static void clear(PCWSTR path)
{
    UNICODE_STRING name;
    NTSTATUS status;
    struct registry_key *key;

    RtlInitUnicodeString(&name, path);
    key = registry_open(NULL, &name, REGISTRY_MAKE_NONE, NULL, &status);
    require(key != NULL);
    walk_and_remove(key, 0);
    ob_unref(key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char head[] = "REGEDIT4\n";
    int file = memfd_create("reg", 0);
    char path[64];

    require(file >= 0);
    if (size && data[0] & 1)
        require(write(file, head, sizeof head - 1) == (ssize_t)sizeof head - 1);
    require(!size || write(file, data + 1, size - 1) == (ssize_t)size - 1);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    (void)ondk_wdk_registry_load(path);
    close(file);
    clear(L"\\Registry\\Machine");
    clear(L"\\Registry\\User");
    return 0;
}
