/* SPDX-License-Identifier: MIT */
/* Decodes any bytes as an MPA frame: the result lies inside the input, and encodes and decodes to the same. */
#include <stdlib.h>
#include <string.h>

#include "wire/mpa.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
    if (!ok)
        abort();
}

static void there_and_back(const struct mpa_frame *f)
{
    uint8_t bytes[MPA_MAX_FRAME];
    size_t len = mpa_frame_encode(f, bytes, sizeof bytes), need;
    struct mpa_frame again;

    /* The encoder adds the four bytes that belong to S, for which there may be no room. */
    if (f->enhanced && !f->has_limits)
        return;
    require(len > 0 && mpa_frame_decode(&again, f->reply, bytes, len, &need) == MPA_DECODED && need == len);
    require(again.markers == f->markers && again.crc == f->crc && again.rejected == f->rejected);
    require(again.enhanced == f->enhanced && again.revision == f->revision && again.rtr == f->rtr);
    require(again.peer_to_peer == f->peer_to_peer && again.ird == f->ird && again.ord == f->ord);
    require(again.private_len == f->private_len && memcmp(again.private_data, f->private_data, f->private_len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int reply = 0; reply <= 1; reply++) {
        struct mpa_frame f;
        size_t need;

        switch (mpa_frame_decode(&f, reply, data, size, &need)) {
        case MPA_MORE:
            require(need > size && need <= MPA_MAX_FRAME);
            break;
        case MPA_DECODED:
            require(need <= size && f.private_data >= data && f.private_data + f.private_len == data + need);
            there_and_back(&f);
            break;
        case MPA_BAD_KEY:
        case MPA_BAD_LENGTH:
            break;
        }
    }
    return 0;
}
