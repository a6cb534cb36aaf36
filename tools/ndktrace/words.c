/* SPDX-License-Identifier: MIT */
/* Writes parts of sentences: see words.h. */
#include "words.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/printable.h"
#include "trace_reader/value.h"

static const struct words_state {
    const char *state, *awaited, *call;
} words_states[] = {
    { "TCP_CONNECTING", "the server's host to answer TCP", "its NdkConnect waits for" },
    { "REQUEST_SENT", "the server's MPA reply, which the server's program causes with NdkAccept or NdkReject",
      "its NdkConnect waits for" },
    { "REPLIED", "the client's program to call NdkCompleteConnect", "it waits for" },
    { "COMPLETING", "the client's first frame to be sent, and to be answered if it is a read",
      "its NdkCompleteConnect waits for" },
    { "WAIT_REQUEST", "the client's MPA request", "it waits for" },
    { "REQUESTED", "the server's program to call NdkAccept or NdkReject", "it waits for" },
    { "REPLYING", "the MPA reply to be sent", "its NdkAccept waits for" },
    { "WAIT_RTR", "the client's first frame, which the client's program causes with NdkCompleteConnect",
      "its NdkAccept waits for" },
    { "DRAINING", "everything that was posted before NdkDisconnect to be sent and answered",
      "its NdkDisconnect waits for" },
    { "NOTICE_SENT", "the peer's program to call NdkDisconnect, too", "its NdkDisconnect waits for" },
    { "PEER_CLOSED", "its program to call NdkDisconnect, because the peer has disconnected", "it waits for" },
    { "CLOSING", "everything that was posted to be sent", "its NdkDisconnect waits for" },
    { "LINGERING", "the peer to receive the last frame", "it waits for" },
    { "LAST_WORDS", "the peer to receive the last frame", "it waits for" },
};

static const struct words_state *words_find_state(const char *state)
{
    for (size_t i = 0; i < sizeof words_states / sizeof words_states[0]; i++)
        if (strcmp(words_states[i].state, state) == 0)
            return &words_states[i];
    return NULL;
}

const char *words_awaited(const char *state)
{
    const struct words_state *w = words_find_state(state);

    return w ? w->awaited : NULL;
}

const char *words_call_awaited(const char *state)
{
    const struct words_state *w = words_find_state(state);

    return w ? w->call : NULL;
}

/* Writes the contents of a Read Request, if the event contains them: 28 bytes in network byte order. */
static void words_read_request(FILE *out, const struct story *s, size_t record)
{
    uint64_t parts[5] = { 0 };
    static const size_t sizes[] = { 4, 8, 4, 4, 8 }; /* sink STag and address, size, source STag and address */
    struct value v;
    size_t at = 0;

    if (!value_find(story_record(s, record), "bytes", &v) || v.size < 28) {
        fputs("a read request", out);
        return;
    }
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            parts[i] = parts[i] << 8 | v.bytes[at++];
    fprintf(out, "a read request for %" PRIu64 " bytes at address 0x%" PRIx64 " with token 0x%" PRIx64, parts[2],
            parts[4], parts[3]);
}

void words_fpdu(FILE *out, const struct story *s, size_t record)
{
    const char *opcode = story_name(s, record, "opcode");
    uint64_t payload = story_number(s, record, "payload");

    if (strcmp(ends_event_name(story_record(s, record)), "no_segment") == 0)
        fputs("an empty frame (ready to receive)", out);
    else if (strcmp(opcode, "write") == 0 || strcmp(opcode, "read-response") == 0)
        fprintf(out, "%s %" PRIu64 " bytes at address 0x%" PRIx64 " with token 0x%" PRIx64,
                *opcode == 'w' ? "a write of" : "a read's response of", payload, story_number(s, record, "to"),
                story_number(s, record, "stag"));
    else if (strcmp(opcode, "read-request") == 0)
        words_read_request(out, s, record);
    else if (strncmp(opcode, "send", 4) == 0)
        fprintf(out, "message %" PRIu64 " (a send of %" PRIu64 " bytes)", story_number(s, record, "msn"), payload);
    else
        fprintf(out, "a frame: %s", *opcode ? opcode : "of an unknown kind");
}

void words_message(FILE *out, const struct story *s, const struct end_list *list, size_t i)
{
    const char *opcode = story_name(s, list->records[i], "opcode");
    uint64_t size = story_number(s, list->records[i], "payload");
    size_t n = 1;

    while (!story_number(s, list->records[i + n - 1], "last") && i + n < list->count &&
           strcmp(opcode, story_name(s, list->records[i + n], "opcode")) == 0)
        size += story_number(s, list->records[i + n++], "payload");
    if (n == 1 || strcmp(opcode, "read-request") == 0) {
        words_fpdu(out, s, list->records[i]);
        return;
    }
    if (strncmp(opcode, "send", 4) == 0)
        fprintf(out, "message %" PRIu64 " (a send of %" PRIu64 " bytes)", story_number(s, list->records[i], "msn"),
                size);
    else
        fprintf(out, "%s of %" PRIu64 " bytes at address 0x%" PRIx64 " with token 0x%" PRIx64,
                strcmp(opcode, "read-response") == 0 ? "a read's response" : "a write", size,
                story_number(s, list->records[i], "to"), story_number(s, list->records[i], "stag"));
    fprintf(out, ", in %zu frames", n);
}

void words_count(FILE *out, uint64_t n, const char *noun)
{
    fprintf(out, "%" PRIu64 WORDS_SPACE "%s%s", n, noun, n == 1 ? "" : "s");
}

void words_bytes(FILE *out, const struct story *s, size_t record)
{
    enum { MAX_BYTES = 24 };
    struct value v;

    fputc('"', out);
    for (size_t i = 0; value_find(story_record(s, record), "bytes", &v) && i < v.size && i < MAX_BYTES; i++)
        fputc(v.bytes[i] < 0x80 && isprint(v.bytes[i]) ? v.bytes[i] : '.', out);
    fputc('"', out);
}

void words_status(FILE *out, const struct call *c)
{
    if (c->status_name)
        fputs(c->status_name, out);
    else
        fprintf(out, "status 0x%08" PRIX64, c->status);
}

void words_address(FILE *out, const struct story *s, size_t record, const char *field)
{
    char text[VALUE_MAX_TEXT];
    struct value v;

    if (record != END_NONE && value_find(story_record(s, record), field, &v) && v.field->kind == KIND_ADDR)
        fputs(value_text(&v, text), out);
    else
        fputs("an unknown address", out);
}

void words_process(FILE *out, const struct trace_file *f)
{
    char program[sizeof f->program * PRINTABLE_MAX_GROWTH], host[sizeof f->host * PRINTABLE_MAX_GROWTH];

    (void)printable_copy(program, sizeof program, f->program, strlen(f->program));
    (void)printable_copy(host, sizeof host, f->host, strlen(f->host));
    fprintf(out, "%s, process %" PRIu32 " on %s", program, f->pid, host);
}

void words_sides(FILE *out, const struct story_side *side, const char *text, size_t size)
{
    static const struct {
        const char *word;
        bool is_peer;
    } known[] = { { "this side", false }, { "the local side", false }, { "the peer", true } };
    const char *client = "client", *server = "server", *end = text + size;
    bool is_client = side->role == STORY_CLIENT;

    while (text < end) {
        size_t len = 0, i = 0;

        for (; i < sizeof known / sizeof known[0]; i++) {
            len = strlen(known[i].word);
            if (len <= (size_t)(end - text) && strncasecmp(text, known[i].word, len) == 0)
                break;
        }
        if (i == sizeof known / sizeof known[0]) {
            fputc(*text++, out);
            continue;
        }
        fprintf(out, "%s %s", isupper((unsigned char)*text) ? "The" : "the",
                known[i].is_peer == is_client ? server : client);
        text += len;
    }
}

void words_duration(FILE *out, double seconds)
{
    double size = fabs(seconds);

    if (size >= 1)
        fprintf(out, "%.3g" WORDS_SPACE "s", seconds);
    else if (size >= 1e-3)
        fprintf(out, "%.3g" WORDS_SPACE "ms", seconds * 1e3);
    else
        fprintf(out, "%.3g" WORDS_SPACE "us", seconds * 1e6);
}

/* ---- lines ---- */

void words_wrap(FILE *out, const char *first, int rest, const char *text)
{
    int at = fprintf(out, "%s", first);
    bool is_begin = true;

    while (*text) {
        int len = (int)strcspn(text, " \n");

        if (!is_begin && at + 1 + len > WORDS_WIDTH) {
            at = fprintf(out, "\n%*s", rest, "") - 1;
            is_begin = true;
        }
        if (len && !is_begin)
            fputc(' ', out);
        for (int i = 0; i < len; i++)
            fputc(text[i] == WORDS_SPACE[0] ? ' ' : text[i], out);
        at += len + (len && !is_begin);
        is_begin = is_begin && !len;
        text += len;
        if (*text == '\n') {
            at = fprintf(out, "\n%*s", rest, "") - 1;
            is_begin = true;
        }
        text += *text != '\0';
    }
    fputc('\n', out);
}

bool words_open(struct words *w)
{
    *w = (struct words){ 0 };
    w->file = open_memstream(&w->text, &w->size);
    return w->file != NULL;
}

char *words_close(struct words *w)
{
    bool ok = !ferror(w->file);

    ok = fclose(w->file) == 0 && ok;
    if (ok)
        return w->text;
    free(w->text);
    return NULL;
}
