/* SPDX-License-Identifier: MIT */
/*
 * Which units there are: every target is asked with INQUIRY for its unit 0, and one that answers with REPORT LUNS, or,
 * unit after unit, when it does not know that command. Units that have gone are told so (StorRemoveDevice).
 */
#include <pthread.h>
#include <string.h>

#include "storport.h"

#include "wdk/ex/worker.h"
#include "wdk/storport/port.h"

enum { SCAN_SECONDS = 10, LUNS_MOST = 64, LUN_OCTETS = 8 };

static bool succeeded(const struct port_call *c)
{
    return SRB_STATUS(c->srb_status) == SRB_STATUS_SUCCESS || SRB_STATUS(c->srb_status) == SRB_STATUS_DATA_OVERRUN;
}

static bool ask(struct port_adapter *a, struct port_call *c, UCHAR operation, void *data, ULONG length)
{
    c->function = SRB_FUNCTION_EXECUTE_SCSI;
    c->flags = SRB_FLAGS_DATA_IN | SRB_FLAGS_NO_QUEUE_FREEZE;
    c->timeout = SCAN_SECONDS;
    c->cdb[0] = operation;
    c->data = data;
    c->length = length;
    c->sense_length = SENSE_BUFFER_SIZE;
    return port_send(a, c) && succeeded(c);
}

static void tell_removed(struct port_adapter *a, UCHAR path, UCHAR target, UCHAR lun)
{
    struct port_call c = { .function = SRB_FUNCTION_PNP, .path = path, .target = target, .lun = lun,
                           .timeout = SCAN_SECONDS, .pnp_action = StorRemoveDevice };

    (void)port_send(a, &c);
}

static bool note(struct port_adapter *a, UCHAR path, UCHAR target, UCHAR lun, bool there, const UCHAR *inquiry)
{
    struct port_unit *u;
    bool was;

    pthread_mutex_lock(&a->lock);
    u = port_unit_get(a, path, target, lun, there);
    was = u && u->found;
    if (u) {
        u->found = there;
        memcpy(u->inquiry, inquiry, sizeof u->inquiry);
    }
    pthread_mutex_unlock(&a->lock);
    if (was && !there)
        tell_removed(a, path, target, lun);
    return there;
}

static bool inquire(struct port_adapter *a, UCHAR path, UCHAR target, UCHAR lun)
{
    struct port_call c = { .path = path, .target = target, .lun = lun, .cdb_length = CDB6GENERIC_LENGTH };
    UCHAR inquiry[INQUIRYDATABUFFERSIZE] = { 0 };
    bool there;

    c.cdb[4] = sizeof inquiry;
    there = ask(a, &c, SCSIOP_INQUIRY, inquiry, sizeof inquiry) && inquiry[0] >> 5 == DEVICE_QUALIFIER_ACTIVE;
    return note(a, path, target, lun, there, inquiry);
}

/* Fills in `listed`; false: the target does not know the command. */
static bool report_luns(struct port_adapter *a, UCHAR path, UCHAR target, bool listed[256])
{
    struct port_call c = { .path = path, .target = target, .cdb_length = CDB12GENERIC_LENGTH };
    UCHAR list[LUN_OCTETS + LUNS_MOST * LUN_OCTETS] = { 0 };
    ULONG n;

    c.cdb[8] = sizeof list >> 8;
    c.cdb[9] = sizeof list & 0xff;
    if (!ask(a, &c, SCSIOP_REPORT_LUNS, list, sizeof list) || c.length < LUN_OCTETS)
        return false;
    n = ((ULONG)list[0] << 24 | (ULONG)list[1] << 16 | (ULONG)list[2] << 8 | list[3]) / LUN_OCTETS;
    n = n < LUNS_MOST ? n : LUNS_MOST;
    for (ULONG i = 1; i <= n && (i + 1) * LUN_OCTETS <= c.length; i++)
        listed[list[i * LUN_OCTETS + 1]] = list[i * LUN_OCTETS] == 0;
    return true;
}

static bool is_known(struct port_adapter *a, UCHAR path, UCHAR target, UCHAR lun)
{
    struct port_unit *u;
    bool found;

    pthread_mutex_lock(&a->lock);
    u = port_unit_get(a, path, target, lun, false);
    found = u && u->found;
    pthread_mutex_unlock(&a->lock);
    return found;
}

static void scan_target(struct port_adapter *a, UCHAR path, UCHAR target)
{
    bool listed[256] = { false };
    bool there = inquire(a, path, target, 0), known = there && report_luns(a, path, target, listed);

    for (unsigned lun = 1; lun < a->config.MaximumNumberOfLogicalUnits; lun++) {
        bool ask_it = there && (!known || listed[lun]);

        if (ask_it || is_known(a, path, target, (UCHAR)lun))
            (void)inquire(a, path, target, (UCHAR)lun);
    }
}

static void scan_all(struct port_adapter *a)
{
    for (unsigned path = 0; path < a->config.NumberOfBuses; path++)
        for (unsigned target = 0; target < a->config.MaximumNumberOfTargets && a->running; target++)
            scan_target(a, (UCHAR)path, (UCHAR)target);
}

/* Whoever asks while it goes on gets another one after it. */
static VOID scan(PVOID context)
{
    struct port_adapter *a = context;
    bool again;

    do {
        scan_all(a);
        pthread_mutex_lock(&a->lock);
        again = a->scan_again && !a->no_scan;
        a->scan_again = false;
        if (!again)
            a->scanning = false;
        pthread_cond_broadcast(&a->changed);
        pthread_mutex_unlock(&a->lock);
    } while (again);
}

/* A bus change that the miniport sees meanwhile leads to another one after it, not beside it. */
void port_scan(struct port_adapter *a)
{
    pthread_mutex_lock(&a->lock);
    a->scanning = true;
    pthread_mutex_unlock(&a->lock);
    scan(a);
}

void port_scan_later(struct port_adapter *a)
{
    bool queue;

    pthread_mutex_lock(&a->lock);
    queue = a->running && !a->no_scan && !a->scanning;
    a->scan_again = a->scanning;
    a->scanning = a->scanning || queue;
    pthread_mutex_unlock(&a->lock);
    if (!queue)
        return;
    worker_add_own_routine(scan);
    ExInitializeWorkItem(&a->scan_item, scan, a);
    (void)worker_queue(&a->scan_item, NULL, NULL);
}
