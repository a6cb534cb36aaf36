/* SPDX-License-Identifier: MIT */
/*
 * Short names of objects: a type and a number that counts the objects of the type, for example "cq1". The invariant: an
 * address has the same name until the object is closed. The address is printed once, behind the name. If the verifier
 * is on, events contain the provider's address of an object. The event `proxy` has the consumer's address.
 */
#ifndef LIVE_OBJECT_H
#define LIVE_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "live/text.h"

#define LIVE_TYPES(T)                                                                                                  \
    T(none)                                                                                                            \
    T(adapter)                                                                                                         \
    T(pd)                                                                                                              \
    T(cq)                                                                                                              \
    T(srq)                                                                                                             \
    T(qp)                                                                                                              \
    T(mr)                                                                                                              \
    T(mw)                                                                                                              \
    T(connector)                                                                                                       \
    T(listener)                                                                                                        \
    T(endpoint)                                                                                                        \
    T(lam)                                                                                                             \
    T(registration)                                                                                                    \
    T(client)                                                                                                          \
    T(socket)                                                                                                          \
    T(irp)                                                                                                             \
    T(device)

#define LIVE_DEFINE_TYPE(name) LIVE_##name,
enum live_type { LIVE_TYPES(LIVE_DEFINE_TYPE) LIVE_TYPES_COUNT };
#undef LIVE_DEFINE_TYPE

struct live_name {
    enum live_type type;
    unsigned number;  /* 0: the object has no name */
    uint64_t address; /* if not 0: the object's address, to be printed because it was not printed yet */
};

const char *live_type_name(enum live_type type);
/* Returns the type of the object in the field `object` of the event or routine with this number. */
enum live_type live_object_type(uint16_t number);
/* Returns the type of the object that the routine creates, or LIVE_none. */
enum live_type live_created_type(uint16_t number);
/* Returns the type of the object in a field with this name, or LIVE_none if the field is not known to be an object. */
enum live_type live_field_type(const char *field);
/* Returns whether the object is closed when the routine is complete. */
bool live_is_close(uint16_t number);

/* Returns the object's name. If the object has no name or a name of another type, first gives it a new name. */
struct live_name live_object_name(enum live_type type, uint64_t address);
/* Returns the name of the object with this address. If there is no such object, the name's number is 0. */
struct live_name live_object_find(uint64_t address);
/*
 * Called when the consumer receives `proxy` in place of the provider's object. From now on, both addresses have the
 * same name, and `proxy` is the address that is printed.
 */
void live_object_add_proxy(uint64_t object, uint64_t proxy);
/*
 * Returns whether the consumer has proxies. If it has, the contexts in the events of its requests are the verifier's.
 */
bool live_has_proxies(void);
/* Must be called when the object with this address is closed. Removes the object's name. */
void live_object_remove(uint64_t address);

/* Adds the name, followed by the address if name->address is set. If the object has no name, adds `address` instead. */
void live_text_add_object(struct live_text *t, const struct live_name *name, uint64_t address);

#endif
