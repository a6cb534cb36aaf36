/* SPDX-License-Identifier: MIT */
/*
 * Defines the structures that Identify and Get Log Page transfer. nvme.h includes this file; its head describes byte
 * order and alignment.
 */
#ifndef NVME_DATA_H
#define NVME_DATA_H

#include "nvme.h"

/* ---- Identify ---- */

enum nvme_cns {
    NVME_CNS_NAMESPACE = 0x00,
    NVME_CNS_CONTROLLER = 0x01,
    NVME_CNS_ACTIVE_NAMESPACES = 0x02,
    NVME_CNS_NAMESPACE_DESCRIPTORS = 0x03,
    /* The part of the namespace's data that belongs to the command set identify.csi. */
    NVME_CNS_NAMESPACE_OF_SET = 0x05,
    NVME_CNS_CONTROLLER_OF_SET = 0x06,
    NVME_CNS_ACTIVE_NAMESPACES_OF_SET = 0x07,
    NVME_CNS_NAMESPACE_OF_ANY_SET = 0x08,
    NVME_CNS_CONTROLLERS = 0x13,
};
#define NVME_CSI_NVM 0x00

struct nvme_power_state {
    uint16_t max_power; /* units of 10 mW */
    uint8_t reserved[30];
};

struct nvme_identify_controller {
    uint16_t vid, ssvid;
    char sn[20], mn[40], fr[8]; /* padded with spaces */
    uint8_t rab;
    uint8_t ieee[3];
    uint8_t cmic;
    uint8_t mdts; /* log2 of the maximum transfer in pages, of the page size in CAP.MPSMIN; 0: no limit */
    uint16_t cntlid;
    uint32_t ver;
    uint32_t rtd3r, rtd3e;
    uint32_t oaes;
    uint32_t ctratt;
    uint16_t rrls;
    uint8_t reserved1[9];
    uint8_t cntrltype;
    uint8_t fguid[16];
    uint16_t crdt[3];
    uint8_t reserved2[122];
    uint16_t oacs;
    uint8_t acl, aerl; /* maximum numbers of outstanding Abort commands and event requests, each minus one */
    uint8_t frmw;
    uint8_t lpa;
    uint8_t elpe; /* number of error log entries minus one */
    uint8_t npss;
    uint8_t avscc, apsta;
    uint16_t wctemp, cctemp;
    uint16_t mtfa;
    uint32_t hmpre, hmmin;
    uint8_t tnvmcap[16], unvmcap[16];
    uint32_t rpmbs;
    uint16_t edstt;
    uint8_t dsto, fwug;
    uint16_t kas; /* granularity of the keep-alive timeout, in units of 100 ms */
    uint16_t hctma, mntmt, mxtmt;
    uint32_t sanicap;
    uint32_t hmminds;
    uint16_t hmmaxd;
    uint16_t nsetidmax, endgidmax;
    uint8_t anatt, anacap;
    uint32_t anagrpmax, nanagrpid;
    uint32_t pels;
    uint8_t reserved3[156];
    uint8_t sqes, cqes;
    uint16_t maxcmd;
    uint32_t nn;
    uint16_t oncs;
    uint16_t fuses;
    uint8_t fna;
    uint8_t vwc;
    uint16_t awun, awupf;
    uint8_t nvscc, nwpc;
    uint16_t acwu;
    uint16_t reserved4;
    uint32_t sgls;
    uint32_t mnan;
    uint8_t reserved5[224];
    char subnqn[NVME_NQN_FIELD_SIZE];
    uint8_t reserved6[768];
    uint32_t ioccsz, iorcsz; /* maximum sizes of a command capsule and of a response capsule, in units of 16 bytes */
    uint16_t icdoff;
    uint8_t fcatt; /* bit 0: the subsystem has static controllers */
    uint8_t msdbd;
    uint16_t ofcs;
    uint8_t reserved7[242];
    struct nvme_power_state psd[32];
    uint8_t vs[1024];
};
NVME_ASSERT_SIZE(struct nvme_identify_controller, 4096);
NVME_ASSERT_OFFSET(struct nvme_identify_controller, cntlid, 78);
NVME_ASSERT_OFFSET(struct nvme_identify_controller, cntrltype, 111);
NVME_ASSERT_OFFSET(struct nvme_identify_controller, oacs, 256);
NVME_ASSERT_OFFSET(struct nvme_identify_controller, kas, 320);
NVME_ASSERT_OFFSET(struct nvme_identify_controller, anagrpmax, 344);
NVME_ASSERT_OFFSET(struct nvme_identify_controller, sqes, 512);
NVME_ASSERT_OFFSET(struct nvme_identify_controller, vwc, 525);
NVME_ASSERT_OFFSET(struct nvme_identify_controller, sgls, 536);
NVME_ASSERT_OFFSET(struct nvme_identify_controller, subnqn, 768);
NVME_ASSERT_OFFSET(struct nvme_identify_controller, ioccsz, 1792);
NVME_ASSERT_OFFSET(struct nvme_identify_controller, psd, 2048);
/* cntrltype */
#define NVME_CONTROLLER_IO 1
#define NVME_CONTROLLER_DISCOVERY 2
/* cmic */
#define NVME_CMIC_MULTIPLE_CONTROLLERS 0x02
/* Bits of oaes, and of the feature "asynchronous event configuration". */
#define NVME_EVENT_NAMESPACE_CHANGED 0x00000100u
#define NVME_EVENT_DISCOVERY_CHANGED 0x80000000u
/* ctratt */
#define NVME_CTRATT_HOST_ID_128 0x01u
#define NVME_CTRATT_TRAFFIC_KEEP_ALIVE 0x40u
/* lpa */
#define NVME_LPA_COMMAND_EFFECTS 0x02
#define NVME_LPA_EXTENDED 0x04 /* Get Log Page has an offset, and a number of dwords with 32 bits */
/* oncs */
#define NVME_ONCS_COMPARE 0x01
#define NVME_ONCS_DATASET 0x04
#define NVME_ONCS_WRITE_ZEROES 0x08
#define NVME_ONCS_FEATURE_SELECT 0x10 /* Set Features has the bit "save", Get Features the field "select" */
/* vwc */
#define NVME_VWC_PRESENT 0x01
#define NVME_VWC_FLUSH_ALL 0x06 /* a Flush with NVME_ALL_NAMESPACES flushes all namespaces */
/* sgls */
#define NVME_SGLS_SUPPORTED 0x00000001u
#define NVME_SGLS_KEYED 0x00000004u
#define NVME_SGLS_OFFSET 0x00100000u /* descriptors can have offsets: a command's data can be in its capsule */
/* The unit of icdoff and ioccsz, in bytes. */
#define NVME_CAPSULE_UNIT 16

struct nvme_lba_format {
    uint16_t metadata_size;
    uint8_t shift;
    uint8_t performance;
};

struct nvme_identify_namespace {
    uint64_t nsze, ncap, nuse;
    uint8_t nsfeat;
    uint8_t nlbaf; /* number of LBA formats minus one */
    uint8_t flbas;
    uint8_t mc, dpc, dps;
    uint8_t nmic;
    uint8_t rescap;
    uint8_t fpi;
    uint8_t dlfeat;
    uint16_t nawun, nawupf, nacwu, nabsn, nabo, nabspf;
    uint16_t noiob;
    uint8_t nvmcap[16];
    uint16_t npwg, npwa, npdg, npda, nows; /* each value is a number of blocks minus one */
    uint16_t mssrl;
    uint32_t mcl;
    uint8_t msrc;
    uint8_t reserved1[11];
    uint32_t anagrpid;
    uint8_t reserved2[3];
    uint8_t nsattr;
    uint16_t nvmsetid, endgid;
    uint8_t nguid[16];
    uint8_t eui64[8];
    struct nvme_lba_format lbaf[16];
    uint8_t reserved3[192];
    uint8_t vs[3712];
};
NVME_ASSERT_SIZE(struct nvme_identify_namespace, 4096);
NVME_ASSERT_OFFSET(struct nvme_identify_namespace, nvmcap, 48);
NVME_ASSERT_OFFSET(struct nvme_identify_namespace, anagrpid, 92);
NVME_ASSERT_OFFSET(struct nvme_identify_namespace, nguid, 104);
NVME_ASSERT_OFFSET(struct nvme_identify_namespace, lbaf, 128);
/* nsfeat */
#define NVME_NSFEAT_THIN 0x01
#define NVME_NSFEAT_OPTIMAL_IO 0x10 /* npwg to nows are valid */
/* nmic */
#define NVME_NMIC_SHARED 0x01
/* dlfeat */
#define NVME_DLFEAT_READS_ZEROES 0x01
#define NVME_DLFEAT_WRITE_ZEROES 0x08 /* NVME_IO_DEALLOCATE is supported */
/* nsattr */
#define NVME_NSATTR_WRITE_PROTECTED 0x01

/* Identify with NVME_CNS_NAMESPACE_OF_ANY_SET. */
struct nvme_identify_namespace_any {
    uint8_t nsfeat, nmic, rescap, fpi;
    uint32_t anagrpid;
    uint8_t nsattr;
    uint8_t reserved1;
    uint16_t nvmsetid, endgid;
    uint8_t nstat; /* bit 0: ready */
    uint8_t reserved2[4081];
};
NVME_ASSERT_SIZE(struct nvme_identify_namespace_any, 4096);

/* Identify with NVME_CNS_CONTROLLER_OF_SET: the NVM command set. */
struct nvme_identify_controller_nvm {
    uint8_t vsl, wzsl, wusl; /* maximum sizes of Verify, Write Zeroes and Write Uncorrectable, in the unit of mdts */
    uint8_t dmrl;            /* maximum number of ranges in a dataset management command; 0: no limit */
    uint32_t dmrsl;          /* maximum number of blocks in one range */
    uint64_t dmsl;           /* maximum number of blocks in all ranges of a command */
    uint8_t reserved[4080];
};
NVME_ASSERT_SIZE(struct nvme_identify_controller_nvm, 4096);

/* The head of a namespace identification descriptor; `length` bytes follow. A descriptor of length 0 ends the list. */
struct nvme_namespace_descriptor {
    uint8_t type;
    uint8_t length;
    uint8_t reserved[2];
};
NVME_ASSERT_SIZE(struct nvme_namespace_descriptor, 4);
enum nvme_namespace_descriptor_type {
    NVME_DESCRIPTOR_EUI64 = 1, /* 8 bytes */
    NVME_DESCRIPTOR_NGUID = 2, /* 16 bytes */
    NVME_DESCRIPTOR_UUID = 3,  /* 16 bytes */
    NVME_DESCRIPTOR_CSI = 4,   /* 1 byte */
};

/* ---- Log pages ---- */

enum nvme_log_page {
    NVME_LOG_ERROR = 0x01,
    NVME_LOG_SMART = 0x02,
    NVME_LOG_FIRMWARE = 0x03,
    NVME_LOG_CHANGED_NAMESPACES = 0x04,
    NVME_LOG_COMMAND_EFFECTS = 0x05,
    NVME_LOG_DISCOVERY = 0x70,
};
#define NVME_LOG_RETAIN_EVENT 0x80 /* log.specific */

struct nvme_error_entry {
    uint64_t count; /* number of the error, from 1 on; 0: the entry is not in use */
    uint16_t sqid;
    uint16_t cid;
    uint16_t status;   /* status field of the completion */
    uint16_t location; /* start of the wrong field: bits 7-0 byte offset, bits 10-8 bit number; 0xffff: none */
    uint64_t lba;
    uint32_t nsid;
    uint8_t vendor;
    uint8_t transport;
    uint8_t reserved1[2];
    uint64_t specific;
    uint16_t transport_specific;
    uint8_t reserved2[22];
};
NVME_ASSERT_SIZE(struct nvme_error_entry, 64);

struct nvme_smart {
    uint8_t critical_warning;
    uint8_t temperature[2]; /* in kelvins */
    uint8_t spare, spare_threshold, used;
    uint8_t endurance_group;
    uint8_t reserved1[25];
    uint64_t units_read[2], units_written[2]; /* number of thousands of 512-byte units, rounded up */
    uint64_t reads[2], writes[2];
    uint64_t busy_minutes[2], power_cycles[2], power_on_hours[2], unsafe_shutdowns[2];
    uint64_t media_errors[2], error_entries[2];
    uint32_t warning_minutes, critical_minutes;
    uint8_t reserved2[312];
};
NVME_ASSERT_SIZE(struct nvme_smart, 512);
NVME_ASSERT_OFFSET(struct nvme_smart, units_read, 32);
NVME_ASSERT_OFFSET(struct nvme_smart, error_entries, 176);

struct nvme_firmware_slots {
    uint8_t afi;
    uint8_t reserved1[7];
    char frs[7][8];
    uint8_t reserved2[448];
};
NVME_ASSERT_SIZE(struct nvme_firmware_slots, 512);

#define NVME_MAX_CHANGED_NAMESPACES 1024 /* maximum number of entries: the log page is an array of nsids */

struct nvme_command_effects {
    uint32_t admin[256], io[256];
    uint8_t reserved[2048];
};
NVME_ASSERT_SIZE(struct nvme_command_effects, 4096);
#define NVME_EFFECT_SUPPORTED 0x01u
#define NVME_EFFECT_DATA_CHANGE 0x02u

struct nvme_discovery_entry {
    uint8_t trtype;
    uint8_t adrfam;
    uint8_t subtype;
    uint8_t treq;
    uint16_t portid;
    uint16_t cntlid;
    uint16_t asqsz;
    uint16_t eflags;
    uint8_t reserved1[20];
    char trsvcid[32];
    uint8_t reserved2[192];
    char subnqn[NVME_NQN_FIELD_SIZE];
    char traddr[256];
    struct {
        uint8_t qptype, prtype, cms;
        uint8_t reserved1[5];
        uint16_t pkey;
        uint8_t reserved2[246];
    } rdma;
};
NVME_ASSERT_SIZE(struct nvme_discovery_entry, 1024);
NVME_ASSERT_OFFSET(struct nvme_discovery_entry, subnqn, 256);
NVME_ASSERT_OFFSET(struct nvme_discovery_entry, rdma, 768);

/* The head of the discovery log page; the entries follow. */
struct nvme_discovery_header {
    uint64_t generation;
    uint64_t records;
    uint16_t record_format;
    uint8_t reserved[1006];
};
NVME_ASSERT_SIZE(struct nvme_discovery_header, 1024);
#define NVME_TRTYPE_RDMA 1
#define NVME_ADRFAM_IPV4 1
#define NVME_ADRFAM_IPV6 2
#define NVME_SUBTYPE_DISCOVERY 1
#define NVME_SUBTYPE_NVM 2
#define NVME_TREQ_SECURE_CHANNEL 3  /* mask of treq: secure channel 0 not specified, 1 required, 2 not required */
#define NVME_TREQ_NO_FLOW_CONTROL 4 /* the target can do without flow control of submission queues */
#define NVME_RDMA_QPTYPE_CONNECTED 1
#define NVME_RDMA_PRTYPE_IWARP 5
#define NVME_RDMA_CMS_RDMA_CM 1

#endif
