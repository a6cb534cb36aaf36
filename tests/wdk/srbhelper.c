/* SPDX-License-Identifier: MIT */
/* srbhelper.h: each accessor on both kinds of request, and extended requests with missing or wrong blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "storport.h"

#include "srbhelper.h"

static struct {
    STORAGE_REQUEST_BLOCK block;
    ULONG more_offsets[3];
    STOR_ADDR_BTL8 address;
    SRBEX_DATA_IO_INFO info;
    SRBEX_DATA_SCSI_CDB32 cdb;
    SRBEX_DATA_SCSI_CDB_VAR variable;
    SRBEX_DATA_PNP pnp;
} extended;
/* Has room for either kind, because gcc warns of each access to the other kind. */
static union {
    SCSI_REQUEST_BLOCK srb;
    UCHAR room[sizeof(STORAGE_REQUEST_BLOCK) + sizeof(SRBEX_DATA_SCSI_CDB32)];
} either;
#define plain either.srb
static UCHAR sense[18], data[512];

#define OFFSET_OF(member) ((ULONG)((PUCHAR)&extended.member - (PUCHAR)&extended))

/* The offsets are an array of one, with room behind it. */
static void set_offset(unsigned index, ULONG offset)
{
    memcpy((PUCHAR)&extended + FIELD_OFFSET(STORAGE_REQUEST_BLOCK, SrbExDataOffset) + index * sizeof(offset), &offset,
           sizeof(offset));
}

static void fill(void)
{
    PSTORAGE_REQUEST_BLOCK block = &extended.block;

    memset(&extended, 0, sizeof(extended));
    memset(&plain, 0, sizeof(plain));
    plain.Length = sizeof(plain);
    plain.Function = SRB_FUNCTION_EXECUTE_SCSI;
    block->Length = sizeof(*block);
    block->Function = SRB_FUNCTION_STORAGE_REQUEST_BLOCK;
    block->Signature = SRB_SIGNATURE;
    block->SrbLength = sizeof(extended);
    block->SrbFunction = SRB_FUNCTION_EXECUTE_SCSI;
    block->AddressOffset = OFFSET_OF(address);
    block->NumSrbExData = 3;
    set_offset(0, OFFSET_OF(info));
    set_offset(1, OFFSET_OF(cdb));
    set_offset(2, OFFSET_OF(pnp));
    extended.address = (STOR_ADDR_BTL8){
        .Type = STOR_ADDRESS_TYPE_BTL8, .AddressLength = 4, .Path = 1, .Target = 2, .Lun = 3
    };
    extended.info.Type = SrbExDataTypeIoInfo;
    extended.cdb.Type = SrbExDataTypeScsiCdb32;
    extended.variable.Type = SrbExDataTypeScsiCdbVar;
    extended.pnp.Type = SrbExDataTypePnP;
    extended.pnp.PnPAction = StorQueryCapabilities;
}

static void test_fields(void **state)
{
    PVOID requests[] = { &plain, &extended };
    unsigned i;

    (void)state;
    fill();
    plain.PathId = 1;
    plain.TargetId = 2;
    plain.Lun = 3;
    for (i = 0; i < 2; i++) {
        PVOID srb = requests[i];
        UCHAR path, target, lun;

        SrbSetDataBuffer(srb, data);
        SrbSetDataTransferLength(srb, 512);
        SrbSetTimeOutValue(srb, 7);
        SrbSetOriginalRequest(srb, sense);
        SrbSetSystemStatus(srb, 0xc0000001);
        SrbSetSrbStatus(srb, SRB_STATUS_BUSY);
        SrbSetNextSrb(srb, &plain);
        SrbSetQueueTag(srb, 9);
        SrbSetRequestAttribute(srb, SRB_SIMPLE_TAG_REQUEST);
        SrbAssignSrbFlags(srb, SRB_FLAGS_DATA_IN);
        SrbSetSrbFlags(srb, SRB_FLAGS_IS_ACTIVE | SRB_FLAGS_NO_QUEUE_FREEZE);
        SrbClearSrbFlags(srb, SRB_FLAGS_IS_ACTIVE);
        assert_ptr_equal(SrbGetDataBuffer(srb), data);
        assert_int_equal(SrbGetDataTransferLength(srb), 512);
        assert_int_equal(SrbGetTimeOutValue(srb), 7);
        assert_ptr_equal(SrbGetOriginalRequest(srb), sense);
        assert_int_equal(SrbGetSystemStatus(srb), 0xc0000001);
        assert_int_equal(SrbGetSrbStatus(srb), SRB_STATUS_BUSY);
        assert_ptr_equal(SrbGetNextSrb(srb), &plain);
        assert_int_equal(SrbGetQueueTag(srb), 9);
        assert_int_equal(SrbGetRequestAttribute(srb), SRB_SIMPLE_TAG_REQUEST);
        assert_int_equal(SrbGetSrbFlags(srb), SRB_FLAGS_DATA_IN | SRB_FLAGS_NO_QUEUE_FREEZE);
        assert_int_equal(SrbGetSrbFunction(srb), SRB_FUNCTION_EXECUTE_SCSI);
        assert_int_equal(SrbGetPathId(srb), 1);
        assert_int_equal(SrbGetTargetId(srb), 2);
        assert_int_equal(SrbGetLun(srb), 3);
        SrbGetPathTargetLun(srb, &path, &target, &lun);
        assert_int_equal(path << 16 | target << 8 | lun, 0x010203);
        SrbGetPathTargetLun(srb, NULL, NULL, NULL);
    }
    plain.SrbExtension = data;
    extended.block.MiniportContext = sense;
    assert_ptr_equal(SrbGetMiniportContext(&plain), data);
    assert_ptr_equal(SrbGetMiniportContext(&extended), sense);
    assert_int_equal(SrbGetSrbLength(&plain), sizeof(plain));
    assert_int_equal(SrbGetSrbLength(&extended), sizeof(extended));
}

static void check_scsi(PVOID srb, PVOID cdb)
{
    SrbSetCdbLength(srb, 10);
    SrbSetScsiStatus(srb, SCSISTAT_CHECK_CONDITION);
    SrbSetSenseInfoBuffer(srb, sense);
    SrbSetSenseInfoBufferLength(srb, sizeof(sense));
    assert_ptr_equal(SrbGetCdb(srb), cdb);
    assert_int_equal(SrbGetScsiStatus(srb), SCSISTAT_CHECK_CONDITION);
    assert_ptr_equal(SrbGetSenseInfoBuffer(srb), sense);
    assert_int_equal(SrbGetSenseInfoBufferLength(srb), sizeof(sense));
}

static void test_scsi(void **state)
{
    ULONG length32 = 48, seen32 = 1;
    UCHAR length8 = 1;

    (void)state;
    fill();
    check_scsi(&plain, plain.Cdb);
    assert_int_equal(SrbGetCdbLength(&plain), 10);
    check_scsi(&extended, extended.cdb.Cdb);
    assert_int_equal(SrbGetCdbLength(&extended), 10);
    assert_int_equal(extended.cdb.CdbLength, 10);

    set_offset(1, OFFSET_OF(variable));
    check_scsi(&extended, extended.variable.Cdb);
    assert_int_equal(SrbGetCdbLength(&extended), 0); /* the length of such a block has 32 bits */
    SrbSetScsiData(&extended.block, NULL, &length32, NULL, NULL, NULL);
    assert_ptr_equal(SrbGetScsiData(&extended.block, &length8, &seen32, NULL, NULL, NULL), extended.variable.Cdb);
    assert_int_equal(length8, 0);
    assert_int_equal(seen32, 48);

    extended.block.SrbFunction = SRB_FUNCTION_PNP;
    assert_null(SrbGetCdb(&extended));
    assert_int_equal(SrbGetCdbLength(&extended), 0);
    assert_null(SrbGetSenseInfoBuffer(&extended));
}

static void test_blocks(void **state)
{
    PSTORAGE_REQUEST_BLOCK block = &extended.block;
    PSRBEX_DATA_PNP pnp;

    (void)state;
    fill();
    pnp = (PSRBEX_DATA_PNP)(PVOID)SrbGetSrbExDataByType(block, SrbExDataTypePnP);
    assert_ptr_equal(pnp, &extended.pnp);
    assert_int_equal(pnp->PnPAction, StorQueryCapabilities);
    assert_ptr_equal(SrbGetSrbExDataByIndex(block, 0), &extended.info);
    assert_null(SrbGetSrbExDataByIndex(block, 3));
    assert_null(SrbGetSrbExDataByType(block, SrbExDataTypeWmi));
    set_offset(0, sizeof(extended)); /* behind the request */
    assert_null(SrbGetSrbExDataByIndex(block, 0));
    set_offset(0, 8); /* inside of the block itself */
    assert_null(SrbGetSrbExDataByIndex(block, 0));
    assert_ptr_equal(SrbGetSrbExDataByType(block, SrbExDataTypePnP), &extended.pnp);
    block->AddressOffset = 0;
    assert_null(SrbGetAddress(block));
    assert_int_equal(SrbGetLun(block), 0);
    extended.address.Type = STOR_ADDRESS_TYPE_UNKNOWN;
    block->AddressOffset = OFFSET_OF(address);
    assert_ptr_equal(SrbGetAddress(block), &extended.address);
    assert_int_equal(SrbGetLun(block), 0);
    assert_null(SrbGetSrbExDataByType((PSTORAGE_REQUEST_BLOCK)(PVOID)&plain, SrbExDataTypePnP));
    assert_null(SrbGetAddress((PSTORAGE_REQUEST_BLOCK)(PVOID)&plain));
}

static void test_whole(void **state)
{
    UCHAR copy[sizeof(extended)];
    UCHAR other[sizeof(SCSI_REQUEST_BLOCK)];

    (void)state;
    fill();
    assert_false(SrbCopySrb(copy, sizeof(copy) - 1, &extended));
    assert_true(SrbCopySrb(copy, sizeof(copy), &extended));
    assert_memory_equal(copy, &extended, sizeof(extended));
    plain.SrbStatus = SRB_STATUS_ERROR;
    assert_true(SrbCopySrb(other, sizeof(other), &plain));
    assert_memory_equal(other, &plain, sizeof(plain));
    SrbZeroSrb(&plain);
    assert_int_equal(plain.Length, sizeof(plain));
    assert_int_equal(plain.SrbStatus, 0);
    SrbZeroSrb(&extended);
    assert_int_equal(extended.block.SrbLength, sizeof(extended));
    assert_int_equal(extended.block.Function, SRB_FUNCTION_STORAGE_REQUEST_BLOCK);
    assert_int_equal(extended.block.NumSrbExData, 0);
    assert_int_equal(extended.pnp.Type, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_fields), cmocka_unit_test(test_scsi),
                                        cmocka_unit_test(test_blocks), cmocka_unit_test(test_whole) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
