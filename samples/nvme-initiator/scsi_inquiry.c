/* SPDX-License-Identifier: MIT */
/* Answers READ CAPACITY and INQUIRY. One part of INQUIRY is the pages of vital product data. */
#include "nvmescsi.h"

#define VENDOR "NVMe    "       /* vendor name of all NVMe namespaces that appear as SCSI units */
#define INQUIRY_LENGTH 96
#define VPD_HEADER 4
#define VPD_MAX_LENGTH 128
#define MEDIUM_DOES_NOT_ROTATE 1
#define PROVISIONING_RESOURCE 1 /* unmapped blocks keep their space */
#define PROVISIONING_THIN 2
#define UNIT_NOT_PRESENT (DEVICE_QUALIFIER_NOT_ACTIVE << 5)

/* ---- Standard INQUIRY data --------------------------------------------------------------------------------------- */

/*
 * Answers a standard INQUIRY. Unit 0 of a target is reported even without a namespace, so that the host can send REPORT
 * LUNS to unit 0.
 */
static NVME_SCSI_STEP InquireStandard(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request, ULONG AllocationLength)
{
    INQUIRYDATA data = { 0 };

    data.DeviceType = DIRECT_ACCESS_DEVICE;
    data.DeviceTypeQualifier = Unit ? DEVICE_QUALIFIER_ACTIVE : DEVICE_QUALIFIER_NOT_ACTIVE;
    data.Versions = 6; /* SPC-4 */
    data.ResponseDataFormat = 2;
    data.AdditionalLength = INQUIRY_LENGTH - 5;
    data.CommandQueue = 1;
    RtlCopyMemory(data.VendorId, VENDOR, sizeof(data.VendorId));
    RtlFillMemory(data.ProductId, sizeof(data.ProductId), ' ');
    RtlFillMemory(data.ProductRevisionLevel, sizeof(data.ProductRevisionLevel), ' ');
    if (Unit) {
        RtlCopyMemory(data.ProductId, Unit->Model, sizeof(data.ProductId));
        RtlCopyMemory(data.ProductRevisionLevel, Unit->Firmware, sizeof(data.ProductRevisionLevel));
    }
    return NvmeScsiAnswer(Request, &data, INQUIRY_LENGTH, AllocationLength);
}

/* ---- Vital product data: each function writes the bytes behind the header, and returns their number ------------- */

static BOOLEAN IsZero(const UCHAR *Bytes, ULONG Length)
{
    while (Length && !Bytes[Length - 1])
        Length--;
    return Length == 0;
}

static ULONG PutHex(PUCHAR At, ULONG Value)
{
    ULONG i;

    for (i = 0; i < 8; i++)
        At[i] = "0123456789ABCDEF"[Value >> (28 - 4 * i) & 0xf];
    return 8;
}

/*
 * Writes the unit serial number: the controller's serial number without trailing blanks, and the namespace's
 * identifier. Together they are unique.
 */
static ULONG PutSerialNumber(const NVME_SCSI_UNIT *Unit, PUCHAR At)
{
    ULONG length = sizeof(Unit->Serial);

    while (length && (Unit->Serial[length - 1] == ' ' || !Unit->Serial[length - 1]))
        length--;
    RtlCopyMemory(At, Unit->Serial, length);
    At[length++] = '_';
    return length + PutHex(At + length, Unit->NamespaceId);
}

static ULONG PutDesignator(PUCHAR At, VPD_CODE_SET CodeSet, VPD_IDENTIFIER_TYPE Type, const UCHAR *Id, ULONG Length)
{
    At[0] = (UCHAR)CodeSet;
    At[1] = (UCHAR)Type;
    At[2] = 0;
    At[3] = (UCHAR)Length;
    RtlCopyMemory(At + VPD_HEADER, Id, Length);
    return VPD_HEADER + Length;
}

/* Writes the designators: NGUID or EUI-64 if the namespace has one, and then vendor, model and serial number. */
static ULONG PutIdentifiers(const NVME_SCSI_UNIT *Unit, PUCHAR At)
{
    UCHAR id[8 + 16 + sizeof(Unit->Serial) + 1 + 8];
    ULONG length = 0, idLength = 8 + 16;

    if (!IsZero(Unit->Nguid, sizeof(Unit->Nguid)))
        length += PutDesignator(At, VpdCodeSetBinary, VpdIdentifierTypeEUI64, Unit->Nguid, sizeof(Unit->Nguid));
    else if (!IsZero(Unit->Eui64, sizeof(Unit->Eui64)))
        length += PutDesignator(At, VpdCodeSetBinary, VpdIdentifierTypeEUI64, Unit->Eui64, sizeof(Unit->Eui64));
    RtlCopyMemory(id, VENDOR, 8);
    RtlCopyMemory(id + 8, Unit->Model, 16);
    idLength += PutSerialNumber(Unit, id + idLength);
    return length + PutDesignator(At + length, VpdCodeSetAscii, VpdIdentifierTypeVendorId, id, idLength);
}

static ULONG PutBlockLimits(const NVME_SCSI_UNIT *Unit, PUCHAR At)
{
    At[0] = 1;                              /* WSNZ: a WRITE SAME of 0 blocks is refused */
    NvmeScsiPut32(At + 4, min(Unit->MaximumTransfer / Unit->BlockSize, NVME_SCSI_MAX_BLOCKS)); /* maximum transfer */
    NvmeScsiPut32(At + 8, min(Unit->PartTransfer / Unit->BlockSize, NVME_SCSI_MAX_BLOCKS));    /* optimal transfer */
    if (Unit->CanDeallocate) {
        NvmeScsiPut32(At + 16, MAXULONG);   /* maximum number of blocks in an UNMAP */
        NvmeScsiPut32(At + 20, NVME_SCSI_MAX_RANGES);
    }
    if (Unit->CanWriteZeroes)
        NvmeScsiPut64(At + 32, NVME_SCSI_MAX_BLOCKS); /* maximum number of blocks in a WRITE SAME */
    return 60;
}

static ULONG PutCharacteristics(PUCHAR At)
{
    NvmeScsiPut16(At, MEDIUM_DOES_NOT_ROTATE);
    return 60;
}

static ULONG PutProvisioning(const NVME_SCSI_UNIT *Unit, PUCHAR At)
{
    VPD_LOGICAL_BLOCK_PROVISIONING_PAGE page = { 0 };

    page.LBPU = Unit->CanDeallocate;
    page.LBPWS = page.LBPWS10 = Unit->CanWriteZeroes && Unit->ZeroesDeallocate;
    page.LBPRZ = Unit->DeallocatedReadsZero;
    if (Unit->CanDeallocate)
        page.ProvisioningType = Unit->ThinProvisioned ? PROVISIONING_THIN : PROVISIONING_RESOURCE;
    RtlCopyMemory(At, (PUCHAR)&page + VPD_HEADER, 4);
    return 4;
}

static ULONG PutPageList(PUCHAR At)
{
    static const UCHAR pages[] = { VPD_SUPPORTED_PAGES, VPD_SERIAL_NUMBER, VPD_DEVICE_IDENTIFIERS, VPD_BLOCK_LIMITS,
                                   VPD_BLOCK_DEVICE_CHARACTERISTICS, VPD_LOGICAL_BLOCK_PROVISIONING };

    RtlCopyMemory(At, pages, sizeof(pages));
    return sizeof(pages);
}

/* Writes the page without its header. Returns the number of bytes, or 0 if there is no such page. */
static ULONG PutPage(const NVME_SCSI_UNIT *Unit, UCHAR Page, PUCHAR At)
{
    switch (Page) {
    case VPD_SUPPORTED_PAGES:
        return PutPageList(At);
    case VPD_SERIAL_NUMBER:
        return PutSerialNumber(Unit, At);
    case VPD_DEVICE_IDENTIFIERS:
        return PutIdentifiers(Unit, At);
    case VPD_BLOCK_LIMITS:
        return PutBlockLimits(Unit, At);
    case VPD_BLOCK_DEVICE_CHARACTERISTICS:
        return PutCharacteristics(At);
    case VPD_LOGICAL_BLOCK_PROVISIONING:
        return PutProvisioning(Unit, At);
    default:
        return 0;
    }
}

static NVME_SCSI_STEP InquirePage(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request, ULONG AllocationLength)
{
    UCHAR data[VPD_HEADER + VPD_MAX_LENGTH] = { 0 };
    UCHAR page = Request->Cdb->CDB6INQUIRY3.PageCode;
    ULONG length;

    if (!Unit && page != VPD_SUPPORTED_PAGES)
        return NvmeScsiInvalidCdb(Request);
    length = PutPage(Unit, page, data + VPD_HEADER);
    if (!length)
        return NvmeScsiInvalidCdb(Request);
    data[0] = Unit ? DIRECT_ACCESS_DEVICE : UNIT_NOT_PRESENT;
    data[1] = page;
    NvmeScsiPut16(data + 2, length);
    return NvmeScsiAnswer(Request, data, VPD_HEADER + length, AllocationLength);
}

NVME_SCSI_STEP NvmeScsiInquiry(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request)
{
    const CDB *cdb = Request->Cdb;
    ULONG allocationLength = NvmeScsiGet16(&cdb->AsByte[3]);

    if (cdb->CDB6INQUIRY3.EnableVitalProductData)
        return InquirePage(Unit, Request, allocationLength);
    if (cdb->CDB6INQUIRY3.CommandSupportData || cdb->CDB6INQUIRY3.PageCode)
        return NvmeScsiInvalidCdb(Request);
    return InquireStandard(Unit, Request, allocationLength);
}

/* ---- READ CAPACITY ----------------------------------------------------------------------------------------------- */

/*
 * Answers READ CAPACITY(10). If the number of the last block does not fit into 32 bits, answers 0xFFFFFFFF, after which
 * the host sends READ CAPACITY(16).
 */
NVME_SCSI_STEP NvmeScsiReadCapacity(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request)
{
    READ_CAPACITY_DATA data;

    NvmeScsiPut32((PUCHAR)&data.LogicalBlockAddress, (ULONG)min(Unit->BlockCount - 1, MAXULONG));
    NvmeScsiPut32((PUCHAR)&data.BytesPerBlock, Unit->BlockSize);
    return NvmeScsiAnswer(Request, &data, sizeof(data), sizeof(data));
}

NVME_SCSI_STEP NvmeScsiReadCapacity16(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request)
{
    READ_CAPACITY16_DATA data = { 0 };

    NvmeScsiPut64((PUCHAR)&data.LogicalBlockAddress, Unit->BlockCount - 1);
    NvmeScsiPut32((PUCHAR)&data.BytesPerBlock, Unit->BlockSize);
    data.LBPME = Unit->CanDeallocate;
    data.LBPRZ = Unit->CanDeallocate && Unit->DeallocatedReadsZero;
    return NvmeScsiAnswer(Request, &data, sizeof(data),
        NvmeScsiGet32(Request->Cdb->READ_CAPACITY16.AllocationLength));
}
