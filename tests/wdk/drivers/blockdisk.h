/* SPDX-License-Identifier: MIT */
/* A memory-backed disk for the test of block devices: see blockdisk.c. */
#ifndef TESTS_WDK_BLOCKDISK_H
#define TESTS_WDK_BLOCKDISK_H

#include <ntddk.h>
#include <storport.h>

enum { BLOCKDISK_UNITS = 3, BLOCKDISK_TAG = 'klbT' };

/* The settings are values of the service's key with these names. */
struct settings {
    ULONG BlockSize, Blocks, MaxTransfer;
    ULONG Pages;    /* NumberOfPhysicalBreaks; MAXULONG: the port's default */
    ULONG Units;
    ULONG Modern;   /* READ CAPACITY(16), vital product data, MODE SENSE, FUA, UNMAP, WRITE SAME; 2: no capacity */
    ULONG ReadOnly;
    ULONG NoWriteSame; /* the limits mention it, but the unit refuses it */
    ULONG Huge;        /* the unit reports 2^33 blocks; the first ones repeat */
};

/* An order is written to the last block of a unit. */
enum order_verb {
    ORDER_FAIL = 1,  /* the commands for block arguments[0], with sense key, code and qualifier in the other three */
    ORDER_BUSY,      /* the next arguments[0] commands for blocks: SCSI status BUSY */
    ORDER_ATTENTION, /* the next arguments[0] commands for blocks: UNIT ATTENTION */
    ORDER_HANG,      /* the commands for block arguments[0]: not completed before a reset */
    ORDER_RESIZE,    /* to arguments[0] blocks, at most the first size */
    ORDER_REMOVE,    /* the unit arguments[0] */
    ORDER_DELAY,     /* every command for blocks completes arguments[0] microseconds later; 0: at once */
    ORDER_LEAK,      /* leaves a block of pool behind */
    ORDER_SHORT,     /* the commands for block arguments[0] transfer one block less */
};

struct order {
    UCHAR magic[8]; /* "BLKORDER" */
    ULONG verb;
    ULONG arguments[4];
};

struct unit {
    PUCHAR data;
    BOOLEAN present;
    ULONG fail_block, fail_sense[3], hang_block, short_block; /* blocks: MAXULONG is none */
    LONG busy, attention;
};

struct counters {
    LONG reads, writes, fua_writes, flushes, unmaps, write_sames;
    LONG long_commands; /* reads and writes of 16 bytes */
    LONG active, most_active;
    ULONG largest; /* bytes */
};

/* A command for blocks that is not completed yet; the SRB's extension. */
struct pending {
    LIST_ENTRY link;
    PSCSI_REQUEST_BLOCK srb;
    UCHAR status;
    BOOLEAN hangs;
};

struct blockdisk {
    struct settings settings;
    struct unit units[BLOCKDISK_UNITS];
    struct counters counters;
    ULONGLONG blocks; /* now */
    ULONG delay;  /* microseconds */
    KSPIN_LOCK lock;
    LIST_ENTRY pending;
    PVOID timer;
};

/* Executes a SCSI command and returns the SRB status with which the SRB must complete. *hangs: only after a reset. */
UCHAR blockdisk_execute(struct blockdisk *d, PSCSI_REQUEST_BLOCK srb, BOOLEAN *hangs);
/* Whether the command is for blocks, so that it may be delayed. */
BOOLEAN blockdisk_is_for_blocks(PSCSI_REQUEST_BLOCK srb);

#endif
