/* SPDX-License-Identifier: MIT */
#ifndef ONDK_WDK_SE_SUBJECT_H
#define ONDK_WDK_SE_SUBJECT_H

#include <stdbool.h>

#include "wdm.h"

/* Returns true if the subject context is captured, or if checks are off. Otherwise reports it and returns false. */
bool subject_check(const char *routine, PSECURITY_SUBJECT_CONTEXT subject);

#endif
