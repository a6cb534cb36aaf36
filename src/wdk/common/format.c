/* SPDX-License-Identifier: MIT */
/* The kernel's printf: see format.h. */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "wdk/common/format.h"
#include "wdk/common/text.h"

enum { CHUNK = 64, NUMBER_MOST = 512 };

/* Where the text goes: one of the two, and what it takes so far. */
struct sink {
    char *narrow;
    WCHAR *wide;
    bool is_wide;
    bool full; /* something was left out: nothing may follow */
    size_t cap, wrote, length;
};

enum size { SIZE_INT, SIZE_CHAR, SIZE_SHORT, SIZE_LONG, SIZE_64, SIZE_WIDE };

struct spec {
    bool left, plus, space, alternate, zero;
    bool has_precision;
    int width, precision;
    enum size size;
    unsigned conversion;
};

static size_t room_in(const struct sink *s)
{
    return s->full ? 0 : s->cap - s->wrote;
}

/* Units of the sink's own width; what fits of them. */
static void put_narrow_units(struct sink *s, const char *text, size_t n)
{
    size_t room = room_in(s), part = n < room ? n : room;

    if (part)
        memcpy(s->narrow + s->wrote, text, part);
    s->wrote += part;
    s->length += n;
    s->full = s->full || part < n;
}

static void put_wide_units(struct sink *s, const WCHAR *text, size_t n)
{
    size_t room = room_in(s), part = n < room ? n : room;

    if (part)
        memcpy(s->wide + s->wrote, text, part * sizeof *text);
    s->wrote += part;
    s->length += n;
    s->full = s->full || part < n;
}

static void put_narrow(struct sink *s, const char *text, size_t n)
{
    size_t needed, wrote, room = room_in(s);

    if (!s->is_wide) {
        put_narrow_units(s, text, n);
        return;
    }
    needed = text_to_utf16(room ? s->wide + s->wrote : NULL, room, text, n, &wrote, NULL);
    s->wrote += wrote;
    s->length += needed;
    s->full = s->full || wrote < needed;
}

static void put_wide(struct sink *s, const WCHAR *text, size_t n)
{
    size_t needed, wrote, room = room_in(s);

    if (s->is_wide) {
        put_wide_units(s, text, n);
        return;
    }
    needed = text_to_utf8(room ? s->narrow + s->wrote : NULL, room, text, n, &wrote, NULL);
    s->wrote += wrote;
    s->length += needed;
    s->full = s->full || wrote < needed;
}

/* A driver's width may be anything: no more steps than there is room for. */
static void pad(struct sink *s, char c, long n)
{
    size_t wanted = n > 0 ? (size_t)n : 0, room = room_in(s);

    for (size_t i = 0; i < wanted && i < room; i++, s->wrote++)
        if (s->is_wide)
            s->wide[s->wrote] = (WCHAR)c;
        else
            s->narrow[s->wrote] = c;
    s->length += wanted;
    s->full = s->full || wanted > room;
}

/* ---- Strings ---------------------------------------------------------------------------------------------------- */

/* What it takes in the sink, for the width. */
static size_t narrow_length(const struct sink *s, const char *text, size_t n)
{
    return s->is_wide ? text_to_utf16(NULL, 0, text, n, NULL, NULL) : n;
}

static size_t wide_length(const struct sink *s, const WCHAR *text, size_t n)
{
    return s->is_wide ? n : text_to_utf8(NULL, 0, text, n, NULL, NULL);
}

static void string_narrow(struct sink *s, const struct spec *spec, const char *text, size_t n)
{
    long padding;

    if (!text) {
        text = "(null)";
        n = 6;
    }
    if (spec->has_precision && (size_t)spec->precision < n)
        n = (size_t)spec->precision;
    padding = (long)spec->width - (long)narrow_length(s, text, n);
    if (!spec->left)
        pad(s, spec->zero ? '0' : ' ', padding);
    put_narrow(s, text, n);
    if (spec->left)
        pad(s, ' ', padding);
}

static void string_wide(struct sink *s, const struct spec *spec, const WCHAR *text, size_t n)
{
    long padding;

    if (!text) {
        string_narrow(s, spec, NULL, 0);
        return;
    }
    if (spec->has_precision && (size_t)spec->precision < n)
        n = (size_t)spec->precision;
    padding = (long)spec->width - (long)wide_length(s, text, n);
    if (!spec->left)
        pad(s, spec->zero ? '0' : ' ', padding);
    put_wide(s, text, n);
    if (spec->left)
        pad(s, ' ', padding);
}

/* With a precision the string need not be terminated. */
static size_t narrow_units(const struct spec *spec, const char *text)
{
    if (!text)
        return 0;
    return spec->has_precision ? strnlen(text, (size_t)spec->precision) : strlen(text);
}

static size_t wide_units(const struct spec *spec, const WCHAR *text)
{
    size_t n = 0;

    while (text && (!spec->has_precision || n < (size_t)spec->precision) && text[n])
        n++;
    return n;
}

/* c and s mean the format's own width, C and S the other; a size says which in any case. */
static bool means_wide(const struct sink *s, const struct spec *spec)
{
    if (spec->size == SIZE_SHORT)
        return false;
    if (spec->size == SIZE_LONG || spec->size == SIZE_WIDE)
        return true;
    return (spec->conversion == 'c' || spec->conversion == 's') == s->is_wide;
}

static void counted_string(struct sink *s, const struct spec *spec, const void *argument)
{
    const UNICODE_STRING *wide = argument;
    const ANSI_STRING *narrow = argument;

    if (!argument)
        string_narrow(s, spec, NULL, 0);
    else if (spec->size == SIZE_WIDE || spec->size == SIZE_LONG)
        string_wide(s, spec, wide->Buffer,
                    wide->Length / sizeof(WCHAR));
    else
        string_narrow(s, spec, narrow->Buffer, narrow->Length);
}

/* ---- Numbers ---------------------------------------------------------------------------------------------------- */

static size_t digits_of(char *end, uint64_t value, unsigned base, bool upper)
{
    const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    size_t n = 0;

    for (; value; value /= base)
        *--end = digits[value % base], n++;
    return n;
}

static void number(struct sink *s, const struct spec *spec, uint64_t value, unsigned base, const char *sign)
{
    char buffer[CHUNK], *end = buffer + sizeof buffer;
    size_t n = digits_of(end, value, base, spec->conversion == 'X' || spec->conversion == 'p');
    const char *prefix = sign;
    long least = spec->has_precision ? spec->precision : 1, zeros, padding;

    if (spec->alternate && base == 16 && value)
        prefix = spec->conversion == 'X' ? "0X" : "0x";
    if (spec->alternate && base == 8 && least <= (long)n)
        least = (long)n + 1;
    zeros = least > (long)n ? least - (long)n : 0;
    padding = (long)spec->width - (long)n - zeros - (long)strlen(prefix);
    if (spec->zero && !spec->left && !spec->has_precision && padding > 0) {
        zeros += padding;
        padding = 0;
    }
    if (!spec->left)
        pad(s, ' ', padding);
    put_narrow(s, prefix, strlen(prefix));
    pad(s, '0', zeros);
    put_narrow(s, end - n, n);
    if (spec->left)
        pad(s, ' ', padding);
}

static int64_t take_signed(enum size size, va_list *args)
{
    if (size == SIZE_64)
        return va_arg(*args, int64_t);
    switch (size) {
    case SIZE_CHAR:
        return (signed char)va_arg(*args, int);
    case SIZE_SHORT:
        return (short)va_arg(*args, int);
    default:
        return va_arg(*args, int);
    }
}

static uint64_t take_unsigned(enum size size, va_list *args)
{
    if (size == SIZE_64)
        return va_arg(*args, uint64_t);
    switch (size) {
    case SIZE_CHAR:
        return (unsigned char)va_arg(*args, unsigned);
    case SIZE_SHORT:
        return (unsigned short)va_arg(*args, unsigned);
    default:
        return va_arg(*args, unsigned);
    }
}

static void signed_number(struct sink *s, const struct spec *spec, int64_t value)
{
    number(s, spec, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10,
           value < 0 ? "-" : spec->plus ? "+" : spec->space ? " " : "");
}

/* The host's printf does these alike. */
static void floating(struct sink *s, const struct spec *spec, double value)
{
    char format[16], text[NUMBER_MOST];
    int n, precision = spec->has_precision ? min(spec->precision, NUMBER_MOST / 4) : -1;
    struct spec plain = { .left = spec->left, .width = spec->width };

    snprintf(format, sizeof format, "%%%s%s%s%s*.*%c", spec->plus ? "+" : "", spec->space ? " " : "",
             spec->alternate ? "#" : "", spec->zero && !spec->left ? "0" : "", (char)spec->conversion);
    n = snprintf(text, sizeof text, format, spec->zero && !spec->left ? min(spec->width, NUMBER_MOST - 1) : 0,
                 precision, value);
    string_narrow(s, &plain, text, (size_t)min(n, NUMBER_MOST - 1));
}

/* ---- The format ------------------------------------------------------------------------------------------------- */

struct reader {
    const char *narrow;
    const WCHAR *wide;
};

static unsigned look(const struct reader *r, int ahead)
{
    return r->wide ? (uint16_t)r->wide[ahead] : (unsigned char)r->narrow[ahead];
}

static unsigned next(struct reader *r)
{
    unsigned c = look(r, 0);

    if (c)
        *r = r->wide ? (struct reader){ NULL, r->wide + 1 } : (struct reader){ r->narrow + 1, NULL };
    return c;
}

static bool skip(struct reader *r, const char *word)
{
    for (int i = 0; word[i]; i++)
        if (look(r, i) != (unsigned char)word[i])
            return false;
    for (; *word; word++)
        next(r);
    return true;
}

static void read_flags(struct reader *r, struct spec *spec)
{
    for (;; next(r))
        switch (look(r, 0)) {
        case '-':
            spec->left = true;
            break;
        case '+':
            spec->plus = true;
            break;
        case ' ':
            spec->space = true;
            break;
        case '#':
            spec->alternate = true;
            break;
        case '0':
            spec->zero = true;
            break;
        default:
            return;
        }
}

static int read_count(struct reader *r, va_list *args)
{
    enum { MOST = 1 << 20 };
    int n = 0;

    if (skip(r, "*"))
        return va_arg(*args, int);
    while (look(r, 0) >= '0' && look(r, 0) <= '9')
        n = n < MOST ? n * 10 + (int)(next(r) - '0') : (next(r), n);
    return n;
}

static enum size read_size(struct reader *r)
{
    static const struct {
        const char *word;
        enum size size;
    } words[] = {
        { "I64", SIZE_64 }, { "I32", SIZE_INT }, { "I", SIZE_64 }, { "ll", SIZE_64 }, { "l", SIZE_LONG },
        { "hh", SIZE_CHAR }, { "h", SIZE_SHORT }, { "w", SIZE_WIDE }, { "z", SIZE_64 }, { "j", SIZE_64 },
        { "t", SIZE_64 }, { "L", SIZE_INT },
    };

    for (size_t i = 0; i < RTL_NUMBER_OF(words); i++)
        if (skip(r, words[i].word))
            return words[i].size;
    return SIZE_INT;
}

static struct spec read_spec(struct reader *r, va_list *args)
{
    struct spec spec = { 0 };

    read_flags(r, &spec);
    spec.width = read_count(r, args);
    if (spec.width < 0) {
        spec.left = true;
        spec.width = spec.width == INT_MIN ? INT_MAX : -spec.width;
    }
    if (skip(r, ".")) {
        spec.precision = read_count(r, args);
        spec.has_precision = spec.precision >= 0;
    }
    spec.size = read_size(r);
    spec.conversion = next(r);
    return spec;
}

static void character(struct sink *s, const struct spec *spec, int c)
{
    struct spec plain = { .left = spec->left, .width = spec->width };
    WCHAR wide = (WCHAR)c;
    char narrow = (char)c;

    if (means_wide(s, spec))
        string_wide(s, &plain, &wide, 1);
    else
        string_narrow(s, &plain, &narrow, 1);
}

static void string(struct sink *s, const struct spec *spec, const void *text)
{
    if (means_wide(s, spec))
        string_wide(s, spec, text, wide_units(spec, text));
    else
        string_narrow(s, spec, text, narrow_units(spec, text));
}

static void pointer(struct sink *s, const struct spec *spec, const void *value)
{
    struct spec digits = *spec;

    digits.has_precision = true;
    digits.precision = 16;
    number(s, &digits, (uintptr_t)value, 16, "");
}

/* A letter that means nothing stands for itself. */
static void unknown(struct sink *s, const struct spec *spec)
{
    WCHAR wide = (WCHAR)spec->conversion;

    if (spec->conversion)
        put_wide(s, &wide, 1);
}

static void convert(struct sink *s, const struct spec *spec, va_list *args)
{
    switch (spec->conversion) {
    case 'd':
    case 'i':
        signed_number(s, spec, take_signed(spec->size, args));
        break;
    case 'u':
        number(s, spec, take_unsigned(spec->size, args), 10, "");
        break;
    case 'x':
    case 'X':
        number(s, spec, take_unsigned(spec->size, args), 16, "");
        break;
    case 'o':
        number(s, spec, take_unsigned(spec->size, args), 8, "");
        break;
    case 'c':
    case 'C':
        character(s, spec, va_arg(*args, int));
        break;
    case 's':
    case 'S':
        string(s, spec, va_arg(*args, const void *));
        break;
    case 'Z':
        counted_string(s, spec, va_arg(*args, const void *));
        break;
    case 'p':
        pointer(s, spec, va_arg(*args, const void *));
        break;
    case 'n':
        (void)va_arg(*args, void *);
        break;
    case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A':
        floating(s, spec, va_arg(*args, double));
        break;
    default:
        unknown(s, spec);
    }
}

static size_t run(struct sink *s, size_t *written, struct reader r, va_list given)
{
    va_list args;

    va_copy(args, given);
    for (;;) {
        struct reader start = r;
        size_t plain = 0;
        struct spec spec;

        for (; look(&r, 0) && look(&r, 0) != '%'; plain++)
            next(&r);
        if (r.wide)
            put_wide_units(s, start.wide, plain);
        else
            put_narrow_units(s, start.narrow, plain);
        if (!next(&r))
            break;
        spec = read_spec(&r, &args);
        convert(s, &spec, &args);
    }
    va_end(args);
    if (written)
        *written = s->wrote;
    return s->length;
}

size_t format_narrow(char *out, size_t cap, size_t *written, const char *format, va_list args)
{
    struct sink s = { .narrow = out, .cap = cap };

    return run(&s, written, (struct reader){ format, NULL }, args);
}

size_t format_wide(WCHAR *out, size_t cap, size_t *written, const WCHAR *format, va_list args)
{
    struct sink s = { .wide = out, .is_wide = true, .cap = cap };

    return run(&s, written, (struct reader){ NULL, format }, args);
}
