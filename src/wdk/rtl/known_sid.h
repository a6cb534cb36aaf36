/* SPDX-License-Identifier: MIT */
/* The identifiers that every system has. */
#ifndef ONDK_WDK_RTL_KNOWN_SID_H
#define ONDK_WDK_RTL_KNOWN_SID_H

#include "ntifs.h"

/* Each has at most two subauthorities. */
struct known_sid {
    UCHAR revision, count;
    SID_IDENTIFIER_AUTHORITY authority;
    ULONG sub[2];
    char letters[2]; /* its name in SDDL; zero if it has none */
};

enum known_sid_index {
    KNOWN_NULL,
    KNOWN_WORLD,
    KNOWN_LOCAL,
    KNOWN_CREATOR_OWNER,
    KNOWN_CREATOR_GROUP,
    KNOWN_OWNER_RIGHTS,
    KNOWN_NT_AUTHORITY,
    KNOWN_DIALUP,
    KNOWN_NETWORK,
    KNOWN_BATCH,
    KNOWN_INTERACTIVE,
    KNOWN_SERVICE,
    KNOWN_ANONYMOUS,
    KNOWN_AUTHENTICATED,
    KNOWN_RESTRICTED,
    KNOWN_IUSER,
    KNOWN_LOCAL_SYSTEM,
    KNOWN_LOCAL_SERVICE,
    KNOWN_NETWORK_SERVICE,
    KNOWN_ADMINS,
    KNOWN_USERS,
    KNOWN_GUESTS,
    KNOWN_POWER_USERS,
    KNOWN_ACCOUNT_OPS,
    KNOWN_SYSTEM_OPS,
    KNOWN_PRINT_OPS,
    KNOWN_BACKUP_OPS,
    KNOWN_UNTRUSTED_LEVEL,
    KNOWN_LOW_LEVEL,
    KNOWN_MEDIUM_LEVEL,
    KNOWN_HIGH_LEVEL,
    KNOWN_SYSTEM_LEVEL,
    KNOWN_SIDS
};

/* Drivers receive pointers to these, so they are not const; nothing writes them. */
extern struct known_sid known_sids[KNOWN_SIDS];

#endif
