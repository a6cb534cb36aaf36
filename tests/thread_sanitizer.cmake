# SPDX-License-Identifier: MIT
# ctest reads this file before it runs the tests of a build with the thread sanitizer.
#
# A process with more than one thread waits at its exit, so that the sanitizer sees races with the end of the process.
# The default, one second, would be most of the time of a test that starts many processes. The variable's own options
# come last, so they prevail.
set(ENV{TSAN_OPTIONS} "atexit_sleep_ms=50:$ENV{TSAN_OPTIONS}")
