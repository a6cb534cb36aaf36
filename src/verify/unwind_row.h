/* SPDX-License-Identifier: MIT */
/*
 * Finds the places of the return address and of the caller's registers, for any instruction of a function. Compilers
 * write this information into .eh_frame, also for functions without frame pointers. Registers have the numbers that
 * DWARF defines for the processor.
 */
#ifndef VERIFY_UNWIND_ROW_H
#define VERIFY_UNWIND_ROW_H

#include <stdbool.h>
#include <stdint.h>

enum { UNWIND_REGISTERS = 34 };

/* The place where the caller's value of a register is stored. */
enum unwind_place {
    UNWIND_SAME,      /* in the register itself */
    UNWIND_SAVED,     /* in memory, at the frame's address + offset */
    UNWIND_UNDEFINED, /* lost, or in a place that this code does not support */
};

struct unwind_rule {
    enum unwind_place place;
    int64_t offset;
};

/* The rules that are valid at one instruction. The address of the frame is the caller's stack pointer. */
struct unwind_row {
    uintptr_t function;             /* address of the function's first instruction */
    uintptr_t code_start, code_end; /* the segment of the module that contains the code */
    unsigned base; /* number of the register to which base_offset is added to get the frame's address */
    int64_t base_offset;
    unsigned return_register; /* number that DWARF uses for the return address */
    struct unwind_rule rules[UNWIND_REGISTERS];
};

/*
 * Finds the row of the instruction at `pc`. Returns false if no loaded module describes the instruction, or if the
 * description has a form that this code does not support.
 */
bool unwind_find_row(uintptr_t pc, struct unwind_row *row);

#endif
