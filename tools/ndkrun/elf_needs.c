/* SPDX-License-Identifier: MIT */
/*
 * Reads the dynamic section of a 64-bit ELF file: see elf_needs.h. The file is untrusted, so every offset is checked.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "elf_needs.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct image {
    const char *path;
    const uint8_t *start;
    uint64_t size;
};

/* Receives a text, which ends with a zero. */
struct text {
    char *start;
    size_t room, used;
};

/* Returns a pointer to `size` bytes at `offset`, or NULL if the file does not contain them. */
static const void *image_at(const struct image *i, uint64_t offset, uint64_t size)
{
    return offset <= i->size && size <= i->size - offset ? i->start + offset : NULL;
}

static const Elf64_Phdr *image_header(const struct image *i, const Elf64_Ehdr *e, uint32_t n)
{
    return image_at(i, e->e_phoff + (uint64_t)n * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr));
}

/* Finds the file offset of a virtual address. Returns false if no loaded segment contains the address. */
static bool image_file_offset(const struct image *i, const Elf64_Ehdr *e, uint64_t address, uint64_t *offset)
{
    for (uint32_t n = 0; n < e->e_phnum; n++) {
        const Elf64_Phdr *p = image_header(i, e, n);

        if (p && p->p_type == PT_LOAD && address - p->p_vaddr < p->p_filesz) {
            *offset = p->p_offset + (address - p->p_vaddr);
            return true;
        }
    }
    return false;
}

/*
 * Returns the string at `index` in the string table at the file offset `strings`. Returns NULL if the string does not
 * end inside the file.
 */
static const char *image_string(const struct image *i, uint64_t strings, uint64_t index)
{
    const char *s = image_at(i, strings + index, 1);

    return s && memchr(s, 0, i->size - (uint64_t)((const uint8_t *)s - i->start)) ? s : NULL;
}

/* Appends `size` bytes. Returns false if the text does not fit. */
static bool text_append(struct text *t, const char *from, size_t size)
{
    if (size >= t->room - t->used)
        return false;
    memcpy(t->start + t->used, from, size);
    t->used += size;
    t->start[t->used] = '\0';
    return true;
}

/* Returns the size of the token $ORIGIN or ${ORIGIN} at `at`, or 0 if `at` begins with neither. */
static size_t directory_token_size(const char *at, const char *end)
{
    static const char *const tokens[] = { "$ORIGIN", "${ORIGIN}" };

    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++)
        if ((size_t)(end - at) >= strlen(tokens[i]) && !memcmp(at, tokens[i], strlen(tokens[i])))
            return strlen(tokens[i]);
    return 0;
}

/*
 * Appends a directory of the run path. Replaces $ORIGIN and ${ORIGIN} with the directory of the object. An empty
 * directory is the current one, as for the dynamic linker. Returns false if the text does not fit.
 */
static bool directory_append(struct text *t, const char *at, const char *end, const char *path)
{
    const char *slash = strrchr(path, '/'), *origin = slash ? path : ".";
    size_t origin_size = slash ? (size_t)(slash - path) : 1;

    if (at == end)
        return text_append(t, ".", 1);
    while (at < end) {
        size_t token = directory_token_size(at, end);

        if (!(token ? text_append(t, origin, origin_size) : text_append(t, at, 1)))
            return false;
        at += token ? token : 1;
    }
    return true;
}

/*
 * Searches a run path for the file `found`. `directories` is the run path, a list of directories separated by colons.
 * Sets `name` to the path of the first readable file with that name. Returns false if there is none. An empty run path
 * has no directory, as for the dynamic linker.
 */
static bool image_search_directories(const struct image *i, const char *directories, const char *found, char *name,
                                     size_t room)
{
    for (const char *at = directories; at && *directories;) {
        const char *end = strchrnul(at, ':');
        struct text t = { name, room, 0 };

        if (directory_append(&t, at, end, i->path) && text_append(&t, "/", 1) &&
            text_append(&t, found, strlen(found)) && !access(name, R_OK))
            return true;
        at = *end ? end + 1 : NULL;
    }
    return false;
}

static bool image_search_dynamic(const struct image *i, const Elf64_Ehdr *e, const Elf64_Phdr *dynamic,
                                 const char *prefix, char *name, size_t room)
{
    const Elf64_Dyn *d = image_at(i, dynamic->p_offset, dynamic->p_filesz);
    uint64_t count = dynamic->p_filesz / sizeof *d, table = 0, address = 0;
    const char *directories = NULL, *found = NULL;

    for (uint64_t n = 0; d && n < count; n++)
        if (d[n].d_tag == DT_STRTAB)
            address = d[n].d_un.d_ptr;
    if (!d || !image_file_offset(i, e, address, &table))
        return false;
    for (uint64_t n = 0; n < count; n++) {
        bool is_name = d[n].d_tag == DT_NEEDED || d[n].d_tag == DT_RUNPATH;
        const char *s = is_name ? image_string(i, table, d[n].d_un.d_val) : NULL;

        if (s && d[n].d_tag == DT_RUNPATH)
            directories = s;
        else if (s && !strncmp(s, prefix, strlen(prefix)))
            found = s;
    }
    if (!found)
        return false;
    if (directories && image_search_directories(i, directories, found, name, room))
        return true;
    return snprintf(name, room, "%s", found) < (int)room;
}

static bool image_search(const struct image *i, const char *prefix, char *name, size_t room)
{
    const Elf64_Ehdr *e = image_at(i, 0, sizeof *e);

    if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    for (uint32_t n = 0; n < e->e_phnum; n++) {
        const Elf64_Phdr *p = image_header(i, e, n);

        if (p && p->p_type == PT_DYNAMIC)
            return image_search_dynamic(i, e, p, prefix, name, room);
    }
    return false;
}

bool elf_needs(const char *path, const char *prefix, char *name, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    bool found = false;

    if (fd < 0)
        return false;
    if (!fstat(fd, &info) && S_ISREG(info.st_mode) && info.st_size > 0) {
        void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

        if (map != MAP_FAILED) {
            struct image i = { path, map, (uint64_t)info.st_size };

            found = image_search(&i, prefix, name, room);
            munmap(map, (size_t)info.st_size);
        }
    }
    close(fd);
    return found;
}
