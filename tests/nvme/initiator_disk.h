/* SPDX-License-Identifier: MIT */
/*
 * The driver of samples/nvme-initiator and the program nvme-target, for initiator_test.c: starting and ending both,
 * commands and device controls, and threads that write, read and compare.
 */
#ifndef TESTS_NVME_INITIATOR_DISK_H
#define TESTS_NVME_INITIATOR_DISK_H

#include "host.h"

#include "nvme-initiator/nvmeioctl.h"
#include "target_process.h"

#define ADDRESS "127.0.0.1:4420"

enum {
    OK = 0,
    NO_SUCH_DEVICE = (int)0xC000000E,
    IO_TIMEOUT = (int)0xC00000B5,
    NO_DEVICE = (int)0xC00000C0,
    REFUSED = (int)0xC0000236,
};

enum { BLOCK = 512, MIB = 1024 * 1024, DISK = 64 * MIB, MAX_THREADS = 128 };

/* A divisor for amounts of data, because sanitizers make the driver slow. */
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
enum { LESS = 4 };
#else
enum { LESS = 1 };
#endif

/* ---- The target and the driver ---- */

extern const char *target_program;
extern struct target_process target;

/* Starts the target with one disk, for example "--memory", "64M". */
void target_start(const char *kind, const char *disk);
void target_kill(void);
/* Returns when the target has stopped: it answers nothing any more, but its connections stay. */
void target_suspend(void);
/* Sets a number of the driver's service key. */
void set_number(const char *name, uint32_t value);
/* Loads the driver with the target in the registry, or with none. */
void driver_start(bool with_target, uint32_t io_fail_seconds);
/* Unloads the driver. The unload reports what the driver has left behind, and ends the program then. */
void driver_stop(void);

/* ---- Commands and device controls ---- */

/* Returns the status. A check condition is returned as its sense key. */
int disk_send(ondk_wdk_scsi_command_t *c);
/* Returns the status as disk_send, or -2 if not all bytes were transferred. */
int transfer(bool out, uint8_t lun, uint32_t lba, void *data, uint32_t length);
/* The number of units that the port has found. */
unsigned units(void);
void wait_for_units(unsigned wanted);
void nap(long ms);
int control_with_flags(uint32_t operation, uint32_t flags, const char *address, const char *subsystem, void *out,
                       uint32_t room);
int control(uint32_t operation, const char *address, const char *subsystem, void *out, uint32_t room);
/* Returns the only controller of the list. */
NVME_IOCTL_CONTROLLER list_one(void);
void wait_for_state(uint32_t state);

/* ---- Threads that write, read and compare ---- */

/* Starts n threads. Each makes `rounds` writes of `size` bytes to its own part of the disk, and then compares them. */
void workers_start(unsigned n, uint32_t size, unsigned rounds);
/* Waits for the threads. Each must have ended with this status of its last command. */
void workers_join(unsigned n, int expected);
/* Waits until each thread has done some writes since this call. */
void workers_wait_for_progress(unsigned n, unsigned writes);

#endif
