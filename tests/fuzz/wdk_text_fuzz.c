/* SPDX-License-Identifier: MIT */
/*
 * The text functions for drivers: formats, addresses, numbers, bounded copies, UTF-8 and UTF-16. Each buffer has
 * exactly the size that is passed. The first byte of the input selects the function, the second the size of the output.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ntstrsafe.h"
#include "wdm.h"

#include "in6addr.h"
#include "inaddr.h"
#include "wdk/common/format.h"
#include "wdk/common/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Not the host's header, which declares another sockaddr. */
int inet_pton(int family, const char *text, void *out);
enum { HOST_AF_INET = 2, HOST_AF_INET6 = 10 };

enum { ARGUMENTS = 10, TEXT_MOST = 100 };

static void require(bool ok)
{
    if (!ok)
        abort();
}

/* Both are terminated. Each unit of the wide one is two bytes of the input. */
struct text {
    char *narrow;
    WCHAR *wide;
};

static struct text text_init(const uint8_t *data, size_t size)
{
    struct text t = { calloc(1, size + 1), calloc(size / sizeof(WCHAR) + 1, sizeof(WCHAR)) };

    require(t.narrow && t.wide);
    if (size) {
        memcpy(t.narrow, data, size);
        memcpy(t.wide, data, size / sizeof(WCHAR) * sizeof(WCHAR));
    }
    return t;
}

/* ---- Formats: every argument is a string of each kind at once --------------------------------------------------- */

struct argument {
    UNICODE_STRING counted;
    WCHAR end;
};

static size_t narrow(char *out, size_t cap, size_t *written, const char *format, ...)
{
    va_list args;
    size_t n;

    va_start(args, format);
    n = format_narrow(out, cap, written, format, args);
    va_end(args);
    return n;
}

static size_t wide(WCHAR *out, size_t cap, size_t *written, const WCHAR *format, ...)
{
    va_list args;
    size_t n;

    va_start(args, format);
    n = format_wide(out, cap, written, format, args);
    va_end(args);
    return n;
}

static bool takes_few(const struct text *t)
{
    size_t narrow_count = 0, wide_count = 0;

    for (const char *s = t->narrow; *s; s++)
        narrow_count += *s == '%' || *s == '*';
    for (const WCHAR *s = t->wide; *s; s++)
        wide_count += *s == '%' || *s == '*';
    return narrow_count <= ARGUMENTS && wide_count <= ARGUMENTS;
}

#define GIVE(a) a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a

static void print(const struct text *t, size_t cap)
{
    static WCHAR words[] = L"w\xe9 \xd83d\xde00 \xd83d";
    struct argument argument = { { sizeof words - sizeof(WCHAR), sizeof words, words }, 0 };
    const void *a = &argument;
    char *out = malloc(cap ? cap : 1), *whole = malloc(4096);
    WCHAR *wide_out = malloc((cap ? cap : 1) * sizeof *wide_out);
    size_t n, written, all;

    require(out && whole && wide_out);
    n = narrow(out, cap, &written, t->narrow, GIVE(a));
    require(written <= cap && written <= n);
    require(narrow(whole, 4096, &all, t->narrow, GIVE(a)) == n && written <= all && !memcmp(out, whole, written));
    require(narrow(NULL, 0, NULL, t->narrow, GIVE(a)) == n);
    n = wide(wide_out, cap, &written, t->wide, GIVE(a));
    require(written <= cap && written <= n && wide(NULL, 0, NULL, t->wide, GIVE(a)) == n);
    free(out);
    free(whole);
    free(wide_out);
}

/* ---- Addresses -------------------------------------------------------------------------------------------------- */

/* Converts addresses to text and back, and compares with the host's functions. */
static void read_addresses(const char *s)
{
    struct in_addr four = { 0 }, four_again;
    struct in6_addr six = { 0 }, six_again;
    char text[128], host[16];
    PCSTR end;
    ULONG scope, scope_again, length = sizeof text;
    USHORT port, port_again;
    bool good = RtlIpv4StringToAddressA(s, TRUE, &end, &four) == STATUS_SUCCESS;

    require(end >= s && end <= s + strlen(s));
    require((good && !*end) == (inet_pton(HOST_AF_INET, s, host) == 1));
    (void)RtlIpv4StringToAddressA(s, FALSE, &end, &four);
    require(end >= s && end <= s + strlen(s));
    if (RtlIpv4StringToAddressExA(s, FALSE, &four, &port) == STATUS_SUCCESS) {
        require(RtlIpv4AddressToStringExA(&four, port, text, &length) == STATUS_SUCCESS);
        require(RtlIpv4StringToAddressExA(text, TRUE, &four_again, &port_again) == STATUS_SUCCESS);
        require(!memcmp(&four, &four_again, sizeof four) && port == port_again);
    }
    good = RtlIpv6StringToAddressA(s, &end, &six) == STATUS_SUCCESS;
    require(end >= s && end <= s + strlen(s));
    require((good && !*end) == (inet_pton(HOST_AF_INET6, s, host) == 1));
    length = sizeof text;
    if (RtlIpv6StringToAddressExA(s, &six, &scope, &port) == STATUS_SUCCESS) {
        require(RtlIpv6AddressToStringExA(&six, scope, port, text, &length) == STATUS_SUCCESS && length <= 65);
        require(RtlIpv6StringToAddressExA(text, &six_again, &scope_again, &port_again) == STATUS_SUCCESS);
        require(!memcmp(&six, &six_again, sizeof six) && scope == scope_again && port == port_again);
    }
}

static void read_wide_addresses(const WCHAR *s)
{
    struct in_addr four;
    struct in6_addr six;
    ULONG scope;
    USHORT port;
    PCWSTR end;

    (void)RtlIpv4StringToAddressW(s, FALSE, &end, &four);
    require(end >= s && end <= s + text_wide_length(s));
    (void)RtlIpv6StringToAddressW(s, &end, &six);
    require(end >= s && end <= s + text_wide_length(s));
    (void)RtlIpv4StringToAddressExW(s, TRUE, &four, &port);
    (void)RtlIpv6StringToAddressExW(s, &six, &scope, &port);
}

/* ---- Numbers, copies, encodings --------------------------------------------------------------------------------- */

static void read_numbers(const char *s, int base)
{
    WCHAR *copy = text_wide_copy(s);
    PWSTR end = NULL;
    char *host_end;
    int64_t value;

    require(copy != NULL);
    value = _wcstoi64(copy, &end, base);
    require(end >= copy && end <= copy + text_wide_length(copy));
    if (base == 0 || (base >= 2 && base <= 36)) {
        require(value == strtoll(s, &host_end, base));
        require(end - copy <= host_end - s);
    }
    (void)wcstoul(copy, &end, base);
    free(copy);
}

static void copy(const struct text *t, size_t cap, uint8_t how)
{
    char *out = calloc(1, cap ? cap : 1);
    WCHAR *wide_out = calloc(cap ? cap : 1, sizeof(WCHAR));
    ULONG flags = (ULONG)how << 8 & 0x1f00;
    SIZE_T left = 0;

    require(out && wide_out);
    (void)RtlStringCchCopyExA(out, cap, t->narrow, NULL, &left, flags | how);
    (void)RtlStringCchCatExA(out, cap, t->narrow, NULL, &left, flags);
    require(!cap || memchr(out, 0, cap));
    (void)RtlStringCbCopyNExW(wide_out, cap * sizeof(WCHAR), t->wide, how, NULL, &left, flags | how);
    (void)RtlStringCbCatW(wide_out, cap * sizeof(WCHAR), t->wide);
    require(!cap || text_length(wide_out, sizeof(WCHAR), cap) < cap);
    (void)strncpy_s(out, cap, t->narrow, how & 1 ? _TRUNCATE : how);
    (void)wcscat_s(wide_out, cap, t->wide);
    require(!cap || (memchr(out, 0, cap) && text_length(wide_out, sizeof(WCHAR), cap) < cap));
    free(out);
    free(wide_out);
}

static void encode(const uint8_t *data, size_t size, size_t cap)
{
    WCHAR *out = malloc((cap ? cap : 1) * sizeof *out);
    char *back;
    size_t n, written, again;
    bool bad = false;

    require(out != NULL);
    n = text_to_utf16(out, cap, (const char *)data, size, &written, &bad);
    require(written <= cap && written <= n);
    back = malloc(4 * written + 1);
    require(back != NULL);
    (void)text_to_utf8(back, 4 * written, out, written, &again, NULL);
    require(bad || (again <= size && !memcmp(back, data, again)));
    free(back);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text t;

    if (size < 2 || size > TEXT_MOST)
        return 0;
    t = text_init(data + 2, size - 2);
    switch (data[0] % 6) {
    case 0:
        if (takes_few(&t))
            print(&t, data[1]);
        break;
    case 1:
        read_addresses(t.narrow);
        break;
    case 2:
        read_wide_addresses(t.wide);
        break;
    case 3:
        read_numbers(t.narrow, (int8_t)data[1]);
        break;
    case 4:
        copy(&t, data[1] % 32, data[0] / 6);
        break;
    default:
        encode(data + 2, size - 2, data[1]);
    }
    free(t.narrow);
    free(t.wide);
    return 0;
}
