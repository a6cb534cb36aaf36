/* SPDX-License-Identifier: MIT */
/*
 * Builds FPDUs (RFC 5044): length, DDP header, payload, padding, CRC. A trace contains the payload of control messages,
 * and the beginning of other payloads if ONDK_TRACE requested payloads. Adds padding and CRC to an FPDU only if the
 * whole payload is known or filled with zeros.
 */
#include "fpdu.h"

#include <string.h>

#include "checksum.h"
#include "trace_reader/value.h"

enum { TAGGED_HEADER = 14, UNTAGGED_HEADER = 18, CRC_NOT_USED = 0, CRC_BAD = 2 };

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
    sum = crc == CRC_NOT_USED ? 0
                              : ~checksum_update(CHECKSUM_CRC32C, UINT32_MAX, f->bytes, f->known) ^ (crc == CRC_BAD);
    for (unsigned i = 0; i < 4; i++)
        f->bytes[f->known++] = (uint8_t)(sum >> 8 * i);
}

static uint64_t fpdu_field(const struct trace_record *r, const char *name, bool *ok)
{
    struct value v = { 0 };

    *ok = value_find(r, name, &v) && *ok;
    return v.number;
}

/* Appends the bytes of the payload that the trace has. */
static void fpdu_put_payload(struct fpdu *f, const struct trace_record *r, uint32_t ulpdu)
{
    uint32_t left = 2 + ulpdu - f->known;
    struct value bytes;

    if (!value_find(r, "bytes", &bytes) || bytes.field->kind != KIND_BYTES)
        return;
    if (bytes.size < left)
        left = (uint32_t)bytes.size;
    memcpy(f->bytes + f->known, bytes.bytes, left);
    f->known += left;
}

bool fpdu_make(const struct trace_record *r, uint32_t max_filled, struct fpdu *f)
{
    const char *event = r->event ? r->event->name : "";
    bool tagged = strcmp(event, "tagged") == 0, untagged = strcmp(event, "untagged") == 0, ok = true;
    uint64_t header = tagged ? TAGGED_HEADER : untagged ? UNTAGGED_HEADER : 0, ulpdu, crc;

    f->known = 0;
    if (!tagged && !untagged && strcmp(event, "no_segment") != 0)
        return false;
    f->is_sent = fpdu_field(r, "direction", &ok) != 0;
    crc = fpdu_field(r, "crc", &ok);
    ulpdu = fpdu_field(r, header ? "payload" : "length", &ok);
    if (!ok || ulpdu > UINT16_MAX - header)
        return false;
    ulpdu += header;
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
    }
    fpdu_put_payload(f, r, (uint32_t)ulpdu);
    fpdu_finish(f, (uint32_t)ulpdu, max_filled, crc);
    return ok;
}
