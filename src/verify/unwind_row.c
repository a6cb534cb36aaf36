/* SPDX-License-Identifier: MIT */
/*
 * Reads rows from .eh_frame: see unwind_row.h. A module's .eh_frame_hdr has a sorted table of the module's functions,
 * with the address of each function's FDE (frame description entry). The instructions of the FDE change the row. The
 * FDE refers to a CIE (common information entry), whose instructions make the first row.
 *
 * The module is read while the dynamic linker's lock is held, so that the module stays loaded. Every read is within the
 * module's segment.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <link.h>
#include <string.h>

#include "verify/unwind_row.h"

/* The encodings of pointers. The form is in the low bits. */
enum {
    FORM = 0x0f,
    FORM_POINTER = 0x00,
    FORM_U2 = 0x02,
    FORM_U4 = 0x03,
    FORM_U8 = 0x04,
    FORM_S2 = 0x0a,
    FORM_S4 = 0x0b,
    FORM_S8 = 0x0c,
    RELATIVE = 0x70,
    RELATIVE_TO_PLACE = 0x10,
    TABLE_ENCODING = 0x3b, /* offsets of 4 bytes from the header */
};

enum { MAX_REMEMBERED = 4, CIE_VERSION_1 = 1, CIE_VERSION_3 = 3, TABLE_ENTRY = 8 };

/* A position in a module. A read beyond `end` returns 0 and sets `ok` to false. */
struct cursor {
    const uint8_t *at, *end;
    bool ok;
};

static uint64_t cursor_read(struct cursor *c, size_t size)
{
    uint64_t value = 0;

    if ((size_t)(c->end - c->at) < size) {
        c->ok = false;
        return 0;
    }
    memcpy(&value, c->at, size); /* both supported processors are little-endian */
    c->at += size;
    return value;
}

static void cursor_skip(struct cursor *c, uint64_t size)
{
    if ((uint64_t)(c->end - c->at) < size)
        c->ok = false;
    else
        c->at += size;
}

static uint64_t cursor_read_bits(struct cursor *c, unsigned *bits, uint8_t *last)
{
    uint64_t value = 0;

    *bits = 0;
    do {
        *last = (uint8_t)cursor_read(c, 1);
        if (*bits < 64)
            value |= (uint64_t)(*last & 0x7f) << *bits;
        *bits += 7;
    } while (*last & 0x80 && c->ok);
    return value;
}

static uint64_t cursor_read_uleb(struct cursor *c)
{
    unsigned bits;
    uint8_t last;

    return cursor_read_bits(c, &bits, &last);
}

static int64_t cursor_read_sleb(struct cursor *c)
{
    unsigned bits;
    uint8_t last;
    uint64_t value = cursor_read_bits(c, &bits, &last);

    if (bits < 64 && last & 0x40)
        value |= UINT64_MAX << bits;
    return (int64_t)value;
}

/* Reads a number in the form that the pointer encoding has. */
static uint64_t cursor_read_form(struct cursor *c, unsigned encoding)
{
    switch (encoding & FORM) {
    case FORM_POINTER:
        return cursor_read(c, sizeof(void *));
    case FORM_U2:
        return cursor_read(c, 2);
    case FORM_U4:
        return cursor_read(c, 4);
    case FORM_U8:
    case FORM_S8:
        return cursor_read(c, 8);
    case FORM_S2:
        return (uint64_t)(int16_t)cursor_read(c, 2);
    case FORM_S4:
        return (uint64_t)(int32_t)cursor_read(c, 4);
    default:
        c->ok = false;
        return 0;
    }
}

static uintptr_t cursor_read_pointer(struct cursor *c, unsigned encoding)
{
    uintptr_t place = (uintptr_t)c->at;
    uint64_t value = cursor_read_form(c, encoding);

    if ((encoding & RELATIVE) == RELATIVE_TO_PLACE)
        return place + (uintptr_t)value;
    if (encoding & RELATIVE)
        c->ok = false;
    return (uintptr_t)value;
}

/* ---- Modules ---- */

struct module {
    uintptr_t pc;
    uintptr_t code_start, code_end; /* start and end of the segment that contains pc */
    const uint8_t *header;          /* address of .eh_frame_hdr; NULL: none */
    const uint8_t *start, *end;     /* start and end of the segment that contains the header */
};

/* Sets *m to the module that dl_iterate_phdr visits. Returns 1 if the module contains pc. */
static int module_match(const struct dl_phdr_info *info, struct module *m)
{
    const ElfW(Phdr) *p = info->dlpi_phdr;

    m->code_end = 0;
    m->header = m->end = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t at = info->dlpi_addr + p[i].p_vaddr;

        if (p[i].p_type == PT_LOAD && p[i].p_flags & PF_X && m->pc - at < p[i].p_memsz) {
            m->code_start = at;
            m->code_end = at + p[i].p_memsz;
        } else if (p[i].p_type == PT_GNU_EH_FRAME) {
            m->header = (const uint8_t *)at; /* NOLINT: the address comes from the dynamic linker */
        }
    }
    for (int i = 0; m->header && i < info->dlpi_phnum; i++) {
        uintptr_t at = info->dlpi_addr + p[i].p_vaddr;

        if (p[i].p_type == PT_LOAD && (uintptr_t)m->header - at < p[i].p_filesz) {
            m->start = (const uint8_t *)at; /* NOLINT */
            m->end = m->start + p[i].p_filesz;
        }
    }
    return m->code_end != 0;
}

static struct cursor module_cursor(const struct module *m, uintptr_t at)
{
    bool ok = at - (uintptr_t)m->start < (uintptr_t)(m->end - m->start);

    return (struct cursor){ .at = m->start + (ok ? at - (uintptr_t)m->start : 0), .end = m->end, .ok = ok };
}

/* Returns the address of the FDE of the last function that begins at pc or before pc. Returns 0 if there is none. */
static uintptr_t module_find_fde(const struct module *m)
{
    struct cursor c = { .at = m->header, .end = m->end, .ok = true };
    uintptr_t header = (uintptr_t)m->header;
    const uint8_t *table;
    uint64_t count, low = 0;
    int32_t entry[2];

    if (!m->header || !m->end || cursor_read(&c, 1) != 1)
        return 0;
    unsigned frame_encoding = (unsigned)cursor_read(&c, 1), count_encoding = (unsigned)cursor_read(&c, 1);
    if (cursor_read(&c, 1) != TABLE_ENCODING)
        return 0;
    (void)cursor_read_form(&c, frame_encoding);
    count = cursor_read_form(&c, count_encoding);
    table = c.at;
    if (!c.ok || count > (uint64_t)(c.end - c.at) / TABLE_ENTRY)
        return 0;
    /* A binary search. After it, `low` is the index of the first function that begins after pc. */
    for (uint64_t high = count; low < high;) {
        uint64_t middle = low + (high - low) / 2;

        memcpy(entry, table + middle * TABLE_ENTRY, sizeof entry);
        if (header + (uintptr_t)(intptr_t)entry[0] > m->pc)
            high = middle;
        else
            low = middle + 1;
    }
    if (!low)
        return 0;
    memcpy(entry, table + (low - 1) * TABLE_ENTRY, sizeof entry);
    return header + (uintptr_t)(intptr_t)entry[1];
}

/* ---- CIE and FDE ---- */

struct description {
    uint64_t code_unit;
    int64_t data_unit;
    unsigned encoding; /* encoding of the pointers in the FDE */
    bool has_sizes;    /* the augmentation data begin with their size */
    bool is_known;
    struct cursor initial, program;
};

/* Reads the augmentation data of a CIE at the position *c. `text` is the augmentation string. */
static void cie_read_augmentation(struct cursor *c, const char *text, struct description *d)
{
    struct cursor data = *c;

    if (text[0] == 'z') {
        uint64_t size = cursor_read_uleb(c);

        data = *c;
        cursor_skip(c, size);
        d->has_sizes = true;
        text++;
    }
    for (; *text && data.ok; text++) {
        if (*text == 'R') {
            d->encoding = (unsigned)cursor_read(&data, 1);
        } else if (*text == 'L') {
            (void)cursor_read(&data, 1);
        } else if (*text == 'P') {
            unsigned encoding = (unsigned)cursor_read(&data, 1);

            (void)cursor_read_form(&data, encoding);
        } else {
            d->is_known = false; /* not supported: 'S' (a signal frame, with DWARF expressions), other letters */
        }
    }
    d->is_known = d->is_known && data.ok;
}

/*
 * Moves *c from the beginning of a CIE or FDE to its contents. Returns 0 for a CIE. For an FDE, returns the distance
 * back to its CIE: see fde_read.
 */
static uint32_t entry_begin(struct cursor *c)
{
    uint64_t length = cursor_read(c, 4);

    if (length > (uint64_t)(c->end - c->at) || length < 4)
        c->ok = false;
    else
        c->end = c->at + length;
    return (uint32_t)cursor_read(c, 4);
}

static void cie_read(struct cursor c, struct description *d, struct unwind_row *row)
{
    const char *text;
    size_t length;
    unsigned version;

    d->is_known = entry_begin(&c) == 0 && c.ok;
    version = (unsigned)cursor_read(&c, 1);
    text = (const char *)c.at;
    length = c.ok ? strnlen(text, (size_t)(c.end - c.at)) : 0;
    cursor_skip(&c, length + 1);
    d->code_unit = cursor_read_uleb(&c);
    d->data_unit = cursor_read_sleb(&c);
    row->return_register = version == CIE_VERSION_1 ? (unsigned)cursor_read(&c, 1) : (unsigned)cursor_read_uleb(&c);
    if (!c.ok || (version != CIE_VERSION_1 && version != CIE_VERSION_3) || row->return_register >= UNWIND_REGISTERS) {
        d->is_known = false;
        return;
    }
    cie_read_augmentation(&c, text, d);
    d->initial = c;
}

/*
 * Reads the FDE at the address `at`, and the CIE that it refers to. Returns false if the function does not contain pc.
 */
static bool fde_read(const struct module *m, uintptr_t at, struct description *d, struct unwind_row *row)
{
    struct cursor c = module_cursor(m, at);
    uint32_t back = entry_begin(&c); /* value of the member before c.at: the member's distance from the CIE, in bytes */
    uintptr_t size;

    if (!c.ok || back == 0)
        return false;
    cie_read(module_cursor(m, (uintptr_t)c.at - 4 - back), d, row);
    if (!d->is_known)
        return false;
    row->function = cursor_read_pointer(&c, d->encoding);
    size = (uintptr_t)cursor_read_form(&c, d->encoding);
    if (d->has_sizes)
        cursor_skip(&c, cursor_read_uleb(&c));
    d->program = c;
    return c.ok && m->pc - row->function < size;
}

/* ---- Programs ---- */

/*
 * The state of an execution: the current row, the row after the CIE's instructions, and the rows that REMEMBER has
 * pushed.
 */
struct run {
    const struct description *d;
    struct unwind_row *row, initial, remembered[MAX_REMEMBERED];
    unsigned depth;
    uintptr_t at, pc; /* `at`: the address for which the row is valid; the execution ends when `at` exceeds pc */
    bool ok;
};

static void run_set_rule(struct run *r, uint64_t number, enum unwind_place place, int64_t offset)
{
    if (number < UNWIND_REGISTERS)
        r->row->rules[number] = (struct unwind_rule){ place, offset };
}

static void run_set_base(struct run *r, uint64_t number, int64_t offset)
{
    r->row->base = (unsigned)number;
    r->row->base_offset = offset;
    r->ok = r->ok && number < UNWIND_REGISTERS;
}

static void run_advance(struct run *r, uint64_t units)
{
    r->at += (uintptr_t)(units * r->d->code_unit);
}

static void run_restore(struct run *r, uint64_t number)
{
    if (number < UNWIND_REGISTERS)
        r->row->rules[number] = r->initial.rules[number];
}

static void run_pop(struct run *r)
{
    r->ok = r->ok && r->depth > 0;
    if (r->depth > 0)
        *r->row = r->remembered[--r->depth];
}

static void run_push(struct run *r)
{
    r->ok = r->ok && r->depth < MAX_REMEMBERED;
    if (r->depth < MAX_REMEMBERED)
        r->remembered[r->depth++] = *r->row;
}

/* Instructions whose first operand is in the low bits of the first byte. */
enum { ADVANCE = 0x40, OFFSET = 0x80, RESTORE = 0xc0, HIGH_BITS = 0xc0 };

enum {
    NOP = 0x00,
    SET_LOCATION = 0x01,
    ADVANCE_1 = 0x02,
    ADVANCE_2 = 0x03,
    ADVANCE_4 = 0x04,
    OFFSET_EXTENDED = 0x05,
    RESTORE_EXTENDED = 0x06,
    UNDEFINED = 0x07,
    SAME_VALUE = 0x08,
    IN_REGISTER = 0x09,
    REMEMBER = 0x0a,
    RESTORE_STATE = 0x0b,
    BASE = 0x0c,
    BASE_REGISTER = 0x0d,
    BASE_OFFSET = 0x0e,
    OFFSET_EXTENDED_SIGNED = 0x11,
    BASE_SIGNED = 0x12,
    BASE_OFFSET_SIGNED = 0x13,
    RETURN_ADDRESS_SIGNED = 0x2d,
    ARGUMENTS_SIZE = 0x2e,
};

/* Executes an instruction that changes the base register or its offset. Returns false for any other instruction. */
static bool run_base(struct run *r, unsigned op, struct cursor *c)
{
    uint64_t number;

    switch (op) {
    case BASE:
        number = cursor_read_uleb(c);
        run_set_base(r, number, (int64_t)cursor_read_uleb(c));
        return true;
    case BASE_SIGNED:
        number = cursor_read_uleb(c);
        run_set_base(r, number, cursor_read_sleb(c) * r->d->data_unit);
        return true;
    case BASE_REGISTER:
        run_set_base(r, cursor_read_uleb(c), r->row->base_offset);
        return true;
    case BASE_OFFSET:
        r->row->base_offset = (int64_t)cursor_read_uleb(c);
        return true;
    case BASE_OFFSET_SIGNED:
        r->row->base_offset = cursor_read_sleb(c) * r->d->data_unit;
        return true;
    default:
        return false;
    }
}

/* Executes an instruction that changes the rule of one register. Returns false for any other instruction. */
static bool run_register(struct run *r, unsigned op, struct cursor *c)
{
    uint64_t number;

    switch (op) {
    case OFFSET_EXTENDED:
        number = cursor_read_uleb(c);
        run_set_rule(r, number, UNWIND_SAVED, (int64_t)cursor_read_uleb(c) * r->d->data_unit);
        return true;
    case OFFSET_EXTENDED_SIGNED:
        number = cursor_read_uleb(c);
        run_set_rule(r, number, UNWIND_SAVED, cursor_read_sleb(c) * r->d->data_unit);
        return true;
    case RESTORE_EXTENDED:
        run_restore(r, cursor_read_uleb(c));
        return true;
    case UNDEFINED:
        run_set_rule(r, cursor_read_uleb(c), UNWIND_UNDEFINED, 0);
        return true;
    case SAME_VALUE:
        run_set_rule(r, cursor_read_uleb(c), UNWIND_SAME, 0);
        return true;
    case IN_REGISTER:
        run_set_rule(r, cursor_read_uleb(c), UNWIND_UNDEFINED, 0);
        (void)cursor_read_uleb(c);
        return true;
    default:
        return false;
    }
}

/*
 * Executes an instruction that has no operand in its first byte. If the instruction is not supported, sets r->ok to
 * false.
 */
static void run_other(struct run *r, unsigned op, struct cursor *c)
{
    if (run_base(r, op, c) || run_register(r, op, c))
        return;
    switch (op) {
    case NOP:
    case RETURN_ADDRESS_SIGNED:
        break;
    case SET_LOCATION:
        r->at = cursor_read_pointer(c, r->d->encoding);
        break;
    case ADVANCE_1:
        run_advance(r, cursor_read(c, 1));
        break;
    case ADVANCE_2:
        run_advance(r, cursor_read(c, 2));
        break;
    case ADVANCE_4:
        run_advance(r, cursor_read(c, 4));
        break;
    case REMEMBER:
        run_push(r);
        break;
    case RESTORE_STATE:
        run_pop(r);
        break;
    case ARGUMENTS_SIZE:
        (void)cursor_read_uleb(c);
        break;
    default:
        r->ok = false;
    }
}

static void run_program(struct run *r, struct cursor c)
{
    while (r->ok && c.ok && c.at < c.end) {
        unsigned op = (unsigned)cursor_read(&c, 1), low = op & ~(unsigned)HIGH_BITS;

        switch (op & HIGH_BITS) {
        case ADVANCE:
            run_advance(r, low);
            break;
        case OFFSET:
            run_set_rule(r, low, UNWIND_SAVED, (int64_t)cursor_read_uleb(&c) * r->d->data_unit);
            break;
        case RESTORE:
            run_restore(r, low);
            break;
        default:
            run_other(r, op, &c);
        }
        if (r->at > r->pc)
            break;
    }
    r->ok = r->ok && c.ok;
}

struct search {
    struct module module;
    struct unwind_row *row;
    bool found;
};

static int search_module(struct dl_phdr_info *info, size_t size, void *context)
{
    struct search *s = context;
    struct description d = { .is_known = true };
    uintptr_t fde;

    (void)size;
    if (!module_match(info, &s->module))
        return 0;
    memset(s->row, 0, sizeof *s->row);
    fde = module_find_fde(&s->module);
    if (!fde || !fde_read(&s->module, fde, &d, s->row))
        return 1;
    struct run r = { .d = &d, .row = s->row, .at = s->row->function, .pc = s->module.pc, .ok = true };
    run_program(&r, d.initial);
    r.initial = *s->row;
    run_program(&r, d.program);
    s->row->code_start = s->module.code_start;
    s->row->code_end = s->module.code_end;
    s->found = r.ok;
    return 1;
}

bool unwind_find_row(uintptr_t pc, struct unwind_row *row)
{
    struct search s = { .module = { .pc = pc }, .row = row };

    (void)dl_iterate_phdr(search_module, &s);
    return s.found;
}
