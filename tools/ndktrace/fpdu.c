/* SPDX-License-Identifier: MIT */
/*
 * Builds FPDUs (RFC 5044): length, DDP header, payload, padding, CRC. The trace contains only the payload of control
 * messages. Adds padding and CRC to an FPDU only if the whole payload is known.
 */
#include "fpdu.h"

#include <string.h>

#include "trace_reader/value.h"

enum { TAGGED_HEADER = 14, UNTAGGED_HEADER = 18, CRC_NOT_USED = 0, CRC_BAD = 2 };

static uint32_t fpdu_crc32c(const uint8_t *bytes, size_t size)
{
    static uint32_t table[256]; /* table[255] is 0 until the table has been made */
    uint32_t crc = UINT32_MAX;

    for (uint32_t i = 0; i < 256 && !table[255]; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0x82f63b78 : 0);
    }
    for (size_t i = 0; i < size; i++)
        crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
    return ~crc;
}

static void fpdu_put(struct fpdu *f, uint64_t value, unsigned size)
{
    for (unsigned i = size; i > 0; i--)
        f->bytes[f->known++] = (uint8_t)(value >> 8 * (i - 1));
}

/* Appends padding and CRC, if all bytes before them are known or may be filled with zeros. */
static void fpdu_finish(struct fpdu *f, uint32_t ulpdu, uint32_t max_filled, uint64_t crc)
{
    uint32_t sum;

    f->size = ((2 + ulpdu + 3) & ~3u) + 4;
    if (f->known < 2 + ulpdu && f->size <= max_filled) {
        memset(f->bytes + f->known, 0, 2 + ulpdu - f->known);
        f->known = 2 + ulpdu;
    }
    if (f->known != 2 + ulpdu)
        return;
    memset(f->bytes + f->known, 0, f->size - f->known);
    f->known = f->size - 4;
    sum = crc == CRC_NOT_USED ? 0 : fpdu_crc32c(f->bytes, f->known) ^ (crc == CRC_BAD);
    for (unsigned i = 0; i < 4; i++)
        f->bytes[f->known++] = (uint8_t)(sum >> 8 * i);
}

static uint64_t fpdu_field(const struct trace_record *r, const char *name, bool *ok)
{
    struct value v = { 0 };

    *ok = value_find(r, name, &v) && *ok;
    return v.number;
}

bool fpdu_make(const struct trace_record *r, uint32_t max_filled, struct fpdu *f)
{
    const char *event = r->event ? r->event->name : "";
    bool tagged = strcmp(event, "tagged") == 0, untagged = strcmp(event, "untagged") == 0, ok = true;
    uint64_t ulpdu, crc;
    struct value bytes = { 0 };

    f->known = 0;
    if (!tagged && !untagged && strcmp(event, "no_segment") != 0)
        return false;
    f->is_sent = fpdu_field(r, "direction", &ok) != 0;
    crc = fpdu_field(r, "crc", &ok);
    ulpdu = fpdu_field(r, tagged || untagged ? "payload" : "length", &ok) + (tagged     ? TAGGED_HEADER
                                                                             : untagged ? UNTAGGED_HEADER
                                                                                        : 0);
    if (!ok || ulpdu > UINT16_MAX)
        return false;
    fpdu_put(f, ulpdu, 2);
    if (tagged || untagged)
        fpdu_put(f, fpdu_field(r, "control", &ok), 2);
    if (tagged || untagged)
        fpdu_put(f, fpdu_field(r, "stag", &ok), 4);
    if (tagged)
        fpdu_put(f, fpdu_field(r, "to", &ok), 8);
    if (untagged) {
        fpdu_put(f, fpdu_field(r, "queue", &ok), 4);
        fpdu_put(f, fpdu_field(r, "msn", &ok), 4);
        fpdu_put(f, fpdu_field(r, "offset", &ok), 4);
        ok = value_find(r, "bytes", &bytes) && ok && f->known + bytes.size <= 2 + ulpdu;
        if (ok) {
            memcpy(f->bytes + f->known, bytes.bytes, bytes.size);
            f->known += (uint32_t)bytes.size;
        }
    }
    fpdu_finish(f, (uint32_t)ulpdu, max_filled, crc);
    return ok;
}
