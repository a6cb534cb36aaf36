/* SPDX-License-Identifier: MIT */
/* Registers the names of values in the events of calls. */
#ifndef CALLTRACE_NAMES_H
#define CALLTRACE_NAMES_H

/* Registers the names. Must be called by a constructor. */
void call_names_set(void);

#endif
