/* SPDX-License-Identifier: MIT */
/*
 * Finds the units. The scan sends INQUIRY to unit 0 of every target. If the target answers, REPORT LUNS lists the
 * target's units, also if unit 0 does not exist. If the target does not support REPORT LUNS, the scan sends INQUIRY to
 * every unit, except if the target has answered that unit 0 cannot exist. Some miniports give this answer for every
 * target that does not exist. The miniport receives StorRemoveDevice for each unit that has disappeared. At most one
 * scan runs at a time.
 */
#include <pthread.h>
#include <string.h>

#include "storport.h"

#include "wdk/ex/worker.h"
#include "wdk/storport/port.h"

enum { SCAN_TIMEOUT_S = 10, MAX_LUNS = 64, LUN_SIZE = 8 };

static bool port_scan_is_success(const struct port_call *c)
{
    return SRB_STATUS(c->srb_status) == SRB_STATUS_SUCCESS || SRB_STATUS(c->srb_status) == SRB_STATUS_DATA_OVERRUN;
}

static bool port_scan_send(struct port_adapter *a, struct port_call *c, UCHAR operation, void *data, ULONG length)
{
    c->function = SRB_FUNCTION_EXECUTE_SCSI;
    c->flags = SRB_FLAGS_DATA_IN | SRB_FLAGS_NO_QUEUE_FREEZE;
    c->timeout = SCAN_TIMEOUT_S;
    c->cdb[0] = operation;
    c->data = data;
    c->length = length;
    c->sense_length = SENSE_BUFFER_SIZE;
    return port_send(a, c) && port_scan_is_success(c);
}

static void port_scan_report_removed(struct port_adapter *a, UCHAR path, UCHAR target, UCHAR lun)
{
    struct port_call c = { .function = SRB_FUNCTION_PNP,
                           .path = path,
                           .target = target,
                           .lun = lun,
                           .timeout = SCAN_TIMEOUT_S,
                           .pnp_action = StorRemoveDevice };

    (void)port_send(a, &c);
}

static void port_scan_update_unit(struct port_adapter *a, UCHAR path, UCHAR target, UCHAR lun, bool present,
                                  const UCHAR *inquiry)
{
    struct port_unit *u;
    bool was_found;

    pthread_mutex_lock(&a->lock);
    u = port_unit_get(a, path, target, lun, present);
    was_found = u && u->found;
    if (u) {
        u->found = present;
        memcpy(u->inquiry, inquiry, sizeof u->inquiry);
    }
    pthread_mutex_unlock(&a->lock);
    if (was_found && !present)
        port_scan_report_removed(a, path, target, lun);
}

enum scan_answer {
    SCAN_NO_ANSWER,
    SCAN_NO_UNIT, /* the target answers, but cannot have a unit with this number (peripheral qualifier 3) */
    SCAN_UNIT     /* the unit exists, or could exist but is not connected now */
};

/* Sends INQUIRY, and stores whether the unit exists. */
static enum scan_answer port_scan_inquire(struct port_adapter *a, UCHAR path, UCHAR target, UCHAR lun)
{
    struct port_call c = { .path = path, .target = target, .lun = lun, .cdb_length = CDB6GENERIC_LENGTH };
    UCHAR inquiry[INQUIRYDATABUFFERSIZE] = { 0 };
    bool answered;

    c.cdb[4] = sizeof inquiry;
    answered = port_scan_send(a, &c, SCSIOP_INQUIRY, inquiry, sizeof inquiry);
    port_scan_update_unit(a, path, target, lun, answered && inquiry[0] >> 5 == DEVICE_QUALIFIER_ACTIVE, inquiry);
    if (answered && inquiry[0] >> 5 <= DEVICE_QUALIFIER_NOT_ACTIVE)
        return SCAN_UNIT;
    return answered && inquiry[0] >> 5 == DEVICE_QUALIFIER_NOT_SUPPORTED ? SCAN_NO_UNIT : SCAN_NO_ANSWER;
}

/*
 * Sends REPORT LUNS, and sets `listed` for each unit of the target. Returns false if the target does not support the
 * command.
 */
static bool port_scan_report_luns(struct port_adapter *a, UCHAR path, UCHAR target, bool listed[256])
{
    struct port_call c = { .path = path, .target = target, .cdb_length = CDB12GENERIC_LENGTH };
    UCHAR list[LUN_SIZE + MAX_LUNS * LUN_SIZE] = { 0 };
    ULONG n;

    c.cdb[8] = sizeof list >> 8;
    c.cdb[9] = sizeof list & 0xff;
    if (!port_scan_send(a, &c, SCSIOP_REPORT_LUNS, list, sizeof list) || c.length < LUN_SIZE)
        return false;
    n = ((ULONG)list[0] << 24 | (ULONG)list[1] << 16 | (ULONG)list[2] << 8 | list[3]) / LUN_SIZE;
    n = n < MAX_LUNS ? n : MAX_LUNS;
    for (ULONG i = 1; i <= n && (i + 1) * LUN_SIZE <= c.length; i++)
        listed[list[i * LUN_SIZE + 1]] = list[i * LUN_SIZE] == 0;
    return true;
}

static bool port_scan_is_known(struct port_adapter *a, UCHAR path, UCHAR target, UCHAR lun)
{
    struct port_unit *u;
    bool found;

    pthread_mutex_lock(&a->lock);
    u = port_unit_get(a, path, target, lun, false);
    found = u && u->found;
    pthread_mutex_unlock(&a->lock);
    return found;
}

static void port_scan_target(struct port_adapter *a, UCHAR path, UCHAR target)
{
    bool listed[256] = { false };
    enum scan_answer first = port_scan_inquire(a, path, target, 0);
    bool known = first != SCAN_NO_ANSWER && port_scan_report_luns(a, path, target, listed);

    for (unsigned lun = 1; lun < a->config.MaximumNumberOfLogicalUnits; lun++) {
        bool is_candidate = known ? listed[lun] : first == SCAN_UNIT;

        if (is_candidate || port_scan_is_known(a, path, target, (UCHAR)lun))
            (void)port_scan_inquire(a, path, target, (UCHAR)lun);
    }
}

static void port_scan_all(struct port_adapter *a)
{
    for (unsigned path = 0; path < a->config.NumberOfBuses; path++)
        for (unsigned target = 0; target < a->config.MaximumNumberOfTargets && a->running; target++)
            port_scan_target(a, (UCHAR)path, (UCHAR)target);
}

/*
 * Scans, and ends the notices that were accepted before the scan. If the removal has begun, ends the notices without a
 * scan.
 */
static void port_scan_round(struct port_adapter *a)
{
    struct port_notices notices;
    bool must_scan;

    pthread_mutex_lock(&a->lock);
    notices = a->notices;
    must_scan = !a->no_scan;
    pthread_mutex_unlock(&a->lock);
    if (must_scan)
        port_scan_all(a);
    port_end_notices(a, &notices, must_scan ? STOR_STATUS_SUCCESS : STOR_STATUS_UNSUCCESSFUL);
}

/* Runs a round, and another one if it was requested meanwhile. */
static VOID port_scan_run(PVOID context)
{
    struct port_adapter *a = context;
    bool again;

    do {
        port_scan_round(a);
        pthread_mutex_lock(&a->lock);
        again = a->scan_again;
        a->scan_again = false;
        if (!again)
            a->scanning = false;
        pthread_cond_broadcast(&a->changed);
        pthread_mutex_unlock(&a->lock);
    } while (again);
}

/*
 * Sets `scanning` together with `running`. A thread of the miniport may report a change at any time. If it does so
 * after this point, the report causes another scan after the first one.
 */
void port_scan_first(struct port_adapter *a)
{
    pthread_mutex_lock(&a->lock);
    a->scanning = true;
    atomic_store(&a->running, true);
    pthread_mutex_unlock(&a->lock);
    port_scan_run(a);
}

bool port_scan_later_locked(struct port_adapter *a)
{
    if (!a->running || a->no_scan)
        return false;
    if (a->scanning) {
        a->scan_again = true;
        return true;
    }
    a->scanning = true;
    worker_add_own_routine(port_scan_run);
    ExInitializeWorkItem(&a->scan_item, port_scan_run, a);
    (void)worker_queue(&a->scan_item, NULL, NULL);
    return true;
}

bool port_scan_later(struct port_adapter *a)
{
    bool possible;

    pthread_mutex_lock(&a->lock);
    possible = port_scan_later_locked(a);
    pthread_mutex_unlock(&a->lock);
    return possible;
}
