/* SPDX-License-Identifier: MIT */
/*
 * How the public headers stay compatible. Program and library need not be of the same version. The structs of these
 * headers grow only at their end. A function that fills or reads a struct is an inline function, which calls a function
 * with the suffix _sized. The _sized function receives the size of the struct that the program was compiled with:
 *   program older  The library does not write the fields that the program lacks, and uses their defaults.
 *   program newer  The library lacks the program's last fields. In a struct that the library fills, these fields
 *                  become zero. In a struct that the library reads, these fields must be zero; otherwise the call
 *                  fails and changes nothing.
 * Other languages call the _sized functions with the size of their own struct. The parameters of the inline functions
 * end in _, so that they shadow nothing in a program that is compiled with -Wshadow. ONDK_API marks the functions that
 * the library exports; all others are hidden.
 */
#ifndef OPENNDK_API_H
#define OPENNDK_API_H

#include <stddef.h>

#define ONDK_API __attribute__((visibility("default")))

#endif
