/* SPDX-License-Identifier: MIT */
/*
 * Security descriptors, lists of entries, and access control lists in text form. Each buffer has exactly the size that
 * is passed. The first byte of the input selects what the rest is.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wdk/rtl/descriptor.h"
#include "wdk/rtl/sddl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
    if (!ok)
        abort();
}

static void *copy_of(const void *data, size_t size)
{
    void *memory = malloc(size ? size : 1);

    require(memory != NULL);
    if (size)
        memcpy(memory, data, size);
    return memory;
}

/* A valid descriptor's copy is valid, and has the same parts. */
static void descriptor(const uint8_t *data, size_t size)
{
    void *memory = copy_of(data, size), *copy;
    struct descriptor d, again;
    size_t copied;

    if (descriptor_read_relative(memory, size, &d)) {
        require(NT_SUCCESS(descriptor_check(&d)));
        copied = descriptor_size(&d);
        copy = malloc(copied);
        require(copy != NULL);
        descriptor_write(&d, copy);
        require(descriptor_read_relative(copy, copied, &again));
        require(!d.owner == !again.owner && !d.group == !again.group && !d.sacl == !again.sacl &&
                !d.dacl == !again.dacl);
        require(!d.dacl || !memcmp(d.dacl, again.dacl, d.dacl->AclSize));
        require(!d.owner || !memcmp(d.owner, again.owner, sid_size(d.owner, DESCRIPTOR_UNBOUNDED)));
        require(descriptor_size(&again) == copied);
        free(copy);
    }
    free(memory);
}

/* The entries of a valid list end within the list. */
static void list(const uint8_t *data, size_t size)
{
    void *memory = copy_of(data, size);
    size_t count;

    if (acl_size(memory, size)) {
        PACL acl = memory;
        char *end = acl_end(acl);

        require(end && acl->AclSize <= size && end <= (char *)acl + acl->AclSize);
        require(acl_entries_are_valid(acl + 1, (size_t)(end - (char *)(acl + 1)), &count) && count == acl->AceCount);
    }
    (void)acl_entries_are_valid(memory, size, &count);
    free(memory);
}

/* A list that was read from text is valid. */
static void text(const uint8_t *data, size_t size)
{
    WCHAR *memory = copy_of(data, size / sizeof(WCHAR) * sizeof(WCHAR));
    PACL acl = malloc(MAXUSHORT);
    SECURITY_DESCRIPTOR_CONTROL control;

    require(acl != NULL);
    if (sddl_read(memory, size / sizeof(WCHAR), acl, &control)) {
        require(acl_size(acl, MAXUSHORT) == acl->AclSize && acl_end(acl) == (char *)acl + acl->AclSize);
        require(control & SE_DACL_PRESENT);
    }
    free(acl);
    free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    switch (data[0] % 3) {
    case 0:
        descriptor(data + 1, size - 1);
        break;
    case 1:
        list(data + 1, size - 1);
        break;
    default:
        text(data + 1, size - 1);
    }
    return 0;
}
