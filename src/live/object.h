/* SPDX-License-Identifier: MIT */
/*
 * Short names of objects: a type and a number that counts the objects of the type, for example "cq1". The invariant: an
 * address has the same name until the object is closed. The address is printed once, behind the name. If the verifier is
 * on, events have the provider's objects, and the consumer's addresses follow (the event `proxy`).
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
    uint64_t address; /* if not 0: the object's address, which has not been printed yet */
};

const char *live_type_name(enum live_type type);
/* Returns the type that the event's field `object` has. `number` is the event's, or that of the routine. */
enum live_type live_object_type(uint16_t number);
/* Returns the type of the object that the routine creates, or LIVE_none. */
enum live_type live_created_type(uint16_t number);
/* Returns the type of the object in a field with this name, or LIVE_none: the field is an address. */
enum live_type live_field_type(const char *field);
/* Returns whether the object is closed when the routine is complete. */
bool live_is_close(uint16_t number);

/* Returns the object's name. Gives it one if it has none, or one of another type. */
struct live_name live_object_name(enum live_type type, uint64_t address);
/* Returns the name of the object with this address. Its number is 0 if there is none. */
struct live_name live_object_find(uint64_t address);
/*
 * The consumer has `proxy` in place of the provider's object. Both addresses have the same name from now on, and the
 * address that is printed is the consumer's.
 */
void live_object_add_proxy(uint64_t object, uint64_t proxy);
/* Returns whether the consumer has proxies. The contexts of its requests are then the verifier's. */
bool live_has_proxies(void);
/* The object with this address is closed. */
void live_object_remove(uint64_t address);

/* Adds the name, and the address behind it if name->address is set. An object without a name is its address. */
void live_text_add_object(struct live_text *t, const struct live_name *name, uint64_t address);

#endif
