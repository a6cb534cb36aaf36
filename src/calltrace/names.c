/* SPDX-License-Identifier: MIT */
/* Lists the names of values in the events of calls. The schema of a trace contains these names. */
#include "calltrace/names.h"

#include <ndk/ndkpi.h>

#include "trace/trace.h"

struct call_name {
    unsigned value;
    const char *name;
};

static const char *call_name_get(const struct call_name *names, unsigned count, unsigned index, unsigned *value)
{
    if (index >= count)
        return NULL;
    *value = names[index].value;
    return names[index].name;
}

#define CALL_NAMES(list, ...)                                                                                          \
    static const char *call_name_next_##list(unsigned index, unsigned *value)                                          \
    {                                                                                                                  \
        static const struct call_name names[] = { __VA_ARGS__ };                                                       \
                                                                                                                       \
        return call_name_get(names, sizeof names / sizeof names[0], index, value);                                     \
    }

/* The list `routine` has the names of all events in TRACE_CALL_EVENTS, including events that are not calls. */
#define CALL_NAME_OF_EVENT(number, name) { number, #name },
#define CALL_NAME_OF_FLAG(prefix, name)                                                                                \
    {                                                                                                                  \
        prefix##name, #name                                                                                            \
    }
#define OPERATION(name) CALL_NAME_OF_FLAG(NdkOperationType, name)
#define ARM(name) CALL_NAME_OF_FLAG(NDK_CQ_NOTIFY_, name)
#define OP_FLAG(name) CALL_NAME_OF_FLAG(NDK_OP_FLAG_, name)
#define MR_FLAG(name) CALL_NAME_OF_FLAG(NDK_MR_FLAG_, name)

CALL_NAMES(routine, TRACE_CALL_EVENTS(CALL_NAME_OF_EVENT))
CALL_NAMES(operation, OPERATION(Receive), OPERATION(ReceiveAndInvalidate), OPERATION(Send), OPERATION(FastRegister),
           OPERATION(Bind), OPERATION(Invalidate), OPERATION(Read), OPERATION(Write))
CALL_NAMES(arm, ARM(ERRORS), ARM(ANY), ARM(SOLICITED))
/* A flag with several bits comes before the flags that have one of these bits. */
CALL_NAMES(op_flag, OP_FLAG(SILENT_SUCCESS), OP_FLAG(READ_FENCE), OP_FLAG(SEND_AND_SOLICIT_EVENT),
           OP_FLAG(ALLOW_REMOTE_READ), OP_FLAG(ALLOW_REMOTE_WRITE), OP_FLAG(ALLOW_LOCAL_WRITE), OP_FLAG(INLINE),
           OP_FLAG(RDMA_READ_SINK), OP_FLAG(RDMA_READ_LOCAL_INVALIDATE), OP_FLAG(DEFER))
CALL_NAMES(mr_flag, MR_FLAG(ALLOW_REMOTE_WRITE), MR_FLAG(ALLOW_LOCAL_WRITE), MR_FLAG(ALLOW_REMOTE_READ),
           MR_FLAG(RDMA_READ_SINK))
CALL_NAMES(object_type, { NdkObjectTypeAdapter, "NDK_ADAPTER" }, { NdkObjectTypeQp, "NDK_QP" },
           { NdkObjectTypeCq, "NDK_CQ" }, { NdkObjectTypeMr, "NDK_MR" }, { NdkObjectTypeMw, "NDK_MW" },
           { NdkObjectTypePd, "NDK_PD" }, { NdkObjectTypeSharedEndpoint, "NDK_SHARED_ENDPOINT" },
           { NdkObjectTypeConnector, "NDK_CONNECTOR" }, { NdkObjectTypeListener, "NDK_LISTENER" },
           { NdkObjectTypeSrq, "NDK_SRQ" })

void call_names_set(void)
{
    trace_set_names(TRACE_NAMES_routine, call_name_next_routine);
    trace_set_names(TRACE_NAMES_operation, call_name_next_operation);
    trace_set_names(TRACE_NAMES_arm, call_name_next_arm);
    trace_set_names(TRACE_NAMES_op_flag, call_name_next_op_flag);
    trace_set_names(TRACE_NAMES_mr_flag, call_name_next_mr_flag);
    trace_set_names(TRACE_NAMES_object_type, call_name_next_object_type);
}
