/* SPDX-License-Identifier: MIT */
/* Reads the ELF file of a loaded program or library: see elf_file.h. */
#include "verify/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PART = 1024, MAX_COMPARED = 4096, MAX_SECTION_NAME = 32 };

typedef ElfW(Phdr) elf_segment;

bool elf_file_read(const struct elf_file *file, void *to, size_t size, uint64_t at)
{
    ssize_t n;

    do
        n = pread(file->fd, to, size, (off_t)at);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)size;
}

static bool elf_is_supported(const elf_header *h)
{
    return !memcmp(h->e_ident, ELFMAG, SELFMAG) &&
           h->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
           h->e_phentsize == sizeof(elf_segment) && h->e_shentsize == sizeof(elf_section);
}

/*
 * Returns how many bytes from the start of the file are mapped, at most MAX_COMPARED. Returns 0 if this number is not
 * known.
 */
static size_t elf_mapped_size(const struct elf_file *file)
{
    elf_segment segment;

    for (unsigned i = 0; i < file->header.e_phnum; i++) {
        if (!elf_file_read(file, &segment, sizeof segment, file->header.e_phoff + i * sizeof segment))
            return 0;
        if (segment.p_type == PT_LOAD && segment.p_offset == 0 && !(segment.p_flags & PF_W))
            return segment.p_filesz < MAX_COMPARED ? (size_t)segment.p_filesz : MAX_COMPARED;
    }
    return 0;
}

/*
 * Returns true if the file and the memory begin with the same bytes. These bytes contain the headers, and usually the
 * build ID.
 */
static bool elf_is_loaded(const struct elf_file *file, const char *loaded)
{
    size_t size = elf_mapped_size(file), length;
    char part[PART];

    for (size_t at = 0; at < size; at += length) {
        length = size - at < PART ? size - at : PART;
        if (!elf_file_read(file, part, length, at) || memcmp(part, loaded + at, length) != 0)
            return false;
    }
    return size > 0;
}

bool elf_file_open(struct elf_file *file, const char *path, const void *loaded)
{
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0)
        return false;
    if (elf_file_read(file, &file->header, sizeof file->header, 0) && elf_is_supported(&file->header) &&
        elf_is_loaded(file, loaded))
        return true;
    elf_file_close(file);
    return false;
}

void elf_file_close(const struct elf_file *file)
{
    (void)close(file->fd);
}

bool elf_file_section(const struct elf_file *file, unsigned index, elf_section *section)
{
    return index < file->header.e_shnum &&
           elf_file_read(file, section, sizeof *section, file->header.e_shoff + index * sizeof *section);
}

bool elf_file_find_section(const struct elf_file *file, const char *name, elf_section *section)
{
    size_t size = strlen(name) + 1;
    char found[MAX_SECTION_NAME];
    elf_section names;

    if (size > sizeof found || !elf_file_section(file, file->header.e_shstrndx, &names))
        return false;
    for (unsigned i = 0; elf_file_section(file, i, section); i++)
        if (elf_file_read(file, found, size, names.sh_offset + section->sh_name) && !memcmp(found, name, size))
            return section->sh_type == SHT_PROGBITS && !(section->sh_flags & SHF_COMPRESSED);
    return false;
}
