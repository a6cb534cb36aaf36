/* SPDX-License-Identifier: MIT */
/*
 * Interprets the line number programs of .debug_line: see elf_line.h. Each unit has a header, tables of folders and
 * files, and a program. The program produces rows, which map addresses to lines. The rows of a sequence have ascending
 * addresses. A row is valid up to the address of the next row.
 *
 * The invariant: the file may be corrupt. Every round of a loop reads at least one byte, and all loops end when a read
 * has failed.
 */
#include "verify/elf_line.h"

#include <errno.h>
#include <string.h>

#include "verify/elf_file.h"

enum { PART = 2048, MAX_SECTION = 16 << 20, MAX_FORMATS = 8, MAX_OPCODES = 256 };

/* Values from the DWARF standard. */
enum { LNS_COPY = 1, LNS_ADVANCE_PC, LNS_ADVANCE_LINE, LNS_SET_FILE, LNS_CONST_ADD_PC = 8, LNS_FIXED_ADVANCE_PC };
enum { LNE_END_SEQUENCE = 1, LNE_SET_ADDRESS };
enum { LNCT_PATH = 1 };
enum {
    FORM_DATA2 = 0x05,
    FORM_DATA4,
    FORM_DATA8,
    FORM_STRING,
    FORM_BLOCK,
    FORM_DATA1 = 0x0b,
    FORM_STRP = 0x0e,
    FORM_UDATA,
    FORM_DATA16 = 0x1e,
    FORM_LINE_STRP
};

struct line_reader {
    const struct elf_file *file;
    uint64_t at, end; /* offsets in the file: the next byte, and the end of what may be read */
    bool failed;      /* a byte could not be read, or the content is not supported */
    uint64_t part_at;
    size_t part_size;
    uint8_t part[PART];
};

struct line_unit {
    unsigned version, offset_size, address_size;
    uint64_t end, program;
    uint8_t min_length, line_range, opcode_base;
    int8_t line_base;
    uint8_t lengths[MAX_OPCODES]; /* number of arguments of each standard opcode */
    uint64_t tables;              /* offset in the file at which the tables of folders and files begin */
};

struct line_row {
    uint64_t address;
    uint64_t file;
    unsigned line;
};

struct line_state {
    struct line_row now, last; /* `last` is the row before `now`; valid if has_last is true */
    bool has_last, is_dead;    /* is_dead: the linker has removed the code of the sequence */
};

/* ---- reading ---- */

static void reader_init(struct line_reader *r, const struct elf_file *file, uint64_t at, uint64_t end)
{
    r->file = file;
    r->at = at;
    r->end = end;
    r->failed = end < at;
    r->part_size = 0;
}

static uint8_t reader_u8(struct line_reader *r)
{
    if (r->failed || r->at >= r->end) {
        r->failed = true;
        return 0;
    }
    if (!r->part_size || r->at < r->part_at || r->at - r->part_at >= r->part_size) {
        r->part_at = r->at;
        r->part_size = r->end - r->at < PART ? (size_t)(r->end - r->at) : PART;
        r->failed = !elf_file_read(r->file, r->part, r->part_size, r->at);
        if (r->failed)
            return 0;
    }
    return r->part[r->at++ - r->part_at];
}

/* Reads an integer of 1, 2, 4 or 8 bytes in the machine's byte order. */
static uint64_t reader_number(struct line_reader *r, unsigned size)
{
    uint8_t bytes[8] = { 0 };
    uint16_t two;
    uint32_t four;
    uint64_t eight;

    for (unsigned i = 0; i < size; i++)
        bytes[i] = reader_u8(r);
    memcpy(&two, bytes, sizeof two);
    memcpy(&four, bytes, sizeof four);
    memcpy(&eight, bytes, sizeof eight);
    return size == 1 ? bytes[0] : size == 2 ? two : size == 4 ? four : eight;
}

static uint64_t reader_uleb(struct line_reader *r)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        byte = reader_u8(r);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    return value;
}

static int64_t reader_sleb(struct line_reader *r)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        byte = reader_u8(r);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (shift < 64 && (byte & 0x40))
        value |= ~0ULL << shift;
    return (int64_t)value;
}

static void reader_skip(struct line_reader *r, uint64_t size)
{
    if (r->at > r->end || size > r->end - r->at)
        r->failed = true;
    else
        r->at += size;
}

/*
 * Reads a text. If `name` is not NULL, stores the part of the text after the last slash. Returns false if the text is
 * empty.
 */
static bool reader_text(struct line_reader *r, char *name)
{
    bool is_empty = true;
    size_t length = 0;

    for (char c; (c = (char)reader_u8(r)) && !r->failed; is_empty = false) {
        if (c == '/')
            length = 0;
        else if (name && length < ELF_LINE_FILE - 1)
            name[length++] = c;
    }
    if (name)
        name[length] = '\0';
    return !is_empty;
}

/* ---- a unit's header and tables ---- */

/*
 * Reads the header of a unit. If the unit's version is not supported, sets u->program to u->end, so that the program is
 * empty. Returns false if the header is invalid or cannot be read.
 */
static bool unit_read(struct line_reader *r, struct line_unit *u)
{
    uint64_t length = reader_number(r, 4), header_length;

    u->offset_size = length == 0xffffffff ? 8 : 4;
    if (u->offset_size == 8)
        length = reader_number(r, 8);
    if (r->failed || length > r->end - r->at)
        return false;
    u->end = u->program = r->at + length;
    u->version = (unsigned)reader_number(r, 2);
    if (u->version < 2 || u->version > 5)
        return !r->failed;
    u->address_size = sizeof(void *);
    if (u->version == 5) {
        u->address_size = reader_u8(r);
        (void)reader_u8(r); /* segment_selector_size: not used */
    }
    header_length = reader_number(r, u->offset_size);
    if (r->failed || header_length > u->end - r->at)
        return false;
    u->program = r->at + header_length;
    u->min_length = reader_u8(r);
    if (u->version >= 4)
        (void)reader_u8(r); /* the maximum number of operations in an instruction; only for VLIW machines */
    (void)reader_u8(r);     /* default_is_stmt: not used */
    u->line_base = (int8_t)reader_u8(r);
    u->line_range = reader_u8(r);
    u->opcode_base = reader_u8(r);
    for (unsigned i = 1; i < u->opcode_base; i++)
        u->lengths[i] = reader_u8(r);
    u->tables = r->at;
    return !r->failed && u->line_range && u->opcode_base && (u->address_size == 4 || u->address_size == 8);
}

/* Reads the name at `offset` in the section `section_name`. If this fails, sets r->failed. */
static void unit_read_name_at(struct line_reader *r, const char *section_name, uint64_t offset, char *name)
{
    struct line_reader text;
    elf_section section;

    if (!elf_file_find_section(r->file, section_name, &section) || offset >= section.sh_size) {
        r->failed = true;
        return;
    }
    reader_init(&text, r->file, section.sh_offset + offset, section.sh_offset + section.sh_size);
    (void)reader_text(&text, name);
    r->failed = r->failed || text.failed;
}

/* Reads a value in the DWARF form `form`. If the value is a text and `name` is not NULL, copies the text to `name`. */
static void unit_read_form(struct line_reader *r, const struct line_unit *u, uint64_t form, char *name)
{
    uint64_t offset;

    switch (form) {
    case FORM_STRING:
        (void)reader_text(r, name);
        break;
    case FORM_STRP:
    case FORM_LINE_STRP:
        offset = reader_number(r, u->offset_size);
        if (name)
            unit_read_name_at(r, form == FORM_STRP ? ".debug_str" : ".debug_line_str", offset, name);
        break;
    case FORM_UDATA:
        (void)reader_uleb(r);
        break;
    case FORM_DATA1:
        reader_skip(r, 1);
        break;
    case FORM_DATA2:
        reader_skip(r, 2);
        break;
    case FORM_DATA4:
        reader_skip(r, 4);
        break;
    case FORM_DATA8:
        reader_skip(r, 8);
        break;
    case FORM_DATA16:
        reader_skip(r, 16);
        break;
    case FORM_BLOCK:
        reader_skip(r, reader_uleb(r));
        break;
    default:
        r->failed = true;
    }
}

/*
 * Reads a table of folders or files in DWARF 5, up to the entry number `wanted`, and stores the name of that entry. If
 * `name` is NULL, reads all entries and stores nothing.
 */
static void unit_read_entries(struct line_reader *r, const struct line_unit *u, uint64_t wanted, char *name)
{
    uint64_t types[MAX_FORMATS], forms[MAX_FORMATS], count;
    unsigned formats = reader_u8(r);

    r->failed = r->failed || formats > MAX_FORMATS;
    for (unsigned i = 0; i < formats && !r->failed; i++) {
        types[i] = reader_uleb(r);
        forms[i] = reader_uleb(r);
    }
    count = reader_uleb(r);
    r->failed = r->failed || (count && !formats) || (name && wanted >= count);
    for (uint64_t at = 0; at < count && !r->failed; at++) {
        for (unsigned i = 0; i < formats; i++)
            unit_read_form(r, u, forms[i], name && at == wanted && types[i] == LNCT_PATH ? name : NULL);
        if (name && at == wanted)
            return;
    }
}

/*
 * Stores the name of file number `file`. DWARF 5 numbers the files from 0, and versions 2 to 4 number them from 1.
 * Returns false if the unit has no such file.
 */
static bool unit_find_file(struct line_reader *r, const struct line_unit *u, uint64_t file, char *name)
{
    name[0] = '\0';
    r->at = u->tables;
    if (u->version == 5) {
        unit_read_entries(r, u, 0, NULL);
        unit_read_entries(r, u, file, name);
        return !r->failed && name[0];
    }
    while (reader_text(r, NULL) && !r->failed)
        ;
    for (uint64_t at = 1; !r->failed && reader_text(r, name); at++) {
        if (at == file)
            return !r->failed;
        for (int i = 0; i < 3; i++)
            (void)reader_uleb(r); /* folder, time, length */
    }
    return false;
}

/* ---- a unit's program ---- */

static void state_init(struct line_state *s)
{
    *s = (struct line_state){ .now = { .file = 1, .line = 1 } };
}

/*
 * Handles the end of the row s->now. Returns true if s->last, the row before s->now, covers `address`. Otherwise copies
 * s->now to s->last and returns false.
 */
static bool state_add_row(struct line_state *s, uint64_t address)
{
    bool found = s->has_last && !s->is_dead && s->last.address <= address && address < s->now.address;

    if (!found) {
        s->last = s->now;
        s->has_last = true;
    }
    return found;
}

/* Executes an extended opcode. Returns true if a row covers `address`; s->last is then that row. */
static bool unit_run_extended(struct line_reader *r, const struct line_unit *u, struct line_state *s, uint64_t address)
{
    uint64_t length = reader_uleb(r), next = r->at + length;
    unsigned opcode;

    if (r->failed || !length || length > u->end - r->at) {
        r->failed = true;
        return false;
    }
    opcode = reader_u8(r);
    if (opcode == LNE_END_SEQUENCE) {
        if (state_add_row(s, address))
            return true;
        state_init(s);
    } else if (opcode == LNE_SET_ADDRESS && length == u->address_size + 1) {
        s->now.address = reader_number(r, u->address_size);
        s->is_dead = s->now.address == 0;
    }
    r->at = next;
    return false;
}

/* Executes a standard opcode. Returns true if a row covers `address`; s->last is then that row. */
static bool unit_run_standard(struct line_reader *r, const struct line_unit *u, unsigned opcode, struct line_state *s,
                              uint64_t address)
{
    switch (opcode) {
    case LNS_COPY:
        return state_add_row(s, address);
    case LNS_ADVANCE_PC:
        s->now.address += reader_uleb(r) * u->min_length;
        break;
    case LNS_ADVANCE_LINE:
        s->now.line += (unsigned)reader_sleb(r);
        break;
    case LNS_SET_FILE:
        s->now.file = reader_uleb(r);
        break;
    case LNS_CONST_ADD_PC:
        s->now.address += (255u - u->opcode_base) / u->line_range * (uint64_t)u->min_length;
        break;
    case LNS_FIXED_ADVANCE_PC:
        s->now.address += reader_number(r, 2);
        break;
    default:
        for (unsigned i = 0; i < u->lengths[opcode]; i++)
            (void)reader_uleb(r);
    }
    return false;
}

/*
 * Executes the unit's program until a row covers `address`; s->last is then that row. Returns false if no row covers
 * it.
 */
static bool unit_run(struct line_reader *r, const struct line_unit *u, uint64_t address, struct line_state *s)
{
    bool found = false;

    state_init(s);
    r->at = u->program;
    while (!found && !r->failed && r->at < u->end) {
        unsigned opcode = reader_u8(r), advance;

        if (opcode >= u->opcode_base) {
            advance = opcode - u->opcode_base;
            s->now.address += (uint64_t)(advance / u->line_range) * u->min_length;
            s->now.line += (unsigned)(u->line_base + (int)(advance % u->line_range));
            found = state_add_row(s, address);
        } else if (opcode == 0) {
            found = unit_run_extended(r, u, s, address);
        } else {
            found = unit_run_standard(r, u, opcode, s, address);
        }
    }
    return found;
}

static bool line_find_in(const struct elf_file *file, uint64_t address, struct elf_line *line)
{
    struct line_state state;
    struct line_reader r;
    struct line_unit u;
    elf_section section;

    if (!elf_file_find_section(file, ".debug_line", &section) || section.sh_size > MAX_SECTION)
        return false;
    reader_init(&r, file, section.sh_offset, section.sh_offset + section.sh_size);
    while (r.at < r.end && unit_read(&r, &u)) {
        if (unit_run(&r, &u, address, &state)) {
            line->line = state.last.line;
            return line->line && unit_find_file(&r, &u, state.last.file, line->file);
        }
        if (r.failed)
            return false;
        r.at = u.end;
    }
    return false;
}

bool elf_line_find(const char *path, const void *loaded, uintptr_t address, struct elf_line *line)
{
    struct elf_file file;
    int saved = errno;
    bool found = false;

    if (elf_file_open(&file, path, loaded)) {
        found = line_find_in(&file, address, line);
        elf_file_close(&file);
    }
    errno = saved;
    return found;
}
