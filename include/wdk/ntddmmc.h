/* SPDX-License-Identifier: MIT */
/*
 * The answer of a CD or DVD drive to GET CONFIGURATION: a header, then features, each with a header of its own. Numbers
 * of several bytes are big-endian.
 */
#ifndef ONDK_WDK_NTDDMMC_H
#define ONDK_WDK_NTDDMMC_H

#include "wdm.h"

EXTERN_C_START

#define SCSI_GET_CONFIGURATION_REQUEST_TYPE_ALL 0x0
#define SCSI_GET_CONFIGURATION_REQUEST_TYPE_CURRENT 0x1
#define SCSI_GET_CONFIGURATION_REQUEST_TYPE_ONE 0x2

typedef enum _FEATURE_PROFILE_TYPE {
    ProfileInvalid = 0x0000,
    ProfileNonRemovableDisk = 0x0001,
    ProfileRemovableDisk = 0x0002,
    ProfileMOErasable = 0x0003,
    ProfileMOWriteOnce = 0x0004,
    ProfileAS_MO = 0x0005,
    ProfileCdrom = 0x0008,
    ProfileCdRecordable = 0x0009,
    ProfileCdRewritable = 0x000A,
    ProfileDvdRom = 0x0010,
    ProfileDvdRecordable = 0x0011,
    ProfileDvdRam = 0x0012,
    ProfileDvdRewritable = 0x0013,
    ProfileDvdRWSequential = 0x0014,
    ProfileDvdDashRDualLayer = 0x0015,
    ProfileDvdDashRLayerJump = 0x0016,
    ProfileDvdPlusRW = 0x001A,
    ProfileDvdPlusR = 0x001B,
    ProfileDDCdrom = 0x0020,
    ProfileDDCdRecordable = 0x0021,
    ProfileDDCdRewritable = 0x0022,
    ProfileDvdPlusRWDualLayer = 0x002A,
    ProfileDvdPlusRDualLayer = 0x002B,
    ProfileBDRom = 0x0040,
    ProfileBDRSequentialWritable = 0x0041,
    ProfileBDRRandomWritable = 0x0042,
    ProfileBDRewritable = 0x0043,
    ProfileHDDVDRom = 0x0050,
    ProfileHDDVDRecordable = 0x0051,
    ProfileHDDVDRam = 0x0052,
    ProfileHDDVDRewritable = 0x0053,
    ProfileHDDVDRDualLayer = 0x0058,
    ProfileHDDVDRWDualLayer = 0x005A,
    ProfileNonStandard = 0xffff
} FEATURE_PROFILE_TYPE, *PFEATURE_PROFILE_TYPE;

typedef enum _FEATURE_NUMBER {
    FeatureProfileList = 0x0000,
    FeatureCore = 0x0001,
    FeatureMorphing = 0x0002,
    FeatureRemovableMedium = 0x0003,
    FeatureWriteProtect = 0x0004,
    FeatureRandomReadable = 0x0010,
    FeatureMultiRead = 0x001D,
    FeatureCdRead = 0x001E,
    FeatureDvdRead = 0x001F,
    FeatureRandomWritable = 0x0020,
    FeatureIncrementalStreamingWritable = 0x0021,
    FeatureSectorErasable = 0x0022,
    FeatureFormattable = 0x0023,
    FeatureDefectManagement = 0x0024,
    FeatureWriteOnce = 0x0025,
    FeatureRestrictedOverwrite = 0x0026,
    FeatureCdrwCAVWrite = 0x0027,
    FeatureMrw = 0x0028,
    FeatureEnhancedDefectReporting = 0x0029,
    FeatureDvdPlusRW = 0x002A,
    FeatureDvdPlusR = 0x002B,
    FeatureRigidRestrictedOverwrite = 0x002C,
    FeatureCdTrackAtOnce = 0x002D,
    FeatureCdMastering = 0x002E,
    FeatureDvdRecordableWrite = 0x002F,
    FeatureDDCDRead = 0x0030,
    FeatureDDCDRWrite = 0x0031,
    FeatureDDCDRWWrite = 0x0032,
    FeatureLayerJumpRecording = 0x0033,
    FeatureCDRWMediaWriteSupport = 0x0037,
    FeatureBDRPseudoOverwrite = 0x0038,
    FeatureDvdPlusRWDualLayer = 0x003A,
    FeatureDvdPlusRDualLayer = 0x003B,
    FeatureBDRead = 0x0040,
    FeatureBDWrite = 0x0041,
    FeatureTSR = 0x0042,
    FeatureHDDVDRead = 0x0050,
    FeatureHDDVDWrite = 0x0051,
    FeatureHybridDisc = 0x0080,
    FeaturePowerManagement = 0x0100,
    FeatureSMART = 0x0101,
    FeatureEmbeddedChanger = 0x0102,
    FeatureCDAudioAnalogPlay = 0x0103,
    FeatureMicrocodeUpgrade = 0x0104,
    FeatureTimeout = 0x0105,
    FeatureDvdCSS = 0x0106,
    FeatureRealTimeStreaming = 0x0107,
    FeatureLogicalUnitSerialNumber = 0x0108,
    FeatureMediaSerialNumber = 0x0109,
    FeatureDiscControlBlocks = 0x010A,
    FeatureDvdCPRM = 0x010B,
    FeatureFirmwareDate = 0x010C,
    FeatureAACS = 0x010D,
    FeatureVCPS = 0x0110
} FEATURE_NUMBER, *PFEATURE_NUMBER;

typedef struct _GET_CONFIGURATION_HEADER {
    UCHAR DataLength[4];
    UCHAR Reserved[2];
    UCHAR CurrentProfile[2];
    UCHAR Data[0];
} GET_CONFIGURATION_HEADER, *PGET_CONFIGURATION_HEADER;

/* AdditionalLength: bytes behind the header, a multiple of 4. */
typedef struct _FEATURE_HEADER {
    UCHAR FeatureCode[2];
    UCHAR Current : 1;
    UCHAR Persistent : 1;
    UCHAR Version : 4;
    UCHAR Reserved0 : 2;
    UCHAR AdditionalLength;
} FEATURE_HEADER, *PFEATURE_HEADER;

/* The input of IOCTL_CDROM_GET_CONFIGURATION. */
typedef struct _GET_CONFIGURATION_IOCTL_INPUT {
    FEATURE_NUMBER Feature;
    ULONG RequestType;
    PVOID Reserved[2];
} GET_CONFIGURATION_IOCTL_INPUT, *PGET_CONFIGURATION_IOCTL_INPUT;

typedef struct _FEATURE_DATA_PROFILE_LIST_EX {
    UCHAR ProfileNumber[2];
    UCHAR Current : 1;
    UCHAR Reserved1 : 7;
    UCHAR Reserved2;
} FEATURE_DATA_PROFILE_LIST_EX, *PFEATURE_DATA_PROFILE_LIST_EX;

EXTERN_C_END

#endif
