/* SPDX-License-Identifier: MIT */
/*
 * Writes blocks of pcapng (draft-ietf-opsawg-pcapng) in this machine's byte order. The invariant: the length fields
 * before and after a block's body are equal, and are multiples of 4.
 */
#include "pcapng.h"

#include <string.h>

enum {
    BLOCK_SECTION = 0x0a0d0d0a,
    BLOCK_INTERFACE = 1,
    BLOCK_PACKET = 6,
    BYTE_ORDER_MAGIC = 0x1a2b3c4d,
    LINK_ETHERNET = 1,
    BLOCK_OVERHEAD = 12,
    OPTION_END = 0,
    OPTION_COMMENT = 1,
    OPTION_APPLICATION = 4,     /* option of a section */
    OPTION_NAME = 2,            /* option of an interface */
    OPTION_DESCRIPTION = 3,     /* option of an interface */
    OPTION_TIME_RESOLUTION = 9, /* option of an interface */
};

static void pcapng_put16(FILE *out, uint16_t value)
{
    (void)fwrite(&value, sizeof value, 1, out);
}

static void pcapng_put32(FILE *out, uint32_t value)
{
    (void)fwrite(&value, sizeof value, 1, out);
}

static uint32_t pcapng_padded(size_t size)
{
    return (uint32_t)((size + 3) & ~(size_t)3);
}

static void pcapng_put_padded(FILE *out, const void *bytes, size_t size)
{
    static const char zeros[4];

    (void)fwrite(bytes, 1, size, out);
    (void)fwrite(zeros, 1, pcapng_padded(size) - size, out);
}

/* Returns the size of an option with this text. Returns 0 if the text is NULL, because the option is then omitted. */
static uint32_t pcapng_option_size(const char *text)
{
    return text ? 4 + pcapng_padded(strlen(text)) : 0;
}

static void pcapng_put_option(FILE *out, uint16_t code, const void *value, size_t size)
{
    pcapng_put16(out, code);
    pcapng_put16(out, (uint16_t)size);
    pcapng_put_padded(out, value, size);
}

static void pcapng_put_text(FILE *out, uint16_t code, const char *text)
{
    if (text)
        pcapng_put_option(out, code, text, strlen(text));
}

void pcapng_begin(FILE *out, const char *application)
{
    uint32_t size = BLOCK_OVERHEAD + 16 + pcapng_option_size(application) + 4;

    pcapng_put32(out, BLOCK_SECTION);
    pcapng_put32(out, size);
    pcapng_put32(out, BYTE_ORDER_MAGIC);
    pcapng_put16(out, 1);
    pcapng_put16(out, 0);
    pcapng_put32(out, UINT32_MAX); /* the length of the section is not known */
    pcapng_put32(out, UINT32_MAX);
    pcapng_put_text(out, OPTION_APPLICATION, application);
    pcapng_put_option(out, OPTION_END, "", 0);
    pcapng_put32(out, size);
}

void pcapng_add_interface(FILE *out, const char *name, const char *description)
{
    uint32_t size = BLOCK_OVERHEAD + 8 + pcapng_option_size(name) + pcapng_option_size(description) + 8 + 4;
    uint8_t nanoseconds = 9;

    pcapng_put32(out, BLOCK_INTERFACE);
    pcapng_put32(out, size);
    pcapng_put16(out, LINK_ETHERNET);
    pcapng_put16(out, 0);
    pcapng_put32(out, 0); /* no limit for the size of packets */
    pcapng_put_text(out, OPTION_NAME, name);
    pcapng_put_text(out, OPTION_DESCRIPTION, description);
    pcapng_put_option(out, OPTION_TIME_RESOLUTION, &nanoseconds, 1);
    pcapng_put_option(out, OPTION_END, "", 0);
    pcapng_put32(out, size);
}

void pcapng_add_packet(FILE *out, uint32_t interface, uint64_t time_ns, const uint8_t *bytes, uint32_t captured,
                       uint32_t original, const char *comment)
{
    uint32_t options = comment ? pcapng_option_size(comment) + 4 : 0;
    uint32_t size = BLOCK_OVERHEAD + 20 + pcapng_padded(captured) + options;

    pcapng_put32(out, BLOCK_PACKET);
    pcapng_put32(out, size);
    pcapng_put32(out, interface);
    pcapng_put32(out, (uint32_t)(time_ns >> 32));
    pcapng_put32(out, (uint32_t)time_ns);
    pcapng_put32(out, captured);
    pcapng_put32(out, original);
    pcapng_put_padded(out, bytes, captured);
    pcapng_put_text(out, OPTION_COMMENT, comment);
    if (comment)
        pcapng_put_option(out, OPTION_END, "", 0);
    pcapng_put32(out, size);
}
