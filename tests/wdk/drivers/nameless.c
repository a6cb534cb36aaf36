/* SPDX-License-Identifier: MIT */
/* A shared object that is no driver. */
extern int nothing_here;
int nothing_here;
