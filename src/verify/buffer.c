/* SPDX-License-Identifier: MIT */
#include "verify/buffer.h"

void buffer_report_missing(const struct proxy *p, const char *routine, const char *what, uint64_t count)
{
    proxy_set_report_object(p);
    report_breach(&verify_rules[RULE_BUFFER_MISSING], routine, (uintptr_t)p, count, 0, 0,
                  "the pointer to the %s is NULL, but the length is %llu", what, (unsigned long long)count);
}
