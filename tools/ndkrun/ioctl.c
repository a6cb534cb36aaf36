/* SPDX-License-Identifier: MIT */
/* Device controls from the command line: see ioctl.h. */
#include "ioctl.h"

#include <stdint.h>
#include <string.h>

#include "number.h"
#include "hex.h"
#include "openndk/adapter.h"
#include "openndk/wdk.h"

enum { MAX_NAME = 256, MAX_INPUT = 4096, MAX_OUTPUT = 65536, MAX_NUMBER = 32 };

struct control {
    char device[MAX_NAME];
    uint32_t code, length;
    uint8_t input[MAX_INPUT];
};

static bool ioctl_parse(const char *word, struct control *c)
{
    const char *colon = strchr(word, ':'), *hex;
    char number[MAX_NUMBER];
    size_t digits;
    uint64_t code;

    if (!colon || colon == word || colon - word >= MAX_NAME)
        return false;
    memcpy(c->device, word, (size_t)(colon - word));
    c->device[colon - word] = '\0';
    hex = strchr(colon + 1, ':');
    digits = hex ? (size_t)(hex - colon - 1) : strlen(colon + 1);
    if (digits >= sizeof number)
        return false;
    memcpy(number, colon + 1, digits);
    number[digits] = '\0';
    if (!number_parse_c(number, UINT32_MAX, &code))
        return false;
    c->code = (uint32_t)code;
    c->length = 0;
    return !hex || hex_parse(hex + 1, c->input, sizeof c->input, &c->length);
}

bool ioctl_send(const char *word, FILE *out)
{
    static uint8_t output[MAX_OUTPUT];
    static struct control c;
    ondk_wdk_device_t *device;
    uint32_t status, length = 0;

    if (!ioctl_parse(word, &c)) {
        fprintf(out, "ndkrun: --ioctl %s: expected DEVICE:CODE[:HEX], for example echo:0x12a004:00100000\n", word);
        return false;
    }
    if (ondk_wdk_open(c.device, &device, &status)) {
        fprintf(out, "ndkrun: device %s cannot be opened: %s\n", c.device, ondk_status_name((NTSTATUS)status));
        return false;
    }
    if (ondk_wdk_device_control(device, c.code, c.input, c.length, output, sizeof output, &length, &status)) {
        fprintf(out, "ndkrun: device control 0x%X could not be sent: %s\n", c.code, ondk_wdk_error());
        ondk_wdk_close(device);
        return false;
    }
    fprintf(out, "ndkrun: %s 0x%X: %s, %u bytes\n", c.device, c.code, ondk_status_name((NTSTATUS)status), length);
    hex_dump(output, length, out);
    ondk_wdk_close(device);
    return NT_SUCCESS((NTSTATUS)status);
}
