/* SPDX-License-Identifier: MIT */
/* Attacks that have a file of their own; all are in attacks[] (peers.h). */
#ifndef HOSTILE_ATTACKS_H
#define HOSTILE_ATTACKS_H

#include "hostile/peers.h"

extern const struct attack garbage;

#endif
