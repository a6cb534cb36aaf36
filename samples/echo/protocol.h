/* SPDX-License-Identifier: MIT */
/*
 * What client and service say to each other, and the device controls. A message that does not begin with ECHO_MAGIC
 * is a text: it comes back as it is. Numbers are in the order of the processor, which both sides share here.
 */
#ifndef ECHO_PROTOCOL_H
#define ECHO_PROTOCOL_H

#define ECHO_MAGIC 0x4F484345 /* "ECHO" */
#define ECHO_MESSAGE_MOST 512
#define ECHO_BULK_MOST (64 * 4096)

/*
 * The client offers a region of 2 * Length octets at Address: the service reads the first half and writes it into the
 * second. The answer has the same form, Status says how it went, and the region's token has been invalidated with it.
 */
typedef struct _ECHO_BULK {
    ULONG Magic;
    NTSTATUS Status;
    ULONGLONG Address;
    ULONG Token;
    ULONG Length;
} ECHO_BULK;

/* Connects to the service and has Rounds times Length octets sent to and fro, compared each time. */
#define IOCTL_ECHO_RUN CTL_CODE(FILE_DEVICE_NETWORK, 0x800, METHOD_BUFFERED, FILE_ANY_ACCESS) /* 0x122000 */
/* What the service has done so far. */
#define IOCTL_ECHO_QUERY CTL_CODE(FILE_DEVICE_NETWORK, 0x801, METHOD_BUFFERED, FILE_ANY_ACCESS) /* 0x122004 */

typedef struct _ECHO_RUN {
    ULONG Length;
    ULONG Rounds;
} ECHO_RUN;

typedef struct _ECHO_REPORT {
    ULONGLONG Octets;
    ULONGLONG Microseconds;
    ULONG Rounds;
    ULONG Different; /* rounds whose data came back different */
} ECHO_REPORT;

typedef struct _ECHO_COUNTERS {
    LONG Connections; /* so far */
    LONG Open;
    LONG Texts;
    LONG Bulks;
} ECHO_COUNTERS;

#endif
