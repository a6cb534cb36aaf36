/* SPDX-License-Identifier: MIT */
/*
 * The protection domains of the sample nvme-target, as it shows them to ndkstat. Without a shared receive queue each
 * queue pair has a domain, with one each host address. So no host can use a token of another host's buffers, also if an
 * adapter makes the buffers of reads writable for peers, as iWARP cards do.
 *
 *     nvme_target_domain PROGRAM
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "nvme_host.h"
#include "target_process.h"

#define HOST_NQN "nqn.2026-11.org.example:host"
#define OTHER_NQN "nqn.2026-11.org.example:other"
enum { MAX_OBJECTS = 256 };

static const char *program;

/* Reads what the process shows to ndkstat (docs/observe.md). The caller frees the text. */
static char *read_state(pid_t pid)
{
    enum { MAX_TEXT = 1 << 20 };
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char *text = calloc(1, MAX_TEXT);
    size_t len = 0;
    ssize_t n = 1;

    snprintf(to.sun_path + 1, sizeof to.sun_path - 1, "openndk.stat.%d", (int)pid);
    assert_non_null(text);
    assert_int_equal(connect(fd, (struct sockaddr *)&to,
                             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(to.sun_path + 1))),
                     0);
    while (n > 0 && len < MAX_TEXT - 1) {
        n = read(fd, text + len, MAX_TEXT - 1 - len);
        len += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    return text;
}

static int compare_domains(const void *a, const void *b)
{
    long left = *(const long *)a, right = *(const long *)b;

    return (left > right) - (left < right);
}

/* Stores the protection domain of each object in the list, the oldest domain first. Returns their number. */
static unsigned read_domains(const char *state, const char *list, long *domains)
{
    const char *at = strstr(state, list), *end = at ? strchr(at, ']') : NULL;
    unsigned n = 0;

    assert_non_null(end);
    while ((at = strstr(at, "\"pd\":")) && at < end && n < MAX_OBJECTS) {
        at += strlen("\"pd\":");
        domains[n++] = strtol(at, NULL, 10);
    }
    qsort(domains, n, sizeof *domains, compare_domains);
    return n;
}

struct domains {
    long pairs[MAX_OBJECTS], srqs[MAX_OBJECTS], regions[MAX_OBJECTS];
    unsigned n_pairs, n_srqs, n_regions;
};

/* Connects one host with two queues and another one, from another address, with one queue, and reads the domains. */
static void read_with_hosts(const char *const *arguments, struct domains *domains)
{
    struct target_process process;
    struct host_queue admin, io, other;
    char *state;

    assert_true(process_start(&process, program, arguments));
    assert_true(host_open_controller(&admin, &process.address, PROCESS_NQN, HOST_NQN));
    assert_true(host_open_io(&io, &admin, &process.address, 1, 8, PROCESS_NQN, HOST_NQN));
    assert_true(host_open(&other, 8));
    assert_int_equal(inet_pton(AF_INET, "127.0.0.2", &other.from), 1);
    assert_true(NT_SUCCESS(host_connect(&other, &process.address, 0, 0)));
    assert_int_equal(host_fabrics_connect(&other, PROCESS_NQN, OTHER_NQN, 0), NVME_SUCCESS);
    state = read_state(process.pid);
    domains->n_pairs = read_domains(state, "\"queue_pairs\":", domains->pairs);
    domains->n_srqs = read_domains(state, "\"shared_receive_queues\":", domains->srqs);
    domains->n_regions = read_domains(state, "\"memory_regions\":", domains->regions);
    free(state);
    host_close(&other);
    host_close(&io);
    host_close(&admin);
    assert_int_equal(process_stop(&process, SIGTERM), 0);
    assert_int_equal(domains->n_pairs, 3);
}

/* Returns the number of memory regions in the domain. */
static unsigned count_regions(const struct domains *domains, long domain)
{
    unsigned n = 0;

    for (unsigned i = 0; i < domains->n_regions; i++)
        n += domains->regions[i] == domain;
    return n;
}

static void test_domain_of_connection(void **state)
{
    struct domains domains;
    unsigned n = 0;

    (void)state;
    read_with_hosts((const char *const[]){ "--memory", "1M", "--buffers", "4", NULL }, &domains);
    assert_int_not_equal(domains.pairs[0], domains.pairs[1]);
    assert_int_not_equal(domains.pairs[1], domains.pairs[2]);
    assert_int_equal(domains.n_srqs, 0);
    for (unsigned i = 0; i < domains.n_pairs; i++) {
        assert_true(count_regions(&domains, domains.pairs[i]) > 1);
        n += count_regions(&domains, domains.pairs[i]);
    }
    assert_int_equal(n, domains.n_regions);
}

static void test_domain_of_address(void **state)
{
    struct domains domains;

    (void)state;
    read_with_hosts((const char *const[]){ "--memory", "1M", "--buffers", "4", "--srq", "128", NULL }, &domains);
    assert_int_equal(domains.pairs[0], domains.pairs[1]);
    assert_int_not_equal(domains.pairs[1], domains.pairs[2]);
    assert_int_equal(domains.n_srqs, 2);
    assert_int_equal(domains.srqs[0], domains.pairs[0]);
    assert_int_equal(domains.srqs[1], domains.pairs[2]);
    assert_int_equal(count_regions(&domains, domains.pairs[0]) + count_regions(&domains, domains.pairs[2]),
                     domains.n_regions);
}

/* Connects from the address. Returns the status. The caller closes the queue. */
static NTSTATUS connect_from(struct host_queue *q, const struct target_process *process, const char *address)
{
    assert_true(host_open(q, 8));
    assert_int_equal(inet_pton(AF_INET, address, &q->from), 1);
    return host_connect(q, &process->address, 0, 0);
}

/* There is a shared receive queue for as many addresses as controllers; a further address waits until one is free. */
static void test_number_of_addresses(void **state)
{
    struct target_process process;
    struct host_queue first, again, other;
    NTSTATUS status;

    (void)state;
    assert_true(process_start(&process, program,
                              (const char *const[]){ "--memory", "1M", "--srq", "128", "--controllers", "1", NULL }));
    assert_true(host_open_controller(&first, &process.address, PROCESS_NQN, HOST_NQN));
    assert_int_equal(connect_from(&other, &process, "127.0.0.2"), STATUS_CONNECTION_REFUSED);
    assert_int_equal(other.reject_status, NVME_RDMA_NO_RESOURCES);
    host_close(&other);
    assert_true(NT_SUCCESS(connect_from(&again, &process, "127.0.0.1")));
    host_close(&again);
    host_close(&first);
    do { /* the target closes the domain some time after the connection has ended */
        status = connect_from(&other, &process, "127.0.0.2");
        host_close(&other);
    } while (status == STATUS_CONNECTION_REFUSED);
    assert_true(NT_SUCCESS(status));
    assert_int_equal(process_stop(&process, SIGTERM), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_domain_of_connection),
                                        cmocka_unit_test(test_domain_of_address),
                                        cmocka_unit_test(test_number_of_addresses) };

    if (argc != 2) {
        fprintf(stderr, "usage: nvme_target_domain PROGRAM\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
