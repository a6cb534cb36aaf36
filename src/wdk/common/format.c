/* SPDX-License-Identifier: MIT */
/* Implements the kernel's printf: see format.h. */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "wdk/common/format.h"
#include "wdk/common/text.h"

enum { MAX_DIGITS = 64, MAX_NUMBER = 512 };

/* The destination: one of the two buffers, and the length of the text so far. */
struct sink {
    char *narrow;
    WCHAR *wide;
    bool is_wide;
    bool full; /* true: a character did not fit, so no further characters are written */
    size_t cap, wrote, length;
};

enum size { SIZE_INT, SIZE_CHAR, SIZE_SHORT, SIZE_LONG, SIZE_64, SIZE_WIDE };

struct spec {
    bool align_left, plus, space, alternate, zero;
    bool has_precision;
    int width, precision;
    enum size size;
    unsigned conversion;
};

static size_t sink_room(const struct sink *s)
{
    return s->full ? 0 : s->cap - s->wrote;
}

/* Writes as many of the `n` units as fit into a narrow sink. For a wide sink use sink_put_wide_units. */
static void sink_put_narrow_units(struct sink *s, const char *text, size_t n)
{
    size_t room = sink_room(s), part = n < room ? n : room;

    if (part)
        memcpy(s->narrow + s->wrote, text, part);
    s->wrote += part;
    s->length += n;
    s->full = s->full || part < n;
}

static void sink_put_wide_units(struct sink *s, const WCHAR *text, size_t n)
{
    size_t room = sink_room(s), part = n < room ? n : room;

    if (part)
        memcpy(s->wide + s->wrote, text, part * sizeof *text);
    s->wrote += part;
    s->length += n;
    s->full = s->full || part < n;
}

static void sink_put_narrow(struct sink *s, const char *text, size_t n)
{
    size_t needed, wrote, room = sink_room(s);

    if (!s->is_wide) {
        sink_put_narrow_units(s, text, n);
        return;
    }
    needed = text_to_utf16(room ? s->wide + s->wrote : NULL, room, text, n, &wrote, NULL);
    s->wrote += wrote;
    s->length += needed;
    s->full = s->full || wrote < needed;
}

static void sink_put_wide(struct sink *s, const WCHAR *text, size_t n)
{
    size_t needed, wrote, room = sink_room(s);

    if (s->is_wide) {
        sink_put_wide_units(s, text, n);
        return;
    }
    needed = text_to_utf8(room ? s->narrow + s->wrote : NULL, room, text, n, &wrote, NULL);
    s->wrote += wrote;
    s->length += needed;
    s->full = s->full || wrote < needed;
}

/* Writes `n` copies of `c`. The loop ends when no room is left, because the width in a driver's format may be huge. */
static void sink_pad(struct sink *s, char c, long n)
{
    size_t wanted = n > 0 ? (size_t)n : 0, room = sink_room(s);

    for (size_t i = 0; i < wanted && i < room; i++, s->wrote++)
        if (s->is_wide)
            s->wide[s->wrote] = (WCHAR)c;
        else
            s->narrow[s->wrote] = c;
    s->length += wanted;
    s->full = s->full || wanted > room;
}

/* ---- Strings ---------------------------------------------------------------------------------------------------- */

/* Returns the length of `text` in the sink's units. */
static size_t sink_narrow_length(const struct sink *s, const char *text, size_t n)
{
    return s->is_wide ? text_to_utf16(NULL, 0, text, n, NULL, NULL) : n;
}

static size_t sink_wide_length(const struct sink *s, const WCHAR *text, size_t n)
{
    return s->is_wide ? n : text_to_utf8(NULL, 0, text, n, NULL, NULL);
}

static void format_put_narrow_string(struct sink *s, const struct spec *spec, const char *text, size_t n)
{
    long padding;

    if (!text) {
        text = "(null)";
        n = 6;
    }
    if (spec->has_precision && (size_t)spec->precision < n)
        n = (size_t)spec->precision;
    padding = (long)spec->width - (long)sink_narrow_length(s, text, n);
    if (!spec->align_left)
        sink_pad(s, spec->zero ? '0' : ' ', padding);
    sink_put_narrow(s, text, n);
    if (spec->align_left)
        sink_pad(s, ' ', padding);
}

static void format_put_wide_string(struct sink *s, const struct spec *spec, const WCHAR *text, size_t n)
{
    long padding;

    if (!text) {
        format_put_narrow_string(s, spec, NULL, 0);
        return;
    }
    if (spec->has_precision && (size_t)spec->precision < n)
        n = (size_t)spec->precision;
    padding = (long)spec->width - (long)sink_wide_length(s, text, n);
    if (!spec->align_left)
        sink_pad(s, spec->zero ? '0' : ' ', padding);
    sink_put_wide(s, text, n);
    if (spec->align_left)
        sink_pad(s, ' ', padding);
}

/* Returns the length of `text`. If there is a precision, `text` needs no terminator. */
static size_t format_count_narrow(const struct spec *spec, const char *text)
{
    if (!text)
        return 0;
    return spec->has_precision ? strnlen(text, (size_t)spec->precision) : strlen(text);
}

static size_t format_count_wide(const struct spec *spec, const WCHAR *text)
{
    size_t n = 0;

    while (text && (!spec->has_precision || n < (size_t)spec->precision) && text[n])
        n++;
    return n;
}

/*
 * Returns true if the argument has wide characters. Without a size prefix, the arguments of %c and %s have the format's
 * own type of characters (narrow or wide). The arguments of %C and %S then have the other type.
 */
static bool format_is_wide(const struct sink *s, const struct spec *spec)
{
    if (spec->size == SIZE_SHORT)
        return false;
    if (spec->size == SIZE_LONG || spec->size == SIZE_WIDE)
        return true;
    return (spec->conversion == 'c' || spec->conversion == 's') == s->is_wide;
}

static void format_put_counted_string(struct sink *s, const struct spec *spec, const void *argument)
{
    const UNICODE_STRING *wide = argument;
    const ANSI_STRING *narrow = argument;

    if (!argument)
        format_put_narrow_string(s, spec, NULL, 0);
    else if (spec->size == SIZE_WIDE || spec->size == SIZE_LONG)
        format_put_wide_string(s, spec, wide->Buffer, wide->Length / sizeof(WCHAR));
    else
        format_put_narrow_string(s, spec, narrow->Buffer, narrow->Length);
}

/* ---- Numbers ---------------------------------------------------------------------------------------------------- */

static size_t format_digits(char *end, uint64_t value, unsigned base, bool upper)
{
    const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    size_t n = 0;

    for (; value; value /= base)
        *--end = digits[value % base], n++;
    return n;
}

static void format_put_number(struct sink *s, const struct spec *spec, uint64_t value, unsigned base, const char *sign)
{
    char buffer[MAX_DIGITS], *end = buffer + sizeof buffer;
    size_t n = format_digits(end, value, base, spec->conversion == 'X' || spec->conversion == 'p');
    const char *prefix = sign;
    long least = spec->has_precision ? spec->precision : 1, zeros, padding;

    if (spec->alternate && base == 16 && value)
        prefix = spec->conversion == 'X' ? "0X" : "0x";
    if (spec->alternate && base == 8 && least <= (long)n)
        least = (long)n + 1;
    zeros = least > (long)n ? least - (long)n : 0;
    padding = (long)spec->width - (long)n - zeros - (long)strlen(prefix);
    if (spec->zero && !spec->align_left && !spec->has_precision && padding > 0) {
        zeros += padding;
        padding = 0;
    }
    if (!spec->align_left)
        sink_pad(s, ' ', padding);
    sink_put_narrow(s, prefix, strlen(prefix));
    sink_pad(s, '0', zeros);
    sink_put_narrow(s, end - n, n);
    if (spec->align_left)
        sink_pad(s, ' ', padding);
}

static int64_t format_next_signed(enum size size, va_list *args)
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

static uint64_t format_next_unsigned(enum size size, va_list *args)
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

static void format_put_signed(struct sink *s, const struct spec *spec, int64_t value)
{
    format_put_number(s, spec, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10,
                      value < 0     ? "-"
                      : spec->plus  ? "+"
                      : spec->space ? " "
                                    : "");
}

/* Formats with the host's snprintf, which formats floating-point numbers as Windows does. */
static void format_put_floating(struct sink *s, const struct spec *spec, double value)
{
    char format[16], text[MAX_NUMBER];
    int n, precision = spec->has_precision ? min(spec->precision, MAX_NUMBER / 4) : -1;
    struct spec plain = { .align_left = spec->align_left, .width = spec->width };

    snprintf(format, sizeof format, "%%%s%s%s%s*.*%c", spec->plus ? "+" : "", spec->space ? " " : "",
             spec->alternate ? "#" : "", spec->zero && !spec->align_left ? "0" : "", (char)spec->conversion);
    n = snprintf(text, sizeof text, format, spec->zero && !spec->align_left ? min(spec->width, MAX_NUMBER - 1) : 0,
                 precision, value);
    format_put_narrow_string(s, &plain, text, (size_t)min(n, MAX_NUMBER - 1));
}

/* ---- The format ------------------------------------------------------------------------------------------------- */

struct reader {
    const char *narrow;
    const WCHAR *wide;
};

static unsigned reader_peek(const struct reader *r, int ahead)
{
    return r->wide ? (uint16_t)r->wide[ahead] : (unsigned char)r->narrow[ahead];
}

static unsigned reader_next(struct reader *r)
{
    unsigned c = reader_peek(r, 0);

    if (c)
        *r = r->wide ? (struct reader){ NULL, r->wide + 1 } : (struct reader){ r->narrow + 1, NULL };
    return c;
}

static bool reader_skip_word(struct reader *r, const char *word)
{
    for (int i = 0; word[i]; i++)
        if (reader_peek(r, i) != (unsigned char)word[i])
            return false;
    for (; *word; word++)
        reader_next(r);
    return true;
}

static void spec_read_flags(struct reader *r, struct spec *spec)
{
    for (;; reader_next(r))
        switch (reader_peek(r, 0)) {
        case '-':
            spec->align_left = true;
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

static int spec_read_count(struct reader *r, va_list *args)
{
    enum { MAX_COUNT = 1 << 20 };
    int n = 0;

    if (reader_skip_word(r, "*"))
        return va_arg(*args, int);
    while (reader_peek(r, 0) >= '0' && reader_peek(r, 0) <= '9')
        n = n < MAX_COUNT ? n * 10 + (int)(reader_next(r) - '0') : (reader_next(r), n);
    return n;
}

static enum size spec_read_size(struct reader *r)
{
    static const struct {
        const char *word;
        enum size size;
    } words[] = {
        { "I64", SIZE_64 }, { "I32", SIZE_INT }, { "I", SIZE_64 },    { "ll", SIZE_64 },
        { "l", SIZE_LONG }, { "hh", SIZE_CHAR }, { "h", SIZE_SHORT }, { "w", SIZE_WIDE },
        { "z", SIZE_64 },   { "j", SIZE_64 },    { "t", SIZE_64 },    { "L", SIZE_INT },
    };

    for (size_t i = 0; i < RTL_NUMBER_OF(words); i++)
        if (reader_skip_word(r, words[i].word))
            return words[i].size;
    return SIZE_INT;
}

static struct spec spec_read(struct reader *r, va_list *args)
{
    struct spec spec = { 0 };

    spec_read_flags(r, &spec);
    spec.width = spec_read_count(r, args);
    if (spec.width < 0) {
        spec.align_left = true;
        spec.width = spec.width == INT_MIN ? INT_MAX : -spec.width;
    }
    if (reader_skip_word(r, ".")) {
        spec.precision = spec_read_count(r, args);
        spec.has_precision = spec.precision >= 0;
    }
    spec.size = spec_read_size(r);
    spec.conversion = reader_next(r);
    return spec;
}

static void format_put_character(struct sink *s, const struct spec *spec, int c)
{
    struct spec plain = { .align_left = spec->align_left, .width = spec->width };
    WCHAR wide = (WCHAR)c;
    char narrow = (char)c;

    if (format_is_wide(s, spec))
        format_put_wide_string(s, &plain, &wide, 1);
    else
        format_put_narrow_string(s, &plain, &narrow, 1);
}

static void format_put_string(struct sink *s, const struct spec *spec, const void *text)
{
    if (format_is_wide(s, spec))
        format_put_wide_string(s, spec, text, format_count_wide(spec, text));
    else
        format_put_narrow_string(s, spec, text, format_count_narrow(spec, text));
}

static void format_put_pointer(struct sink *s, const struct spec *spec, const void *value)
{
    struct spec digits = *spec;

    digits.has_precision = true;
    digits.precision = 16;
    format_put_number(s, &digits, (uintptr_t)value, 16, "");
}

/* Writes the letter of an unknown conversion. */
static void format_put_unknown(struct sink *s, const struct spec *spec)
{
    WCHAR wide = (WCHAR)spec->conversion;

    if (spec->conversion)
        sink_put_wide(s, &wide, 1);
}

static void format_convert(struct sink *s, const struct spec *spec, va_list *args)
{
    switch (spec->conversion) {
    case 'd':
    case 'i':
        format_put_signed(s, spec, format_next_signed(spec->size, args));
        break;
    case 'u':
        format_put_number(s, spec, format_next_unsigned(spec->size, args), 10, "");
        break;
    case 'x':
    case 'X':
        format_put_number(s, spec, format_next_unsigned(spec->size, args), 16, "");
        break;
    case 'o':
        format_put_number(s, spec, format_next_unsigned(spec->size, args), 8, "");
        break;
    case 'c':
    case 'C':
        format_put_character(s, spec, va_arg(*args, int));
        break;
    case 's':
    case 'S':
        format_put_string(s, spec, va_arg(*args, const void *));
        break;
    case 'Z':
        format_put_counted_string(s, spec, va_arg(*args, const void *));
        break;
    case 'p':
        format_put_pointer(s, spec, va_arg(*args, const void *));
        break;
    case 'n':
        (void)va_arg(*args, void *);
        break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
        format_put_floating(s, spec, va_arg(*args, double));
        break;
    default:
        format_put_unknown(s, spec);
    }
}

static size_t format_run(struct sink *s, size_t *written, struct reader r, va_list arguments)
{
    va_list args;

    va_copy(args, arguments);
    for (;;) {
        struct reader start = r;
        size_t plain = 0;
        struct spec spec;

        for (; reader_peek(&r, 0) && reader_peek(&r, 0) != '%'; plain++)
            reader_next(&r);
        if (r.wide)
            sink_put_wide_units(s, start.wide, plain);
        else
            sink_put_narrow_units(s, start.narrow, plain);
        if (!reader_next(&r))
            break;
        spec = spec_read(&r, &args);
        format_convert(s, &spec, &args);
    }
    va_end(args);
    if (written)
        *written = s->wrote;
    return s->length;
}

size_t format_narrow(char *out, size_t cap, size_t *written, const char *format, va_list args)
{
    struct sink s = { .narrow = out, .cap = cap };

    return format_run(&s, written, (struct reader){ format, NULL }, args);
}

size_t format_wide(WCHAR *out, size_t cap, size_t *written, const WCHAR *format, va_list args)
{
    struct sink s = { .wide = out, .is_wide = true, .cap = cap };

    return format_run(&s, written, (struct reader){ NULL, format }, args);
}
