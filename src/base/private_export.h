/* SPDX-License-Identifier: MIT */
#ifndef BASE_PRIVATE_EXPORT_H
#define BASE_PRIVATE_EXPORT_H

/*
 * Behind the declaration of a function or variable that a library exports only to this project's other libraries, which
 * are of the same version. The symbol has a prefix, so that it cannot be mixed up with one of a program or a driver:
 *   void *pool_take(size_t size) PRIVATE_EXPORT(pool_take);
 */
#define PRIVATE_EXPORT(name) __asm__("ondk_private_" #name) __attribute__((visibility("default")))

#endif
