/* SPDX-License-Identifier: MIT */
/*
 * Seeded bugs. Each contract rule that a test claims has at least one place in the provider where
 * `if (MUTANT(rule_what))` breaks it on purpose, and so has each rule that the kernel surface checks in drivers. Only
 * builds with ONDK_MUTANTS contain them; there the environment variable ONDK_MUTANT names the one that is on. In every
 * other build MUTANT() is the constant false. The lists in tests/mutants hold, for each name, the rule (or the routine
 * whose documented behaviour it breaks) and the tests that must fail with it.
 */
#ifndef BASE_MUTANT_H
#define BASE_MUTANT_H

#include <stdbool.h>

#ifdef ONDK_MUTANTS
/* The library for drivers has some as well, and asks the provider's, so that one is on at most. */
__attribute__((visibility("default"))) bool mutant_is_on(const char *name);
#define MUTANT(name) (__builtin_expect(mutant_is_on(#name), 0))
#else
#define MUTANT(name) false
#endif

#endif
