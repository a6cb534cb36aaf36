/* SPDX-License-Identifier: MIT */
/*
 * Declares the device control of the driver. A program opens \\.\NvmeTarget for writing and sends the control after it
 * has changed the size of a file. The output, if there is one, is a ULONG: the number of changed namespaces.
 */
#ifndef NVME_TARGET_TARGETIOCTL_H
#define NVME_TARGET_TARGETIOCTL_H

/* Reads the sizes of the files again, and reports the changed namespaces to the hosts. The code's value is 0x4A000. */
#define IOCTL_NVME_TARGET_RESCAN CTL_CODE(FILE_DEVICE_CONTROLLER, 0x800, METHOD_BUFFERED, FILE_WRITE_ACCESS)

#endif
