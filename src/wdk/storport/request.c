/* SPDX-License-Identifier: MIT */
/*
 * Allocates and frees a request's memory. The SRB, its extension, data and sense data are separate pool blocks. They
 * are freed when the request is completed. Therefore a later use by the miniport is detected, as with any freed pool.
 */
#include <stdlib.h>
#include <string.h>

#include "storport.h"

#include "wdk/common/tally.h"
#include "wdk/mm/pool.h"
#include "wdk/storport/port.h"

enum { GARBAGE = 0xcd };

static bool port_srb_is_extended(const struct port_adapter *a)
{
    return a->config.SrbType == SRB_TYPE_STORAGE_REQUEST_BLOCK;
}

UCHAR port_srb_status(const void *srb)
{
    return ((const SCSI_REQUEST_BLOCK *)srb)->SrbStatus; /* at the same offset in both kinds of SRB */
}

void port_srb_set_status(void *srb, UCHAR status)
{
    ((SCSI_REQUEST_BLOCK *)srb)->SrbStatus = status;
}

/* ---- SCSI_REQUEST_BLOCK ------------------------------------------------------------------------------------------ */

static void port_srb_init(const struct port_adapter *a, struct port_request *r)
{
    const struct port_call *c = &r->call;
    SCSI_REQUEST_BLOCK *s = r->srb;

    s->Length = sizeof *s;
    s->Function = c->function;
    s->PathId = c->path;
    s->TargetId = c->target;
    s->Lun = c->lun;
    s->SrbFlags = c->flags;
    s->DataTransferLength = c->length;
    s->TimeOutValue = c->timeout;
    s->DataBuffer = r->data;
    s->SrbExtension = r->extension;
    if (c->function == SRB_FUNCTION_PNP) {
        SCSI_PNP_REQUEST_BLOCK *p = r->srb;

        p->PnPAction = c->pnp_action;
        p->SrbPnPFlags = c->pnp_flags;
        return;
    }
    s->QueueTag = SP_UNTAGGED;
    s->QueueAction = SRB_SIMPLE_TAG_REQUEST;
    s->CdbLength = c->cdb_length;
    s->SenseInfoBufferLength = r->sense ? c->sense_length : 0;
    s->SenseInfoBuffer = r->sense;
    s->OriginalRequest = a->device; /* not an IRP, because the port has none; miniports expect that it is not NULL */
    memcpy(s->Cdb, c->cdb, sizeof s->Cdb);
}

/* ---- STORAGE_REQUEST_BLOCK: the block, an address, one data block ----------------------------------------------- */

struct port_extended_srb {
    STORAGE_REQUEST_BLOCK block;
    STOR_ADDR_BTL8 address;
    union {
        SRBEX_DATA_SCSI_CDB16 scsi;
        SRBEX_DATA_PNP pnp;
    };
};

static void port_srb_init_extended_data(struct port_request *r, struct port_extended_srb *x)
{
    const struct port_call *c = &r->call;

    if (c->function == SRB_FUNCTION_EXECUTE_SCSI) {
        x->scsi.Type = SrbExDataTypeScsiCdb16;
        x->scsi.Length = SRBEX_DATA_SCSI_CDB16_LENGTH;
        x->scsi.CdbLength = c->cdb_length;
        x->scsi.SenseInfoBufferLength = r->sense ? c->sense_length : 0;
        x->scsi.SenseInfoBuffer = r->sense;
        memcpy(x->scsi.Cdb, c->cdb, sizeof x->scsi.Cdb);
    } else if (c->function == SRB_FUNCTION_PNP) {
        x->pnp.Type = SrbExDataTypePnP;
        x->pnp.Length = SRBEX_DATA_PNP_LENGTH;
        x->pnp.PnPAction = c->pnp_action;
        x->pnp.SrbPnPFlags = c->pnp_flags;
    } else {
        return;
    }
    x->block.NumSrbExData = 1;
    x->block.SrbExDataOffset[0] = offsetof(struct port_extended_srb, scsi);
}

static void port_srb_init_extended(const struct port_adapter *a, struct port_request *r)
{
    const struct port_call *c = &r->call;
    struct port_extended_srb *x = r->srb;

    x->block.Length = offsetof(STORAGE_REQUEST_BLOCK, SrbExDataOffset) + sizeof(ULONG);
    x->block.Function = SRB_FUNCTION_STORAGE_REQUEST_BLOCK;
    x->block.Signature = SRB_SIGNATURE;
    x->block.Version = STORAGE_REQUEST_BLOCK_VERSION_1;
    x->block.SrbLength = sizeof *x;
    x->block.SrbFunction = c->function;
    x->block.SrbFlags = c->flags;
    x->block.RequestTag = SP_UNTAGGED;
    x->block.RequestAttribute = SRB_SIMPLE_TAG_REQUEST;
    x->block.TimeOutValue = c->timeout;
    x->block.AddressOffset = offsetof(struct port_extended_srb, address);
    x->block.DataTransferLength = c->length;
    x->block.DataBuffer = r->data;
    x->block.OriginalRequest = a->device;
    x->block.MiniportContext = r->extension;
    x->address.Type = STOR_ADDRESS_TYPE_BTL8;
    x->address.Port = (USHORT)a->number;
    x->address.AddressLength = STOR_ADDR_BTL8_ADDRESS_LENGTH;
    x->address.Path = c->path;
    x->address.Target = c->target;
    x->address.Lun = c->lun;
    port_srb_init_extended_data(r, x);
}

/* ---- Allocating -------------------------------------------------------------------------------------------------- */

/*
 * Allocates the SRB and its extension. Returns false if out of memory. The contents of an extension are undefined.
 * While checks are on, an extension is filled so that no miniport relies on zeros.
 */
static bool port_request_alloc_srb(struct port_adapter *a, struct port_request *r)
{
    r->srb = pool_alloc(port_srb_is_extended(a) ? sizeof(struct port_extended_srb) : sizeof(SCSI_REQUEST_BLOCK));
    r->extension = a->config.SrbExtensionSize ? pool_alloc(a->config.SrbExtensionSize) : NULL;
    if (!r->srb || (a->config.SrbExtensionSize && !r->extension))
        return false;
    if (r->extension && check_on())
        memset(r->extension, GARBAGE, a->config.SrbExtensionSize);
    if (port_srb_is_extended(a))
        port_srb_init_extended(a, r);
    else
        port_srb_init(a, r);
    return true;
}

static bool port_request_alloc_data(struct port_request *r)
{
    const struct port_call *c = &r->call;

    if (!c->length)
        return true;
    r->data = pool_alloc(c->length);
    r->mdl = pool_alloc(MmSizeOfMdl(r->data, c->length));
    if (!r->data || !r->mdl)
        return false;
    if (c->flags & SRB_FLAGS_DATA_OUT || c->function == SRB_FUNCTION_IO_CONTROL || c->function == SRB_FUNCTION_PNP)
        memcpy(r->data, c->data, c->length);
    MmInitializeMdl(r->mdl, r->data, c->length);
    MmBuildMdlForNonPagedPool(r->mdl);
    return true;
}

static void port_request_free_block(void *block)
{
    if (block)
        pool_free("StorPortNotification", block);
}

static void port_request_free_srb(struct port_request *r)
{
    port_request_free_block(r->srb);
    port_request_free_block(r->extension);
    r->srb = r->extension = NULL;
}

struct port_request *port_request_alloc(struct port_adapter *a, const struct port_call *call)
{
    struct port_request *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    r->call = *call;
    r->references = 2;
    pthread_cond_init(&r->ended, NULL);
    r->sense = call->sense_length ? pool_alloc(call->sense_length) : NULL;
    if ((call->sense_length && !r->sense) || !port_request_alloc_data(r) || !port_request_alloc_srb(a, r)) {
        port_request_free(r);
        return NULL;
    }
    return r;
}

bool port_request_renew(struct port_adapter *a, struct port_request *r)
{
    void *srb = r->srb, *extension = r->extension;

    if (!port_request_alloc_srb(a, r)) {
        port_request_free_srb(r);
        r->srb = srb;
        r->extension = extension;
        return false;
    }
    port_request_free_block(srb);
    port_request_free_block(extension);
    return true;
}

void port_request_free(struct port_request *r)
{
    port_request_free_srb(r);
    port_request_free_block(r->sense);
    port_request_free_block(r->mdl);
    port_request_free_block(r->data);
    pthread_cond_destroy(&r->ended);
    free(r);
}

void port_request_unref(struct port_request *r)
{
    if (--r->references == 0)
        port_request_free(r);
}

/* ---- Completing -------------------------------------------------------------------------------------------------- */

static void port_request_collect_sense(struct port_request *r, ULONG length)
{
    struct port_call *c = &r->call;
    bool valid = r->sense && c->srb_status & SRB_STATUS_AUTOSENSE_VALID;

    c->sense_length = (UCHAR)(!valid ? 0 : length < c->sense_length ? length : c->sense_length);
    if (c->sense_length)
        memcpy(c->sense, r->sense, c->sense_length);
}

/* Returns the kind of a SCSI command, for the summary of a run. */
static enum tally_scsi port_request_kind(UCHAR operation)
{
    switch (operation) { /* reads and writes each have commands with 6, 10, 12 and 16 bytes */
    case 0x08:
    case 0x28:
    case 0xa8:
    case 0x88:
        return TALLY_SCSI_READ;
    case 0x0a:
    case 0x2a:
    case 0xaa:
    case 0x8a:
        return TALLY_SCSI_WRITE;
    default:
        return TALLY_SCSI_OTHER;
    }
}

void port_request_collect(struct port_request *r)
{
    const SCSI_REQUEST_BLOCK *s = r->srb;
    const struct port_extended_srb *x = r->srb;
    struct port_call *c = &r->call;
    bool extended = s->Function == SRB_FUNCTION_STORAGE_REQUEST_BLOCK;
    ULONG moved = extended ? x->block.DataTransferLength : s->DataTransferLength;
    bool scsi = c->function == SRB_FUNCTION_EXECUTE_SCSI;

    c->srb_status = s->SrbStatus;
    if (scsi)
        tally_add(TALLY_SCSI, port_request_kind(c->cdb[0]), SRB_STATUS(c->srb_status), moved);
    c->length = moved < c->length ? moved : c->length;
    c->scsi_status = !scsi ? 0 : extended ? x->scsi.ScsiStatus : s->ScsiStatus;
    port_request_collect_sense(r, !scsi ? 0 : extended ? x->scsi.SenseInfoBufferLength : s->SenseInfoBufferLength);
    if (c->length && !(c->flags & SRB_FLAGS_DATA_OUT) && !r->abandoned)
        memcpy(c->data, r->data, c->length);
}
