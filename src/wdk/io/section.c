/* SPDX-License-Identifier: MIT */
/*
 * Creates and opens sections: see wdm/section.h. The memory of a section is a file of the host, which may have no name.
 * The invariant: a section has its name only while a handle to it is open.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wdm.h"

#include "wdk/io/device.h"
#include "wdk/io/file.h"
#include "wdk/io/section.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/handle.h"
#include "wdk/ob/name.h"
#include "wdk/ob/object.h"

static const uint64_t MAX_SECTION = 1ULL << 46;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;       /* guards `handles` and the names of all sections */
static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER; /* guards `file_sections` and the sizes of their files */
static struct section *file_sections;                          /* the sections of files */

static void section_remove_file(struct section *s)
{
    struct section **at = &file_sections;

    pthread_mutex_lock(&files_lock);
    while (*at && *at != s)
        at = &(*at)->next;
    if (*at)
        *at = s->next;
    pthread_mutex_unlock(&files_lock);
}

static void section_destroy(void *object)
{
    struct section *s = object;

    if (s->file) {
        section_remove_file(s);
        ob_unref(s->file);
    } else if (s->descriptor >= 0) {
        close(s->descriptor);
    }
}

static void section_on_close(void *object, bool was_last_handle)
{
    struct section *s = object;

    UNREFERENCED_PARAMETER(was_last_handle); /* unlike `handles`, it ignores handles that are being opened */
    pthread_mutex_lock(&lock);
    if (--s->handles == 0)
        name_remove_object(s);
    pthread_mutex_unlock(&lock);
}

static struct _OBJECT_TYPE section_type = { .name = "section", .destroy = section_destroy, .closed = section_on_close };
static struct _OBJECT_TYPE *section_type_pointer = &section_type;
struct _OBJECT_TYPE **MmSectionObjectType = &section_type_pointer;

ULONG section_protection(ULONG protection)
{
    ULONG plain = protection & ~(ULONG)(PAGE_NOCACHE | PAGE_WRITECOMBINE);
    bool is_single = plain && !(plain & (plain - 1));

    return is_single && plain >= PAGE_READONLY && plain <= PAGE_EXECUTE_WRITECOPY ? plain : 0;
}

/* ---- The memory -------------------------------------------------------------------------------------------------- */

static NTSTATUS section_create_memory(struct section *s, int64_t size)
{
    if (size == 0)
        return STATUS_INVALID_PARAMETER_4;
    s->size = ROUND_TO_PAGES(size);
    s->descriptor = memfd_create("section", MFD_CLOEXEC);
    if (s->descriptor < 0 || ftruncate(s->descriptor, (off_t)s->size))
        return STATUS_INSUFFICIENT_RESOURCES;
    return STATUS_SUCCESS;
}

/*
 * Sets the size of a section that is backed by a file. A `size` of 0 means the size of the file. Extends the file if it
 * is shorter than the section. Adds the section to `file_sections`. Requires files_lock.
 */
static NTSTATUS section_size_file(struct section *s, int64_t size)
{
    bool can_write = s->protection & (PAGE_READWRITE | PAGE_EXECUTE_READWRITE);
    struct stat st;

    if (fstat(s->descriptor, &st) || !S_ISREG(st.st_mode))
        return STATUS_INVALID_FILE_FOR_SECTION;
    if (!s->file->ReadAccess || (can_write && !s->file->WriteAccess))
        return STATUS_ACCESS_DENIED;
    if (!size && !st.st_size)
        return STATUS_MAPPED_FILE_SIZE_ZERO;
    if (size > st.st_size && !can_write)
        return STATUS_SECTION_TOO_BIG;
    if (size > st.st_size && ftruncate(s->descriptor, size))
        return file_status_from_errno(errno);
    s->size = (uint64_t)(size ? size : st.st_size);
    s->device = st.st_dev;
    s->inode = st.st_ino;
    s->next = file_sections;
    file_sections = s;
    return STATUS_SUCCESS;
}

static NTSTATUS section_create_file(struct section *s, HANDLE file, int64_t size)
{
    NTSTATUS status;

    s->file = file_lookup("ZwCreateSection", file, &status);
    if (!s->file)
        return status;
    if (s->file->DeviceObject)
        return STATUS_INVALID_FILE_FOR_SECTION;
    s->descriptor = file_object_descriptor(s->file);
    pthread_mutex_lock(&files_lock);
    status = section_size_file(s, size);
    pthread_mutex_unlock(&files_lock);
    return status;
}

/* Returns true if a section of the file exists. Requires files_lock. */
static bool section_has_file(const struct stat *st)
{
    const struct section *s = file_sections;

    while (s && (s->device != st->st_dev || s->inode != st->st_ino))
        s = s->next;
    return s != NULL;
}

NTSTATUS section_set_file_size(int descriptor, int64_t size)
{
    NTSTATUS status = STATUS_SUCCESS;
    struct stat st;

    pthread_mutex_lock(&files_lock);
    if (fstat(descriptor, &st))
        status = file_status_from_errno(errno);
    else if (size < st.st_size && section_has_file(&st))
        status = STATUS_USER_MAPPED_FILE;
    else if (ftruncate(descriptor, size))
        status = file_status_from_errno(errno);
    pthread_mutex_unlock(&files_lock);
    return status;
}

/* Returns a section without a name and with one handle counted. On failure returns NULL and sets *status. */
static struct section *section_new(const LARGE_INTEGER *size, ULONG protection, HANDLE file, NTSTATUS *status)
{
    int64_t bytes = size ? size->QuadPart : 0;
    struct section *s = ob_new(&section_type, sizeof *s);

    *status = STATUS_INSUFFICIENT_RESOURCES;
    if (!s)
        return NULL;
    s->descriptor = -1;
    s->protection = section_protection(protection);
    s->handles = 1;
    if (bytes < 0 || (uint64_t)bytes > MAX_SECTION)
        *status = STATUS_SECTION_TOO_BIG;
    else
        *status = file ? section_create_file(s, file, bytes) : section_create_memory(s, bytes);
    if (!*status)
        return s;
    ob_unref(s);
    return NULL;
}

/* ---- Names and handles ------------------------------------------------------------------------------------------- */

/*
 * Opens a handle, which the section's `handles` already counts, and which takes over the caller's reference. On failure
 * drops the reference and the count.
 */
static NTSTATUS section_open_handle(struct section *s, PHANDLE handle)
{
    NTSTATUS status = handle_open(s, handle);

    if (status) {
        section_on_close(s, false);
        ob_unref(s);
    }
    return status;
}

/*
 * Finds the section, counts a handle, and returns a reference. On failure returns NULL and sets *status. Requires the
 * lock.
 */
static struct section *section_find(PCUNICODE_STRING name, NTSTATUS *status)
{
    UNICODE_STRING rest = { 0 };
    struct section *s = name_find(name, &rest, status);

    free(rest.Buffer);
    if (!s)
        return NULL;
    if (!rest.Length && ob_type(s) == &section_type) {
        s->handles++;
        return s;
    }
    *status = rest.Length ? STATUS_OBJECT_NAME_NOT_FOUND : STATUS_OBJECT_TYPE_MISMATCH;
    ob_unref(s);
    return NULL;
}

static NTSTATUS section_open_named(PCUNICODE_STRING name, PHANDLE handle)
{
    struct section *s;
    NTSTATUS status;

    pthread_mutex_lock(&lock);
    s = section_find(name, &status);
    pthread_mutex_unlock(&lock);
    return s ? section_open_handle(s, handle) : status;
}

/*
 * Gives the new section *s its name. If a section has this name already and `open_existing` is true, replaces *s by
 * that section, increments its number of handles, and returns STATUS_OBJECT_NAME_EXISTS.
 */
static NTSTATUS section_add_name(struct section **s, PCUNICODE_STRING name, bool open_existing)
{
    struct section *existing = NULL;
    NTSTATUS status;

    pthread_mutex_lock(&lock);
    status = name_add_object(name, *s);
    if (status == STATUS_OBJECT_NAME_COLLISION && open_existing)
        existing = section_find(name, &status);
    pthread_mutex_unlock(&lock);
    if (!existing)
        return status;
    ob_unref(*s);
    *s = existing;
    return STATUS_OBJECT_NAME_EXISTS;
}

/* Checks the attributes. Sets *name to the name in them, or to NULL if they have none. */
static NTSTATUS section_check_attributes(const OBJECT_ATTRIBUTES *attributes, PCUNICODE_STRING *name)
{
    *name = NULL;
    if (!attributes)
        return STATUS_SUCCESS;
    if (attributes->Length != sizeof *attributes || attributes->RootDirectory)
        return STATUS_INVALID_PARAMETER;
    *name = attributes->ObjectName;
    return *name && (!(*name)->Length || (*name)->Buffer[0] != '\\') ? STATUS_OBJECT_PATH_SYNTAX_BAD : STATUS_SUCCESS;
}

static NTSTATUS section_check_flags(ULONG protection, ULONG flags)
{
    const ULONG known = SEC_FILE | SEC_IMAGE | SEC_RESERVE | SEC_COMMIT | SEC_NOCACHE | SEC_WRITECOMBINE |
                        SEC_LARGE_PAGES;
    ULONG kind = flags & (SEC_IMAGE | SEC_RESERVE | SEC_COMMIT);

    if (flags & ~known || !kind || kind & (kind - 1))
        return STATUS_INVALID_PARAMETER_6;
    if (section_protection(protection) != protection || !protection)
        return STATUS_INVALID_PAGE_PROTECTION;
    return flags & SEC_IMAGE ? STATUS_NOT_SUPPORTED : STATUS_SUCCESS;
}

NTSTATUS ZwCreateSection(PHANDLE SectionHandle, ACCESS_MASK DesiredAccess, POBJECT_ATTRIBUTES ObjectAttributes,
                         PLARGE_INTEGER MaximumSize, ULONG SectionPageProtection, ULONG AllocationAttributes,
                         HANDLE FileHandle)
{
    PCUNICODE_STRING name;
    struct section *s = NULL;
    NTSTATUS status = section_check_attributes(ObjectAttributes, &name), opened;

    UNREFERENCED_PARAMETER(DesiredAccess);
    irql_check_max("ZwCreateSection", PASSIVE_LEVEL);
    *SectionHandle = NULL;
    if (!status)
        status = section_check_flags(SectionPageProtection, AllocationAttributes);
    if (!status)
        s = section_new(MaximumSize, SectionPageProtection, FileHandle, &status);
    if (status)
        return status;
    if (name)
        status = section_add_name(&s, name, ObjectAttributes->Attributes & OBJ_OPENIF);
    if (!NT_SUCCESS(status)) {
        ob_unref(s);
        return status;
    }
    opened = section_open_handle(s, SectionHandle);
    return opened ? opened : status;
}

NTSTATUS ZwOpenSection(PHANDLE SectionHandle, ACCESS_MASK DesiredAccess, POBJECT_ATTRIBUTES ObjectAttributes)
{
    PCUNICODE_STRING name;
    NTSTATUS status = section_check_attributes(ObjectAttributes, &name);

    UNREFERENCED_PARAMETER(DesiredAccess);
    irql_check_max("ZwOpenSection", PASSIVE_LEVEL);
    *SectionHandle = NULL;
    if (status)
        return status;
    return name ? section_open_named(name, SectionHandle) : STATUS_OBJECT_PATH_SYNTAX_BAD;
}

/* ---- Names of user mode ------------------------------------------------------------------------------------------ */

__typeof__(ZwCreateSection) NtCreateSection __attribute__((alias("ZwCreateSection")));
__typeof__(ZwOpenSection) NtOpenSection __attribute__((alias("ZwOpenSection")));
