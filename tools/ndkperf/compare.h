/* SPDX-License-Identifier: MIT */
/* `ndkperf compare A B`: compares two saved runs. */
#ifndef NDKPERF_COMPARE_H
#define NDKPERF_COMPARE_H

/* Runs `ndkperf compare`. argv[0] must be "compare". Returns the exit code. */
int compare_main(int argc, char **argv);

#endif
