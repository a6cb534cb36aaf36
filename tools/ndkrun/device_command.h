/* SPDX-License-Identifier: MIT */
/* Parses the requests to devices on the command line: --ioctl, --read and --write. */
#ifndef NDKRUN_DEVICE_COMMAND_H
#define NDKRUN_DEVICE_COMMAND_H

#include <stdint.h>

enum { DEVICE_MAX_NAME = 256, DEVICE_MAX_TEXT = DEVICE_MAX_NAME + 32 };

enum device_command_kind { DEVICE_CONTROL, DEVICE_READ, DEVICE_WRITE };

struct device_command {
    enum device_command_kind kind;
    char device[DEVICE_MAX_NAME];
    uint32_t code;   /* the control code of DEVICE_CONTROL */
    uint64_t offset; /* the position of DEVICE_READ and DEVICE_WRITE, in bytes */
    uint8_t *input;  /* allocated, and never freed; NULL if input_length is 0 */
    uint32_t input_length;
    uint32_t output_length; /* size of the buffer that the driver may fill */
};

/*
 * Parses DEVICE:CODE[:INPUT[:LENGTH]], DEVICE:LENGTH[:OFFSET] or DEVICE:INPUT[:OFFSET], depending on `kind`. INPUT has
 * hexadecimal digits, or is @FILE. Reads FILE. DEVICE may contain colons: it is in double quotes, or it ends at the
 * first colon with a valid CODE, LENGTH or INPUT after it. Returns NULL, or a text that describes the mistake. The next
 * call overwrites the text.
 */
const char *device_command_parse(struct device_command *c, enum device_command_kind kind, const char *word);

/* Writes a description for messages, for example "Echo 0x122000" or "Echo write". Returns `text`. */
const char *device_command_describe(const struct device_command *c, char text[DEVICE_MAX_TEXT]);

#endif
