/* SPDX-License-Identifier: MIT */
/*
 * Reads the ELF file of a loaded program or library. The file is read, not mapped, because an access to a mapping
 * raises SIGBUS if the file was truncated. Nothing is allocated, because a report may come from a signal handler.
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
 * Opens the ELF file `path`. `loaded` is the memory address at which the file's first page is mapped. Returns false if
 * the file cannot be read, or if it is not the file that was loaded, for example because the program was built again.
 * The caller closes the file with elf_file_close.
 */
bool elf_file_open(struct elf_file *file, const char *path, const void *loaded);
void elf_file_close(const struct elf_file *file);

/* Reads `size` bytes at the file offset `at`. Returns false if not all of them can be read. */
bool elf_file_read(const struct elf_file *file, void *to, size_t size, uint64_t at);

/* Reads the header of section number `index`. Returns false if there is no such section. */
bool elf_file_section(const struct elf_file *file, unsigned index, elf_section *section);
/* Finds the section `name` and reads its header. Returns false if there is none, or if the section is compressed. */
bool elf_file_find_section(const struct elf_file *file, const char *name, elf_section *section);

#endif
