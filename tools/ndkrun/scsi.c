/* SPDX-License-Identifier: MIT */
/* Sends SCSI commands from the command line: see scsi.h. */
#include "scsi.h"

#include <stdint.h>
#include <string.h>

#include "number.h"
#include "hex.h"
#include "openndk/adapter.h"
#include "openndk/wdk.h"
#include "sense.h"
#include "status_text.h"

enum {
    MAX_WORDS = 5,
    MAX_DATA = 65536,
    MAX_TEXT = 2 * MAX_DATA + 256,
    MAX_BLOCK = 4096,
    INQUIRY_LENGTH = 36,
    LUNS_LENGTH = 520
};

static uint8_t data[MAX_DATA];

static bool scsi_parse_number(const char *word, uint32_t max, uint32_t *value)
{
    uint64_t wide = 0;
    bool good = number_parse_c(word, max, &wide);

    *value = (uint32_t)wide;
    return good;
}

bool scsi_parse_address(char *word, ondk_wdk_scsi_command_t *c)
{
    uint8_t *const parts[] = { &c->path, &c->target, &c->lun };
    char *save, *part = strtok_r(word, ":", &save);
    uint32_t value;

    for (int i = 0; i < 3; i++, part = strtok_r(NULL, ":", &save)) {
        if (!part || !scsi_parse_number(part, 255, &value))
            return false;
        *parts[i] = (uint8_t)value;
    }
    return !part;
}

static void scsi_set_command(ondk_wdk_scsi_command_t *c, uint8_t operation, uint8_t length, uint32_t expected)
{
    c->cdb[0] = operation;
    c->cdb_length = length;
    c->data = data;
    c->data_length = expected;
}

static void scsi_put32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (24 - 8 * i));
}

static uint32_t scsi_get32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/*
 * Returns the unit's block size. Returns 0 if the unit does not report a block size, or reports one that is too large.
 * If `port` is NULL, returns 1, because only the form of the command is checked.
 */
static uint32_t scsi_block_size(ondk_wdk_device_t *port, const ondk_wdk_scsi_command_t *to)
{
    ondk_wdk_scsi_command_t c = { .path = to->path, .target = to->target, .lun = to->lun };
    uint8_t capacity[8] = { 0 };
    uint32_t status, size;

    if (!port)
        return 1;
    scsi_set_command(&c, 0x25, 10, sizeof capacity);
    c.data = capacity;
    if (ondk_wdk_scsi(port, &c, &status) || !NT_SUCCESS((NTSTATUS)status) || c.scsi_status)
        return 0;
    size = scsi_get32(capacity + 4);
    return size <= MAX_BLOCK ? size : 0;
}

static bool scsi_set_blocks(ondk_wdk_scsi_command_t *c, uint32_t lba, uint32_t blocks, uint32_t size)
{
    if (!size || !blocks || blocks > MAX_DATA / size)
        return false;
    c->data_length = blocks * size;
    scsi_put32(c->cdb + 2, lba);
    c->cdb[7] = (uint8_t)(blocks >> 8);
    c->cdb[8] = (uint8_t)blocks;
    return true;
}

static bool scsi_set_read(ondk_wdk_device_t *port, ondk_wdk_scsi_command_t *c, char *const *words)
{
    uint32_t lba, blocks;

    scsi_set_command(c, 0x28, 10, 0);
    return scsi_parse_number(words[0], UINT32_MAX, &lba) && scsi_parse_number(words[1], UINT16_MAX, &blocks) &&
           scsi_set_blocks(c, lba, blocks, scsi_block_size(port, c));
}

/* Builds a write command with its data. Pads the last block with zeros. */
static bool scsi_set_write(ondk_wdk_device_t *port, ondk_wdk_scsi_command_t *c, char *const *words)
{
    uint32_t lba, length, size;

    memset(data, 0, sizeof data);
    scsi_set_command(c, 0x2a, 10, 0);
    c->out = true;
    if (!scsi_parse_number(words[0], UINT32_MAX, &lba) || !hex_parse(words[1], data, sizeof data, &length))
        return false;
    size = scsi_block_size(port, c);
    return size && scsi_set_blocks(c, lba, (length + size - 1) / size, size);
}

static bool scsi_set_cdb(ondk_wdk_scsi_command_t *c, char *const *words, int count)
{
    uint32_t length;

    c->data = data;
    if (!hex_parse(words[0], c->cdb, sizeof c->cdb, &length) || length < 6)
        return false;
    c->cdb_length = (uint8_t)length;
    return count == 1 ||
           (count == 3 && !strcmp(words[1], "in") && scsi_parse_number(words[2], MAX_DATA, &c->data_length));
}

static bool scsi_build_command(ondk_wdk_device_t *port, ondk_wdk_scsi_command_t *c, char *const *words, int count)
{
    if (!strcmp(words[0], "inquiry") && count == 1) {
        scsi_set_command(c, 0x12, 6, INQUIRY_LENGTH);
        c->cdb[4] = INQUIRY_LENGTH;
    } else if (!strcmp(words[0], "capacity") && count == 1) {
        scsi_set_command(c, 0x25, 10, 8);
    } else if (!strcmp(words[0], "luns") && count == 1) {
        scsi_set_command(c, 0xa0, 12, LUNS_LENGTH);
        scsi_put32(c->cdb + 6, LUNS_LENGTH);
    } else if (!strcmp(words[0], "read") && count == 3) {
        return scsi_set_read(port, c, words + 1);
    } else if (!strcmp(words[0], "write") && count == 3) {
        return scsi_set_write(port, c, words + 1);
    } else {
        return !strcmp(words[0], "cdb") && count > 1 && scsi_set_cdb(c, words + 1, count - 1);
    }
    return true;
}

static bool scsi_send_command(ondk_wdk_device_t *port, ondk_wdk_scsi_command_t *c, const char *words, FILE *out)
{
    struct sense sense;
    uint32_t status;

    if (ondk_wdk_scsi(port, c, &status)) {
        fprintf(out, "ndkrun: --scsi %s could not be sent: %s\n", words, ondk_wdk_error());
        return false;
    }
    fprintf(out, "ndkrun: --scsi %s: %s, SCSI status 0x%02X (%s), %u bytes\n", words, status_text(status),
            c->scsi_status, sense_status_name(c->scsi_status), c->data_length);
    if (sense_get(c, &sense))
        fprintf(out, "  sense key 0x%X (%s), additional code 0x%02X, 0x%02X\n", sense.key, sense_key_name(sense.key),
                sense.code, sense.qualifier);
    if (!c->out)
        hex_dump(data, c->data_length, out);
    return NT_SUCCESS((NTSTATUS)status) && !c->scsi_status;
}

/*
 * Parses the words into *c. If the command needs the unit's block size, requests it from the unit through `port`. If
 * `port` is NULL, only checks the form, and *c must not be sent.
 */
static bool scsi_parse(ondk_wdk_device_t *port, const char *words, ondk_wdk_scsi_command_t *c)
{
    static char copy[MAX_TEXT];
    char *save, *found[MAX_WORDS + 1];
    int count = 0;

    *c = (ondk_wdk_scsi_command_t){ 0 };
    if (snprintf(copy, sizeof copy, "%s", words) >= (int)sizeof copy)
        return false;
    for (char *word = strtok_r(copy, " ", &save); word && count <= MAX_WORDS; word = strtok_r(NULL, " ", &save))
        found[count++] = word;
    return count > 1 && count <= MAX_WORDS && scsi_parse_address(found[0], c) &&
           scsi_build_command(port, c, found + 1, count - 1);
}

bool scsi_check(const char *words)
{
    ondk_wdk_scsi_command_t c;

    return scsi_parse(NULL, words, &c);
}

bool scsi_send(const char *words, FILE *out)
{
    ondk_wdk_scsi_command_t c;
    ondk_wdk_device_t *port;
    uint32_t status;
    bool good;

    if (ondk_wdk_open(SCSI_ADAPTER, &port, &status)) {
        fprintf(out, "ndkrun: no driver has a Storport adapter: %s\n", ondk_wdk_error());
        return false;
    }
    good = scsi_parse(port, words, &c);
    if (!good)
        fprintf(out,
                "ndkrun: --scsi %s: the unit does not report its block size, or the command has more than %d "
                "bytes of data\n",
                words, MAX_DATA);
    good = good && scsi_send_command(port, &c, words, out);
    ondk_wdk_close(port);
    return good;
}
