/* SPDX-License-Identifier: MIT */
/* Passes the trace to readers: see trace_server.h. The invariant: a reader receives a read-only descriptor. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "provider/trace_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/json.h"
#include "trace/attach.h"
#include "trace/ring.h"

/*
 * Returns the text of the answer, which the caller frees, or NULL if out of memory. `problem` describes an error, or is
 * NULL.
 */
static char *trace_server_text(bool is_late, const char *problem, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);

    if (!out)
        return NULL;
    fprintf(out, "{\"format\":1,\"pid\":%ld,\"late\":%s,", (long)getpid(), is_late ? "true" : "false");
    json_put_text(out, "problem", problem);
    fputs("}\n", out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Sends the text, together with the descriptor `fd` if `fd` is not -1. */
static void trace_server_send(int reader, char *text, size_t size, int fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = { { 0 } };
    struct iovec iov = { text, size };
    struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
    struct cmsghdr *c;

    if (fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    (void)sendmsg(reader, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void trace_server_answer(int reader, void (*on_begun)(void))
{
    char problem[TRACE_MAX_PROBLEM] = "", *text;
    bool is_late = false, was_on = ring_is_on();
    int fd = trace_attach(&is_late, problem);
    size_t size;

    if (!was_on && is_late) /* even if fd is -1: the recording has begun, although no descriptor can be passed */
        on_begun();
    text = trace_server_text(is_late, fd >= 0 ? NULL : problem, &size);
    if (text)
        trace_server_send(reader, text, size, fd);
    free(text);
    if (fd >= 0)
        descriptors_close(fd);
}
