/* SPDX-License-Identifier: MIT */
/*
 * failing_program server|client ADDRESS:PORT MISTAKE: a service and its client, of which one makes a mistake. The
 * service announces a region in the private data of its accept. failures.py records both, and lists the mistakes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "consumer/consumer.h"
#include "consumer/sync.h"
#include "interface.h"

enum { REGION = 4096, MESSAGE = 64, RECEIVES = 4 };

/* The private data of the service's accept. */
struct region_words {
    uint64_t address;
    uint32_t token, len;
};

struct program {
    struct consumer c;
    struct consumer_region messages, shared;
    const char *mistake;
};

static bool makes(const struct program *p, const char *mistake)
{
    return strcmp(p->mistake, mistake) == 0;
}

/* Prints the status of a call that failed, and returns whether it succeeded. */
static bool report(const char *call, NTSTATUS status)
{
    if (NT_SUCCESS(status))
        return true;
    printf("%s failed with 0x%08" PRIX32 "\n", call, (uint32_t)status);
    return false;
}

static bool open_program(struct program *p, const struct sockaddr_storage *address)
{
    const char *step;
    NTSTATUS status = consumer_open(&p->c, interface_of_address(address), &step);

    return report(step, status) &&
           report("a region", consumer_region_create(&p->messages, p->c.pd, REGION, CONSUMER_ALL_RIGHTS)) &&
           report("a region", consumer_region_create(&p->shared, p->c.pd, REGION, CONSUMER_ALL_RIGHTS));
}

static bool post_receives(struct program *p)
{
    NDK_SGE sge = consumer_region_sge(&p->messages, 0, MESSAGE);

    for (int i = 0; i < RECEIVES; i++)
        if (!report("NdkReceive", p->c.qp->Dispatch->NdkReceive(p->c.qp, NULL, &sge, 1)))
            return false;
    return true;
}

/* Prints the results of requests until `n` have come or the peer has disconnected. */
static void print_results(struct program *p, int n)
{
    NDK_RESULT_EX result;

    for (; n > 0 && consumer_next_result(&p->c, &result, 0); n--)
        printf("a request ended with 0x%08" PRIX32 "\n", (uint32_t)result.Status);
}

/* Waits until the test closes the standard input. */
static void wait_for_input_end(void)
{
    while (getchar() != EOF)
        ;
}

static bool send_message(struct program *p)
{
    NDK_SGE sge = consumer_region_sge(&p->messages, 0, MESSAGE);

    return report("NdkSend", p->c.qp->Dispatch->NdkSend(p->c.qp, NULL, &sge, 1, 0));
}

/* ---- the service ---- */

static void serve(struct program *p)
{
    struct region_words words = { (uintptr_t)p->shared.memory, p->shared.remote_token, REGION };
    struct consumer_limits limits = { makes(p, "read-limit-zero") ? 0 : 8, 8 };

    p->c.connector = consumer_next_request(&p->c, 0);
    if (!p->c.connector)
        return;
    if (makes(p, "no-accept")) {
        wait_for_input_end();
        return;
    }
    if (!makes(p, "missing-receive") && !post_receives(p))
        return;
    if (makes(p, "token-invalid"))
        consumer_region_destroy(&p->shared);
    if (!report("NdkAccept", consumer_accept(&p->c, limits, &words, sizeof words)))
        return;
    print_results(p, RECEIVES);
    if (consumer_wait_disconnect(&p->c, 0))
        (void)report("NdkDisconnect", consumer_disconnect(&p->c));
}

static int run_server(struct program *p, struct sockaddr_storage *address)
{
    if (!open_program(p, address) || !report("NdkListen", consumer_listen(&p->c, (struct sockaddr *)address)))
        return 1;
    printf("listening\n");
    fflush(stdout);
    serve(p);
    return 0;
}

/* ---- the client ---- */

/* Reads or writes `len` bytes of the service's region. */
static bool access_region(struct program *p, const struct region_words *words, uint32_t len, bool reads)
{
    NDK_SGE sge = consumer_region_sge(&p->shared, 0, len < REGION ? len : REGION);
    NDK_SGE two[] = { sge, sge };
    USHORT n = len > REGION ? 2 : 1;

    return reads ? report("NdkRead", p->c.qp->Dispatch->NdkRead(p->c.qp, NULL, two, n, words->address, words->token, 0))
                 : report("NdkWrite",
                          p->c.qp->Dispatch->NdkWrite(p->c.qp, NULL, two, n, words->address, words->token, 0));
}

static void work(struct program *p, const struct region_words *words)
{
    if (makes(p, "read-limit-zero")) {
        (void)access_region(p, words, MESSAGE, true); /* fails */
        return;
    }
    if (makes(p, "token-range"))
        (void)access_region(p, words, 2 * REGION, false);
    else if (makes(p, "token-invalid"))
        (void)access_region(p, words, MESSAGE, false);
    else if (makes(p, "few-receives"))
        for (int i = 0; i <= RECEIVES && send_message(p); i++)
            print_results(p, 1);
    else if (!send_message(p) || (makes(p, "killed") && !post_receives(p)))
        return;
    print_results(p, 1 + RECEIVES);
}

static void use_service(struct program *p, const struct sockaddr_storage *address)
{
    struct region_words words = { 0 };
    ULONG inbound, outbound, len = sizeof words;
    struct sockaddr_storage own;
    NDK_RESULT_EX result;

    if (!address_own(address, &own) || !open_program(p, &own) ||
        !report("NdkConnect", consumer_connect(&p->c, (struct sockaddr *)&own, (const struct sockaddr *)address,
                                               (struct consumer_limits){ 8, 8 }, NULL, 0)))
        return;
    (void)p->c.connector->Dispatch->NdkGetConnectionData(p->c.connector, &inbound, &outbound, &words, &len);
    if (makes(p, "deadlock")) {
        /* Waits for a message of the service before it completes the connection. */
        if (post_receives(p) && !consumer_next_result_ms(&p->c, &result, 1))
            wait_for_input_end();
        return;
    }
    if (!report("NdkCompleteConnect", consumer_complete_connect(&p->c)))
        return;
    work(p, &words);
    (void)report("NdkDisconnect", consumer_disconnect(&p->c));
}

int main(int argc, char **argv)
{
    static struct program p;
    struct sockaddr_storage address;
    bool is_server = argc == 4 && strcmp(argv[1], "server") == 0;
    int code = 0;

    if (argc != 4 || !address_parse(argv[2], true, &address)) {
        fprintf(stderr, "usage: failing_program server|client ADDRESS:PORT MISTAKE\n");
        return 2;
    }
    p.mistake = argv[3];
    if (is_server)
        code = run_server(&p, &address);
    else
        use_service(&p, &address);
    consumer_close_connector(&p.c);
    consumer_region_destroy(&p.messages);
    consumer_region_destroy(&p.shared);
    consumer_close(&p.c);
    return code;
}
