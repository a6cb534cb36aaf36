/* SPDX-License-Identifier: MIT */
/*
 * Defines the wire format of NVM Express and NVMe over Fabrics: structures, opcodes, status codes, and the numbers of
 * features and properties. nvme_data.h, included below, has the data of Identify and Get Log Page. The names in
 * comments are those of NVM Express 1.4 and NVMe over Fabrics 1.1.
 *
 * Every field has the place, the size and the byte order (little-endian) of the specifications. Code reads and writes
 * members without a conversion. So only little-endian machines can use this header; an assertion checks that.
 * A structure may be copied from and to any address with memcpy. It needs no packing, because each field is aligned.
 */
#ifndef NVME_H
#define NVME_H

#include <stddef.h>
#include <stdint.h>

#define NVME_ASSERT_SIZE(name, size) _Static_assert(sizeof(name) == (size), "the specification gives the size")
#define NVME_ASSERT_OFFSET(type, member, offset)                                                                       \
    _Static_assert(offsetof(type, member) == (offset), "the specification gives the offset")

#if defined(__BYTE_ORDER__)
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the fields are little-endian");
#endif

#define NVME_NQN_SIZE 224       /* size of a qualified name in bytes, with the terminating zero */
#define NVME_NQN_FIELD_SIZE 256 /* size in bytes of a field that contains a qualified name */
#define NVME_HOST_ID_SIZE 16
#define NVME_PAGE_SIZE 4096
#define NVME_ALL_NAMESPACES 0xffffffffu
#define NVME_DISCOVERY_NQN "nqn.2014-08.org.nvmexpress.discovery"
#define NVME_VERSION_1_4 0x00010400u

/* ---- Commands ---- */

/* Opcodes of admin commands, and of commands for NVM namespaces. NVME_FABRICS is valid in every queue. */
enum nvme_admin_opcode {
    NVME_ADMIN_GET_LOG_PAGE = 0x02,
    NVME_ADMIN_IDENTIFY = 0x06,
    NVME_ADMIN_ABORT = 0x08,
    NVME_ADMIN_SET_FEATURES = 0x09,
    NVME_ADMIN_GET_FEATURES = 0x0a,
    NVME_ADMIN_ASYNC_EVENT = 0x0c,
    NVME_ADMIN_KEEP_ALIVE = 0x18,
};

enum nvme_io_opcode {
    NVME_IO_FLUSH = 0x00,
    NVME_IO_WRITE = 0x01,
    NVME_IO_READ = 0x02,
    NVME_IO_COMPARE = 0x05,
    NVME_IO_WRITE_ZEROES = 0x08,
    NVME_IO_DATASET_MANAGEMENT = 0x09,
};

#define NVME_FABRICS 0x7f
enum nvme_fabrics_type {
    NVME_FABRICS_PROPERTY_SET = 0x00,
    NVME_FABRICS_CONNECT = 0x01,
    NVME_FABRICS_PROPERTY_GET = 0x04,
};

/* The two low bits of an opcode (or a Fabrics type) give the direction of the data. */
#define NVME_OPCODE_TO_CONTROLLER 0x01
#define NVME_OPCODE_TO_HOST 0x02

/* Values of nvme_command.flags. Over Fabrics each command uses SGLs, so `flags` is always NVME_FLAGS_SGL. */
#define NVME_FLAGS_FUSED 0x03
#define NVME_FLAGS_PSDT 0xc0
#define NVME_FLAGS_SGL 0x40

/*
 * An SGL descriptor. `identifier` has the type in bits 7 to 4 and the subtype in bits 3 to 0. fabrics.h builds and
 * parses the kinds that the RDMA transport uses.
 */
struct nvme_sgl_descriptor {
    uint64_t address;
    uint8_t specific[7]; /* keyed: length (3 bytes) and key (4 bytes); data block: length (4 bytes) */
    uint8_t identifier;
};
NVME_ASSERT_SIZE(struct nvme_sgl_descriptor, 16);
#define NVME_SGL_DATA_BLOCK 0x0 /* type */
#define NVME_SGL_KEYED 0x4      /* type */
#define NVME_SGL_ADDRESS 0x0    /* subtype */
#define NVME_SGL_OFFSET 0x1     /* subtype of a data block: `address` is an offset into the capsule's data */
#define NVME_SGL_INVALIDATE 0xf /* subtype of a keyed descriptor: the response invalidates the key */
#define NVME_SGL_MAX_KEYED_LENGTH 0xffffffu

/* A submission queue entry. */
struct nvme_command {
    uint8_t opcode;
    uint8_t flags;
    uint16_t cid;
    union {
        uint32_t nsid;
        uint8_t fabrics_type; /* only if `opcode` is NVME_FABRICS */
    };
    uint32_t cdw2, cdw3;
    uint64_t metadata;
    struct nvme_sgl_descriptor sgl;
    union {
        struct {
            uint32_t cdw10, cdw11, cdw12, cdw13, cdw14, cdw15;
        };
        struct {
            uint16_t record_format; /* 0 */
            uint16_t qid;
            uint16_t sqsize; /* number of entries minus one */
            uint8_t attributes;
            uint8_t reserved1;
            uint32_t kato; /* keep-alive timeout in ms */
            uint8_t reserved2[12];
        } connect;
        struct {
            uint8_t size; /* NVME_PROPERTY_SIZE_... */
            uint8_t reserved1[3];
            uint32_t offset;
            uint64_t value; /* Property Set */
            uint8_t reserved2[8];
        } property;
        struct { /* read, write, compare, write zeroes */
            uint64_t lba;
            uint16_t blocks; /* number of blocks minus one */
            uint16_t control;
            uint32_t dataset;
            uint32_t reference_tag;
            uint16_t application_tag, application_mask;
        } io;
        struct {
            uint8_t cns;
            uint8_t reserved1;
            uint16_t cntid;
            uint16_t specific;
            uint8_t reserved2;
            uint8_t csi;
            uint32_t reserved3[4];
        } identify;
        struct {
            uint8_t lid;
            uint8_t specific;    /* bit 7: the asynchronous event stays masked after this read */
            uint16_t dwords_low; /* number of dwords minus one */
            uint16_t dwords_high;
            uint16_t specific_id;
            uint64_t offset;
            uint32_t uuid_index; /* bits 31 to 24 contain the command set identifier */
            uint32_t reserved;
        } log;
    };
};
NVME_ASSERT_SIZE(struct nvme_command, 64);
NVME_ASSERT_OFFSET(struct nvme_command, sgl, 24);
NVME_ASSERT_OFFSET(struct nvme_command, cdw10, 40);
NVME_ASSERT_OFFSET(struct nvme_command, connect.kato, 48);
NVME_ASSERT_OFFSET(struct nvme_command, property.value, 48);
NVME_ASSERT_OFFSET(struct nvme_command, io.reference_tag, 56);
NVME_ASSERT_OFFSET(struct nvme_command, identify.csi, 47);
NVME_ASSERT_OFFSET(struct nvme_command, log.offset, 48);

/* io.control */
#define NVME_IO_LIMITED_RETRY 0x8000
#define NVME_IO_FUA 0x4000
#define NVME_IO_PROTECTION 0x3c00 /* PRINFO: the bits for protection information */
#define NVME_IO_DEALLOCATE 0x0200 /* write zeroes: the range may be deallocated */

/* Dataset management: cdw10 contains the number of ranges minus one, cdw11 the attributes. */
#define NVME_DATASET_DEALLOCATE 0x04
#define NVME_DATASET_MAX_RANGES 256
struct nvme_dataset_range {
    uint32_t attributes;
    uint32_t blocks;
    uint64_t lba;
};
NVME_ASSERT_SIZE(struct nvme_dataset_range, 16);

/*
 * A completion queue entry. Bit 0 of `status` is the phase tag, which is always 0 over Fabrics. The other bits are the
 * status.
 */
struct nvme_completion {
    union {
        uint64_t result64;
        uint32_t result;
    };
    uint16_t sq_head;
    uint16_t sq_id;
    uint16_t cid;
    uint16_t status;
};
NVME_ASSERT_SIZE(struct nvme_completion, 16);
#define NVME_SQ_HEAD_NONE 0xffff /* sq_head of Connect's completion: the queue has no flow control */

/*
 * A status as this code stores it: the 15 bits above the phase tag. Bits 7 to 0 are the code, bits 10 to 8 the type,
 * then two bits of retry delay, NVME_MORE and NVME_DNR (do not retry).
 */
enum nvme_status {
    NVME_SUCCESS = 0x000,
    NVME_INVALID_OPCODE = 0x001,
    NVME_INVALID_FIELD = 0x002,
    NVME_COMMAND_ID_CONFLICT = 0x003,
    NVME_DATA_TRANSFER_ERROR = 0x004,
    NVME_INTERNAL_ERROR = 0x006,
    NVME_ABORT_REQUESTED = 0x007,
    NVME_ABORTED_SQ_DELETION = 0x008,
    NVME_INVALID_NAMESPACE = 0x00b,
    NVME_COMMAND_SEQUENCE_ERROR = 0x00c,
    NVME_INVALID_SGL_COUNT = 0x00e,
    NVME_DATA_SGL_LENGTH_INVALID = 0x00f,
    NVME_SGL_TYPE_INVALID = 0x011,
    NVME_SGL_OFFSET_INVALID = 0x016,
    NVME_HOST_ID_INCONSISTENT = 0x018,
    NVME_KEEP_ALIVE_EXPIRED = 0x019,
    NVME_KEEP_ALIVE_INVALID = 0x01a,
    NVME_NAMESPACE_WRITE_PROTECTED = 0x020,
    NVME_TRANSIENT_TRANSPORT_ERROR = 0x022,
    NVME_LBA_OUT_OF_RANGE = 0x080,
    NVME_CAPACITY_EXCEEDED = 0x081,
    NVME_NAMESPACE_NOT_READY = 0x082,
    NVME_ABORT_LIMIT_EXCEEDED = 0x103,
    NVME_ASYNC_EVENT_LIMIT_EXCEEDED = 0x105,
    NVME_INVALID_LOG_PAGE = 0x109,
    NVME_FEATURE_NOT_SAVEABLE = 0x10d,
    NVME_FEATURE_NOT_CHANGEABLE = 0x10e,
    NVME_FEATURE_NOT_NAMESPACE_SPECIFIC = 0x10f,
    NVME_CONFLICTING_ATTRIBUTES = 0x180, /* dataset management, read, write */
    NVME_READ_ONLY_RANGE = 0x182,        /* write, write zeroes, dataset management */
    NVME_CONNECT_INCOMPATIBLE_FORMAT = 0x180,
    NVME_CONNECT_CONTROLLER_BUSY = 0x181,
    NVME_CONNECT_INVALID_PARAMETERS = 0x182,
    NVME_CONNECT_RESTART_DISCOVERY = 0x183,
    NVME_CONNECT_INVALID_HOST = 0x184,
    NVME_DISCOVERY_RESTART = 0x190,
    NVME_AUTHENTICATION_REQUIRED = 0x191,
    NVME_WRITE_FAULT = 0x280,
    NVME_UNRECOVERED_READ_ERROR = 0x281,
    NVME_COMPARE_FAILURE = 0x285,
};
#define NVME_STATUS_CODE_MASK 0x07ff /* selects type and code, but not the flags */
#define NVME_STATUS_TYPE_MASK 0x0700
#define NVME_STATUS_TYPE_MEDIA 0x0200
#define NVME_MORE 0x2000
#define NVME_DNR 0x4000

/* ---- Fabrics: Connect, properties, the RDMA transport's private data ---- */

/* connect.attributes */
#define NVME_CONNECT_PRIORITY 0x03
#define NVME_CONNECT_NO_FLOW_CONTROL 0x04

#define NVME_CNTLID_DYNAMIC 0xffff /* in Connect: the target may choose any controller */
#define NVME_MAX_CNTLID 0xffef

/* The data of the Connect command. */
struct nvme_connect_data {
    uint8_t host_id[NVME_HOST_ID_SIZE];
    uint16_t cntlid;
    uint8_t reserved1[238];
    uint8_t subsystem_nqn[NVME_NQN_FIELD_SIZE];
    uint8_t host_nqn[NVME_NQN_FIELD_SIZE];
    uint8_t reserved2[256];
};
NVME_ASSERT_SIZE(struct nvme_connect_data, 1024);
NVME_ASSERT_OFFSET(struct nvme_connect_data, host_nqn, 512);

/*
 * The result of Connect. After success, bits 15 to 0 contain the controller's number, and bits 31 to 16 whether
 * authentication is required. After NVME_CONNECT_INVALID_PARAMETERS, the result contains the offset of the wrong field;
 * NVME_CONNECT_IN_DATA is set if the field is in the data.
 */
#define NVME_CONNECT_IN_DATA 0x10000u

enum nvme_property {
    NVME_PROPERTY_CAP = 0x00,
    NVME_PROPERTY_VS = 0x08,
    NVME_PROPERTY_CC = 0x14,
    NVME_PROPERTY_CSTS = 0x1c,
    NVME_PROPERTY_NSSR = 0x20,
};
#define NVME_PROPERTY_SIZE_4 0
#define NVME_PROPERTY_SIZE_8 1

/* CAP */
#define NVME_CAP_MQES_MASK UINT64_C(0xffff) /* maximum number of entries in a queue, minus one */
#define NVME_CAP_CQR (UINT64_C(1) << 16)
#define NVME_CAP_TO_SHIFT 24 /* units of 500 ms */
#define NVME_CAP_CSS_NVM (UINT64_C(1) << 37)
#define NVME_CAP_MPSMIN_SHIFT 48
/* CC */
#define NVME_CC_ENABLE 0x00000001u
#define NVME_CC_CSS_MASK 0x00000070u
#define NVME_CC_MPS_MASK 0x00000780u
#define NVME_CC_AMS_MASK 0x00003800u
#define NVME_CC_SHUTDOWN_MASK 0x0000c000u
#define NVME_CC_SHUTDOWN_NORMAL 0x00004000u
#define NVME_CC_SHUTDOWN_ABRUPT 0x00008000u
#define NVME_CC_IOSQES_SHIFT 16 /* log2 of the submission queue entry size: 6, for 64 bytes */
#define NVME_CC_IOCQES_SHIFT 20 /* log2 of the completion queue entry size: 4, for 16 bytes */
/* CSTS */
#define NVME_CSTS_READY 0x00000001u
#define NVME_CSTS_FATAL 0x00000002u
#define NVME_CSTS_SHUTDOWN_MASK 0x0000000cu
#define NVME_CSTS_SHUTDOWN_RUNS 0x00000004u
#define NVME_CSTS_SHUTDOWN_DONE 0x00000008u

/* The private data of the RDMA transport's connection request, accept and reject. */
struct nvme_rdma_request {
    uint16_t record_format; /* 0 */
    uint16_t qid;
    uint16_t hrqsize; /* number of receives that the host has posted, which limits the responses of the target */
    uint16_t hsqsize; /* maximum number of outstanding commands of the host, minus one */
    uint16_t cntlid;  /* controller of an I/O queue, since version 1.1; older hosts send 0 */
    uint8_t reserved[22];
};
struct nvme_rdma_reply {
    uint16_t record_format;
    uint16_t crqsize; /* number of receives that the target has posted */
    uint8_t reserved[28];
};
struct nvme_rdma_reject {
    uint16_t record_format;
    uint16_t status; /* enum nvme_rdma_status */
};
NVME_ASSERT_SIZE(struct nvme_rdma_request, 32);
NVME_ASSERT_SIZE(struct nvme_rdma_reply, 32);
NVME_ASSERT_SIZE(struct nvme_rdma_reject, 4);

enum nvme_rdma_status {
    NVME_RDMA_OK = 0,
    NVME_RDMA_INVALID_LENGTH = 1, /* the length of the private data is invalid */
    NVME_RDMA_INVALID_FORMAT = 2,
    NVME_RDMA_INVALID_QID = 3,
    NVME_RDMA_INVALID_HSQSIZE = 4,
    NVME_RDMA_INVALID_HRQSIZE = 5,
    NVME_RDMA_NO_RESOURCES = 6,
    NVME_RDMA_INVALID_IRD = 7,
    NVME_RDMA_INVALID_ORD = 8,
    NVME_RDMA_INVALID_CNTLID = 9,
};

/* ---- Features, asynchronous events ---- */

enum nvme_feature {
    NVME_FEATURE_ARBITRATION = 0x01,
    NVME_FEATURE_POWER = 0x02,
    NVME_FEATURE_TEMPERATURE = 0x04,
    NVME_FEATURE_ERROR_RECOVERY = 0x05,
    NVME_FEATURE_WRITE_CACHE = 0x06,
    /* Bits 15 to 0: number of I/O submission queues minus one. Bits 31 to 16: number of completion queues minus one. */
    NVME_FEATURE_QUEUES = 0x07,
    NVME_FEATURE_WRITE_ATOMICITY = 0x0a,
    NVME_FEATURE_ASYNC_EVENTS = 0x0b,
    NVME_FEATURE_KEEP_ALIVE = 0x0f, /* keep-alive timeout in ms */
    NVME_FEATURE_HOST_ID = 0x81,
    NVME_FEATURE_WRITE_PROTECT = 0x84,
};
#define NVME_FEATURE_SAVE 0x80000000u        /* Set Features: cdw10 */
#define NVME_FEATURE_SELECT_MASK 0x00000700u /* Get Features: cdw10 */
#define NVME_FEATURE_SELECT_SHIFT 8
#define NVME_SELECT_CURRENT 0
#define NVME_SELECT_DEFAULT 1
#define NVME_SELECT_SAVED 2
#define NVME_SELECT_CAPABILITIES 3
#define NVME_CAPABILITY_CHANGEABLE 0x04u

/*
 * The result of an asynchronous event: bits 2 to 0 contain the type, bits 15 to 8 the event, bits 23 to 16 the log
 * page.
 */
#define NVME_EVENT_TYPE_NOTICE 0x02u
#define NVME_EVENT_INFO_SHIFT 8
#define NVME_EVENT_LOG_SHIFT 16
#define NVME_NOTICE_NAMESPACE_CHANGED 0x00u
#define NVME_NOTICE_DISCOVERY_CHANGED 0xf0u

#include "nvme_data.h"

#endif
