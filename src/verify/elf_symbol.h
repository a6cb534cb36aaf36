/* SPDX-License-Identifier: MIT */
/*
 * Names of functions that a program does not export, from the symbol table in the program's file. Allocates nothing and
 * starts no process, because a report may come from a signal handler.
 */
#ifndef VERIFY_ELF_SYMBOL_H
#define VERIFY_ELF_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_SYMBOL_NAME = 128 };

struct elf_symbol {
    char name[ELF_SYMBOL_NAME]; /* cut off at the end if it is longer */
    size_t offset;              /* of the address in the function */
};

/*
 * Finds the function of a loaded program or library that contains the address.
 *   path     its file
 *   loaded   the place in memory where the file's first page is mapped
 *   address  as the symbols of the file have it: relative to the load address
 * Returns false if the file cannot be read, has no symbol table or no such function, or is not the one that was loaded,
 * for example because the program was built again.
 */
bool elf_symbol_find(const char *path, const void *loaded, uintptr_t address, struct elf_symbol *symbol);

#endif
