/* SPDX-License-Identifier: MIT */
/*
 * Gives objects short names: a type and a number that counts the objects of the type, for example "cq1". The invariant:
 * an address has the same name until the object is closed. The address is printed once, after the name. If the verifier
 * is on, events contain the provider's address of an object, and the event `proxy` has the consumer's address.
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
    unsigned number;  /* number among the objects of the type, from 1; 0: the object has no name */
    uint64_t address; /* address to print after the name, because it was not printed yet; 0: none */
};

const char *live_type_name(enum live_type type);
/*
 * Returns the type of the object that the field `object` of this event contains. `number` is the number of the event.
 */
enum live_type live_object_type(uint16_t number);
/* Returns the type of the object that this routine creates. Returns LIVE_none if the routine creates none. */
enum live_type live_created_type(uint16_t number);
/* Returns the type of the object that a field with this name contains. Returns LIVE_none if the type is not known. */
enum live_type live_field_type(const char *field);
/* Returns true if this routine closes its object. The object is closed when the routine has completed. */
bool live_is_close(uint16_t number);

/* Returns the name of the object at `address`. If the object has no name of this type, gives it a new name. */
struct live_name live_object_name(enum live_type type, uint64_t address);
/* Returns the name of the object at `address`. If the object has no name, the number of the result is 0. */
struct live_name live_object_find(uint64_t address);
/*
 * Records that the consumer has received `proxy` instead of the provider's `object`. Both addresses then have the same
 * name, and `proxy` is printed as the address.
 */
void live_object_add_proxy(uint64_t object, uint64_t proxy);
/*
 * Returns true if the consumer uses the verifier's proxies. The events of requests then contain the verifier's contexts
 * in place of the consumer's contexts.
 */
bool live_has_proxies(void);
/* Removes the name of the object at `address`. Must be called when the object is closed. */
void live_object_remove(uint64_t address);

/*
 * Adds the name. If name->address is set, adds this address after the name. If the object has no name, adds `address`
 * instead.
 */
void live_text_add_object(struct live_text *t, const struct live_name *name, uint64_t address);

#endif
