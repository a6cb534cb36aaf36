/* SPDX-License-Identifier: MIT */
/* scsi.h's structures of CD and DVD drives. Numbers of several bytes are big-endian. */
#ifndef ONDK_WDK_SCSI_MMC_H
#define ONDK_WDK_SCSI_MMC_H

#include "../ntdef.h"

#pragma pack(push, 1)

/* ---- GET EVENT STATUS NOTIFICATION ------------------------------------------------------------------------------- */

#define NOTIFICATION_OPERATIONAL_CHANGE_CLASS_MASK 0x02
#define NOTIFICATION_POWER_MANAGEMENT_CLASS_MASK 0x04
#define NOTIFICATION_EXTERNAL_REQUEST_CLASS_MASK 0x08
#define NOTIFICATION_MEDIA_STATUS_CLASS_MASK 0x10
#define NOTIFICATION_MULTI_HOST_CLASS_MASK 0x20
#define NOTIFICATION_DEVICE_BUSY_CLASS_MASK 0x40

#define NOTIFICATION_NO_CLASS_EVENTS 0x0
#define NOTIFICATION_OPERATIONAL_CHANGE_CLASS_EVENTS 0x1
#define NOTIFICATION_POWER_MANAGEMENT_CLASS_EVENTS 0x2
#define NOTIFICATION_EXTERNAL_REQUEST_CLASS_EVENTS 0x3
#define NOTIFICATION_MEDIA_STATUS_CLASS_EVENTS 0x4
#define NOTIFICATION_MULTI_HOST_CLASS_EVENTS 0x5
#define NOTIFICATION_DEVICE_BUSY_CLASS_EVENTS 0x6

#define NOTIFICATION_OPERATIONAL_EVENT_NO_CHANGE 0x0
#define NOTIFICATION_OPERATIONAL_EVENT_CHANGE_REQUESTED 0x1
#define NOTIFICATION_OPERATIONAL_EVENT_CHANGE_OCCURRED 0x2
#define NOTIFICATION_OPERATIONAL_STATUS_AVAILABLE 0x0
#define NOTIFICATION_OPERATIONAL_STATUS_TEMPORARY_BUSY 0x1
#define NOTIFICATION_OPERATIONAL_STATUS_EXTENDED_BUSY 0x2

#define NOTIFICATION_MEDIA_EVENT_NO_EVENT 0x0
#define NOTIFICATION_MEDIA_EVENT_EJECT_REQUEST 0x1
#define NOTIFICATION_MEDIA_EVENT_NEW_MEDIA 0x2
#define NOTIFICATION_MEDIA_EVENT_MEDIA_REMOVAL 0x3
#define NOTIFICATION_MEDIA_EVENT_MEDIA_CHANGE 0x4

typedef struct _NOTIFICATION_EVENT_STATUS_HEADER {
    UCHAR EventDataLength[2];
    UCHAR NotificationClass : 3;
    UCHAR Reserved : 4;
    UCHAR NEA : 1;
    UCHAR SupportedEventClasses;
    UCHAR ClassEventData[0];
} NOTIFICATION_EVENT_STATUS_HEADER, *PNOTIFICATION_EVENT_STATUS_HEADER;

typedef struct _NOTIFICATION_OPERATIONAL_STATUS {
    UCHAR OperationalEvent : 4;
    UCHAR Reserved1 : 4;
    UCHAR OperationalStatus : 4;
    UCHAR Reserved2 : 3;
    UCHAR PersistentPrevented : 1;
    UCHAR Operation[2];
} NOTIFICATION_OPERATIONAL_STATUS, *PNOTIFICATION_OPERATIONAL_STATUS;

typedef struct _NOTIFICATION_MEDIA_STATUS {
    UCHAR MediaEvent : 4;
    UCHAR Reserved : 4;
    union {
        UCHAR PowerStatus;
        UCHAR MediaStatus;
        struct {
            UCHAR DoorTrayOpen : 1;
            UCHAR MediaPresent : 1;
            UCHAR ReservedX : 6;
        };
    };
    UCHAR StartSlot;
    UCHAR EndSlot;
} NOTIFICATION_MEDIA_STATUS, *PNOTIFICATION_MEDIA_STATUS;

/* ---- READ DISC INFORMATION --------------------------------------------------------------------------------------- */

typedef struct _OPC_TABLE_ENTRY {
    UCHAR Speed[2];
    UCHAR OPCValue[6];
} OPC_TABLE_ENTRY, *POPC_TABLE_ENTRY;

typedef struct _DISC_INFORMATION {
    UCHAR Length[2];
    UCHAR DiscStatus : 2;
    UCHAR LastSessionStatus : 2;
    UCHAR Erasable : 1;
    UCHAR Reserved1 : 3;
    UCHAR FirstTrackNumber;
    UCHAR NumberOfSessionsLsb;
    UCHAR LastSessionFirstTrackLsb;
    UCHAR LastSessionLastTrackLsb;
    UCHAR MrwStatus : 2;
    UCHAR MrwDirtyBit : 1;
    UCHAR Reserved2 : 2;
    UCHAR URU : 1;
    UCHAR DBC_V : 1;
    UCHAR DID_V : 1;
    UCHAR DiscType;
    UCHAR NumberOfSessionsMsb;
    UCHAR LastSessionFirstTrackMsb;
    UCHAR LastSessionLastTrackMsb;
    UCHAR DiskIdentification[4];
    UCHAR LastSessionLeadIn[4];
    UCHAR LastPossibleLeadOutStartTime[4];
    UCHAR DiskBarCode[8];
    UCHAR Reserved4;
    UCHAR NumberOPCEntries;
    OPC_TABLE_ENTRY OPCTable[1];
} DISC_INFORMATION, *PDISC_INFORMATION;

/* ---- READ TRACK INFORMATION -------------------------------------------------------------------------------------- */

typedef struct _TRACK_INFORMATION {
    UCHAR Length[2];
    UCHAR TrackNumber;
    UCHAR SessionNumber;
    UCHAR Reserved1;
    UCHAR TrackMode : 4;
    UCHAR Copy : 1;
    UCHAR Damage : 1;
    UCHAR Reserved2 : 2;
    UCHAR DataMode : 4;
    UCHAR FP : 1;
    UCHAR Packet : 1;
    UCHAR Blank : 1;
    UCHAR RT : 1;
    UCHAR NWA_V : 1;
    UCHAR Reserved3 : 7;
    UCHAR TrackStartAddress[4];
    UCHAR NextWritableAddress[4];
    UCHAR FreeBlocks[4];
    UCHAR FixedPacketSize[4];
} TRACK_INFORMATION, *PTRACK_INFORMATION;

typedef struct _TRACK_INFORMATION2 {
    UCHAR Length[2];
    UCHAR TrackNumberLsb;
    UCHAR SessionNumberLsb;
    UCHAR Reserved4;
    UCHAR TrackMode : 4;
    UCHAR Copy : 1;
    UCHAR Damage : 1;
    UCHAR Reserved5 : 2;
    UCHAR DataMode : 4;
    UCHAR FixedPacket : 1;
    UCHAR Packet : 1;
    UCHAR Blank : 1;
    UCHAR ReservedTrack : 1;
    UCHAR NWA_V : 1;
    UCHAR LRA_V : 1;
    UCHAR Reserved6 : 6;
    UCHAR TrackStartAddress[4];
    UCHAR NextWritableAddress[4];
    UCHAR FreeBlocks[4];
    UCHAR FixedPacketSize[4];
    UCHAR TrackSize[4];
    UCHAR LastRecordedAddress[4];
    UCHAR TrackNumberMsb;
    UCHAR SessionNumberMsb;
    UCHAR Reserved7[2];
} TRACK_INFORMATION2, *PTRACK_INFORMATION2;

/* ---- READ TOC ---------------------------------------------------------------------------------------------------- */

#define READ_TOC_FORMAT_TOC 0x00
#define READ_TOC_FORMAT_SESSION 0x01
#define READ_TOC_FORMAT_FULL_TOC 0x02
#define READ_TOC_FORMAT_PMA 0x03
#define READ_TOC_FORMAT_ATIP 0x04

#pragma pack(pop)

#endif
