/* SPDX-License-Identifier: MIT */
/* Implements the reader of access control lists in text form: see sddl.h. Letters may be lower or upper case. */
#include "wdk/rtl/sddl.h"

#include <stdint.h>
#include <string.h>

#include "wdk/common/text.h"
#include "wdk/rtl/descriptor.h"
#include "wdk/rtl/known_sid.h"

struct reader {
    const WCHAR *at, *end;
};

/* Returns the next character in upper case, or 0 at the end. */
static WCHAR sddl_peek(const struct reader *r)
{
    return r->at < r->end ? text_upcase(*r->at) : 0;
}

static bool sddl_accept(struct reader *r, WCHAR c)
{
    if (sddl_peek(r) != c || !c)
        return false;
    r->at++;
    return true;
}

/* A word with a value. */
struct word {
    const char *text;
    ULONG value;
};

/*
 * If the text continues with one of `words`, skips this word and sets *value to its value. If several match, takes the
 * first one in the array. Returns false if none matches.
 */
static bool sddl_parse_word(struct reader *r, const struct word words[], size_t count, ULONG *value)
{
    for (size_t i = 0; i < count; i++) {
        struct reader next = *r;
        const char *c = words[i].text;

        while (*c && sddl_accept(&next, (WCHAR)*c))
            c++;
        if (*c)
            continue;
        *r = next;
        *value = words[i].value;
        return true;
    }
    return false;
}

/* Parses all words that follow one another. *values receives the values of all. */
static void sddl_parse_words(struct reader *r, const struct word words[], size_t count, ULONG *values)
{
    ULONG value;

    for (*values = 0; sddl_parse_word(r, words, count, &value);)
        *values |= value;
}

#define PARSE_WORDS(reader, words, values) sddl_parse_words(reader, words, sizeof words / sizeof words[0], values)

static int sddl_digit(WCHAR c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : INT32_MAX;
}

/*
 * Parses a decimal number, or a hexadecimal number after 0x. Returns false if there is no number, or if the number is
 * larger than `most`.
 */
static bool sddl_parse_number(struct reader *r, uint64_t most, uint64_t *value)
{
    int base = 10;

    if (r->end - r->at > 2 && r->at[0] == '0' && text_upcase(r->at[1]) == 'X') {
        r->at += 2;
        base = 16;
    }
    if (sddl_digit(sddl_peek(r)) >= base)
        return false;
    for (*value = 0; sddl_digit(sddl_peek(r)) < base; r->at++) {
        *value = *value * (unsigned)base + (unsigned)sddl_digit(sddl_peek(r));
        if (*value > most)
            return false;
    }
    return true;
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

static const struct word list_flags[] = { { "P", SE_DACL_PROTECTED },
                                          { "AR", SE_DACL_AUTO_INHERIT_REQ },
                                          { "AI", SE_DACL_AUTO_INHERITED } };
static const struct word entry_types[] = { { "A;", ACCESS_ALLOWED_ACE_TYPE }, { "D;", ACCESS_DENIED_ACE_TYPE } };
static const struct word entry_flags[] = { { "OI", OBJECT_INHERIT_ACE },
                                           { "CI", CONTAINER_INHERIT_ACE },
                                           { "NP", NO_PROPAGATE_INHERIT_ACE },
                                           { "IO", INHERIT_ONLY_ACE },
                                           { "ID", INHERITED_ACE } };
/* The rights of a directory service (CC and so on) are bits 0 to 8. */
static const struct word rights[] = {
    { "GA", GENERIC_ALL },
    { "GR", GENERIC_READ },
    { "GW", GENERIC_WRITE },
    { "GX", GENERIC_EXECUTE },
    { "FA", FILE_ALL_ACCESS },
    { "FR", FILE_GENERIC_READ },
    { "FW", FILE_GENERIC_WRITE },
    { "FX", FILE_GENERIC_EXECUTE },
    { "RC", READ_CONTROL },
    { "SD", DELETE },
    { "WD", WRITE_DAC },
    { "WO", WRITE_OWNER },
    { "CC", 0x1 },
    { "DC", 0x2 },
    { "LC", 0x4 },
    { "SW", 0x8 },
    { "RP", 0x10 },
    { "WP", 0x20 },
    { "DT", 0x40 },
    { "LO", 0x80 },
    { "CR", 0x100 },
};

static bool sddl_parse_rights(struct reader *r, ULONG *mask)
{
    uint64_t number;

    if (sddl_digit(sddl_peek(r)) >= 10) {
        PARSE_WORDS(r, rights, mask);
        return true;
    }
    if (!sddl_parse_number(r, MAXULONG, &number))
        return false;
    *mask = (ULONG)number;
    return true;
}

/* Room for a security identifier with the maximum number of subauthorities. */
union sddl_sid {
    SID sid;
    UCHAR room[SECURITY_MAX_SID_SIZE];
};

/* Parses an identifier, for example S-1-5-32-544. */
static bool sddl_parse_sid(struct reader *r, union sddl_sid *out)
{
    uint64_t number;

    if (!sddl_accept(r, 'S') || !sddl_accept(r, '-') || !sddl_accept(r, '1') || !sddl_accept(r, '-') ||
        !sddl_parse_number(r, ((uint64_t)1 << 48) - 1, &number))
        return false;
    memset(out, 0, sizeof *out);
    out->sid.Revision = SID_REVISION;
    for (int i = 0; i < 6; i++)
        out->sid.IdentifierAuthority.Value[i] = (UCHAR)(number >> 8 * (5 - i));
    while (sddl_accept(r, '-')) {
        if (out->sid.SubAuthorityCount == SID_MAX_SUB_AUTHORITIES || !sddl_parse_number(r, MAXULONG, &number))
            return false;
        memcpy(out->room + offsetof(SID, SubAuthority) + out->sid.SubAuthorityCount++ * sizeof(ULONG),
               &(ULONG){ (ULONG)number }, sizeof(ULONG));
    }
    return out->sid.SubAuthorityCount > 0;
}

/* Parses the account: two letters or an identifier. Returns NULL if it is not valid. */
static PSID sddl_parse_account(struct reader *r, union sddl_sid *room)
{
    for (int i = 0; i < KNOWN_SIDS; i++) {
        const struct word word = { (const char[3]){ known_sids[i].letters[0], known_sids[i].letters[1], 0 }, 0 };
        ULONG value;

        if (word.text[0] && sddl_parse_word(r, &word, 1, &value))
            return &known_sids[i];
    }
    return sddl_parse_sid(r, room) ? room : NULL;
}

static bool sddl_parse_entry(struct reader *r, PACL acl)
{
    union sddl_sid room;
    ULONG type, flags, mask;
    PSID sid;

    if (!sddl_accept(r, '(') || !sddl_parse_word(r, entry_types, sizeof entry_types / sizeof entry_types[0], &type))
        return false;
    PARSE_WORDS(r, entry_flags, &flags);
    if (!sddl_accept(r, ';') || !sddl_parse_rights(r, &mask) || !sddl_accept(r, ';') || !sddl_accept(r, ';') ||
        !sddl_accept(r, ';'))
        return false;
    sid = sddl_parse_account(r, &room);
    return sid && sddl_accept(r, ')') && NT_SUCCESS(acl_append(acl, (UCHAR)type, flags, mask, sid));
}

bool sddl_read(const WCHAR *text, size_t length, PACL acl, SECURITY_DESCRIPTOR_CONTROL *control)
{
    struct reader r = { text, text + length };
    ULONG flags;

    *acl = (ACL){ .AclRevision = ACL_REVISION, .AclSize = MAXUSHORT & ~3 };
    if (!sddl_accept(&r, 'D') || !sddl_accept(&r, ':'))
        return false;
    PARSE_WORDS(&r, list_flags, &flags);
    while (r.at < r.end)
        if (!sddl_parse_entry(&r, acl))
            return false;
    acl->AclSize = (USHORT)((char *)acl_end(acl) - (char *)acl);
    *control = (SECURITY_DESCRIPTOR_CONTROL)(SE_DACL_PRESENT | flags);
    return true;
}
