/* SPDX-License-Identifier: MIT */
/*
 * Implements subjects and privileges: see wdm/security.h. There is one account, so each subject has all privileges.
 * The checks here find subjects that are not released, and locks that are not matched.
 */
#include "wdm.h"

#include "wdk/common/live.h"
#include "wdk/ke/lock.h"
#include "wdk/ke/thread.h"
#include "wdk/se/subject.h"
#include "wdk/se/token.h"

static const struct lock_kind subject_lock = { .name = "SECURITY_SUBJECT_CONTEXT" };

static void subject_capture(const char *routine, PSECURITY_SUBJECT_CONTEXT subject)
{
    irql_check_max(routine, PASSIVE_LEVEL);
    if (check_on() && live_has(LIVE_REFERENCE, subject))
        check_failed(CHECK_REFERENCE, routine, 0, (uintptr_t)subject, 0, 0,
                     "the subject context %p was captured before, and was not released", (void *)subject);
    *subject = (SECURITY_SUBJECT_CONTEXT){ .PrimaryToken = token_system() };
    live_add(LIVE_REFERENCE, subject, "SECURITY_SUBJECT_CONTEXT");
}

bool subject_check(const char *routine, PSECURITY_SUBJECT_CONTEXT subject)
{
    irql_check_max(routine, PASSIVE_LEVEL);
    if (!check_on() || live_has(LIVE_REFERENCE, subject))
        return true;
    check_failed(CHECK_REFERENCE, routine, 0, (uintptr_t)subject, 0, 0, "the subject context %p is not captured",
                 (void *)subject);
    return false;
}

VOID SeCaptureSubjectContext(PSECURITY_SUBJECT_CONTEXT SubjectContext)
{
    subject_capture("SeCaptureSubjectContext", SubjectContext);
}

VOID SeCaptureSubjectContextEx(PETHREAD Thread, PEPROCESS Process, PSECURITY_SUBJECT_CONTEXT SubjectContext)
{
    UNREFERENCED_PARAMETER(Thread);
    UNREFERENCED_PARAMETER(Process);
    subject_capture("SeCaptureSubjectContextEx", SubjectContext);
}

/*
 * Nothing changes the system's token, so the lock excludes nobody. As on Windows, the thread is in a critical region
 * until the unlock.
 */
VOID SeLockSubjectContext(PSECURITY_SUBJECT_CONTEXT SubjectContext)
{
    (void)subject_check("SeLockSubjectContext", SubjectContext);
    thread_self()->critical++;
    if (check_on())
        thread_add_lock(SubjectContext, &subject_lock, __builtin_return_address(0));
}

VOID SeUnlockSubjectContext(PSECURITY_SUBJECT_CONTEXT SubjectContext)
{
    (void)subject_check("SeUnlockSubjectContext", SubjectContext);
    if (check_on() && !thread_may_have_lock(SubjectContext)) {
        lock_report_not_held("SeUnlockSubjectContext", subject_lock.name, SubjectContext, NULL);
        return;
    }
    thread_remove_lock(SubjectContext);
    thread_self()->critical--;
}

VOID SeReleaseSubjectContext(PSECURITY_SUBJECT_CONTEXT SubjectContext)
{
    if (!subject_check("SeReleaseSubjectContext", SubjectContext))
        return;
    if (check_on() && thread_has_lock(SubjectContext))
        check_failed(CHECK_REFERENCE, "SeReleaseSubjectContext", 0, (uintptr_t)SubjectContext, 0, 0,
                     "the subject context %p is locked: SeUnlockSubjectContext comes first", (void *)SubjectContext);
    (void)live_remove(LIVE_REFERENCE, SubjectContext);
    *SubjectContext = (SECURITY_SUBJECT_CONTEXT){ 0 };
}

/* ---- Privileges -------------------------------------------------------------------------------------------------- */

static bool subject_has_privilege(LUID privilege, KPROCESSOR_MODE mode)
{
    return mode == KernelMode || (privilege.HighPart == 0 && privilege.LowPart >= SE_MIN_WELL_KNOWN_PRIVILEGE &&
                                  privilege.LowPart <= SE_MAX_WELL_KNOWN_PRIVILEGE);
}

BOOLEAN SePrivilegeCheck(PPRIVILEGE_SET RequiredPrivileges, PSECURITY_SUBJECT_CONTEXT SubjectSecurityContext,
                         KPROCESSOR_MODE AccessMode)
{
    ULONG had = 0;

    (void)subject_check("SePrivilegeCheck", SubjectSecurityContext);
    for (ULONG i = 0; i < RequiredPrivileges->PrivilegeCount; i++) {
        LUID_AND_ATTRIBUTES *one = &RequiredPrivileges->Privilege[i];

        if (!subject_has_privilege(one->Luid, AccessMode))
            continue;
        one->Attributes |= SE_PRIVILEGE_USED_FOR_ACCESS;
        had++;
    }
    if (AccessMode == KernelMode || RequiredPrivileges->Control & PRIVILEGE_SET_ALL_NECESSARY)
        return had == RequiredPrivileges->PrivilegeCount;
    return had > 0;
}

BOOLEAN SeSinglePrivilegeCheck(LUID PrivilegeValue, KPROCESSOR_MODE PreviousMode)
{
    irql_check_max("SeSinglePrivilegeCheck", PASSIVE_LEVEL);
    return subject_has_privilege(PrivilegeValue, PreviousMode);
}
