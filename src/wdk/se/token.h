/* SPDX-License-Identifier: MIT */
/* The system's token, which every process and every client has. */
#ifndef ONDK_WDK_TOKEN_H
#define ONDK_WDK_TOKEN_H

#include "wdm.h"

PACCESS_TOKEN token_system(void);

#endif
