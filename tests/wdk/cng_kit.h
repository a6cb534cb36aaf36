/* SPDX-License-Identifier: MIT */
/* Helpers of the tests of CNG: bytes from hexadecimal text, and providers. */
#ifndef TESTS_WDK_CNG_KIT_H
#define TESTS_WDK_CNG_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wdm.h"

#include "bcrypt.h"

#include "live_count.h"
#include "report.h"
#include "wdk/common/inuse.h"

/* Bytes with exactly as much memory as they have, so that a sanitizer sees accesses behind them. */
struct bytes {
    PUCHAR at;
    ULONG size;
};

static inline struct bytes bytes_new(size_t size)
{
    struct bytes b = { calloc(1, size ? size : 1), (ULONG)size };

    assert_non_null(b.at);
    return b;
}

static inline struct bytes bytes_of(const char *hex)
{
    struct bytes b = bytes_new(strlen(hex) / 2);
    unsigned value;

    for (ULONG i = 0; i < b.size; i++) {
        assert_int_equal(sscanf(hex + (size_t)2 * i, "%2x", &value), 1);
        b.at[i] = (UCHAR)value;
    }
    return b;
}

static inline void bytes_are(const UCHAR *at, ULONG size, const char *hex)
{
    struct bytes expected = bytes_of(hex);

    assert_int_equal(size, expected.size);
    if (size)
        assert_memory_equal(at, expected.at, size);
    free(expected.at);
}

static inline BCRYPT_ALG_HANDLE open_provider(LPCWSTR name, ULONG flags)
{
    BCRYPT_ALG_HANDLE provider = NULL;

    assert_int_equal(BCryptOpenAlgorithmProvider(&provider, name, NULL, flags), STATUS_SUCCESS);
    assert_non_null(provider);
    return provider;
}

static inline void close_provider(BCRYPT_ALG_HANDLE provider)
{
    assert_int_equal(BCryptCloseAlgorithmProvider(provider, 0), STATUS_SUCCESS);
}

static inline ULONG property_of(BCRYPT_HANDLE handle, LPCWSTR name)
{
    ULONG value = 0, size = 0;

    assert_int_equal(BCryptGetProperty(handle, name, (PUCHAR)&value, sizeof value, &size, 0), STATUS_SUCCESS);
    assert_int_equal(size, sizeof value);
    return value;
}

#endif
