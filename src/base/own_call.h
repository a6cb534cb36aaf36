/* SPDX-License-Identifier: MIT */
/*
 * Marks the calls that the library itself makes to a provider, for example to query the tokens of a region. The trace
 * does not record these calls, because the consumer has not made them.
 */
#ifndef BASE_OWN_CALL_H
#define BASE_OWN_CALL_H

extern _Thread_local unsigned own_calls; /* this thread is inside this many nested OWN_CALLs */

/* Evaluates `call` as a call of the library itself, and returns its value. */
#define OWN_CALL(call)                                                                                                 \
    __extension__({                                                                                                    \
        own_calls++;                                                                                                   \
        __auto_type result_ = (call);                                                                                  \
        own_calls--;                                                                                                   \
        result_;                                                                                                       \
    })

#endif
