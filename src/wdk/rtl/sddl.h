/* SPDX-License-Identifier: MIT */
/* The text form of a device's access control list: a subset of the Security Descriptor Definition Language (SDDL). */
#ifndef ONDK_WDK_RTL_SDDL_H
#define ONDK_WDK_RTL_SDDL_H

#include <stdbool.h>
#include <stddef.h>

#include "ntifs.h"

/*
 * Reads a list: D:, flags (P, AR, AI) and entries (type;flags;rights;;;account) of types A and D. Microsoft's reference
 * allows only this form in the descriptor of a device. Writes the list to *acl, which must have room for MAXUSHORT
 * bytes. acl->AclSize becomes the number of bytes that the list uses. Sets *control. Returns false if the text is not
 * valid or the list does not fit. Any IRQL.
 */
bool sddl_read(const WCHAR *text, size_t length, PACL acl, SECURITY_DESCRIPTOR_CONTROL *control);

#endif
