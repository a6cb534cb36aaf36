/* SPDX-License-Identifier: MIT */
/*
 * Marks the calls that the library itself makes to a provider, for example to find out a region's tokens. The trace
 * does not record these calls, because the consumer did not make them.
 */
#ifndef BASE_OWN_CALL_H
#define BASE_OWN_CALL_H

extern _Thread_local unsigned own_calls; /* how many such calls the thread is in */

/* Evaluates the call and returns its value. */
#define OWN_CALL(call)                                                                                                 \
    __extension__({                                                                                                    \
        own_calls++;                                                                                                   \
        __auto_type result_ = (call);                                                                                  \
        own_calls--;                                                                                                   \
        result_;                                                                                                       \
    })

#endif
