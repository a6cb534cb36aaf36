/* SPDX-License-Identifier: MIT */
/* `ndkperf compare A B`: compares two saved runs. */
#ifndef NDKPERF_COMPARE_H
#define NDKPERF_COMPARE_H

/* argv[0] is "compare". Returns the exit code. */
int compare_main(int argc, char **argv);

#endif
