/* SPDX-License-Identifier: MIT */
/*
 * The table of fast I/O, DRIVER_OBJECT.FastIoDispatch. The I/O manager never calls its routines. Each request is an
 * IRP, as on Windows if a routine returns FALSE.
 */
#ifndef ONDK_WDK_WDM_FASTIO_H
#define ONDK_WDK_WDM_FASTIO_H

#include "io.h"
#include "locks.h"
#include "zw.h"

EXTERN_C_START

struct _COMPRESSED_DATA_INFO;

typedef BOOLEAN FAST_IO_CHECK_IF_POSSIBLE(struct _FILE_OBJECT *FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                                          BOOLEAN Wait, ULONG LockKey, BOOLEAN CheckForReadOperation,
                                          PIO_STATUS_BLOCK IoStatus, struct _DEVICE_OBJECT *DeviceObject);
typedef BOOLEAN FAST_IO_READ(struct _FILE_OBJECT *FileObject, PLARGE_INTEGER FileOffset, ULONG Length, BOOLEAN Wait,
                             ULONG LockKey, PVOID Buffer, PIO_STATUS_BLOCK IoStatus,
                             struct _DEVICE_OBJECT *DeviceObject);
typedef BOOLEAN FAST_IO_WRITE(struct _FILE_OBJECT *FileObject, PLARGE_INTEGER FileOffset, ULONG Length, BOOLEAN Wait,
                              ULONG LockKey, PVOID Buffer, PIO_STATUS_BLOCK IoStatus,
                              struct _DEVICE_OBJECT *DeviceObject);
typedef BOOLEAN FAST_IO_QUERY_BASIC_INFO(struct _FILE_OBJECT *FileObject, BOOLEAN Wait, PFILE_BASIC_INFORMATION Buffer,
                                         PIO_STATUS_BLOCK IoStatus, struct _DEVICE_OBJECT *DeviceObject);
typedef BOOLEAN FAST_IO_QUERY_STANDARD_INFO(struct _FILE_OBJECT *FileObject, BOOLEAN Wait,
                                            PFILE_STANDARD_INFORMATION Buffer, PIO_STATUS_BLOCK IoStatus,
                                            struct _DEVICE_OBJECT *DeviceObject);
typedef BOOLEAN FAST_IO_LOCK(struct _FILE_OBJECT *FileObject, PLARGE_INTEGER FileOffset, PLARGE_INTEGER Length,
                             PEPROCESS ProcessId, ULONG Key, BOOLEAN FailImmediately, BOOLEAN ExclusiveLock,
                             PIO_STATUS_BLOCK IoStatus, struct _DEVICE_OBJECT *DeviceObject);
typedef BOOLEAN FAST_IO_UNLOCK_SINGLE(struct _FILE_OBJECT *FileObject, PLARGE_INTEGER FileOffset, PLARGE_INTEGER Length,
                                      PEPROCESS ProcessId, ULONG Key, PIO_STATUS_BLOCK IoStatus,
                                      struct _DEVICE_OBJECT *DeviceObject);
typedef BOOLEAN FAST_IO_UNLOCK_ALL(struct _FILE_OBJECT *FileObject, PEPROCESS ProcessId, PIO_STATUS_BLOCK IoStatus,
                                   struct _DEVICE_OBJECT *DeviceObject);
typedef BOOLEAN FAST_IO_UNLOCK_ALL_BY_KEY(struct _FILE_OBJECT *FileObject, PVOID ProcessId, ULONG Key,
                                          PIO_STATUS_BLOCK IoStatus, struct _DEVICE_OBJECT *DeviceObject);
typedef BOOLEAN FAST_IO_DEVICE_CONTROL(struct _FILE_OBJECT *FileObject, BOOLEAN Wait, PVOID InputBuffer,
                                       ULONG InputBufferLength, PVOID OutputBuffer, ULONG OutputBufferLength,
                                       ULONG IoControlCode, PIO_STATUS_BLOCK IoStatus,
                                       struct _DEVICE_OBJECT *DeviceObject);
typedef VOID FAST_IO_ACQUIRE_FILE(struct _FILE_OBJECT *FileObject);
typedef VOID FAST_IO_RELEASE_FILE(struct _FILE_OBJECT *FileObject);
typedef VOID FAST_IO_DETACH_DEVICE(struct _DEVICE_OBJECT *SourceDevice, struct _DEVICE_OBJECT *TargetDevice);
typedef BOOLEAN FAST_IO_QUERY_NETWORK_OPEN_INFO(struct _FILE_OBJECT *FileObject, BOOLEAN Wait,
                                                struct _FILE_NETWORK_OPEN_INFORMATION *Buffer,
                                                PIO_STATUS_BLOCK IoStatus, struct _DEVICE_OBJECT *DeviceObject);
typedef NTSTATUS FAST_IO_ACQUIRE_FOR_MOD_WRITE(struct _FILE_OBJECT *FileObject, PLARGE_INTEGER EndingOffset,
                                               struct _ERESOURCE **ResourceToRelease,
                                               struct _DEVICE_OBJECT *DeviceObject);
typedef BOOLEAN FAST_IO_MDL_READ(struct _FILE_OBJECT *FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                                 ULONG LockKey, PMDL *MdlChain, PIO_STATUS_BLOCK IoStatus,
                                 struct _DEVICE_OBJECT *DeviceObject);
typedef BOOLEAN FAST_IO_MDL_READ_COMPLETE(struct _FILE_OBJECT *FileObject, PMDL MdlChain,
                                          struct _DEVICE_OBJECT *DeviceObject);
typedef BOOLEAN FAST_IO_PREPARE_MDL_WRITE(struct _FILE_OBJECT *FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                                          ULONG LockKey, PMDL *MdlChain, PIO_STATUS_BLOCK IoStatus,
                                          struct _DEVICE_OBJECT *DeviceObject);
typedef BOOLEAN FAST_IO_MDL_WRITE_COMPLETE(struct _FILE_OBJECT *FileObject, PLARGE_INTEGER FileOffset, PMDL MdlChain,
                                           struct _DEVICE_OBJECT *DeviceObject);
typedef BOOLEAN FAST_IO_READ_COMPRESSED(struct _FILE_OBJECT *FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                                        ULONG LockKey, PVOID Buffer, PMDL *MdlChain, PIO_STATUS_BLOCK IoStatus,
                                        struct _COMPRESSED_DATA_INFO *CompressedDataInfo,
                                        ULONG CompressedDataInfoLength, struct _DEVICE_OBJECT *DeviceObject);
typedef BOOLEAN FAST_IO_WRITE_COMPRESSED(struct _FILE_OBJECT *FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                                         ULONG LockKey, PVOID Buffer, PMDL *MdlChain, PIO_STATUS_BLOCK IoStatus,
                                         struct _COMPRESSED_DATA_INFO *CompressedDataInfo,
                                         ULONG CompressedDataInfoLength, struct _DEVICE_OBJECT *DeviceObject);
typedef BOOLEAN FAST_IO_MDL_READ_COMPLETE_COMPRESSED(struct _FILE_OBJECT *FileObject, PMDL MdlChain,
                                                     struct _DEVICE_OBJECT *DeviceObject);
typedef BOOLEAN FAST_IO_MDL_WRITE_COMPLETE_COMPRESSED(struct _FILE_OBJECT *FileObject, PLARGE_INTEGER FileOffset,
                                                      PMDL MdlChain, struct _DEVICE_OBJECT *DeviceObject);
typedef BOOLEAN FAST_IO_QUERY_OPEN(struct _IRP *Irp, PFILE_NETWORK_OPEN_INFORMATION NetworkInformation,
                                   struct _DEVICE_OBJECT *DeviceObject);
typedef NTSTATUS FAST_IO_RELEASE_FOR_MOD_WRITE(struct _FILE_OBJECT *FileObject, struct _ERESOURCE *ResourceToRelease,
                                               struct _DEVICE_OBJECT *DeviceObject);
typedef NTSTATUS FAST_IO_ACQUIRE_FOR_CCFLUSH(struct _FILE_OBJECT *FileObject, struct _DEVICE_OBJECT *DeviceObject);
typedef NTSTATUS FAST_IO_RELEASE_FOR_CCFLUSH(struct _FILE_OBJECT *FileObject, struct _DEVICE_OBJECT *DeviceObject);

typedef FAST_IO_CHECK_IF_POSSIBLE *PFAST_IO_CHECK_IF_POSSIBLE;
typedef FAST_IO_READ *PFAST_IO_READ;
typedef FAST_IO_WRITE *PFAST_IO_WRITE;
typedef FAST_IO_QUERY_BASIC_INFO *PFAST_IO_QUERY_BASIC_INFO;
typedef FAST_IO_QUERY_STANDARD_INFO *PFAST_IO_QUERY_STANDARD_INFO;
typedef FAST_IO_LOCK *PFAST_IO_LOCK;
typedef FAST_IO_UNLOCK_SINGLE *PFAST_IO_UNLOCK_SINGLE;
typedef FAST_IO_UNLOCK_ALL *PFAST_IO_UNLOCK_ALL;
typedef FAST_IO_UNLOCK_ALL_BY_KEY *PFAST_IO_UNLOCK_ALL_BY_KEY;
typedef FAST_IO_DEVICE_CONTROL *PFAST_IO_DEVICE_CONTROL;
typedef FAST_IO_ACQUIRE_FILE *PFAST_IO_ACQUIRE_FILE;
typedef FAST_IO_RELEASE_FILE *PFAST_IO_RELEASE_FILE;
typedef FAST_IO_DETACH_DEVICE *PFAST_IO_DETACH_DEVICE;
typedef FAST_IO_QUERY_NETWORK_OPEN_INFO *PFAST_IO_QUERY_NETWORK_OPEN_INFO;
typedef FAST_IO_ACQUIRE_FOR_MOD_WRITE *PFAST_IO_ACQUIRE_FOR_MOD_WRITE;
typedef FAST_IO_MDL_READ *PFAST_IO_MDL_READ;
typedef FAST_IO_MDL_READ_COMPLETE *PFAST_IO_MDL_READ_COMPLETE;
typedef FAST_IO_PREPARE_MDL_WRITE *PFAST_IO_PREPARE_MDL_WRITE;
typedef FAST_IO_MDL_WRITE_COMPLETE *PFAST_IO_MDL_WRITE_COMPLETE;
typedef FAST_IO_READ_COMPRESSED *PFAST_IO_READ_COMPRESSED;
typedef FAST_IO_WRITE_COMPRESSED *PFAST_IO_WRITE_COMPRESSED;
typedef FAST_IO_MDL_READ_COMPLETE_COMPRESSED *PFAST_IO_MDL_READ_COMPLETE_COMPRESSED;
typedef FAST_IO_MDL_WRITE_COMPLETE_COMPRESSED *PFAST_IO_MDL_WRITE_COMPLETE_COMPRESSED;
typedef FAST_IO_QUERY_OPEN *PFAST_IO_QUERY_OPEN;
typedef FAST_IO_RELEASE_FOR_MOD_WRITE *PFAST_IO_RELEASE_FOR_MOD_WRITE;
typedef FAST_IO_ACQUIRE_FOR_CCFLUSH *PFAST_IO_ACQUIRE_FOR_CCFLUSH;
typedef FAST_IO_RELEASE_FOR_CCFLUSH *PFAST_IO_RELEASE_FOR_CCFLUSH;

typedef struct _FAST_IO_DISPATCH {
    ULONG SizeOfFastIoDispatch;
    PFAST_IO_CHECK_IF_POSSIBLE FastIoCheckIfPossible;
    PFAST_IO_READ FastIoRead;
    PFAST_IO_WRITE FastIoWrite;
    PFAST_IO_QUERY_BASIC_INFO FastIoQueryBasicInfo;
    PFAST_IO_QUERY_STANDARD_INFO FastIoQueryStandardInfo;
    PFAST_IO_LOCK FastIoLock;
    PFAST_IO_UNLOCK_SINGLE FastIoUnlockSingle;
    PFAST_IO_UNLOCK_ALL FastIoUnlockAll;
    PFAST_IO_UNLOCK_ALL_BY_KEY FastIoUnlockAllByKey;
    PFAST_IO_DEVICE_CONTROL FastIoDeviceControl;
    PFAST_IO_ACQUIRE_FILE AcquireFileForNtCreateSection;
    PFAST_IO_RELEASE_FILE ReleaseFileForNtCreateSection;
    PFAST_IO_DETACH_DEVICE FastIoDetachDevice;
    PFAST_IO_QUERY_NETWORK_OPEN_INFO FastIoQueryNetworkOpenInfo;
    PFAST_IO_ACQUIRE_FOR_MOD_WRITE AcquireForModWrite;
    PFAST_IO_MDL_READ MdlRead;
    PFAST_IO_MDL_READ_COMPLETE MdlReadComplete;
    PFAST_IO_PREPARE_MDL_WRITE PrepareMdlWrite;
    PFAST_IO_MDL_WRITE_COMPLETE MdlWriteComplete;
    PFAST_IO_READ_COMPRESSED FastIoReadCompressed;
    PFAST_IO_WRITE_COMPRESSED FastIoWriteCompressed;
    PFAST_IO_MDL_READ_COMPLETE_COMPRESSED MdlReadCompleteCompressed;
    PFAST_IO_MDL_WRITE_COMPLETE_COMPRESSED MdlWriteCompleteCompressed;
    PFAST_IO_QUERY_OPEN FastIoQueryOpen;
    PFAST_IO_RELEASE_FOR_MOD_WRITE ReleaseForModWrite;
    PFAST_IO_ACQUIRE_FOR_CCFLUSH AcquireForCcFlush;
    PFAST_IO_RELEASE_FOR_CCFLUSH ReleaseForCcFlush;
} FAST_IO_DISPATCH;

EXTERN_C_END

#endif
