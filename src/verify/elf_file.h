/* SPDX-License-Identifier: MIT */
/*
 * The file of a loaded program or library. The file is read, not mapped: if a mapped file is truncated, an access to
 * the mapping raises SIGBUS. Nothing is allocated, because a report may come from a signal handler.
 */
#ifndef VERIFY_ELF_FILE_H
#define VERIFY_ELF_FILE_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef ElfW(Ehdr) elf_header;
typedef ElfW(Shdr) elf_section;

struct elf_file {
    int fd;
    elf_header header;
};

/*
 * Opens a file. `loaded` is the place in memory where the file's first page is mapped. Returns false if the file cannot
 * be read, or is not the one that was loaded, for example because the program was built again. The caller closes the
 * file with elf_file_close.
 */
bool elf_file_open(struct elf_file *file, const char *path, const void *loaded);
void elf_file_close(const struct elf_file *file);

/* Returns false if not all bytes can be read. */
bool elf_file_read(const struct elf_file *file, void *to, size_t size, uint64_t at);

/* Reads the header of a section. */
bool elf_file_section(const struct elf_file *file, unsigned index, elf_section *section);
/* Finds a section by its name. Returns false if there is none, or if it is compressed. */
bool elf_file_find_section(const struct elf_file *file, const char *name, elf_section *section);

#endif
