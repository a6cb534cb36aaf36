/* SPDX-License-Identifier: MIT */
/*
 * Names of this program's static functions, and their lines, from its own file, from files that are not the loaded one,
 * and from damaged files.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "verify/elf_file.h"
#include "verify/elf_line.h"
#include "verify/elf_symbol.h"
#include "verify/reported.h"

enum { MAX_CHANGED = 6000 };

static char copy[32]; /* the name of a file */

static NOINLINE void a_function_that_is_not_exported(void)
{
    break_rule(BARE, "NdkSend");
    __asm__ volatile(""); /* something after the call, so that it is no jump */
}

struct place {
    const void *loaded;
    uintptr_t address;
};

static struct place place_of(const void *at)
{
    struct link_map *map = NULL;
    Dl_info info;

    assert_true(dladdr1(at, &info, (void **)&map, RTLD_DL_LINKMAP) != 0);
    return (struct place){ info.dli_fbase, (uintptr_t)at - map->l_addr };
}

static const void *address_of_function(void)
{
    void (*function)(void) = a_function_that_is_not_exported;
    const void *at;

    memcpy(&at, &function, sizeof at);
    return at;
}

static void test_own_file(void **state)
{
    struct place p = place_of(address_of_function());
    struct elf_symbol symbol;

    (void)state;
    assert_true(elf_symbol_find("/proc/self/exe", p.loaded, p.address + 1, &symbol));
    assert_string_equal(symbol.name, "a_function_that_is_not_exported");
    assert_int_equal(symbol.offset, 1);
    assert_false(elf_symbol_find("/proc/self/exe", p.loaded, 1, &symbol)); /* in the header */
    assert_false(elf_symbol_find("/nobody", p.loaded, p.address, &symbol));
    assert_false(elf_symbol_find("/dev/null", p.loaded, p.address, &symbol));
    assert_false(elf_symbol_find("/", p.loaded, p.address, &symbol));
}

static NOINLINE const void *return_address(void)
{
    return __builtin_return_address(0);
}

static void test_own_line(void **state)
{
    unsigned line = __LINE__ + 1;
    const void *at = return_address();
    struct place p = place_of(at);
    struct elf_line found;

    (void)state;
    assert_true(elf_line_find("/proc/self/exe", p.loaded, p.address - 1, &found));
    assert_string_equal(found.file, "elf_test.c");
    assert_int_equal(found.line, line);
    assert_false(elf_line_find("/proc/self/exe", p.loaded, 1, &found));
    assert_false(elf_line_find("/nobody", p.loaded, p.address - 1, &found));
}

static char *read_own_file(size_t *size)
{
    FILE *file = fopen("/proc/self/exe", "r");
    char *content;

    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    content = malloc(*size);
    assert_non_null(content);
    assert_int_equal(fread(content, 1, *size, file), *size);
    fclose(file);
    return content;
}

static bool is_found_in_copy(const char *content, size_t size)
{
    struct place p = place_of(address_of_function());
    struct elf_symbol symbol;
    FILE *file = fopen(copy, "w");
    bool found;

    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    found = elf_symbol_find(copy, p.loaded, p.address, &symbol);
    assert_int_equal(remove(copy), 0);
    return found;
}

/*
 * The copy is another build if its first page differs. A copy that is cut off, or has no symbol table, gives no names.
 */
static void test_other_files(void **state)
{
    size_t size;
    char *content = read_own_file(&size);
    ElfW(Ehdr) header;
    ElfW(Shdr) section;

    (void)state;
    memcpy(&header, content, sizeof header);
    assert_true(is_found_in_copy(content, size));
    assert_false(is_found_in_copy(content, sizeof header));
    assert_false(is_found_in_copy(content, size / 2));
    content[sizeof header + header.e_phnum * sizeof(ElfW(Phdr)) + 8] ^= 1;
    assert_false(is_found_in_copy(content, size));
    content[sizeof header + header.e_phnum * sizeof(ElfW(Phdr)) + 8] ^= 1;
    for (unsigned i = 0; i < header.e_shnum; i++) {
        char *at = content + header.e_shoff + i * sizeof section;

        memcpy(&section, at, sizeof section);
        section.sh_type = section.sh_type == SHT_SYMTAB ? SHT_PROGBITS : section.sh_type;
        memcpy(at, &section, sizeof section);
    }
    assert_false(is_found_in_copy(content, size));
    free(content);
}

/* A symbol table with wrong numbers is read without a fault. Every byte of its section's header is changed. */
static void test_wrong_tables(void **state)
{
    size_t size;
    char *content = read_own_file(&size);
    ElfW(Ehdr) header;
    ElfW(Shdr) section = { 0 };
    size_t at;

    (void)state;
    memcpy(&header, content, sizeof header);
    for (at = header.e_shoff; section.sh_type != SHT_SYMTAB; at += sizeof section)
        memcpy(&section, content + at, sizeof section);
    at -= sizeof section;
    for (size_t i = at; i < at + sizeof section; i++) {
        char before = content[i];

        content[i] = (char)0xff;
        (void)is_found_in_copy(content, size);
        content[i] = before;
    }
    free(content);
}

static void write_byte(FILE *file, size_t at, char byte)
{
    assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
    assert_int_equal(fwrite(&byte, 1, 1, file), 1);
    assert_int_equal(fflush(file), 0);
}

/* Changes bytes of the debug information in a copy, one after another. A search then ends without a fault. */
static void test_wrong_lines(void **state)
{
    struct place p = place_of(address_of_function());
    elf_section lines;
    struct elf_file file;
    struct elf_line line;
    size_t size;
    char *content = read_own_file(&size);
    FILE *damaged;

    (void)state;
    assert_true(elf_file_open(&file, "/proc/self/exe", p.loaded));
    assert_true(elf_file_find_section(&file, ".debug_line", &lines));
    elf_file_close(&file);
    damaged = fopen(copy, "w+");
    assert_non_null(damaged);
    assert_int_equal(fwrite(content, 1, size, damaged), size);
    for (size_t i = 0; i < lines.sh_size && i < MAX_CHANGED; i++) {
        size_t at = lines.sh_offset + i;

        write_byte(damaged, at, i % 2 ? '\xff' : (char)(content[at] ^ 1));
        (void)elf_line_find(copy, p.loaded, p.address, &line);
        write_byte(damaged, at, content[at]);
    }
    assert_true(elf_line_find(copy, p.loaded, p.address, &line));
    fclose(damaged);
    assert_int_equal(remove(copy), 0);
    free(content);
}

static void test_report(void **state)
{
    (void)state;
    a_function_that_is_not_exported();
    assert_int_equal(occurrences("    #0 a_function_that_is_not_exported+0x"), 1);
    assert_int_equal(occurrences("    #1 test_report+0x"), 1);
    assert_true(occurrences(" at elf_test.c:") >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_file), cmocka_unit_test(test_other_files), cmocka_unit_test(test_wrong_tables),
        cmocka_unit_test(test_own_line), cmocka_unit_test(test_wrong_lines), REPORT_TEST(test_report),
    };

    snprintf(copy, sizeof copy, "elf_%d", (int)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
