/* SPDX-License-Identifier: MIT */
/*
 * Copies structs of the public headers from and to callers that may be compiled with another size of the struct.
 * include/openndk/api.h has the rules. The invariant: nothing beyond the caller's size is read or written. A struct
 * must not end in padding. In a struct that callers pass as input, a new field must not use former padding, because
 * older programs leave padding undefined.
 */
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Copies `ours` to `theirs`, the caller's struct. Zeroes the fields that only the caller's struct has. */
static inline void sized_write(void *theirs, size_t their_size, const void *ours, size_t our_size)
{
    size_t both = their_size < our_size ? their_size : our_size;

    memcpy(theirs, ours, both);
    memset((char *)theirs + both, 0, their_size - both);
}

/* Copies `ours` to entry number `index` of `theirs`, the caller's array: see sized_write. */
static inline void sized_write_entry(void *theirs, size_t index, size_t their_size, const void *ours, size_t our_size)
{
    sized_write((char *)theirs + index * their_size, their_size, ours, our_size);
}

/*
 * Copies `theirs`, the caller's struct, to `ours`. Fields that the caller's struct lacks keep their values. If the
 * caller's struct is longer and an additional byte is not zero, changes nothing and returns false.
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
