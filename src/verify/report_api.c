/* SPDX-License-Identifier: MIT */
/* Implements the public functions about reports, and calls the program's callback: see openndk/verify.h. */
#include <string.h>

#include "base/sized.h"
#include "base/spin.h"
#include "ndk/nt.h"
#include "openndk/verify.h"
#include "verify/report_callback.h"

_Static_assert((int)ONDK_VERIFY_BREACH == RULE_BREACH && (int)ONDK_VERIFY_ADVICE == RULE_ADVICE,
               "the public values are the kinds");

static struct spin callback_lock;
static ondk_verify_callback_t report_callback; /* guarded by callback_lock, like the next variable */
static void *report_callback_context;
static _Thread_local bool is_in_callback;

void report_call_back(const struct report *r)
{
    const struct breach *b = &r->breach;
    ondk_verify_report_t report = {
        .size = sizeof(report),
        .kind = (uint32_t)report_rule_kind(b->rule),
        .rule = b->rule->name,
        .text = b->rule->text,
        .page = b->rule->page,
        .sentence = b->rule->sentence,
        .advice = b->rule->advice,
        .routine = b->routine,
        .message = b->message,
        .object = b->object.object,
        .object_type = b->object.object ? b->object.type : NULL,
        .time_ns = (uint64_t)r->time.tv_sec * 1000000000 + (uint64_t)r->time.tv_nsec,
        .repeat = r->repeat,
    };
    ondk_verify_callback_t callback;
    void *context;

    if (is_in_callback)
        return;
    spin_lock(&callback_lock);
    callback = report_callback;
    context = report_callback_context;
    spin_unlock(&callback_lock);
    if (!callback)
        return;
    is_in_callback = true;
    callback(context, &report);
    is_in_callback = false;
}

void ondk_verify_set_callback(ondk_verify_callback_t callback, void *context)
{
    spin_lock(&callback_lock);
    report_callback = callback;
    report_callback_context = context;
    spin_unlock(&callback_lock);
}

uint32_t ondk_verify_breaches(void)
{
    return report_count();
}

uint32_t ondk_verify_advices(void)
{
    return report_advice_count();
}

uint32_t ondk_verify_rules_sized(ondk_verify_rule_t *rules, uint32_t capacity, size_t entry_size)
{
    uint32_t n = 0;

    for (const struct rule_table *t = report_rules(); t; t = t->next) {
        for (unsigned i = 0; i < t->count; i++, n++) {
            const struct rule *rule = &t->rules[i];
            ondk_verify_rule_t public_rule = {
                .layer = t->layer,
                .name = rule->name,
                .text = rule->text,
                .page = rule->page,
                .sentence = rule->sentence,
                .advice = rule->advice,
                .kind = (uint32_t)report_rule_kind(rule),
                .bug_check = rule->bug_check,
                .reports = atomic_load(&t->reports[i]),
            };

            if (n < capacity)
                sized_write_entry(rules, n, entry_size, &public_rule, sizeof(public_rule));
        }
    }
    return n;
}

void ondk_verify_set_output(FILE *out)
{
    report_set_output(out);
}

int32_t ondk_verify_set_junit(const char *path)
{
    return report_set_junit(path, path ? strlen(path) : 0) ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

void ondk_verify_write_repeats(void)
{
    report_write_repeats();
}
