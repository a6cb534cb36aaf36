/* SPDX-License-Identifier: MIT */
/* The names of values in the events of calls. */
#ifndef CALLTRACE_NAMES_H
#define CALLTRACE_NAMES_H

/* Registers the names. To be called by a constructor. */
void call_names_set(void);

#endif
