/* SPDX-License-Identifier: MIT */
/*
 * Deletes and renames files of the host. /proc returns the present path of a file's descriptor. The path must lie below
 * the directory that ondk_wdk_set_file_root has set, and must still lead to the descriptor's file.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ntifs.h"

#include "wdk/common/text.h"
#include "wdk/io/device.h"
#include "wdk/io/file.h"
#include "wdk/ob/object.h"

/* An entry of a directory. */
struct entry {
    int directory; /* the directory's descriptor */
    char *name;
};

static void entry_close(struct entry *e)
{
    if (e->directory >= 0)
        close(e->directory);
    free(e->name);
}

char *file_descriptor_path(int descriptor)
{
    char link[64], path[PATH_MAX];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    n = readlink(link, path, sizeof path);
    return n > 0 && n < (ssize_t)sizeof path ? strndup(path, (size_t)n) : NULL;
}

/*
 * Opens the directory of a path, for example C/a for the path C/a/b. The path is relative to the directory that
 * ondk_wdk_set_file_root has set. Fails for a drive, for example C, because drives must not be deleted or renamed.
 */
static NTSTATUS entry_open(const char *path, struct entry *e)
{
    const char *slash = strrchr(path, '/');
    char *directory;

    if (!slash || !slash[1])
        return STATUS_ACCESS_DENIED;
    directory = strndup(path, (size_t)(slash - path));
    e->name = strdup(slash + 1);
    if (directory && e->name)
        e->directory = file_open_beneath(-1, directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(directory);
    if (e->directory >= 0)
        return STATUS_SUCCESS;
    return errno == ENOENT ? STATUS_OBJECT_PATH_NOT_FOUND : file_status_from_errno(errno);
}

/* Opens the directory of the file. Fails if the file has no name any more. */
static NTSTATUS entry_of_file(PFILE_OBJECT file, struct entry *e)
{
    int descriptor = file_object_descriptor(file);
    char *path = file_descriptor_path(descriptor), *root = file_root_path();
    size_t length = root ? strlen(root) : 0;
    NTSTATUS status = STATUS_ACCESS_DENIED;
    struct stat st, named;

    *e = (struct entry){ -1, NULL };
    if (length == 1) /* `root` is the directory / */
        length = 0;
    if (path && root && !strncmp(path, root, length) && path[length] == '/')
        status = entry_open(path + length + 1, e);
    if (NT_SUCCESS(status) && (fstat(descriptor, &st) || fstatat(e->directory, e->name, &named, AT_SYMLINK_NOFOLLOW) ||
                               st.st_dev != named.st_dev || st.st_ino != named.st_ino))
        status = STATUS_OBJECT_NAME_NOT_FOUND;
    if (!NT_SUCCESS(status)) {
        entry_close(e);
        *e = (struct entry){ -1, NULL };
    }
    free(path);
    free(root);
    return status;
}

/* ---- Deletion ---------------------------------------------------------------------------------------------------- */

static bool directory_is_empty(int descriptor)
{
    int again = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again < 0 ? NULL : fdopendir(again);
    int entries = 0;

    if (!d) {
        if (again >= 0)
            close(again);
        return false;
    }
    while (entries < 3 && readdir(d))
        entries++;
    closedir(d);
    return entries < 3; /* an empty directory has the entries "." and ".." */
}

NTSTATUS file_check_delete(PFILE_OBJECT file)
{
    struct stat st;
    struct entry e;
    NTSTATUS status = entry_of_file(file, &e);

    entry_close(&e);
    if (!NT_SUCCESS(status) || fstat(file_object_descriptor(file), &st))
        return STATUS_CANNOT_DELETE;
    if (S_ISDIR(st.st_mode))
        return directory_is_empty(file_object_descriptor(file)) ? STATUS_SUCCESS : STATUS_DIRECTORY_NOT_EMPTY;
    return st.st_mode & S_IWUSR ? STATUS_SUCCESS : STATUS_CANNOT_DELETE;
}

void file_delete(PFILE_OBJECT file)
{
    struct stat st;
    struct entry e;

    if (NT_SUCCESS(entry_of_file(file, &e)) && !fstat(file_object_descriptor(file), &st))
        (void)unlinkat(e.directory, e.name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0);
    entry_close(&e);
}

/* ---- Renaming ---------------------------------------------------------------------------------------------------- */

/* Returns the name as the host's text, which the caller frees. Returns NULL if the name contains a directory. */
static char *file_simple_name(PCUNICODE_STRING name)
{
    size_t units = name->Length / sizeof(WCHAR);
    char *text = text_length(name->Buffer, sizeof(WCHAR), units) < units ? NULL : text_narrow_copy(name->Buffer, units);

    if (text && (!*text || strpbrk(text, "/\\") || !strcmp(text, ".") || !strcmp(text, ".."))) {
        free(text);
        return NULL;
    }
    return text;
}

static NTSTATUS entry_of_full_name(PCUNICODE_STRING name, struct entry *e)
{
    char *path = file_host_name(name);
    NTSTATUS status = path ? entry_open(path, e) : STATUS_OBJECT_NAME_INVALID;

    free(path);
    return status;
}

/* Finds the entry for a new name: in the directory `in` if it is not NULL, else beside `from`. */
static NTSTATUS entry_of_simple_name(PCUNICODE_STRING name, PFILE_OBJECT in, const struct entry *from, struct entry *e)
{
    e->name = file_simple_name(name);
    if (!e->name)
        return STATUS_OBJECT_NAME_INVALID;
    e->directory = in ? openat(file_object_descriptor(in), ".", O_PATH | O_DIRECTORY | O_CLOEXEC)
                      : fcntl(from->directory, F_DUPFD_CLOEXEC, 0);
    return e->directory < 0 ? STATUS_OBJECT_PATH_NOT_FOUND : STATUS_SUCCESS;
}

static NTSTATUS entry_find_new(const FILE_RENAME_INFORMATION *to, const struct entry *from, struct entry *e)
{
    UNICODE_STRING name = { (USHORT)to->FileNameLength, (USHORT)to->FileNameLength, (PWCH)(uintptr_t)to->FileName };
    PFILE_OBJECT in = NULL;
    NTSTATUS status;

    if (to->RootDirectory) {
        in = file_lookup("ZwSetInformationFile", to->RootDirectory, &status);
        if (!in)
            return status;
    }
    if (!in && name.Length && name.Buffer[0] == '\\')
        status = entry_of_full_name(&name, e);
    else
        status = in && in->DeviceObject ? STATUS_INVALID_PARAMETER : entry_of_simple_name(&name, in, from, e);
    if (in)
        ob_unref(in);
    return status;
}

static NTSTATUS entry_rename(const struct entry *from, const struct entry *to, bool replace)
{
    struct stat st;

    if (replace && !fstatat(to->directory, to->name, &st, AT_SYMLINK_NOFOLLOW) &&
        (S_ISDIR(st.st_mode) || !(st.st_mode & S_IWUSR)))
        return STATUS_ACCESS_DENIED;
    if (!renameat2(from->directory, from->name, to->directory, to->name, replace ? 0 : RENAME_NOREPLACE))
        return STATUS_SUCCESS;
    return errno == EXDEV ? STATUS_NOT_SAME_DEVICE : file_status_from_errno(errno);
}

NTSTATUS file_rename(PFILE_OBJECT file, const FILE_RENAME_INFORMATION *to, ULONG length)
{
    struct entry from, new = { -1, NULL };
    NTSTATUS status;

    if (to->FileNameLength > length - offsetof(FILE_RENAME_INFORMATION, FileName) || to->FileNameLength > MAXUSHORT ||
        to->FileNameLength % sizeof(WCHAR))
        return STATUS_INVALID_PARAMETER;
    status = entry_of_file(file, &from);
    if (NT_SUCCESS(status))
        status = entry_find_new(to, &from, &new);
    if (NT_SUCCESS(status))
        status = entry_rename(&from, &new, to->ReplaceIfExists);
    entry_close(&from);
    entry_close(&new);
    return status;
}
