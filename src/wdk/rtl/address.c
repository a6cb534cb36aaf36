/* SPDX-License-Identifier: MIT */
/* Internet addresses from text and to text: see wdm/rtl.h. One reader for narrow and wide: it is given ASCII. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "wdm.h"

#include "in6addr.h"
#include "inaddr.h"

enum { TEXT_MOST = 128, GROUPS = 8 };

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

static unsigned digit_of(char c)
{
    return c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10) : 99;
}

/* Decimal, or as C writes constants. At most `most`. */
static bool read_number(const char **at, bool decimal, uint64_t most, uint64_t *value)
{
    const char *s = *at;
    unsigned base = 10;

    if (!decimal && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
        base = 16;
        s += 2;
    } else if (!decimal && s[0] == '0') {
        base = 8;
    } else if (decimal && s[0] == '0' && digit_of(s[1]) < 10) {
        return false;
    }
    if (digit_of(*s) >= base)
        return false;
    for (*value = 0; digit_of(*s) < base; s++) {
        *value = *value * base + digit_of(*s);
        if (*value > most)
            return false;
    }
    *at = s;
    return true;
}

/* The last number fills what the ones before it have left. */
static bool read_ipv4(const char **at, bool strict, uint8_t out[4])
{
    uint64_t part[4];
    int parts = 0;

    for (;;) {
        if (!read_number(at, strict, UINT32_MAX, &part[parts++]))
            return false;
        if (**at != '.' || parts == 4 || digit_of((*at)[1]) >= 10)
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

static bool read_group(const char **at, uint16_t *out)
{
    unsigned value = 0;
    int n = 0;

    for (; n < 5 && digit_of(**at) < 16; n++, ++*at)
        value = value << 4 | digit_of(**at);
    *out = (uint16_t)value;
    return n >= 1 && n <= 4;
}

struct ipv6_reading {
    uint16_t group[GROUPS];
    int count, gap; /* gap: where "::" stands, or -1 */
};

static bool is_ipv4_next(const char *at)
{
    while (digit_of(*at) < 10)
        at++;
    return *at == '.';
}

static bool read_last_ipv4(const char **at, struct ipv6_reading *r)
{
    uint8_t ipv4[4];

    if (r->count > GROUPS - 2 || !read_ipv4(at, true, ipv4))
        return false;
    r->group[r->count++] = (uint16_t)(ipv4[0] << 8 | ipv4[1]);
    r->group[r->count++] = (uint16_t)(ipv4[2] << 8 | ipv4[3]);
    return true;
}

/* After a group: is there another one, or the gap? */
static bool read_separator(const char **at, struct ipv6_reading *r)
{
    if ((*at)[0] != ':' || r->count == GROUPS)
        return false;
    if ((*at)[1] == ':' && r->gap < 0) {
        r->gap = r->count;
        *at += 2;
        return digit_of(**at) < 16;
    }
    if (digit_of((*at)[1]) >= 16)
        return false;
    ++*at;
    return true;
}

static bool read_groups(const char **at, struct ipv6_reading *r)
{
    bool more = true;

    if ((*at)[0] == ':' && (*at)[1] == ':') {
        r->gap = 0;
        *at += 2;
        more = digit_of(**at) < 16;
    }
    while (more && r->count < GROUPS) {
        if (is_ipv4_next(*at))
            return read_last_ipv4(at, r);
        if (!read_group(at, &r->group[r->count]))
            return false;
        r->count++;
        more = read_separator(at, r);
    }
    return true;
}

static bool read_ipv6(const char **at, uint8_t out[16])
{
    struct ipv6_reading r = { .gap = -1 };
    int from = 0;

    if (!read_groups(at, &r) || (r.gap < 0 && r.count != GROUPS) || (r.gap >= 0 && r.count == GROUPS))
        return false;
    for (int i = 0; i < GROUPS; i++) {
        bool in_gap = r.gap >= 0 && i >= r.gap && i < r.gap + GROUPS - r.count;
        uint16_t group = in_gap ? 0 : r.group[from++];

        out[2 * i] = (uint8_t)(group >> 8);
        out[2 * i + 1] = (uint8_t)group;
    }
    return true;
}

static bool read_port(const char **at, uint16_t *port)
{
    uint64_t value;

    *port = 0;
    if (**at != ':')
        return true;
    ++*at;
    if (!read_number(at, false, UINT16_MAX, &value) && !read_number(at, true, UINT16_MAX, &value))
        return false;
    *port = __builtin_bswap16((uint16_t)value);
    return true;
}

static bool read_ipv6_whole(const char *s, uint8_t out[16], uint32_t *scope, uint16_t *port)
{
    bool brackets = *s == '[';
    uint64_t value = 0;

    s += brackets;
    if (!read_ipv6(&s, out))
        return false;
    if (*s == '%' && (s++, !read_number(&s, true, UINT32_MAX, &value)))
        return false;
    *scope = (uint32_t)value;
    *port = 0;
    if (brackets && (*s++ != ']' || !read_port(&s, port)))
        return false;
    return *s == 0;
}

/* ---- Narrow and wide -------------------------------------------------------------------------------------------- */

/* What can belong to an address is ASCII: everything else ends it, as does what no address is long enough for. */
static void narrow_copy(char out[TEXT_MOST], PCWSTR s)
{
    size_t i = 0;

    for (; i < TEXT_MOST - 1 && s[i]; i++)
        out[i] = (uint16_t)s[i] < 0x80 && i < TEXT_MOST - 2 ? (char)s[i] : '?';
    out[i] = 0;
}

NTSTATUS RtlIpv4StringToAddressA(PCSTR S, BOOLEAN Strict, PCSTR *Terminator, struct in_addr *Addr)
{
    uint8_t out[4];
    PCSTR at = S;
    bool good = read_ipv4(&at, Strict, out);

    *Terminator = at;
    if (!good)
        return STATUS_INVALID_PARAMETER;
    memcpy(Addr, out, sizeof out);
    return STATUS_SUCCESS;
}

NTSTATUS RtlIpv4StringToAddressW(PCWSTR S, BOOLEAN Strict, PCWSTR *Terminator, struct in_addr *Addr)
{
    char text[TEXT_MOST];
    PCSTR end;
    NTSTATUS status;

    narrow_copy(text, S);
    status = RtlIpv4StringToAddressA(text, Strict, &end, Addr);
    *Terminator = S + (end - text);
    return status;
}

NTSTATUS RtlIpv4StringToAddressExA(PCSTR AddressString, BOOLEAN Strict, struct in_addr *Address, PUSHORT Port)
{
    uint8_t out[4];
    uint16_t port;

    if (!AddressString || !Address || !Port || !read_ipv4(&AddressString, Strict, out) ||
        !read_port(&AddressString, &port) || *AddressString)
        return STATUS_INVALID_PARAMETER;
    memcpy(Address, out, sizeof out);
    *Port = port;
    return STATUS_SUCCESS;
}

NTSTATUS RtlIpv4StringToAddressExW(PCWSTR AddressString, BOOLEAN Strict, struct in_addr *Address, PUSHORT Port)
{
    char text[TEXT_MOST];

    if (!AddressString)
        return STATUS_INVALID_PARAMETER;
    narrow_copy(text, AddressString);
    return RtlIpv4StringToAddressExA(text, Strict, Address, Port);
}

NTSTATUS RtlIpv6StringToAddressA(PCSTR S, PCSTR *Terminator, struct in6_addr *Addr)
{
    uint8_t out[16];
    PCSTR at = S;
    bool good = read_ipv6(&at, out);

    *Terminator = at;
    if (!good)
        return STATUS_INVALID_PARAMETER;
    memcpy(Addr, out, sizeof out);
    return STATUS_SUCCESS;
}

NTSTATUS RtlIpv6StringToAddressW(PCWSTR S, PCWSTR *Terminator, struct in6_addr *Addr)
{
    char text[TEXT_MOST];
    PCSTR end;
    NTSTATUS status;

    narrow_copy(text, S);
    status = RtlIpv6StringToAddressA(text, &end, Addr);
    *Terminator = S + (end - text);
    return status;
}

NTSTATUS RtlIpv6StringToAddressExA(PCSTR AddressString, struct in6_addr *Address, PULONG ScopeId, PUSHORT Port)
{
    uint8_t out[16];
    uint32_t scope;
    uint16_t port;

    if (!AddressString || !Address || !ScopeId || !Port || !read_ipv6_whole(AddressString, out, &scope, &port))
        return STATUS_INVALID_PARAMETER;
    memcpy(Address, out, sizeof out);
    *ScopeId = scope;
    *Port = port;
    return STATUS_SUCCESS;
}

NTSTATUS RtlIpv6StringToAddressExW(PCWSTR AddressString, struct in6_addr *Address, PULONG ScopeId, PUSHORT Port)
{
    char text[TEXT_MOST];

    if (!AddressString)
        return STATUS_INVALID_PARAMETER;
    narrow_copy(text, AddressString);
    return RtlIpv6StringToAddressExA(text, Address, ScopeId, Port);
}

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

static size_t write_ipv4(char *out, const uint8_t a[4])
{
    return (size_t)sprintf(out, "%u.%u.%u.%u", a[0], a[1], a[2], a[3]);
}

static uint16_t group_at(const uint8_t *a, int i)
{
    return (uint16_t)(a[2 * i] << 8 | a[2 * i + 1]);
}

/* The longest run of at least two zero groups, the first of equals, among the first `groups`. */
static void find_gap(const uint8_t *a, int groups, int *gap, int *length)
{
    *gap = -1;
    *length = 1;
    for (int i = 0, run = 0; i < groups; i++) {
        run = group_at(a, i) ? 0 : run + 1;
        if (run > *length) {
            *length = run;
            *gap = i + 1 - run;
        }
    }
}

static bool all_zero(const uint8_t *a, int octets)
{
    for (int i = 0; i < octets; i++)
        if (a[i])
            return false;
    return true;
}

/* Mapped, compatible and ISATAP addresses end like IPv4 ones. */
static bool ends_as_ipv4(const uint8_t *a)
{
    if (all_zero(a, 10) && group_at(a, 5) == 0xffff)
        return true;
    if (all_zero(a, 12) && group_at(a, 6))
        return true;
    return (group_at(a, 4) & 0xfdff) == 0 && group_at(a, 5) == 0x5efe;
}

static size_t write_ipv6(char *out, const uint8_t a[16])
{
    bool ipv4 = ends_as_ipv4(a);
    int groups = ipv4 ? GROUPS - 2 : GROUPS, gap, length;
    size_t n = 0;

    find_gap(a, groups, &gap, &length);
    for (int i = 0; i < groups; i++) {
        if (i == gap) {
            n += (size_t)sprintf(out + n, "::");
            i += length - 1;
            continue;
        }
        n += (size_t)sprintf(out + n, "%s%x", i && i != gap + length ? ":" : "", group_at(a, i));
    }
    if (ipv4) {
        if (gap < 0 || gap + length != groups)
            out[n++] = ':';
        n += write_ipv4(out + n, a + 12);
    }
    out[n] = 0;
    return n;
}

static size_t write_ipv4_whole(char *out, const struct in_addr *address, USHORT port)
{
    size_t n = write_ipv4(out, (const uint8_t *)address);

    if (port)
        n += (size_t)sprintf(out + n, ":%u", __builtin_bswap16(port));
    return n;
}

static size_t write_ipv6_whole(char *out, const struct in6_addr *address, ULONG scope, USHORT port)
{
    size_t n = port ? (size_t)sprintf(out, "[") : 0;

    n += write_ipv6(out + n, (const uint8_t *)address);
    if (scope)
        n += (size_t)sprintf(out + n, "%%%u", scope);
    if (port)
        n += (size_t)sprintf(out + n, "]:%u", __builtin_bswap16(port));
    return n;
}

static void widen(PWSTR out, const char *text, size_t n)
{
    for (size_t i = 0; i <= n; i++)
        out[i] = (WCHAR)(unsigned char)text[i];
}

PSTR RtlIpv4AddressToStringA(const struct in_addr *Addr, PSTR S)
{
    return S + write_ipv4(S, (const uint8_t *)Addr);
}

PWSTR RtlIpv4AddressToStringW(const struct in_addr *Addr, PWSTR S)
{
    char text[TEXT_MOST];
    size_t n = write_ipv4(text, (const uint8_t *)Addr);

    widen(S, text, n);
    return S + n;
}

PSTR RtlIpv6AddressToStringA(const struct in6_addr *Addr, PSTR S)
{
    return S + write_ipv6(S, (const uint8_t *)Addr);
}

PWSTR RtlIpv6AddressToStringW(const struct in6_addr *Addr, PWSTR S)
{
    char text[TEXT_MOST];
    size_t n = write_ipv6(text, (const uint8_t *)Addr);

    widen(S, text, n);
    return S + n;
}

/* Into the caller's buffer, or how much that has to be. */
static NTSTATUS give_out(const char *text, size_t n, PSTR narrow, PWSTR wide, PULONG length)
{
    bool good = (narrow || wide) && *length > n;

    if (good && narrow)
        memcpy(narrow, text, n + 1);
    else if (good)
        widen(wide, text, n);
    *length = (ULONG)n + 1;
    return good ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

NTSTATUS RtlIpv4AddressToStringExA(const struct in_addr *Address, USHORT Port, PSTR AddressString,
                                   PULONG AddressStringLength)
{
    char text[TEXT_MOST];

    if (!Address || !AddressStringLength)
        return STATUS_INVALID_PARAMETER;
    return give_out(text, write_ipv4_whole(text, Address, Port), AddressString, NULL, AddressStringLength);
}

NTSTATUS RtlIpv4AddressToStringExW(const struct in_addr *Address, USHORT Port, PWSTR AddressString,
                                   PULONG AddressStringLength)
{
    char text[TEXT_MOST];

    if (!Address || !AddressStringLength)
        return STATUS_INVALID_PARAMETER;
    return give_out(text, write_ipv4_whole(text, Address, Port), NULL, AddressString, AddressStringLength);
}

NTSTATUS RtlIpv6AddressToStringExA(const struct in6_addr *Address, ULONG ScopeId, USHORT Port, PSTR AddressString,
                                   PULONG AddressStringLength)
{
    char text[TEXT_MOST];

    if (!Address || !AddressStringLength)
        return STATUS_INVALID_PARAMETER;
    return give_out(text, write_ipv6_whole(text, Address, ScopeId, Port), AddressString, NULL, AddressStringLength);
}

NTSTATUS RtlIpv6AddressToStringExW(const struct in6_addr *Address, ULONG ScopeId, USHORT Port, PWSTR AddressString,
                                   PULONG AddressStringLength)
{
    char text[TEXT_MOST];

    if (!Address || !AddressStringLength)
        return STATUS_INVALID_PARAMETER;
    return give_out(text, write_ipv6_whole(text, Address, ScopeId, Port), NULL, AddressString, AddressStringLength);
}
