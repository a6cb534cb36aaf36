/* SPDX-License-Identifier: MIT */
/*
 * What the library exports: everything else in it is hidden.
 *
 * Structs of these headers only grow, at their end. A function that fills or reads one is an inline function around one
 * with the suffix _sized, which receives the size of the struct that the program was compiled with. So program and
 * library need not be of the same version:
 *   program older   fields that the program does not have are not written; if read, they have their defaults
 *   program newer   fields that the library does not have are written as zero; if one is read and is not zero, the
 *                   call fails and changes nothing
 * Other languages call the _sized functions with their own struct's size. Parameters of the inline functions end in _,
 * so that they shadow nothing of a program that is compiled with -Wshadow.
 */
#ifndef OPENNDK_API_H
#define OPENNDK_API_H

#include <stddef.h>

#define ONDK_API __attribute__((visibility("default")))

#endif
