/* SPDX-License-Identifier: MIT */
/*
 * Calls drivers' routines when the process begins and exits: see wdm/process.h. The invariant: no call of a routine
 * begins after its removal.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "ntddk.h"

#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/ps/process.h"

enum { MAX_ROUTINES = 64, MAX_TEXT = 4096 };

/* A registered routine. One of the pointers is not NULL, unless the slot is free. */
struct process_routine {
    PCREATE_PROCESS_NOTIFY_ROUTINE plain;
    PCREATE_PROCESS_NOTIFY_ROUTINE_EX extended;
    unsigned running; /* number of calls that have not returned */
    bool removed;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the routines */
static pthread_cond_t returned = PTHREAD_COND_INITIALIZER;
static struct process_routine routines[MAX_ROUTINES];
static pthread_mutex_t change = PTHREAD_MUTEX_INITIALIZER; /* is held while the routines are called; guards has_begun */
static bool has_begun;
static _Thread_local const struct process_routine *current; /* the routine that this thread runs */

/* ---- Registration ------------------------------------------------------------------------------------------------ */

/*
 * Returns the slot of a registered routine. If both pointers are NULL, returns a free slot. Returns NULL if there is no
 * such slot. Requires the lock.
 */
static struct process_routine *process_find(PCREATE_PROCESS_NOTIFY_ROUTINE plain,
                                            PCREATE_PROCESS_NOTIFY_ROUTINE_EX extended)
{
    for (unsigned i = 0; i < MAX_ROUTINES; i++)
        if (routines[i].plain == plain && routines[i].extended == extended && !routines[i].removed)
            return &routines[i];
    return NULL;
}

static NTSTATUS process_add(const char *who, PCREATE_PROCESS_NOTIFY_ROUTINE plain,
                            PCREATE_PROCESS_NOTIFY_ROUTINE_EX extended)
{
    struct process_routine *r = NULL;

    pthread_mutex_lock(&lock);
    if ((plain || extended) && !process_find(plain, extended))
        r = process_find(NULL, NULL);
    if (r) {
        *r = (struct process_routine){ .plain = plain, .extended = extended };
        live_add(LIVE_CALLBACK, r, who);
    }
    pthread_mutex_unlock(&lock);
    return r ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

static NTSTATUS process_remove(const char *who, PCREATE_PROCESS_NOTIFY_ROUTINE plain,
                               PCREATE_PROCESS_NOTIFY_ROUTINE_EX extended)
{
    struct process_routine *r;

    pthread_mutex_lock(&lock);
    r = plain || extended ? process_find(plain, extended) : NULL;
    if (!r || r == current) {
        pthread_mutex_unlock(&lock);
        if (!r)
            return STATUS_PROCEDURE_NOT_FOUND;
        check_failed(CHECK_LOCK_RECURSIVE, who, (uintptr_t)r, 0, 0, 0, "the routine waits for its own return");
        return STATUS_INVALID_PARAMETER;
    }
    r->removed = true;
    while (r->running)
        pthread_cond_wait(&returned, &lock);
    (void)live_remove(LIVE_CALLBACK, r); /* under the lock, so that the slot is not in use again */
    *r = (struct process_routine){ 0 };
    pthread_mutex_unlock(&lock);
    return STATUS_SUCCESS;
}

NTSTATUS PsSetCreateProcessNotifyRoutine(PCREATE_PROCESS_NOTIFY_ROUTINE NotifyRoutine, BOOLEAN Remove)
{
    irql_check_max(__func__, PASSIVE_LEVEL);
    return (Remove ? process_remove : process_add)(__func__, NotifyRoutine, NULL);
}

NTSTATUS PsSetCreateProcessNotifyRoutineEx(PCREATE_PROCESS_NOTIFY_ROUTINE_EX NotifyRoutine, BOOLEAN Remove)
{
    irql_check_max(__func__, PASSIVE_LEVEL);
    return (Remove ? process_remove : process_add)(__func__, NULL, NotifyRoutine);
}

NTSTATUS PsSetCreateProcessNotifyRoutineEx2(PSCREATEPROCESSNOTIFYTYPE NotifyType, PVOID NotifyInformation,
                                            BOOLEAN Remove)
{
    irql_check_max(__func__, PASSIVE_LEVEL);
    if (NotifyType != PsCreateProcessNotifySubsystems)
        return STATUS_INVALID_PARAMETER;
    return (Remove ? process_remove : process_add)(__func__, NULL,
                                                   (PCREATE_PROCESS_NOTIFY_ROUTINE_EX)NotifyInformation);
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

static void process_call(struct process_routine *r, PPS_CREATE_NOTIFY_INFO info)
{
    const struct process_routine *outer = current;
    struct thread_mark mark;

    KeEnterCriticalRegion();
    mark = thread_mark_get();
    current = r;
    if (r->plain)
        r->plain((HANDLE)(intptr_t)getppid(), PsGetCurrentProcessId(), info != NULL);
    else
        r->extended(PsGetCurrentProcess(), PsGetCurrentProcessId(), info);
    current = outer;
    thread_mark_check(&mark, "process notification",
                      r->plain ? (const void *)(uintptr_t)r->plain : (const void *)(uintptr_t)r->extended);
    KeLeaveCriticalRegion();
}

/* Calls all routines, until one sets a failure in *info. */
static void process_call_all(PPS_CREATE_NOTIFY_INFO info)
{
    for (unsigned i = 0; i < MAX_ROUTINES && (!info || NT_SUCCESS(info->CreationStatus)); i++) {
        struct process_routine *r = &routines[i];
        bool is_used;

        pthread_mutex_lock(&lock);
        is_used = (r->plain || r->extended) && !r->removed;
        r->running += is_used;
        pthread_mutex_unlock(&lock);
        if (!is_used)
            continue;
        process_call(r, info);
        pthread_mutex_lock(&lock);
        if (--r->running == 0)
            pthread_cond_broadcast(&returned);
        pthread_mutex_unlock(&lock);
    }
}

/* Writes `prefix` and the bytes as characters. Writes a question mark for each byte that is not ASCII. */
static UNICODE_STRING process_widen(WCHAR wide[MAX_TEXT], const char *bytes, size_t length, PCWSTR prefix)
{
    USHORT n = 0;

    while (*prefix)
        wide[n++] = *prefix++;
    for (size_t i = 0; i < length && n < MAX_TEXT; i++)
        wide[n++] = (UCHAR)bytes[i] < 0x80 ? (WCHAR)bytes[i] : '?';
    return (UNICODE_STRING){ (USHORT)(n * sizeof(WCHAR)), (USHORT)(n * sizeof(WCHAR)), wide };
}

static UNICODE_STRING process_image(WCHAR wide[MAX_TEXT])
{
    char path[MAX_TEXT];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path);

    for (ssize_t i = 0; i < length; i++)
        if (path[i] == '/')
            path[i] = '\\';
    return process_widen(wide, path, length > 0 ? (size_t)length : 0, L"\\??\\C:");
}

static UNICODE_STRING process_command_line(WCHAR wide[MAX_TEXT])
{
    FILE *f = fopen("/proc/self/cmdline", "re");
    char words[MAX_TEXT];
    size_t length = f ? fread(words, 1, sizeof words, f) : 0;

    if (f)
        fclose(f);
    if (length && !words[length - 1])
        length--;
    for (size_t i = 0; i < length; i++)
        if (!words[i])
            words[i] = ' ';
    return process_widen(wide, words, length, L"");
}

NTSTATUS process_begin(void)
{
    WCHAR image_text[MAX_TEXT], command_text[MAX_TEXT];
    UNICODE_STRING image, command;
    PS_CREATE_NOTIFY_INFO info = { .Size = sizeof info, .FileOpenNameAvailable = 1 };

    if (current) /* this thread runs a routine, which opens a device, and it already holds `change` */
        return STATUS_SUCCESS;
    pthread_mutex_lock(&change);
    if (!has_begun) {
        image = process_image(image_text);
        command = process_command_line(command_text);
        info.ParentProcessId = (HANDLE)(intptr_t)getppid();
        info.CreatingThreadId = (CLIENT_ID){ info.ParentProcessId, info.ParentProcessId };
        info.ImageFileName = &image;
        info.CommandLine = &command;
        process_call_all(&info);
        has_begun = NT_SUCCESS(info.CreationStatus);
        if (!has_begun)
            process_call_all(NULL);
    }
    pthread_mutex_unlock(&change);
    return info.CreationStatus;
}

void process_exit(void)
{
    pthread_mutex_lock(&change);
    if (has_begun)
        process_call_all(NULL);
    has_begun = false;
    pthread_mutex_unlock(&change);
}
