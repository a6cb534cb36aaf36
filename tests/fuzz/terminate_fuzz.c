/* SPDX-License-Identifier: MIT */
/*
 * Decodes any bytes as a Terminate's payload: reads nothing beyond them, and the result encodes and decodes to the
 * same.
 */
#include <stdlib.h>
#include <string.h>

#include "wire/terminate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t bytes[TERMINATE_MAX_PAYLOAD];
    struct terminate t, again;

    if (!terminate_decode(&t, data, size))
        return 0;
    require(t.error != WIRE_OK && t.header_len <= sizeof t.header);
    size_t len = terminate_encode(&t, bytes, sizeof bytes);
    if (len == 0)
        return 0; /* an R flag without the D flag */
    require(len <= size && terminate_decode(&again, bytes, len));
    require(again.error == t.error && again.has_header == t.has_header && again.segment_len == t.segment_len);
    require(again.header_len == t.header_len && memcmp(again.header, t.header, t.header_len) == 0);
    return 0;
}
