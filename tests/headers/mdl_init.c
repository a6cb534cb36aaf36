/* SPDX-License-Identifier: MIT */
/*
 * Checks the result of ondk_mdl_init for buffers at the start, in the middle and at the end of a page, alone and
 * chained.
 */
#include <openndk/mdl.h>

#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static alignas(PAGE_SIZE) unsigned char memory[3 * PAGE_SIZE];

static bool describes(const MDL *mdl, size_t start, ULONG length, const MDL *next)
{
    size_t page = start / PAGE_SIZE * PAGE_SIZE;

    return mdl->Next == next && mdl->Size == (CSHORT)sizeof(MDL) && mdl->Process == NULL &&
           (mdl->MdlFlags & MDL_MAPPED_TO_SYSTEM_VA) != 0 && mdl->MappedSystemVa == memory + start &&
           mdl->StartVa == memory + page && mdl->ByteOffset == start - page && mdl->ByteCount == length;
}

int main(void)
{
    static const struct {
        size_t start;
        ULONG length;
    } cases[] = {
        { 0, 0 },
        { 0, 1 },
        { 0, sizeof(memory) },
        { 1, PAGE_SIZE },
        { PAGE_SIZE - 1, 2 },
        { PAGE_SIZE, PAGE_SIZE },
        { 2 * PAGE_SIZE + 4095, 1 },
    };
    MDL tail;
    MDL head;
    int failures = 0;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        /* ondk_mdl_init must overwrite all bytes. */
        memset(&head, 0xa5, sizeof(head));
        memset(&tail, 0xa5, sizeof(tail));
        ondk_mdl_init(&tail, memory + cases[i].start, cases[i].length, NULL);
        ondk_mdl_init(&head, memory + cases[i].start, cases[i].length, &tail);
        if (!describes(&tail, cases[i].start, cases[i].length, NULL) ||
            !describes(&head, cases[i].start, cases[i].length, &tail)) {
            printf("wrong descriptor for %u bytes at offset %zu\n", cases[i].length, cases[i].start);
            failures++;
        }
    }
    return failures != 0;
}
