/* SPDX-License-Identifier: MIT */
/*
 * Marks the calls of a provider that the library itself makes, for example those with which the verifier finds out an
 * object's address. They are not the consumer's, so they are not recorded as its calls.
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
