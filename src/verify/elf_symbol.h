/* SPDX-License-Identifier: MIT */
/*
 * Finds the names of functions that a program does not export, in the symbol table of the program's file. Allocates
 * nothing and starts no process, because a report may come from a signal handler.
 */
#ifndef VERIFY_ELF_SYMBOL_H
#define VERIFY_ELF_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_SYMBOL_NAME = 128 };

struct elf_symbol {
    char name[ELF_SYMBOL_NAME]; /* name of the function; cut off at the end if it is longer */
    size_t offset;              /* offset of the address in the function, in bytes */
};

/*
 * Finds the function at an address in a loaded program or library.
 *   path     the name of the program's or library's file
 *   loaded   the memory address at which the file's first page is mapped
 *   address  the address relative to the load address, as in the file's symbol table
 * Returns false if the file cannot be read, has no symbol table, or has no such function. Also returns false if the
 * file is not the one that was loaded, for example because the program was built again.
 */
bool elf_symbol_find(const char *path, const void *loaded, uintptr_t address, struct elf_symbol *symbol);

#endif
