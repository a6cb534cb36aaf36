/* SPDX-License-Identifier: MIT */
/* Checks the arguments of calls: see argument.h. */
#include "verify/argument.h"

void argument_check_completion(const struct proxy *p, const char *routine, bool is_given)
{
    if (is_given || !verify_on())
        return;
    proxy_set_report_object(p);
    report_breach(&verify_rules[RULE_COMPLETION_MISSING], routine, (uintptr_t)p, 0, 0, 0,
                  "the call has no completion routine");
}

void argument_check_notification(const struct proxy *p, const char *routine, NDK_OBJECT_TYPE type, bool is_given)
{
    if (is_given || !verify_on())
        return;
    proxy_set_report_object(p);
    report_breach(&verify_rules[RULE_NOTIFICATION_MISSING], routine, (uintptr_t)p, type, 0, 0, "the call has no %s",
                  type == NdkObjectTypeCq ? "NdkCqNotificationCallback" : "NdkConnectEventCallback");
}

bool argument_check_close(const struct proxy *p, const char *routine, NDK_OBJECT_TYPE entry)
{
    if (p->type != entry && verify_on()) {
        proxy_set_report_object(p);
        report_breach(&verify_rules[RULE_CLOSE_WRONG_ENTRY], routine, (uintptr_t)p, p->type, entry, 0,
                      "%p is an object of type %s", (const void *)p, proxy_type_name(p));
    }
    return p->type != NdkObjectTypeAdapter;
}

void argument_check_version(const struct proxy *p, const char *routine, uint32_t since, const char *what)
{
    NDK_VERSION version;
    uint32_t opened;

    if (!p || !verify_on())
        return;
    version = proxy_adapter(p)->pub.header.Version;
    opened = (uint32_t)version.Major << 16 | version.Minor;
    if (opened >= since)
        return;
    proxy_set_report_object(p);
    report_breach(&verify_rules[RULE_VERSION_TOO_NEW], routine, (uintptr_t)p, opened, since, 0,
                  "%s is of NDKPI %u.%u, and the adapter is of %u.%u", what, since >> 16, since & 0xffff, version.Major,
                  version.Minor);
}

void argument_check_flags(const struct proxy *p, const char *routine, ULONG flags)
{
    if (flags & NDK_OP_FLAG_DEFER)
        argument_check_version(p, routine, ARGUMENT_NDKPI_1_2, "NDK_OP_FLAG_DEFER");
    if (flags & NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE)
        argument_check_version(p, routine, ARGUMENT_NDKPI_1_2, "NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE");
}

/* ---- completion queues ---- */

void argument_check_arm(const struct proxy *cq, ULONG type)
{
    if (type == NDK_CQ_NOTIFY_ERRORS || type == NDK_CQ_NOTIFY_ANY || type == NDK_CQ_NOTIFY_SOLICITED || !verify_on())
        return;
    proxy_set_report_object(cq);
    report_breach(&verify_rules[RULE_ARM_TYPE], "NdkArmCq", (uintptr_t)cq, type, 0, 0, "there is no type 0x%x",
                  (unsigned)type);
}

/*
 * Reports the call and returns true if the provider has reported AdapterFlags without `flag`. Otherwise returns false.
 */
static bool argument_check_support(const struct proxy *cq, const char *routine, enum verify_rule rule, ULONG flag,
                                   const char *flag_name)
{
    const NDK_ADAPTER_INFO *info = proxy_adapter_info(cq);

    if (!verify_on() || !proxy_has_adapter_info(cq) || info->AdapterFlags & flag)
        return false;
    proxy_set_report_object(cq);
    report_breach(&verify_rules[rule], routine, (uintptr_t)cq, info->AdapterFlags, 0, 0,
                  "the adapter's AdapterFlags are 0x%x, without %s", (unsigned)info->AdapterFlags, flag_name);
    return true;
}

void argument_check_moderation(const struct queue *cq, ULONG interval, ULONG count)
{
    static const char routine[] = "NdkControlCqInterruptModeration";
    ULONG depth = atomic_load(&cq->depth);

    if (argument_check_support(&cq->p, routine, RULE_MODERATION_UNSUPPORTED,
                               NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED,
                               "NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED"))
        return;
    if (interval != MAXULONG || count <= depth || !verify_on())
        return;
    proxy_set_report_object(&cq->p);
    report_breach(&verify_rules[RULE_MODERATION_RANGE], routine, (uintptr_t)cq, interval, count, depth,
                  "the interval is MAXULONG, and the count, %u, is above the depth, %u", (unsigned)count,
                  (unsigned)depth);
}

void argument_check_resize(const struct proxy *cq)
{
    (void)argument_check_support(cq, "NdkResizeCq", RULE_RESIZE_UNSUPPORTED, NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED,
                                 "NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED");
}
