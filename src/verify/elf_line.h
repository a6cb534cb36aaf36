/* SPDX-License-Identifier: MIT */
/*
 * Finds the source file and line of an address in the debug information of the program's file: DWARF 2 to 5, section
 * .debug_line. Allocates nothing, because a report may come from a signal handler.
 */
#ifndef VERIFY_ELF_LINE_H
#define VERIFY_ELF_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_LINE_FILE = 64 };

struct elf_line {
    char file[ELF_LINE_FILE]; /* name of the source file without its folder; cut off at the end if it is longer */
    unsigned line;
};

/*
 * Finds the source line of an address. The parameters path, loaded and address are as for elf_symbol_find. Returns
 * false if the file cannot be read, or if its .debug_line section is missing, compressed, larger than 16 MiB, or
 * without a line for the address.
 */
bool elf_line_find(const char *path, const void *loaded, uintptr_t address, struct elf_line *line);

#endif
