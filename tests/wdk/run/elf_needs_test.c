/* SPDX-License-Identifier: MIT */
/* In which directories ndkrun searches for a sanitizer runtime (tools/ndkrun/elf_needs.h). Each test writes a file. */
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "elf_needs.h"

#define RUNTIME "libasan.so.9"

/* The strings: an empty one, the needed library, and the run path. */
struct object {
    Elf64_Ehdr header;
    Elf64_Phdr segments[2];
    Elf64_Dyn dynamic[4];
    char empty, needed[sizeof RUNTIME], run_path[256];
};

static char folder[] = "/tmp/elf_needs_test.XXXXXX";
static char name[300];

static void create_file(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, size), (ssize_t)size);
    close(fd);
}

/* Writes the object file driver.so. If `run_path` is NULL, the object has none. */
static void create_object(const char *run_path)
{
    struct object o = {
        .header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64 },
                    .e_phoff = offsetof(struct object, segments),
                    .e_phnum = 2 },
        .segments = { { .p_type = PT_LOAD, .p_vaddr = 0x1000, .p_filesz = sizeof o },
                      { .p_type = PT_DYNAMIC,
                        .p_offset = offsetof(struct object, dynamic),
                        .p_filesz = sizeof o.dynamic } },
        .dynamic = { { .d_tag = DT_STRTAB, .d_un.d_ptr = 0x1000 + offsetof(struct object, empty) },
                     { .d_tag = DT_NEEDED, .d_un.d_val = 1 },
                     { .d_tag = run_path ? DT_RUNPATH : DT_NULL, .d_un.d_val = 1 + sizeof RUNTIME } },
        .needed = RUNTIME,
    };

    if (run_path)
        snprintf(o.run_path, sizeof o.run_path, "%s", run_path);
    create_file("driver.so", &o, sizeof o);
}

static const char *find(const char *path)
{
    assert_true(elf_needs(path, "libasan.so", name, sizeof name));
    return name;
}

static void test_no_directory(void **state)
{
    (void)state;
    create_object(NULL);
    assert_string_equal(find("./driver.so"), RUNTIME);
    create_object("");
    assert_string_equal(find("./driver.so"), RUNTIME); /* although the current directory has such a file */
    create_object("nowhere:also/nowhere");
    assert_string_equal(find("./driver.so"), RUNTIME);
    assert_false(elf_needs("./driver.so", "libtsan.so", name, sizeof name));
}

static void test_several_directories(void **state)
{
    (void)state;
    create_object("one");
    assert_string_equal(find("./driver.so"), "one/" RUNTIME);
    create_object("nowhere:two:one");
    assert_string_equal(find("./driver.so"), "two/" RUNTIME);
    create_object("nowhere:one:");
    assert_string_equal(find("./driver.so"), "one/" RUNTIME);
}

/* An empty directory is the current one. */
static void test_empty_directories(void **state)
{
    static const char *const run_paths[] = { ":one", "nowhere:", "nowhere::one", ":" };

    (void)state;
    for (size_t i = 0; i < sizeof run_paths / sizeof run_paths[0]; i++) {
        create_object(run_paths[i]);
        assert_string_equal(find("./driver.so"), "./" RUNTIME);
    }
}

static void test_origin(void **state)
{
    char path[300], wanted[400];

    (void)state;
    create_object("nowhere:$ORIGIN/two");
    assert_string_equal(find("driver.so"), "./two/" RUNTIME);
    assert_string_equal(find("one/../driver.so"), "one/../two/" RUNTIME);
    snprintf(path, sizeof path, "%s/driver.so", folder);
    snprintf(wanted, sizeof wanted, "%s/two/" RUNTIME, folder);
    assert_string_equal(find(path), wanted);
    create_object("${ORIGIN}/two:one");
    assert_string_equal(find(path), wanted);
    create_object("${ORIGIN:$ORIGI:one");
    assert_string_equal(find(path), "one/" RUNTIME);
    create_object("$ORIGIN");
    assert_string_equal(find("./driver.so"), "./" RUNTIME);
}

/* A path that does not fit is skipped. */
static void test_room(void **state)
{
    char small[sizeof "one/" RUNTIME];

    (void)state;
    create_object("$ORIGIN/one/../two:one");
    assert_true(elf_needs("./driver.so", "libasan.so", small, sizeof small));
    assert_string_equal(small, "one/" RUNTIME);
    assert_true(elf_needs("./driver.so", "libasan.so", small, sizeof small - 1));
    assert_string_equal(small, RUNTIME);
    assert_false(elf_needs("./driver.so", "libasan.so", small, sizeof RUNTIME - 1));
}

static int create_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) || mkdir("one", 0700) || mkdir("two", 0700))
        return -1;
    create_file(RUNTIME, "", 0);
    create_file("one/" RUNTIME, "", 0);
    create_file("two/" RUNTIME, "", 0);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return unlink("driver.so") || unlink("one/" RUNTIME) || unlink("two/" RUNTIME) || unlink(RUNTIME) || rmdir("one") ||
           rmdir("two") || rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_directory),
        cmocka_unit_test(test_several_directories),
        cmocka_unit_test(test_empty_directories),
        cmocka_unit_test(test_origin),
        cmocka_unit_test(test_room),
    };

    return cmocka_run_group_tests(tests, create_folder, remove_folder);
}
