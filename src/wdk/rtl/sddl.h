/* SPDX-License-Identifier: MIT */
/* The text form of a device's access control list: a subset of the Security Descriptor Definition Language (SDDL). */
#ifndef ONDK_WDK_RTL_SDDL_H
#define ONDK_WDK_RTL_SDDL_H

#include <stdbool.h>
#include <stddef.h>

#include "ntifs.h"

/*
 * Reads D:, flags (P, AR, AI) and entries (type;flags;rights;;;account) of types A and D. Microsoft's reference allows
 * for devices only this list. Fills *acl, which has room for MAXUSHORT bytes and whose AclSize becomes that of the
 * entries, and *control. Returns false if the text is not valid or the list does not fit. Any IRQL.
 */
bool sddl_read(const WCHAR *text, size_t length, PACL acl, SECURITY_DESCRIPTOR_CONTROL *control);

#endif
