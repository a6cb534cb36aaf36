/* SPDX-License-Identifier: MIT */
/* Defines name, description and advice for each code of a Terminate. The names never change, because tools use them. */
#include "fabric/fabric.h"
#include "wire/terminate.h"

/* clang-format off */
static const struct fabric_terminate terminates[] = {
#define MEMORY_ADVICE "Check token, address and length that the other side was given, and how long they are valid."
#define SOFTWARE_ADVICE "An error in one side's protocol software: capture the traffic and report it."
#define GIVEN_UP_ADVICE "Read the log of the side that sent it: that side gave up."
    {WIRE_RDMAP_CATASTROPHIC, "rdmap-catastrophic", "RDMAP: its sender could not continue.", GIVEN_UP_ADVICE},
    {WIRE_RDMAP_INVALID_STAG, "rdmap-stag", "RDMAP: the STag is not valid.", MEMORY_ADVICE},
    {WIRE_RDMAP_BOUNDS, "rdmap-bounds", "RDMAP: outside of the region.", MEMORY_ADVICE},
    {WIRE_RDMAP_ACCESS, "rdmap-access", "RDMAP: the region lacks the right.",
     "Register or bind with the right for remote read or write."},
    {WIRE_RDMAP_STAG_NOT_ASSOCIATED, "rdmap-stag-stream", "RDMAP: the STag belongs to another protection domain.",
     "An error in a program: it must create region and queue pair in the same protection domain (NDK_PD)."},
    {WIRE_RDMAP_TO_WRAP, "rdmap-wrap", "RDMAP: address and length wrap around.", MEMORY_ADVICE},
    {WIRE_RDMAP_STAG_NOT_INVALIDATED, "rdmap-not-invalidated", "RDMAP: the STag must not be invalidated.",
     "Name a token of a fast registration or a window with remote rights."},
    {WIRE_RDMAP_PROTECTION, "rdmap-protection", "RDMAP: a protection error without a code of its own.", MEMORY_ADVICE},
    {WIRE_RDMAP_VERSION, "rdmap-version", "RDMAP: a version that does not exist.", SOFTWARE_ADVICE},
    {WIRE_RDMAP_OPCODE, "rdmap-opcode", "RDMAP: an opcode that is not allowed here.", SOFTWARE_ADVICE},
    {WIRE_RDMAP_STREAM_CATASTROPHIC, "rdmap-stream", "RDMAP: this stream cannot continue.", GIVEN_UP_ADVICE},
    {WIRE_RDMAP_GLOBAL_CATASTROPHIC, "rdmap-global", "RDMAP: no stream of its sender can continue.", GIVEN_UP_ADVICE},
    {WIRE_RDMAP_CANNOT_INVALIDATE, "rdmap-cannot-invalidate", "RDMAP: the STag cannot be invalidated.",
     "Name a token of a fast registration or a window with remote rights."},
    {WIRE_RDMAP_OPERATION, "rdmap-operation", "RDMAP: an operation error without a code of its own.", GIVEN_UP_ADVICE},
    {WIRE_DDP_CATASTROPHIC, "ddp-catastrophic", "DDP: its sender's own buffer was no longer registered.",
     "Keep a region registered until every request that names it has completed."},
    {WIRE_DDP_TAGGED_STAG, "ddp-tagged-stag", "DDP: the STag of an RDMA write or of a read response is invalid.",
     MEMORY_ADVICE},
    {WIRE_DDP_TAGGED_BOUNDS, "ddp-tagged-bounds", "DDP: an RDMA write, or a read's response, is outside of the region.",
     MEMORY_ADVICE},
    {WIRE_DDP_TAGGED_STREAM, "ddp-tagged-stream", "DDP: an RDMA write has an STag of another protection domain.",
     "An error in a program: it must create region and queue pair in the same protection domain (NDK_PD)."},
    {WIRE_DDP_TAGGED_WRAP, "ddp-tagged-wrap", "DDP: address and length of an RDMA write wrap around.", MEMORY_ADVICE},
    {WIRE_DDP_TAGGED_VERSION, "ddp-tagged-version", "DDP: a version that does not exist.", SOFTWARE_ADVICE},
    {WIRE_DDP_UNTAGGED_QN, "ddp-queue", "DDP: a queue number that does not exist.", SOFTWARE_ADVICE},
    {WIRE_DDP_UNTAGGED_NO_BUFFER, "ddp-no-receive", "DDP: no receive was posted for a message, or too many reads.",
     "An error in the programs: one must post receives before the other one sends, and count them."},
    {WIRE_DDP_UNTAGGED_MSN_RANGE, "ddp-msn", "DDP: a message number out of order.", SOFTWARE_ADVICE},
    {WIRE_DDP_UNTAGGED_MO, "ddp-offset", "DDP: an offset out of order.", SOFTWARE_ADVICE},
    {WIRE_DDP_UNTAGGED_TOO_LONG, "ddp-too-long", "DDP: the message was longer than the receive.",
     "Post longer receives, or send shorter messages."},
    {WIRE_DDP_UNTAGGED_VERSION, "ddp-version", "DDP: a version that does not exist.", SOFTWARE_ADVICE},
    {WIRE_MPA_TCP_LOST, "mpa-tcp", "MPA: TCP was closed or lost.", "Check the network between the two hosts."},
    {WIRE_MPA_CRC, "mpa-crc", "MPA: a checksum is wrong.",
     "Its sender changed memory of a request that had not completed, or the network changes data: check "
     "the network and offloads."},
    {WIRE_MPA_MARKER, "mpa-marker", "MPA: marker and length disagree.", SOFTWARE_ADVICE},
    {WIRE_MPA_FRAME, "mpa-frame", "MPA: a frame that is not valid.", SOFTWARE_ADVICE},
    {WIRE_MPA_LOCAL_CATASTROPHIC, "mpa-catastrophic", "MPA: its sender ran out of memory.", GIVEN_UP_ADVICE},
    {WIRE_MPA_INSUFFICIENT_IRD, "mpa-read-limits", "MPA: more RDMA reads were requested than offered.",
     "Connect with higher read limits, or lower the other side's."},
    {WIRE_MPA_NO_RTR, "mpa-ready-form", "MPA: a ready-to-receive form that was not offered.",
     "Offer all forms, the default of ONDK_RTR (rtr), or none for a peer that does not support them."},
#undef MEMORY_ADVICE
#undef SOFTWARE_ADVICE
#undef GIVEN_UP_ADVICE
};
/* clang-format on */

const struct fabric_terminate *fabric_terminates(unsigned *count)
{
    *count = sizeof terminates / sizeof terminates[0];
    return terminates;
}
