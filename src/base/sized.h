/* SPDX-License-Identifier: MIT */
/*
 * Copies structs of the public headers from and to callers that may be compiled with another size of the struct;
 * include/openndk/api.h has the rules. The invariant: nothing beyond the caller's size is read or written. A struct
 * must not end in padding. If callers pass a struct as input, no field may be added where the struct had padding,
 * because older programs leave padding undefined.
 */
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Copies our struct to the caller's struct. Zeroes the fields that only the caller's struct has. */
static inline void sized_write(void *theirs, size_t their_size, const void *ours, size_t our_size)
{
    size_t both = their_size < our_size ? their_size : our_size;

    memcpy(theirs, ours, both);
    memset((char *)theirs + both, 0, their_size - both);
}

/* Does what sized_write does, for one entry of the caller's array. */
static inline void sized_write_entry(void *theirs, size_t index, size_t their_size, const void *ours, size_t our_size)
{
    sized_write((char *)theirs + index * their_size, their_size, ours, our_size);
}

/*
 * Copies the caller's struct over ours. Fields that the caller's struct lacks keep their values. Returns false and
 * changes nothing if the caller's struct is longer than ours and one of the additional bytes is not zero.
 */
static inline bool sized_read(void *ours, size_t our_size, const void *theirs, size_t their_size)
{
    for (size_t i = our_size; i < their_size; i++) {
        if (((const unsigned char *)theirs)[i])
            return false;
    }
    memcpy(ours, theirs, their_size < our_size ? their_size : our_size);
    return true;
}

#endif
