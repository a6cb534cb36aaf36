/* SPDX-License-Identifier: MIT */
/*
 * Protects nbdkit from clients that hang up: see hang_up.h. Replaces the functions read, send and close that nbdkit's
 * program imports. Other libraries of the process keep their own.
 *
 * The invariant: nbdkit receives a connection's failure only while no other thread of the connection has a request.
 *
 *   send fails     the reply is discarded, nbdkit receives success, and the connection is broken
 *   read fails     the connection is broken
 *   read, broken   waits until no other thread has a request, then returns the end of the stream
 *
 * On each connection nbdkit sends before it reads. So the first send marks the descriptor as a connection. A thread has
 * a request from the first byte that it reads until it has sent the reply's last part, which is sent without MSG_MORE.
 *
 * A client that breaks the protocol, for example with a wrong magic number, is not hidden.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hang_up.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_DESCRIPTORS = 4096 }; /* connections with a larger descriptor are not protected */

struct connection {
    atomic_bool is_known, is_broken, is_awaited;
    atomic_int requests; /* number of threads that have a request */
};

static struct connection connections[MAX_DESCRIPTORS]; /* indexed by descriptor */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static _Thread_local struct connection *requested; /* the connection whose request this thread has, or NULL */

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

static void request_begin(struct connection *c)
{
    if (requested == c)
        return;
    requested = c;
    atomic_fetch_add(&c->requests, 1);
}

static void request_end(struct connection *c)
{
    if (requested != c)
        return;
    requested = NULL;
    atomic_fetch_sub(&c->requests, 1);
    if (!atomic_load(&c->is_awaited))
        return;
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&idle);
    pthread_mutex_unlock(&lock);
}

/*
 * Waits until no other thread has a request of the connection. Meanwhile no request is added: the calling thread reads
 * the connection, and nbdkit lets only one thread at a time read a connection.
 */
static void request_wait_for_others(struct connection *c)
{
    int own = requested == c;

    pthread_mutex_lock(&lock);
    atomic_store(&c->is_awaited, true);
    while (atomic_load(&c->requests) > own)
        pthread_cond_wait(&idle, &lock);
    atomic_store(&c->is_awaited, false);
    pthread_mutex_unlock(&lock);
}

/* ---- The functions that nbdkit calls ----------------------------------------------------------------------------- */

static bool is_temporary(int error)
{
    return error == EINTR || error == EAGAIN;
}

static ssize_t hang_up_read(int fd, void *data, size_t size)
{
    struct connection *c = fd >= 0 && fd < MAX_DESCRIPTORS ? &connections[fd] : NULL;
    ssize_t n;

    if (!c || !atomic_load(&c->is_known))
        return read(fd, data, size);
    n = atomic_load(&c->is_broken) ? 0 : read(fd, data, size);
    if (n < 0 && is_temporary(errno))
        return n;
    if (n > 0) {
        request_begin(c);
        return n;
    }
    atomic_store(&c->is_broken, true);
    request_wait_for_others(c);
    return 0;
}

static ssize_t hang_up_send(int fd, const void *data, size_t size, int flags)
{
    struct connection *c = fd >= 0 && fd < MAX_DESCRIPTORS ? &connections[fd] : NULL;
    ssize_t n;

    if (!c)
        return send(fd, data, size, flags);
    atomic_store(&c->is_known, true);
    n = send(fd, data, size, flags);
    if (n < 0 && !is_temporary(errno)) {
        n = (ssize_t)size;
        atomic_store(&c->is_broken, true);
        (void)shutdown(fd, SHUT_RDWR); /* wakes a thread that waits in read */
    }
    if (n == (ssize_t)size && !(flags & MSG_MORE))
        request_end(c);
    return n;
}

static int hang_up_close(int fd)
{
    if (fd >= 0 && fd < MAX_DESCRIPTORS && atomic_load(&connections[fd].is_known)) {
        requested = NULL;
        atomic_store(&connections[fd].is_known, false);
        atomic_store(&connections[fd].is_broken, false);
        atomic_store(&connections[fd].requests, 0);
    }
    return close(fd);
}

/* ---- Replacing nbdkit's imported functions ----------------------------------------------------------------------- */

struct replacement {
    const char *name;
    uintptr_t address;
};

/* The dynamic section of nbdkit's program, and the part of the program that is read-only after relocation. */
struct program {
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Rela) * relocations[2];
    size_t sizes[2]; /* in bytes */
    uintptr_t base, read_only, read_only_end;
};

static void program_read_dynamic(struct program *p, const ElfW(Dyn) * d)
{
    for (; d->d_tag != DT_NULL; d++) {
        uintptr_t address = d->d_un.d_ptr < p->base ? p->base + d->d_un.d_ptr : d->d_un.d_ptr;

        if (d->d_tag == DT_SYMTAB)
            p->symbols = (const void *)address;
        else if (d->d_tag == DT_STRTAB)
            p->strings = (const void *)address;
        else if (d->d_tag == DT_RELA)
            p->relocations[0] = (const void *)address;
        else if (d->d_tag == DT_RELASZ)
            p->sizes[0] = d->d_un.d_val;
        else if (d->d_tag == DT_JMPREL)
            p->relocations[1] = (const void *)address;
        else if (d->d_tag == DT_PLTRELSZ)
            p->sizes[1] = d->d_un.d_val;
    }
}

/* Replaces an imported function: stores `address` at `slot`, from which the program reads the function's address. */
static void program_store(const struct program *p, uintptr_t slot, uintptr_t address)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = slot & ~(page - 1);
    bool is_read_only = slot >= p->read_only && slot < p->read_only_end;

    if (is_read_only && mprotect((void *)begin, page, PROT_READ | PROT_WRITE))
        return;
    *(uintptr_t *)slot = address;
    if (is_read_only)
        (void)mprotect((void *)begin, page, PROT_READ);
}

static void program_replace(const struct program *p, const struct replacement *r)
{
    for (int table = 0; table < 2; table++) {
        const ElfW(Rela) *relocation = p->relocations[table];

        for (size_t i = 0; relocation && i < p->sizes[table] / sizeof *relocation; i++) {
            size_t symbol = relocation[i].r_info >> (sizeof(relocation->r_info) == 8 ? 32 : 8);

            if (symbol && strcmp(p->strings + p->symbols[symbol].st_name, r->name) == 0)
                program_store(p, p->base + relocation[i].r_offset, r->address);
        }
    }
}

/* A callback of dl_iterate_phdr, which lists the program before all libraries. Returns 1, which ends the iteration. */
static int program_process(struct dl_phdr_info *info, size_t size, void *context)
{
    static const struct replacement replacements[] = { { "read", (uintptr_t)hang_up_read },
                                                       { "send", (uintptr_t)hang_up_send },
                                                       { "close", (uintptr_t)hang_up_close } };
    struct program p = { .base = info->dlpi_addr };

    (void)size;
    (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];

        if (h->p_type == PT_DYNAMIC)
            program_read_dynamic(&p, (const void *)(p.base + h->p_vaddr));
        if (h->p_type == PT_GNU_RELRO) {
            p.read_only = p.base + h->p_vaddr;
            p.read_only_end = (p.read_only + h->p_memsz) & -(uintptr_t)sysconf(_SC_PAGESIZE);
        }
    }
    for (size_t i = 0; p.symbols && p.strings && i < sizeof replacements / sizeof replacements[0]; i++)
        program_replace(&p, &replacements[i]);
    return 1;
}

void hang_up_hide(void)
{
    if (dlsym(RTLD_DEFAULT, "nbdkit_disconnect")) /* version 1.34 or later */
        return;
    (void)dl_iterate_phdr(program_process, NULL);
}
