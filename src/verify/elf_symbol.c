/* SPDX-License-Identifier: MIT */
/*
 * Reads a symbol table in small parts: see elf_symbol.h. The file is read, not mapped, because an access to the mapping
 * of a file that is cut off raises SIGBUS.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "verify/elf_symbol.h"

enum { PART = 1024, MAX_COMPARED = 4096, SYMBOLS_IN_PART = 64 };

typedef ElfW(Ehdr) elf_header;
typedef ElfW(Phdr) elf_segment;
typedef ElfW(Shdr) elf_section;
typedef ElfW(Sym) elf_entry;

static bool elf_read(int fd, void *to, size_t size, uint64_t at)
{
    ssize_t n;

    do
        n = pread(fd, to, size, (off_t)at);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)size;
}

static bool elf_is_supported(const elf_header *h)
{
    return !memcmp(h->e_ident, ELFMAG, SELFMAG) &&
           h->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
           h->e_phentsize == sizeof(elf_segment) && h->e_shentsize == sizeof(elf_section);
}

/* Returns how many bytes of the file's beginning are mapped, at most MAX_COMPARED. 0: unknown. */
static size_t elf_mapped_size(int fd, const elf_header *h)
{
    elf_segment segment;

    for (unsigned i = 0; i < h->e_phnum; i++) {
        if (!elf_read(fd, &segment, sizeof segment, h->e_phoff + i * sizeof segment))
            return 0;
        if (segment.p_type == PT_LOAD && segment.p_offset == 0 && !(segment.p_flags & PF_W))
            return segment.p_filesz < MAX_COMPARED ? (size_t)segment.p_filesz : MAX_COMPARED;
    }
    return 0;
}

/* Compares the file's beginning, which contains the headers and mostly the build ID, with the memory. */
static bool elf_is_loaded(int fd, const elf_header *h, const char *loaded)
{
    size_t size = elf_mapped_size(fd, h), length;
    char part[PART];

    for (size_t at = 0; at < size; at += length) {
        length = size - at < PART ? size - at : PART;
        if (!elf_read(fd, part, length, at) || memcmp(part, loaded + at, length) != 0)
            return false;
    }
    return size > 0;
}

/* Finds the symbol table and the table of its names. */
static bool elf_find_tables(int fd, const elf_header *h, elf_section *symbols, elf_section *names)
{
    for (unsigned i = 0; i < h->e_shnum; i++) {
        if (!elf_read(fd, symbols, sizeof *symbols, h->e_shoff + i * sizeof *symbols))
            return false;
        if (symbols->sh_type == SHT_SYMTAB)
            return symbols->sh_link < h->e_shnum && symbols->sh_entsize == sizeof(elf_entry) &&
                   elf_read(fd, names, sizeof *names, h->e_shoff + symbols->sh_link * sizeof *names);
    }
    return false;
}

static bool elf_is_function_at(const elf_entry *entry, uintptr_t address)
{
    unsigned type = entry->st_info & 0xf;

    return (type == STT_FUNC || type == STT_GNU_IFUNC) && entry->st_shndx != SHN_UNDEF && address >= entry->st_value &&
           address - entry->st_value < entry->st_size;
}

/* Sets *found to the first function that contains the address. */
static bool elf_find_entry(int fd, const elf_section *symbols, uintptr_t address, elf_entry *found)
{
    elf_entry part[SYMBOLS_IN_PART];
    uint64_t count = symbols->sh_size / sizeof *part;

    for (uint64_t first = 0; first < count; first += SYMBOLS_IN_PART) {
        unsigned n = count - first < SYMBOLS_IN_PART ? (unsigned)(count - first) : SYMBOLS_IN_PART;

        if (!elf_read(fd, part, n * sizeof *part, symbols->sh_offset + first * sizeof *part))
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

/* Reads the name as far as it fits. */
static bool elf_read_name(int fd, const elf_section *names, const elf_entry *entry, char *name)
{
    uint64_t room;

    if (entry->st_name >= names->sh_size)
        return false;
    room = names->sh_size - entry->st_name;
    if (room > ELF_SYMBOL_NAME - 1)
        room = ELF_SYMBOL_NAME - 1;
    name[room] = '\0';
    return elf_read(fd, name, (size_t)room, names->sh_offset + entry->st_name) && name[0];
}

bool elf_symbol_find(const char *file, const void *loaded, uintptr_t address, struct elf_symbol *symbol)
{
    int saved = errno, fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    elf_section symbols, names;
    elf_header header;
    elf_entry entry;
    bool found;

    found = fd >= 0 && elf_read(fd, &header, sizeof header, 0) && elf_is_supported(&header) &&
            elf_is_loaded(fd, &header, loaded) && elf_find_tables(fd, &header, &symbols, &names) &&
            elf_find_entry(fd, &symbols, address, &entry) && elf_read_name(fd, &names, &entry, symbol->name);
    if (found)
        symbol->offset = address - (uintptr_t)entry.st_value;
    if (fd >= 0)
        (void)close(fd);
    errno = saved;
    return found;
}
