/* SPDX-License-Identifier: MIT */
/* Searches the symbol table of an ELF file: see elf_symbol.h. Reads the table in small parts, one after the other. */
#include "verify/elf_symbol.h"

#include <errno.h>

#include "verify/elf_file.h"

enum { SYMBOLS_IN_PART = 64 };

typedef ElfW(Sym) elf_entry;

/*
 * Reads the section headers of the symbol table and of the table of its names. Returns false if there is no symbol
 * table.
 */
static bool elf_find_tables(const struct elf_file *file, elf_section *symbols, elf_section *names)
{
    for (unsigned i = 0; elf_file_section(file, i, symbols); i++)
        if (symbols->sh_type == SHT_SYMTAB)
            return symbols->sh_entsize == sizeof(elf_entry) && elf_file_section(file, symbols->sh_link, names);
    return false;
}

static bool elf_is_function_at(const elf_entry *entry, uintptr_t address)
{
    unsigned type = entry->st_info & 0xf;

    return (type == STT_FUNC || type == STT_GNU_IFUNC) && entry->st_shndx != SHN_UNDEF && address >= entry->st_value &&
           address - entry->st_value < entry->st_size;
}

/* Sets *found to the first function that contains the address. Returns false if there is none. */
static bool elf_find_entry(const struct elf_file *file, const elf_section *symbols, uintptr_t address, elf_entry *found)
{
    elf_entry part[SYMBOLS_IN_PART];
    uint64_t count = symbols->sh_size / sizeof *part;

    for (uint64_t first = 0; first < count; first += SYMBOLS_IN_PART) {
        unsigned n = count - first < SYMBOLS_IN_PART ? (unsigned)(count - first) : SYMBOLS_IN_PART;

        if (!elf_file_read(file, part, n * sizeof *part, symbols->sh_offset + first * sizeof *part))
            return false;
        for (unsigned i = 0; i < n; i++) {
            if (elf_is_function_at(&part[i], address)) {
                *found = part[i];
                return true;
            }
        }
    }
    return false;
}

/* Copies the name of the symbol to `name`, cut off if it is too long. Returns false if the symbol has no name. */
static bool elf_read_name(const struct elf_file *file, const elf_section *names, const elf_entry *entry, char *name)
{
    uint64_t room;

    if (entry->st_name >= names->sh_size)
        return false;
    room = names->sh_size - entry->st_name;
    if (room > ELF_SYMBOL_NAME - 1)
        room = ELF_SYMBOL_NAME - 1;
    name[room] = '\0';
    return elf_file_read(file, name, (size_t)room, names->sh_offset + entry->st_name) && name[0];
}

bool elf_symbol_find(const char *path, const void *loaded, uintptr_t address, struct elf_symbol *symbol)
{
    elf_section symbols, names;
    struct elf_file file;
    int saved = errno;
    bool found = false;
    elf_entry entry;

    if (elf_file_open(&file, path, loaded)) {
        found = elf_find_tables(&file, &symbols, &names) && elf_find_entry(&file, &symbols, address, &entry) &&
                elf_read_name(&file, &names, &entry, symbol->name);
        elf_file_close(&file);
    }
    if (found)
        symbol->offset = address - (uintptr_t)entry.st_value;
    errno = saved;
    return found;
}
