/* SPDX-License-Identifier: MIT */
/*
 * rping_peer ADDRESS:PORT [leave]: an rping client whose ping has the bytes of its standard input. With `leave` it
 * begins a second ping, and disconnects when the server has answered the first message.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "consumer/consumer.h"
#include "interface.h"

enum { MESSAGE = 16, TEXT_MOST = 4096, SECONDS = 30 };

struct peer {
    struct consumer c;
    struct consumer_region messages, text, sink;
    uint32_t size;
};

static bool advertise(struct peer *p, const struct consumer_region *r)
{
    NDK_SGE in = consumer_region_sge(&p->messages, MESSAGE, MESSAGE);
    NDK_SGE out = consumer_region_sge(&p->messages, 0, MESSAGE);
    uint64_t address = htobe64((uintptr_t)r->memory);
    uint32_t words[] = { htobe32(r->remote_token), htobe32(p->size) };
    NDK_RESULT_EX result;

    memcpy(p->messages.memory, &address, sizeof address);
    memcpy(p->messages.memory + sizeof address, words, sizeof words);
    return NT_SUCCESS(p->c.qp->Dispatch->NdkReceive(p->c.qp, NULL, &in, 1)) &&
           NT_SUCCESS(p->c.qp->Dispatch->NdkSend(p->c.qp, NULL, &out, 1, NDK_OP_FLAG_SILENT_SUCCESS)) &&
           consumer_next_result(&p->c, &result, SECONDS) && NT_SUCCESS(result.Status);
}

static bool ping(struct peer *p, const char *server, bool leaves)
{
    const struct consumer_limits limits = { 8, 8 };
    struct sockaddr_storage to, from;
    const char *step;

    return address_parse(server, true, &to) && address_own(&to, &from) &&
           NT_SUCCESS(consumer_open(&p->c, interface_of_address(&from), &step)) &&
           NT_SUCCESS(consumer_region_create(&p->messages, p->c.pd, 2 * MESSAGE, CONSUMER_ALL_RIGHTS)) &&
           NT_SUCCESS(consumer_region_create(&p->text, p->c.pd, TEXT_MOST, CONSUMER_ALL_RIGHTS)) &&
           NT_SUCCESS(consumer_region_create(&p->sink, p->c.pd, TEXT_MOST, CONSUMER_ALL_RIGHTS)) &&
           (p->size = (uint32_t)fread(p->text.memory, 1, TEXT_MOST, stdin)) > 0 &&
           NT_SUCCESS(consumer_connect(&p->c, (struct sockaddr *)&from, (struct sockaddr *)&to, limits, NULL, 0)) &&
           NT_SUCCESS(consumer_complete_connect(&p->c)) && advertise(p, &p->text) && advertise(p, &p->sink) &&
           (!leaves || advertise(p, &p->text)) && NT_SUCCESS(consumer_disconnect(&p->c));
}

int main(int argc, char **argv)
{
    static struct peer p;
    bool leaves = argc == 3 && strcmp(argv[2], "leave") == 0;
    bool good = (argc == 2 || leaves) && ping(&p, argv[1], leaves);

    consumer_close_qp(&p.c);
    consumer_region_destroy(&p.sink);
    consumer_region_destroy(&p.text);
    consumer_region_destroy(&p.messages);
    consumer_close(&p.c);
    return !good;
}
