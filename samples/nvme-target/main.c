/* SPDX-License-Identifier: MIT */
/*
 * Implements the program: parses the command line, and waits for the signals that stop it. The target runs on other
 * threads.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target.h"

/* Exit statuses. */
enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

enum {
    MAX_HOSTS = 32,
    MIN_DISK = 4096, /* bytes */
};

static const char usage[] =
    "usage: nvme-target --listen ADDRESS[:PORT] --nqn NQN DISK... [OPTION...]\n"
    "\n"
    "Serves disks to NVMe over Fabrics hosts by RDMA (iWARP), until Ctrl-C.\n"
    "\n"
    "  --listen ADDRESS[:PORT]  an address of this machine; the port is 4420 without PORT. [ADDRESS]:PORT for IPv6\n"
    "  --nqn NQN                the subsystem's name, for example nqn.2026-11.org.example:disk\n"
    "\n"
    "Each disk is a namespace. The first one is namespace 1:\n"
    "  --memory SIZE            memory of this process, for example 64M; SIZE in bytes, or with K, M or G\n"
    "  --file FILE              a file or block device, as large as it is\n"
    "  --read-only FILE         the same, and hosts cannot write\n"
    "\n"
    "Options:\n"
    "  --block SIZE             bytes of a block: 512 (default), 1024, 2048 or 4096\n"
    "  --host NQN               serves this host; may be repeated. Without it, every host\n"
    "  --controllers N          controllers at the same time; a host has one for each path (default 16)\n"
    "  --io-queues N            I/O queues of a controller, at most 64 (default 8)\n"
    "  --queues N               connections at the same time, of all hosts. The default is enough for all queues of\n"
    "                           all controllers: (--io-queues + 1) * --controllers, so 144 without these options.\n"
    "                           With a smaller number, later hosts get fewer I/O queues, or none\n"
    "  --queue-size N           commands that an I/O queue can hold, 2 to 1024 (default 128)\n"
    "  --buffers N              buffers of 128 KiB for each I/O queue (default 32, 4 MiB)\n"
    "  --workers N              threads for files, at most 64 (default 8)\n"
    "  --srq N                  one shared receive queue of N receives for each host address, and none for each\n"
    "                           connection\n"
    "  --fast                   registers each buffer for one command (fast registration)\n"
    "  --help                   prints this text\n"
    "\n"
    "After SIGHUP the program reads the sizes of the files again, and tells hosts which disks have changed.\n"
    "\n"
    "Exit status: 0 after SIGINT or SIGTERM, 1 if the target could not start, 2 if the command line is wrong or a "
    "disk\n"
    "cannot be opened.\n"
    "A Linux host connects with: nvme connect -t rdma -a ADDRESS -s PORT -n NQN\n";

struct options {
    struct target_settings settings;
    struct disk *disks[TARGET_MAX_NAMESPACES];
    uint32_t n_disks;
    const char *hosts[MAX_HOSTS];
    bool has_nqn, has_address;
};

/* ---- The command line -------------------------------------------------------------------------------------------- */

/* Prints an error message about the option's value. Returns false. */
static bool reject_option(const char *option, const char *value, const char *text)
{
    fprintf(stderr, "nvme-target: --%s %s: %s; --help lists the options\n", option, value, text);
    return false;
}

static bool parse_number(const char *option, const char *value, uint32_t min, uint32_t max, uint32_t *out)
{
    char *end, text[64];
    unsigned long number;

    errno = 0;
    number = strtoul(value, &end, 10);
    if (value[0] >= '0' && value[0] <= '9' && !*end && !errno && number >= min && number <= max) {
        *out = (uint32_t)number;
        return true;
    }
    snprintf(text, sizeof text, "a number from %u to %u is needed", min, max);
    return reject_option(option, value, text);
}

/* Parses a number of bytes, with an optional K, M or G. */
static bool parse_size(const char *option, const char *value, uint64_t *out)
{
    static const char units[] = "KMG";
    unsigned shift = 0;
    unsigned long long number;
    const char *unit;
    char *end;

    errno = 0;
    number = strtoull(value, &end, 10);
    unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        shift = 10 * (unsigned)(unit - units + 1);
        end++;
    }
    if (value[0] < '0' || value[0] > '9' || *end || errno || number > (UINT64_MAX >> 1) >> shift ||
        number << shift < MIN_DISK)
        return reject_option(option, value, "a size of at least 4K is needed, for example 64M");
    *out = (uint64_t)number << shift;
    return true;
}

/* Returns the index of the interface that has the address, or 0 if no interface has it. */
static uint32_t interface_of(const struct sockaddr *address)
{
    bool is_v4 = address->sa_family == AF_INET;
    size_t offset = is_v4 ? offsetof(struct sockaddr_in, sin_addr) : offsetof(struct sockaddr_in6, sin6_addr);
    uint32_t count = ondk_enumerate_adapters(NULL, 0), found = 0;
    ondk_adapter_entry_t *entries = calloc(count, sizeof *entries);
    uint32_t filled = entries ? ondk_enumerate_adapters(entries, count) : 0;

    for (uint32_t i = 0; i < count && i < filled; i++) {
        for (uint32_t j = 0; j < entries[i].address_count; j++) {
            const struct sockaddr *other = (const struct sockaddr *)&entries[i].addresses[j];

            if (other->sa_family == address->sa_family &&
                memcmp((const char *)other + offset, (const char *)address + offset, is_v4 ? 4 : 16) == 0)
                found = entries[i].if_index;
        }
    }
    free(entries);
    return found;
}

/*
 * Splits ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT into port->address and port->service. Returns false if a part is too
 * long.
 */
static bool split_address(const char *value, struct target_port *port)
{
    const char *colon = strrchr(value, ':'), *service = "4420";
    bool has_bracket = value[0] == '[';
    size_t len = strlen(value);

    if (has_bracket && value[len - 1] == ']')
        colon = NULL;
    if (colon && (has_bracket || strchr(value, ':') == colon)) { /* an IPv6 address without brackets has no port */
        service = colon + 1;
        len = (size_t)(colon - value);
    }
    if (has_bracket) {
        value++;
        if (len < 2 || value[len - 2] != ']')
            return false;
        len -= 2;
    }
    if (len == 0 || len >= sizeof port->address || !*service || strlen(service) >= sizeof port->service)
        return false;
    memcpy(port->address, value, len);
    port->address[len] = 0;
    strcpy(port->service, service);
    return true;
}

static bool parse_address(const char *value, struct target_settings *settings)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
    struct target_port *port = &settings->port;
    struct addrinfo *found;
    uint32_t number;

    if (!split_address(value, port) || !parse_number("listen: port", port->service, 1, 65535, &number) ||
        getaddrinfo(port->address, port->service, &hints, &found))
        return reject_option("listen", value, "ADDRESS or ADDRESS:PORT is needed, as numbers");
    memcpy(&settings->address, found->ai_addr, found->ai_addrlen);
    settings->address_len = found->ai_addrlen;
    port->family = found->ai_family == AF_INET ? NVME_ADRFAM_IPV4 : NVME_ADRFAM_IPV6;
    port->id = 1;
    settings->if_index = interface_of(found->ai_addr);
    freeaddrinfo(found);
    if (!settings->if_index) /* for example 0.0.0.0, which belongs to no interface */
        return reject_option("listen", value,
                             "no interface of this machine has the address; ndkinfo lists those that exist");
    return true;
}

static bool parse_nqn(const char *option, const char *value, char *nqn)
{
    if (strlen(value) >= NVME_NQN_SIZE || strncmp(value, "nqn.", 4) != 0)
        return reject_option(option, value, "a name that begins with nqn. and has at most 223 characters is needed");
    if (nqn)
        strcpy(nqn, value);
    return true;
}

static bool add_disk(struct options *options, struct disk *disk)
{
    if (!disk)
        return false; /* the reason was logged */
    if (options->n_disks == TARGET_MAX_NAMESPACES) {
        disk_close(disk);
        fprintf(stderr, "nvme-target: there are more than %d disks\n", TARGET_MAX_NAMESPACES);
        return false;
    }
    options->disks[options->n_disks++] = disk;
    return true;
}

enum {
    OPTION_LISTEN = 256,
    OPTION_NQN,
    OPTION_MEMORY,
    OPTION_FILE,
    OPTION_READ_ONLY,
    OPTION_BLOCK,
    OPTION_HOST,
    OPTION_IO_QUEUES,
    OPTION_QUEUE_SIZE,
    OPTION_CONTROLLERS,
    OPTION_QUEUES,
    OPTION_BUFFERS,
    OPTION_WORKERS,
    OPTION_SRQ,
    OPTION_FAST,
    OPTION_HELP,
};

static bool parse_block(const char *value, uint8_t *shift)
{
    for (*shift = 9; *shift <= 12; ++*shift) {
        if (strtoul(value, NULL, 10) == 1u << *shift)
            return true;
    }
    return reject_option("block", value, "512, 1024, 2048 or 4096 is needed");
}

/* Handles the options that are numbers. */
static bool parse_limit(int option, const char *name, const char *value, struct target_settings *settings)
{
    uint32_t number = 0;

    switch (option) {
    case OPTION_IO_QUEUES:
        if (!parse_number(name, value, 1, TARGET_MAX_IO_QUEUES, &number))
            return false;
        settings->max_io_queues = (uint16_t)number;
        return true;
    case OPTION_QUEUE_SIZE:
        if (!parse_number(name, value, 2, NVME_RDMA_MAX_QUEUE_ENTRIES, &number))
            return false;
        settings->max_entries = (uint16_t)number;
        return true;
    case OPTION_CONTROLLERS:
        if (!parse_number(name, value, 1, TARGET_MAX_CONTROLLERS, &number))
            return false;
        settings->max_controllers = (uint16_t)number;
        return true;
    case OPTION_QUEUES:
        return parse_number(name, value, 2, TARGET_MAX_QUEUES, &settings->max_queues);
    case OPTION_BUFFERS:
        return parse_number(name, value, 1, 1024, &settings->max_buffers);
    case OPTION_WORKERS:
        return parse_number(name, value, 1, WORKER_MAX_THREADS, &settings->n_workers);
    default:
        settings->has_srq = true;
        return parse_number(name, value, 32, 65536, &settings->n_srq_receives);
    }
}

static bool parse_option(struct options *options, int option, const char *name, const char *value)
{
    struct target_settings *settings = &options->settings;
    uint64_t size = 0;

    switch (option) {
    case OPTION_LISTEN:
        options->has_address = true;
        return parse_address(value, settings);
    case OPTION_NQN:
        options->has_nqn = true;
        return parse_nqn(name, value, settings->nqn);
    case OPTION_MEMORY:
        return parse_size(name, value, &size) && add_disk(options, disk_memory_open(size));
    case OPTION_FILE:
    case OPTION_READ_ONLY:
        return add_disk(options, disk_file_open(value, option == OPTION_READ_ONLY));
    case OPTION_BLOCK:
        return parse_block(value, &settings->block_shift);
    case OPTION_HOST:
        if (settings->n_hosts == MAX_HOSTS)
            return reject_option(name, value, "there are too many hosts");
        options->hosts[settings->n_hosts++] = value;
        return parse_nqn(name, value, NULL);
    case OPTION_FAST:
        settings->has_fast_registration = true;
        return true;
    default:
        return parse_limit(option, name, value, settings);
    }
}

/* Parses the command line and opens the disks. Returns STATUS_OK, STATUS_USAGE, or -1 if --help was printed. */
static int parse_options(struct options *options, int argc, char **argv)
{
    static const struct option names[] = {
        { "listen", required_argument, NULL, OPTION_LISTEN },
        { "nqn", required_argument, NULL, OPTION_NQN },
        { "memory", required_argument, NULL, OPTION_MEMORY },
        { "file", required_argument, NULL, OPTION_FILE },
        { "read-only", required_argument, NULL, OPTION_READ_ONLY },
        { "block", required_argument, NULL, OPTION_BLOCK },
        { "host", required_argument, NULL, OPTION_HOST },
        { "io-queues", required_argument, NULL, OPTION_IO_QUEUES },
        { "queue-size", required_argument, NULL, OPTION_QUEUE_SIZE },
        { "controllers", required_argument, NULL, OPTION_CONTROLLERS },
        { "queues", required_argument, NULL, OPTION_QUEUES },
        { "buffers", required_argument, NULL, OPTION_BUFFERS },
        { "workers", required_argument, NULL, OPTION_WORKERS },
        { "srq", required_argument, NULL, OPTION_SRQ },
        { "fast", no_argument, NULL, OPTION_FAST },
        { "help", no_argument, NULL, OPTION_HELP },
        { NULL, 0, NULL, 0 },
    };
    int option, index = 0;

    target_settings_init(&options->settings);
    options->settings.hosts = options->hosts;
    while ((option = getopt_long(argc, argv, "h", names, &index)) >= 0) {
        if (option == OPTION_HELP || option == 'h') {
            fputs(usage, stdout);
            return -1;
        }
        if (option == '?' || !parse_option(options, option, names[index].name, optarg))
            return STATUS_USAGE;
    }
    if (optind < argc || !options->has_address || !options->has_nqn || !options->n_disks) {
        fprintf(stderr, "nvme-target: %s%s; --help lists the options\n", optind < argc ? argv[optind] : "",
                optind < argc           ? ": this is no option"
                : !options->has_address ? "--listen ADDRESS is missing"
                : !options->has_nqn     ? "--nqn NQN is missing"
                                        : "a disk is missing: --memory SIZE or --file FILE");
        return STATUS_USAGE;
    }
    return STATUS_OK;
}

/* ---- The program ------------------------------------------------------------------------------------------------- */

/*
 * Serves until SIGINT or SIGTERM. Compares the disks' sizes after each SIGHUP. All threads of the program block these
 * signals.
 */
static int serve_target(const struct options *options)
{
    static struct target target;
    sigset_t signals;
    int number = SIGHUP;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGXFSZ, SIG_IGN); /* a write over the limit of file sizes then fails, and does not end the process */
    if (!target_start(&target, &options->settings, options->disks, options->n_disks))
        return STATUS_FAILED;
    printf("listening on %s port %s, %s, %u namespace%s\n", options->settings.port.address,
           options->settings.port.service, options->settings.nqn, options->n_disks, options->n_disks == 1 ? "" : "s");
    for (;;) {
        sigwait(&signals, &number);
        if (number != SIGHUP)
            break;
        printf("changed namespaces: %u\n", target_rescan(&target));
    }
    target_stop(&target);
    printf("stopped\n");
    return STATUS_OK;
}

int main(int argc, char **argv)
{
    static struct options options;
    int status = parse_options(&options, argc, argv);

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (status == STATUS_OK)
        status = serve_target(&options);
    for (uint32_t i = 0; i < options.n_disks; i++)
        disk_close(options.disks[i]);
    return status < 0 ? STATUS_OK : status;
}
