/* SPDX-License-Identifier: MIT */
/*
 * Feeds any bytes, in any pieces, to both start-up machines. They assert their invariants at every step; every reply is
 * a frame that decodes; limits and forms stay within the offered ones. The first byte of the input sets the
 * configuration, the second one the pieces.
 */
#include <stdlib.h>
#include <string.h>

#include "iwarp/startup.h"
#include "wire/mpa.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
    if (!ok)
        abort();
}

static size_t drain(struct iw_startup *s, uint8_t *bytes, enum iw_startup_event *e)
{
    const uint8_t *at;
    size_t n, len = 0;

    *e = IW_STARTUP_NONE;
    while ((n = iw_startup_tx_want(s, &at)) > 0) {
        memcpy(bytes + len, at, n);
        len += n;
        *e = iw_startup_tx_done(s, n);
    }
    return len;
}

static enum iw_startup_event feed(struct iw_startup *s, const uint8_t *data, size_t size, size_t piece)
{
    enum iw_startup_event e = IW_STARTUP_NONE;
    uint8_t *at;
    size_t n;

    while (size > 0 && e == IW_STARTUP_NONE && (n = iw_startup_rx_want(s, &at)) > 0) {
        n = n < piece ? n : piece;
        n = n < size ? n : size;
        memcpy(at, data, n);
        data += n;
        size -= n;
        e = iw_startup_rx_done(s, n);
    }
    return e;
}

static void respond(const struct iw_startup_config *c, const uint8_t *data, size_t size, size_t piece)
{
    struct iw_startup *s = iw_startup_responder(c);
    uint8_t reply[MPA_MAX_FRAME];
    struct mpa_frame f;
    enum iw_startup_event e;
    size_t need, private_len;

    require(s != NULL);
    e = feed(s, data, size, piece);
    iw_startup_private(s, &private_len);
    require(private_len <= MPA_MAX_PRIVATE_DATA);
    if (e == IW_STARTUP_REQUEST && size & 1)
        iw_startup_accept(s, 8, 8, "yes", 3);
    else if (e == IW_STARTUP_REQUEST)
        iw_startup_reject(s, "no", 2);
    size_t len = drain(s, reply, &e);
    require(len == 0 || (mpa_frame_decode(&f, true, reply, len, &need) == MPA_DECODED && need == len && !f.markers));
    iw_startup_free(s);
}

static void initiate(const struct iw_startup_config *c, const uint8_t *data, size_t size, size_t piece)
{
    struct iw_startup *s = iw_startup_initiator(c, 4, 8, "hello", 5);
    uint8_t request[MPA_MAX_FRAME];
    struct iw_startup_result r;
    enum iw_startup_event e;

    require(s != NULL);
    drain(s, request, &e);
    e = feed(s, data, size, piece);
    iw_startup_result(s, &r);
    require(r.ird <= 4 && r.ord <= 8);
    require(e != IW_STARTUP_ACCEPTED || !(r.rtr & ~c->rtr));
    iw_startup_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct iw_startup_config c = {
        .revision = data[0] % 3,
        .crc = data[0] & 4,
        .rtr = data[0] >> 3 & 7,
        .max_ird = 16,
        .max_ord = 16,
        .max_private = data[0] & 64 ? 508 : 252,
    };
    size_t piece = data[1] % 32 + 1;

    respond(&c, data + 2, size - 2, piece);
    initiate(&c, data + 2, size - 2, piece);
    return 0;
}
