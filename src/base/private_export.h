/* SPDX-License-Identifier: MIT */
#ifndef BASE_PRIVATE_EXPORT_H
#define BASE_PRIVATE_EXPORT_H

/*
 * Marks a function or variable that a library exports only to this project's other libraries, which must have the same
 * version. The symbol has a prefix, so that it differs from every symbol of a program or driver. The mark follows the
 * declaration:
 *   void *pool_alloc(size_t size) PRIVATE_EXPORT(pool_alloc);
 */
#define PRIVATE_EXPORT(name) __asm__("ondk_private_" #name) __attribute__((visibility("default")))

#endif
