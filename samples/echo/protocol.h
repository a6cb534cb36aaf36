/* SPDX-License-Identifier: MIT */
/*
 * The messages between client and service, and the device controls. A message that does not begin with ECHO_MAGIC is a
 * text, which is sent back unchanged. Numbers are in the processor's byte order, which both sides share here.
 */
#ifndef ECHO_PROTOCOL_H
#define ECHO_PROTOCOL_H

#define ECHO_MAGIC 0x4F484345 /* "ECHO" */
#define ECHO_MAX_MESSAGE 512
#define ECHO_MAX_BULK (64 * 4096)

/*
 * The client offers a region of 2 * Length bytes at Address. The service reads the first half and writes these bytes
 * into the second half. The answer has the same form with Status as the result, and invalidates the region's token.
 */
typedef struct _ECHO_BULK {
    ULONG Magic;
    NTSTATUS Status;
    ULONGLONG Address;
    ULONG Token;
    ULONG Length;
} ECHO_BULK;

/* Connects to the service and runs Rounds rounds. In each round Length bytes are exchanged and compared. */
#define IOCTL_ECHO_RUN CTL_CODE(FILE_DEVICE_NETWORK, 0x800, METHOD_BUFFERED, FILE_ANY_ACCESS) /* 0x122000 */
/* Returns the service's counters. */
#define IOCTL_ECHO_QUERY CTL_CODE(FILE_DEVICE_NETWORK, 0x801, METHOD_BUFFERED, FILE_ANY_ACCESS) /* 0x122004 */

typedef struct _ECHO_RUN {
    ULONG Length;
    ULONG Rounds;
} ECHO_RUN;

typedef struct _ECHO_REPORT {
    ULONGLONG Bytes;
    ULONGLONG Microseconds;
    ULONG Rounds;
    ULONG Different; /* rounds whose data differed */
} ECHO_REPORT;

typedef struct _ECHO_COUNTERS {
    LONG Connections; /* number of connections since the service started */
    LONG Open;
    LONG Texts;
    LONG Bulks;
} ECHO_COUNTERS;

#endif
