/* SPDX-License-Identifier: MIT */
/*
 * Implements tokens and impersonation: see ntifs.h. The only token is a counted object without contents, so that a
 * driver's missing and surplus dereferences are found. The token exists until the process ends.
 */
#include <pthread.h>
#include <stdlib.h>

#include "ntifs.h"

#include "wdk/ke/thread.h"
#include "wdk/ob/handle.h"
#include "wdk/ob/object.h"
#include "wdk/se/token.h"

static struct _OBJECT_TYPE token_type = { .name = "token" };
static POBJECT_TYPE token_type_pointer = &token_type;
POBJECT_TYPE *SeTokenObjectType = &token_type_pointer;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static PACCESS_TOKEN the_token;

static void token_create(void)
{
    the_token = ob_new(&token_type, sizeof(LUID));
    if (!the_token)
        abort();
}

PACCESS_TOKEN token_system(void)
{
    pthread_once(&once, token_create);
    return the_token;
}

/* Returns the token with a reference of the driver. */
static PACCESS_TOKEN token_ref_for_driver(void)
{
    PACCESS_TOKEN token = token_system();

    ob_ref(token);
    ob_pass_to_driver(token);
    return token;
}

PACCESS_TOKEN PsReferencePrimaryToken(PEPROCESS Process)
{
    UNREFERENCED_PARAMETER(Process);
    irql_check_max("PsReferencePrimaryToken", PASSIVE_LEVEL);
    return token_ref_for_driver();
}

VOID PsDereferencePrimaryToken(PACCESS_TOKEN PrimaryToken)
{
    irql_check_max("PsDereferencePrimaryToken", APC_LEVEL);
    (void)ObfDereferenceObject(PrimaryToken);
}

VOID PsDereferenceImpersonationToken(PACCESS_TOKEN ImpersonationToken)
{
    irql_check_max("PsDereferenceImpersonationToken", APC_LEVEL);
    if (ImpersonationToken)
        (void)ObfDereferenceObject(ImpersonationToken);
}

TOKEN_TYPE SeTokenType(PACCESS_TOKEN Token)
{
    UNREFERENCED_PARAMETER(Token);
    return TokenPrimary;
}

BOOLEAN SeTokenIsAdmin(PACCESS_TOKEN Token)
{
    UNREFERENCED_PARAMETER(Token);
    irql_check_max("SeTokenIsAdmin", PASSIVE_LEVEL);
    return TRUE;
}

/* ---- Impersonation ----------------------------------------------------------------------------------------------- */

NTSTATUS SeCreateClientSecurity(PETHREAD ClientThread, PSECURITY_QUALITY_OF_SERVICE ClientSecurityQos,
                                BOOLEAN RemoteSession, PSECURITY_CLIENT_CONTEXT ClientContext)
{
    UNREFERENCED_PARAMETER(ClientThread);
    irql_check_max("SeCreateClientSecurity", PASSIVE_LEVEL);
    *ClientContext = (SECURITY_CLIENT_CONTEXT){ .SecurityQos = *ClientSecurityQos,
                                                .ClientToken = token_ref_for_driver(),
                                                .DirectlyAccessClientToken = TRUE,
                                                .DirectAccessEffectiveOnly = ClientSecurityQos->EffectiveOnly,
                                                .ServerIsRemote = RemoteSession };
    return STATUS_SUCCESS;
}

NTSTATUS SeImpersonateClientEx(PSECURITY_CLIENT_CONTEXT ClientContext, PETHREAD ServerThread)
{
    UNREFERENCED_PARAMETER(ServerThread);
    irql_check_max("SeImpersonateClientEx", PASSIVE_LEVEL);
    return ClientContext->ClientToken == token_system() ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

VOID SeImpersonateClient(PSECURITY_CLIENT_CONTEXT ClientContext, PETHREAD ServerThread)
{
    (void)SeImpersonateClientEx(ClientContext, ServerThread);
}

VOID PsRevertToSelf(VOID)
{
    irql_check_max("PsRevertToSelf", PASSIVE_LEVEL);
}

NTSTATUS ZwAdjustPrivilegesToken(HANDLE TokenHandle, BOOLEAN DisableAllPrivileges, PTOKEN_PRIVILEGES NewState,
                                 ULONG BufferLength, PTOKEN_PRIVILEGES PreviousState, PULONG ReturnLength)
{
    const ULONG empty = FIELD_OFFSET(TOKEN_PRIVILEGES, Privileges);
    NTSTATUS status;
    void *token;

    irql_check_max("ZwAdjustPrivilegesToken", PASSIVE_LEVEL);
    if (!DisableAllPrivileges && !NewState)
        return STATUS_INVALID_PARAMETER;
    token = handle_lookup(TokenHandle, &token_type, &status);
    if (!token)
        return status;
    ob_unref(token);
    if (!PreviousState)
        return STATUS_SUCCESS;
    if (ReturnLength)
        *ReturnLength = empty;
    if (BufferLength < empty)
        return STATUS_BUFFER_TOO_SMALL;
    PreviousState->PrivilegeCount = 0;
    return STATUS_SUCCESS;
}

__typeof__(ZwAdjustPrivilegesToken) NtAdjustPrivilegesToken __attribute__((alias("ZwAdjustPrivilegesToken")));
