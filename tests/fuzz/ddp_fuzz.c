/* SPDX-License-Identifier: MIT */
/* Decodes any bytes as a DDP header and as a Read Request: reads nothing beyond them, and encodes to the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "wire/ddp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t bytes[RDMAP_READ_REQUEST];
    struct rdmap_read_request r;
    struct ddp_header h;
    size_t used;

    if (ddp_header_decode(&h, data, size, &used)) {
        require(used <= size && used == (h.tagged ? DDP_TAGGED_HEADER : DDP_UNTAGGED_HEADER));
        require(ddp_header_encode(&h, bytes, sizeof bytes) == used);
        require(memcmp(bytes + 2, data + 2, used - 2) == 0); /* the first two bytes have reserved bits and versions */
    } else {
        require(size < DDP_UNTAGGED_HEADER);
    }
    if (rdmap_read_decode(&r, data, size)) {
        require(size == RDMAP_READ_REQUEST && rdmap_read_encode(&r, bytes, sizeof bytes) == size);
        require(memcmp(bytes, data, size) == 0);
    }
    return 0;
}
