/* SPDX-License-Identifier: MIT */
/*
 * Keeps the set of the provider's descriptors, with one bit for each number: see descriptors.h. The invariant: no fork
 * happens between the opening of a descriptor and the insertion of its number, or between the removal of the number and
 * the closing (base/fork.h). So in a child, the set has exactly the numbers that refer to files of the provider.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fork.h"

enum {
    MAX_DESCRIPTORS = 1 << 22, /* the set needs half a MiB, but only pages that were written use memory */
    BITS_PER_WORD = 64,
};

static _Atomic uint64_t descriptor_set[MAX_DESCRIPTORS / BITS_PER_WORD];
static atomic_int words_used; /* every word of the set from this index on has always been 0 */

/* ---- in a child ---- */

static int descriptors_open_dead_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/*
 * Replaces each descriptor in the set by a socket that is not connected. The parent's connections and epoll sets are
 * not affected, because the parent still has them open. If no socket can be opened, closes the descriptors instead.
 */
static void descriptors_replace_in_child(void)
{
    int dead_fd = descriptors_open_dead_socket();
    int n = atomic_load(&words_used);

    for (int i = 0; i < n; i++) {
        uint64_t bits = atomic_exchange(&descriptor_set[i], 0);

        for (; bits; bits &= bits - 1) {
            int fd = i * BITS_PER_WORD + __builtin_ctzll(bits);

            if (dead_fd >= 0 && dup3(dead_fd, fd, O_CLOEXEC) == fd)
                continue;
            close(fd);
            if (dead_fd < 0) /* tries again: the close has freed a descriptor number */
                dead_fd = descriptors_open_dead_socket();
        }
    }
    if (dead_fd >= 0)
        close(dead_fd);
}

static void descriptors_install_fork_handler(void)
{
    fork_on_child(descriptors_replace_in_child);
}

/* ---- opening and closing ---- */

static void descriptors_begin_change(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, descriptors_install_fork_handler);
    fork_change_begin();
}

/*
 * If fd is the number of a standard stream, which the program may have closed, moves the newly opened file `fd` to
 * another descriptor. Otherwise the program's output could go to a connection. Returns the descriptor of the file, or
 * -1 with errno set.
 */
static int descriptors_avoid_streams(int fd)
{
    int other;

    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    other = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int err = errno;
    close(fd);
    errno = err;
    return other;
}

/*
 * Inserts the newly opened file `fd` into the set, and ends the change that descriptors_begin_change has begun. Returns
 * the descriptor of the file, which can differ from fd: see descriptors_avoid_streams. If fd is -1 because opening has
 * failed, returns -1 and leaves errno unchanged. If the descriptor is too large for the set, closes the file and
 * returns -1 with errno EMFILE.
 */
static int descriptors_insert(int fd)
{
    fd = descriptors_avoid_streams(fd);
    int err = errno, used = atomic_load_explicit(&words_used, memory_order_relaxed);

    if (fd >= MAX_DESCRIPTORS) {
        close(fd);
        fd = -1;
        err = EMFILE;
    }
    if (fd >= 0) {
        atomic_fetch_or_explicit(&descriptor_set[fd / BITS_PER_WORD], UINT64_C(1) << fd % BITS_PER_WORD,
                                 memory_order_relaxed);
        while (used <= fd / BITS_PER_WORD &&
               !atomic_compare_exchange_weak_explicit(&words_used, &used, fd / BITS_PER_WORD + 1, memory_order_relaxed,
                                                      memory_order_relaxed))
            ;
    }
    fork_change_end();
    errno = err;
    return fd;
}

int descriptors_open(const char *path, int flags, int mode)
{
    descriptors_begin_change();
    return descriptors_insert(open(path, flags | O_CLOEXEC, mode));
}

int descriptors_socket(int family, int type, int protocol)
{
    descriptors_begin_change();
    return descriptors_insert(socket(family, type | SOCK_CLOEXEC, protocol));
}

int descriptors_accept(int listener, struct sockaddr *from, socklen_t *len, int flags)
{
    descriptors_begin_change();
    return descriptors_insert(accept4(listener, from, len, flags | SOCK_CLOEXEC));
}

int descriptors_epoll(void)
{
    descriptors_begin_change();
    return descriptors_insert(epoll_create1(EPOLL_CLOEXEC));
}

int descriptors_eventfd(int flags)
{
    descriptors_begin_change();
    return descriptors_insert(eventfd(0, flags | EFD_CLOEXEC));
}

/*
 * Creates a file in memory that cannot be executed, because the kernel logs a warning for an executable one. Linux
 * before 6.3 refuses the flag MFD_NOEXEC_SEAL, so the file is then created without it.
 */
static int descriptors_create_memfd(const char *name)
{
    const unsigned no_exec = 8; /* MFD_NOEXEC_SEAL */
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | no_exec);

    return fd >= 0 || errno != EINVAL ? fd : memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

int descriptors_memfd(const char *name)
{
    descriptors_begin_change();
    return descriptors_insert(descriptors_create_memfd(name));
}

void descriptors_close(int fd)
{
    descriptors_begin_change();
    if (fd >= 0 && fd < MAX_DESCRIPTORS)
        atomic_fetch_and_explicit(&descriptor_set[fd / BITS_PER_WORD], ~(UINT64_C(1) << fd % BITS_PER_WORD),
                                  memory_order_relaxed);
    close(fd);
    fork_change_end();
}
