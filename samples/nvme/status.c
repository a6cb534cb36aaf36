/* SPDX-License-Identifier: MIT */
/* Returns texts for status codes, for log messages. */
#include "fabrics.h"

static const struct {
    uint16_t status;
    const char *text;
} texts[] = {
    { NVME_SUCCESS, "success" },
    { NVME_INVALID_OPCODE, "invalid opcode" },
    { NVME_INVALID_FIELD, "invalid field in the command" },
    { NVME_COMMAND_ID_CONFLICT, "the command identifier is in use" },
    { NVME_DATA_TRANSFER_ERROR, "data transfer error" },
    { NVME_INTERNAL_ERROR, "internal error" },
    { NVME_ABORT_REQUESTED, "aborted by request" },
    { NVME_ABORTED_SQ_DELETION, "aborted because the queue was deleted" },
    { NVME_INVALID_NAMESPACE, "invalid namespace or format" },
    { NVME_COMMAND_SEQUENCE_ERROR, "command sequence error" },
    { NVME_INVALID_SGL_COUNT, "invalid number of SGL descriptors" },
    { NVME_DATA_SGL_LENGTH_INVALID, "the SGL's length is not the length of the data" },
    { NVME_SGL_TYPE_INVALID, "invalid type of SGL descriptor" },
    { NVME_SGL_OFFSET_INVALID, "invalid offset in the capsule" },
    { NVME_HOST_ID_INCONSISTENT, "inconsistent host identifier" },
    { NVME_KEEP_ALIVE_EXPIRED, "the keep-alive has expired" },
    { NVME_KEEP_ALIVE_INVALID, "invalid keep-alive timeout" },
    { NVME_NAMESPACE_WRITE_PROTECTED, "the namespace is write protected" },
    { NVME_TRANSIENT_TRANSPORT_ERROR, "transient transport error" },
    { NVME_LBA_OUT_OF_RANGE, "the blocks are outside the namespace" },
    { NVME_CAPACITY_EXCEEDED, "capacity exceeded" },
    { NVME_NAMESPACE_NOT_READY, "the namespace is not ready" },
    { NVME_ABORT_LIMIT_EXCEEDED, "too many aborts" },
    { NVME_ASYNC_EVENT_LIMIT_EXCEEDED, "too many asynchronous event requests" },
    { NVME_INVALID_LOG_PAGE, "invalid log page" },
    { NVME_FEATURE_NOT_SAVEABLE, "the feature cannot be saved" },
    { NVME_FEATURE_NOT_CHANGEABLE, "the feature cannot be changed" },
    { NVME_FEATURE_NOT_NAMESPACE_SPECIFIC, "the feature belongs to no namespace" },
    { NVME_CONFLICTING_ATTRIBUTES, "conflicting attributes" },
    { NVME_READ_ONLY_RANGE, "the blocks are read-only" },
    { NVME_WRITE_FAULT, "write fault" },
    { NVME_UNRECOVERED_READ_ERROR, "unrecovered read error" },
    { NVME_COMPARE_FAILURE, "the data differ" },
};

const char *nvme_status_text(uint16_t status)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].status == (status & NVME_STATUS_CODE_MASK))
            return texts[i].text;
    }
    return "unknown status";
}

const char *nvme_connect_status_text(uint16_t status)
{
    switch (status & NVME_STATUS_CODE_MASK) {
    case NVME_CONNECT_INCOMPATIBLE_FORMAT:
        return "incompatible format of Connect";
    case NVME_CONNECT_CONTROLLER_BUSY:
        return "no controller is free";
    case NVME_CONNECT_INVALID_PARAMETERS:
        return "invalid parameters in Connect";
    case NVME_CONNECT_RESTART_DISCOVERY:
        return "the host is to restart discovery";
    case NVME_CONNECT_INVALID_HOST:
        return "the host is not allowed to connect";
    case NVME_AUTHENTICATION_REQUIRED:
        return "authentication is required";
    }
    return nvme_status_text(status);
}
