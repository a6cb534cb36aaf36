/* SPDX-License-Identifier: MIT */
/*
 * Converts Internet addresses from and to text: see wdm/rtl.h. The parser reads ASCII, so wide text is first copied to
 * ASCII.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "wdm.h"

#include "in6addr.h"
#include "inaddr.h"

enum { MAX_TEXT = 128, GROUPS = 8 };

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

static unsigned rtl_address_digit(char c)
{
    return c >= '0' && c <= '9'   ? (unsigned)(c - '0')
           : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
           : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                  : 99;
}

/*
 * Parses a number up to max. If `decimal` is true, the number has base 10 and no leading zero; otherwise C's prefixes
 * for octal and hexadecimal are allowed. On failure *at does not change.
 */
static bool rtl_address_parse_number(const char **at, bool decimal, uint64_t max, uint64_t *value)
{
    const char *s = *at;
    unsigned base = 10;

    if (!decimal && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
        base = 16;
        s += 2;
    } else if (!decimal && s[0] == '0') {
        base = 8;
    } else if (decimal && s[0] == '0' && rtl_address_digit(s[1]) < 10) {
        return false;
    }
    if (rtl_address_digit(*s) >= base)
        return false;
    for (*value = 0; rtl_address_digit(*s) < base; s++) {
        *value = *value * base + rtl_address_digit(*s);
        if (*value > max)
            return false;
    }
    *at = s;
    return true;
}

/*
 * Parses one to four numbers with dots between them. Each number except the last gives one byte of the address. The
 * last number gives all remaining bytes. If `strict` is true, requires exactly four decimal numbers.
 */
static bool rtl_parse_ipv4(const char **at, bool strict, uint8_t out[4])
{
    uint64_t part[4];
    int parts = 0;

    for (;;) {
        if (!rtl_address_parse_number(at, strict, UINT32_MAX, &part[parts++]))
            return false;
        if (**at != '.' || parts == 4 || rtl_address_digit((*at)[1]) >= 10)
            break;
        ++*at;
    }
    if ((strict && parts != 4) || **at == '.')
        return false;
    for (int i = 0; i < parts - 1; i++) {
        if (part[i] > 255)
            return false;
        out[i] = (uint8_t)part[i];
    }
    if (part[parts - 1] >> 8 * (5 - parts))
        return false;
    for (int i = parts - 1; i < 4; i++)
        out[i] = (uint8_t)(part[parts - 1] >> 8 * (3 - i));
    return true;
}

static bool rtl_parse_ipv6_group(const char **at, uint16_t *out)
{
    unsigned value = 0;
    int n = 0;

    for (; n < 5 && rtl_address_digit(**at) < 16; n++, ++*at)
        value = value << 4 | rtl_address_digit(**at);
    *out = (uint16_t)value;
    return n >= 1 && n <= 4;
}

struct rtl_ipv6_text {
    uint16_t group[GROUPS];
    int count, gap; /* gap: the number of groups before "::", or -1 if the text has no "::" */
};

static bool rtl_is_ipv4_next(const char *at)
{
    while (rtl_address_digit(*at) < 10)
        at++;
    return *at == '.';
}

static bool rtl_parse_last_ipv4(const char **at, struct rtl_ipv6_text *r)
{
    uint8_t ipv4[4];

    if (r->count > GROUPS - 2 || !rtl_parse_ipv4(at, true, ipv4))
        return false;
    r->group[r->count++] = (uint16_t)(ipv4[0] << 8 | ipv4[1]);
    r->group[r->count++] = (uint16_t)(ipv4[2] << 8 | ipv4[3]);
    return true;
}

/* Skips ":" or "::" behind a group. Returns true if another group follows. */
static bool rtl_parse_ipv6_separator(const char **at, struct rtl_ipv6_text *r)
{
    if ((*at)[0] != ':' || r->count == GROUPS)
        return false;
    if ((*at)[1] == ':' && r->gap < 0) {
        r->gap = r->count;
        *at += 2;
        return rtl_address_digit(**at) < 16;
    }
    if (rtl_address_digit((*at)[1]) >= 16)
        return false;
    ++*at;
    return true;
}

static bool rtl_parse_ipv6_groups(const char **at, struct rtl_ipv6_text *r)
{
    bool more = true;

    if ((*at)[0] == ':' && (*at)[1] == ':') {
        r->gap = 0;
        *at += 2;
        more = rtl_address_digit(**at) < 16;
    }
    while (more && r->count < GROUPS) {
        if (rtl_is_ipv4_next(*at))
            return rtl_parse_last_ipv4(at, r);
        if (!rtl_parse_ipv6_group(at, &r->group[r->count]))
            return false;
        r->count++;
        more = rtl_parse_ipv6_separator(at, r);
    }
    return true;
}

static bool rtl_parse_ipv6(const char **at, uint8_t out[16])
{
    struct rtl_ipv6_text r = { .gap = -1 };
    int from = 0;

    if (!rtl_parse_ipv6_groups(at, &r) || (r.gap < 0 && r.count != GROUPS) || (r.gap >= 0 && r.count == GROUPS))
        return false;
    for (int i = 0; i < GROUPS; i++) {
        bool in_gap = r.gap >= 0 && i >= r.gap && i < r.gap + GROUPS - r.count;
        uint16_t group = in_gap ? 0 : r.group[from++];

        out[2 * i] = (uint8_t)(group >> 8);
        out[2 * i + 1] = (uint8_t)group;
    }
    return true;
}

static bool rtl_parse_port(const char **at, uint16_t *port)
{
    uint64_t value;

    *port = 0;
    if (**at != ':')
        return true;
    ++*at;
    if (!rtl_address_parse_number(at, false, UINT16_MAX, &value) &&
        !rtl_address_parse_number(at, true, UINT16_MAX, &value))
        return false;
    *port = __builtin_bswap16((uint16_t)value);
    return true;
}

static bool rtl_parse_ipv6_endpoint(const char *s, uint8_t out[16], uint32_t *scope, uint16_t *port)
{
    bool brackets = *s == '[';
    uint64_t value = 0;

    s += brackets;
    if (!rtl_parse_ipv6(&s, out))
        return false;
    if (*s == '%' && (s++, !rtl_address_parse_number(&s, true, UINT32_MAX, &value)))
        return false;
    *scope = (uint32_t)value;
    *port = 0;
    if (brackets && (*s++ != ']' || !rtl_parse_port(&s, port)))
        return false;
    return *s == 0;
}

/* ---- Narrow and wide -------------------------------------------------------------------------------------------- */

/*
 * Copies wide text to ASCII. A character that is not ASCII becomes '?', at which the parsers stop. A text that is too
 * long is cut and ends with '?'.
 */
static void rtl_address_narrow(char out[MAX_TEXT], PCWSTR s)
{
    size_t i = 0;

    for (; i < MAX_TEXT - 1 && s[i]; i++)
        out[i] = (uint16_t)s[i] < 0x80 && i < MAX_TEXT - 2 ? (char)s[i] : '?';
    out[i] = 0;
}

NTSTATUS RtlIpv4StringToAddressA(PCSTR S, BOOLEAN Strict, PCSTR *Terminator, struct in_addr *Addr)
{
    uint8_t out[4];
    PCSTR at = S;
    bool good = rtl_parse_ipv4(&at, Strict, out);

    *Terminator = at;
    if (!good)
        return STATUS_INVALID_PARAMETER;
    memcpy(Addr, out, sizeof out);
    return STATUS_SUCCESS;
}

NTSTATUS RtlIpv4StringToAddressW(PCWSTR S, BOOLEAN Strict, PCWSTR *Terminator, struct in_addr *Addr)
{
    char text[MAX_TEXT];
    PCSTR end;
    NTSTATUS status;

    rtl_address_narrow(text, S);
    status = RtlIpv4StringToAddressA(text, Strict, &end, Addr);
    *Terminator = S + (end - text);
    return status;
}

NTSTATUS RtlIpv4StringToAddressExA(PCSTR AddressString, BOOLEAN Strict, struct in_addr *Address, PUSHORT Port)
{
    uint8_t out[4];
    uint16_t port;

    if (!AddressString || !Address || !Port || !rtl_parse_ipv4(&AddressString, Strict, out) ||
        !rtl_parse_port(&AddressString, &port) || *AddressString)
        return STATUS_INVALID_PARAMETER;
    memcpy(Address, out, sizeof out);
    *Port = port;
    return STATUS_SUCCESS;
}

NTSTATUS RtlIpv4StringToAddressExW(PCWSTR AddressString, BOOLEAN Strict, struct in_addr *Address, PUSHORT Port)
{
    char text[MAX_TEXT];

    if (!AddressString)
        return STATUS_INVALID_PARAMETER;
    rtl_address_narrow(text, AddressString);
    return RtlIpv4StringToAddressExA(text, Strict, Address, Port);
}

NTSTATUS RtlIpv6StringToAddressA(PCSTR S, PCSTR *Terminator, struct in6_addr *Addr)
{
    uint8_t out[16];
    PCSTR at = S;
    bool good = rtl_parse_ipv6(&at, out);

    *Terminator = at;
    if (!good)
        return STATUS_INVALID_PARAMETER;
    memcpy(Addr, out, sizeof out);
    return STATUS_SUCCESS;
}

NTSTATUS RtlIpv6StringToAddressW(PCWSTR S, PCWSTR *Terminator, struct in6_addr *Addr)
{
    char text[MAX_TEXT];
    PCSTR end;
    NTSTATUS status;

    rtl_address_narrow(text, S);
    status = RtlIpv6StringToAddressA(text, &end, Addr);
    *Terminator = S + (end - text);
    return status;
}

NTSTATUS RtlIpv6StringToAddressExA(PCSTR AddressString, struct in6_addr *Address, PULONG ScopeId, PUSHORT Port)
{
    uint8_t out[16];
    uint32_t scope;
    uint16_t port;

    if (!AddressString || !Address || !ScopeId || !Port || !rtl_parse_ipv6_endpoint(AddressString, out, &scope, &port))
        return STATUS_INVALID_PARAMETER;
    memcpy(Address, out, sizeof out);
    *ScopeId = scope;
    *Port = port;
    return STATUS_SUCCESS;
}

NTSTATUS RtlIpv6StringToAddressExW(PCWSTR AddressString, struct in6_addr *Address, PULONG ScopeId, PUSHORT Port)
{
    char text[MAX_TEXT];

    if (!AddressString)
        return STATUS_INVALID_PARAMETER;
    rtl_address_narrow(text, AddressString);
    return RtlIpv6StringToAddressExA(text, Address, ScopeId, Port);
}

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

static size_t rtl_format_ipv4(char *out, const uint8_t a[4])
{
    return (size_t)sprintf(out, "%u.%u.%u.%u", a[0], a[1], a[2], a[3]);
}

static uint16_t rtl_ipv6_group_at(const uint8_t *a, int i)
{
    return (uint16_t)(a[2 * i] << 8 | a[2 * i + 1]);
}

/*
 * Finds the longest run of zero groups among the first `groups` groups; a run has at least two. Sets *gap to the run's
 * first group and *length to its number of groups. Among runs of equal length, chooses the first. If there is no run,
 * sets *gap to -1.
 */
static void rtl_ipv6_find_gap(const uint8_t *a, int groups, int *gap, int *length)
{
    *gap = -1;
    *length = 1;
    for (int i = 0, run = 0; i < groups; i++) {
        run = rtl_ipv6_group_at(a, i) ? 0 : run + 1;
        if (run > *length) {
            *length = run;
            *gap = i + 1 - run;
        }
    }
}

static bool rtl_ipv6_is_zero(const uint8_t *a, int bytes)
{
    for (int i = 0; i < bytes; i++)
        if (a[i])
            return false;
    return true;
}

/*
 * Returns true for IPv4-mapped, IPv4-compatible and ISATAP addresses, which are written with an IPv4 address at the
 * end.
 */
static bool rtl_ipv6_ends_as_ipv4(const uint8_t *a)
{
    if (rtl_ipv6_is_zero(a, 10) && rtl_ipv6_group_at(a, 5) == 0xffff)
        return true;
    if (rtl_ipv6_is_zero(a, 12) && rtl_ipv6_group_at(a, 6))
        return true;
    return (rtl_ipv6_group_at(a, 4) & 0xfdff) == 0 && rtl_ipv6_group_at(a, 5) == 0x5efe;
}

static size_t rtl_format_ipv6(char *out, const uint8_t a[16])
{
    bool ipv4 = rtl_ipv6_ends_as_ipv4(a);
    int groups = ipv4 ? GROUPS - 2 : GROUPS, gap, length;
    size_t n = 0;

    rtl_ipv6_find_gap(a, groups, &gap, &length);
    for (int i = 0; i < groups; i++) {
        if (i == gap) {
            n += (size_t)sprintf(out + n, "::");
            i += length - 1;
            continue;
        }
        n += (size_t)sprintf(out + n, "%s%x", i && i != gap + length ? ":" : "", rtl_ipv6_group_at(a, i));
    }
    if (ipv4) {
        if (gap < 0 || gap + length != groups)
            out[n++] = ':';
        n += rtl_format_ipv4(out + n, a + 12);
    }
    out[n] = 0;
    return n;
}

static size_t rtl_format_ipv4_endpoint(char *out, const struct in_addr *address, USHORT port)
{
    size_t n = rtl_format_ipv4(out, (const uint8_t *)address);

    if (port)
        n += (size_t)sprintf(out + n, ":%u", __builtin_bswap16(port));
    return n;
}

static size_t rtl_format_ipv6_endpoint(char *out, const struct in6_addr *address, ULONG scope, USHORT port)
{
    size_t n = port ? (size_t)sprintf(out, "[") : 0;

    n += rtl_format_ipv6(out + n, (const uint8_t *)address);
    if (scope)
        n += (size_t)sprintf(out + n, "%%%u", scope);
    if (port)
        n += (size_t)sprintf(out + n, "]:%u", __builtin_bswap16(port));
    return n;
}

static void rtl_address_widen(PWSTR out, const char *text, size_t n)
{
    for (size_t i = 0; i <= n; i++)
        out[i] = (WCHAR)(unsigned char)text[i];
}

PSTR RtlIpv4AddressToStringA(const struct in_addr *Addr, PSTR S)
{
    return S + rtl_format_ipv4(S, (const uint8_t *)Addr);
}

PWSTR RtlIpv4AddressToStringW(const struct in_addr *Addr, PWSTR S)
{
    char text[MAX_TEXT];
    size_t n = rtl_format_ipv4(text, (const uint8_t *)Addr);

    rtl_address_widen(S, text, n);
    return S + n;
}

PSTR RtlIpv6AddressToStringA(const struct in6_addr *Addr, PSTR S)
{
    return S + rtl_format_ipv6(S, (const uint8_t *)Addr);
}

PWSTR RtlIpv6AddressToStringW(const struct in6_addr *Addr, PWSTR S)
{
    char text[MAX_TEXT];
    size_t n = rtl_format_ipv6(text, (const uint8_t *)Addr);

    rtl_address_widen(S, text, n);
    return S + n;
}

/* Copies the text to the caller's buffer. Sets *length to the number of characters, including the terminator. */
static NTSTATUS rtl_address_return_text(const char *text, size_t n, PSTR narrow, PWSTR wide, PULONG length)
{
    bool good = (narrow || wide) && *length > n;

    if (good && narrow)
        memcpy(narrow, text, n + 1);
    else if (good)
        rtl_address_widen(wide, text, n);
    *length = (ULONG)n + 1;
    return good ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

NTSTATUS RtlIpv4AddressToStringExA(const struct in_addr *Address, USHORT Port, PSTR AddressString,
                                   PULONG AddressStringLength)
{
    char text[MAX_TEXT];

    if (!Address || !AddressStringLength)
        return STATUS_INVALID_PARAMETER;
    return rtl_address_return_text(text, rtl_format_ipv4_endpoint(text, Address, Port), AddressString, NULL,
                                   AddressStringLength);
}

NTSTATUS RtlIpv4AddressToStringExW(const struct in_addr *Address, USHORT Port, PWSTR AddressString,
                                   PULONG AddressStringLength)
{
    char text[MAX_TEXT];

    if (!Address || !AddressStringLength)
        return STATUS_INVALID_PARAMETER;
    return rtl_address_return_text(text, rtl_format_ipv4_endpoint(text, Address, Port), NULL, AddressString,
                                   AddressStringLength);
}

NTSTATUS RtlIpv6AddressToStringExA(const struct in6_addr *Address, ULONG ScopeId, USHORT Port, PSTR AddressString,
                                   PULONG AddressStringLength)
{
    char text[MAX_TEXT];

    if (!Address || !AddressStringLength)
        return STATUS_INVALID_PARAMETER;
    return rtl_address_return_text(text, rtl_format_ipv6_endpoint(text, Address, ScopeId, Port), AddressString, NULL,
                                   AddressStringLength);
}

NTSTATUS RtlIpv6AddressToStringExW(const struct in6_addr *Address, ULONG ScopeId, USHORT Port, PWSTR AddressString,
                                   PULONG AddressStringLength)
{
    char text[MAX_TEXT];

    if (!Address || !AddressStringLength)
        return STATUS_INVALID_PARAMETER;
    return rtl_address_return_text(text, rtl_format_ipv6_endpoint(text, Address, ScopeId, Port), NULL, AddressString,
                                   AddressStringLength);
}
