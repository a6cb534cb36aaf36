/* SPDX-License-Identifier: MIT */
/* Helpers of the tests of security descriptors: identifiers, lists, and a descriptor with most parts. */
#ifndef TESTS_WDK_DESCRIPTOR_KIT_H
#define TESTS_WDK_DESCRIPTOR_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ntifs.h"

/* An identifier with any number of subauthorities. */
union sid {
    SID sid;
    UCHAR room[SECURITY_MAX_SID_SIZE];
};

/* A list and the room for its entries. */
union list {
    ACL acl;
    UCHAR room[256];
};

static inline void list_init(union list *l, ULONG size)
{
    assert_int_equal(RtlCreateAcl(&l->acl, size, ACL_REVISION), STATUS_SUCCESS);
}

static inline PSID system_sid(void)
{
    return SeExports->SeLocalSystemSid;
}

/* A descriptor with all parts but a system list. */
struct whole {
    SECURITY_DESCRIPTOR head;
    union list list;
};

static inline void whole_init(struct whole *w)
{
    list_init(&w->list, 64);
    assert_int_equal(RtlAddAccessAllowedAce(&w->list.acl, ACL_REVISION, GENERIC_ALL, system_sid()), STATUS_SUCCESS);
    assert_int_equal(RtlCreateSecurityDescriptor(&w->head, SECURITY_DESCRIPTOR_REVISION), STATUS_SUCCESS);
    assert_int_equal(RtlSetDaclSecurityDescriptor(&w->head, TRUE, &w->list.acl, FALSE), STATUS_SUCCESS);
    assert_int_equal(RtlSetOwnerSecurityDescriptor(&w->head, system_sid(), TRUE), STATUS_SUCCESS);
    assert_int_equal(RtlSetGroupSecurityDescriptor(&w->head, SeExports->SeAliasAdminsSid, FALSE), STATUS_SUCCESS);
}

#endif
