/* SPDX-License-Identifier: MIT */
/* The user of an address: OpenNDK processes, other programs, nobody, and processes that have only the name. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract/kit/kit.h"
#include "contract/kit/net.h"
#include "openndk/netstat.h"

static void check_holder(const struct sockaddr_storage *at, const char *expected)
{
    char text[256] = "unset", cut[8];
    uint32_t len = ondk_address_holder((const struct sockaddr *)at, kit_address_len(at), text, sizeof text);

    if (strcmp(text, expected) != 0)
        kit_fail(__FILE__, __LINE__, "expected holder \"%s\", saw \"%s\"", expected, text);
    CHECK_EQ(len, strlen(expected));
    CHECK_EQ(ondk_address_holder((const struct sockaddr *)at, kit_address_len(at), NULL, 0), len);
    CHECK_EQ(ondk_address_holder((const struct sockaddr *)at, kit_address_len(at), cut, sizeof cut), len);
    CHECK(strncmp(cut, expected, sizeof cut - 1) == 0);
}

static struct sockaddr_storage listening;

static void listen_and_wait(int wire)
{
    static struct kit_listener l;
    static struct kit_side s;

    prctl(PR_SET_NAME, "odd\x1b[31mname");
    kit_side_open(&s, NULL);
    kit_listen(&l, s.adapter);
    kit_wire_send(wire, &l.address, sizeof l.address);
    kit_wait_join(wire);
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    kit_side_close(&s);
}

CASE(holder_is_a_provider, KIT_FAMILIES)
{
    static struct kit_listener again;
    struct kit_child other;
    NDK_ADAPTER *adapter;
    char expected[128];

    kit_fork(&other, listen_and_wait, false);
    kit_wire_receive(other.wire, &listening, sizeof listening);
    adapter = kit_open(2, 1);
    kit_listener_create(&again, adapter);
    CHECK_STATUS(kit_listen_status(&again, &listening), STATUS_SHARING_VIOLATION);
    snprintf(expected, sizeof expected, "process %d (odd?[31mname) of user %u, by OpenNDK", (int)other.pid,
             (unsigned)geteuid());
    check_holder(&listening, expected);
    kit_join(&other);
    CHECK_STATUS(kit_listen_status(&again, &listening), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(again.listener), STATUS_SUCCESS);
    check_holder(&listening, "");
    kit_close_adapter(adapter);
}

CASE(holder_is_another_program, KIT_FAMILIES)
{
    struct sockaddr_storage at = kit_free_address(), none = { 0 };
    char expected[128], name[16] = "";
    int s = socket(kit_family(), SOCK_STREAM, 0);

    check_holder(&at, "");
    CHECK(bind(s, (const struct sockaddr *)&at, kit_address_len(&at)) == 0 && listen(s, 1) == 0);
    CHECK(prctl(PR_GET_NAME, name) == 0);
    snprintf(expected, sizeof expected, "process %d (%s) of user %u", (int)getpid(), name, (unsigned)geteuid());
    check_holder(&at, expected);
    close(s);
    check_holder(&at, "");
    CHECK_EQ(ondk_address_holder(NULL, 0, NULL, 0), 0);
    CHECK_EQ(ondk_address_holder((const struct sockaddr *)&none, sizeof none, NULL, 0), 0);
}

/* The name of the one address that is reserved. */
static void find_name(char name[108])
{
    FILE *f = fopen("/proc/net/unix", "re");
    char line[256];

    name[0] = '\0';
    while (f && fgets(line, sizeof line, f)) {
        const char *at = strstr(line, "@openndk/tcp/");
        if (at)
            snprintf(name, 108, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
    }
    CHECK(f != NULL && name[0]);
    fclose(f);
}

static char name_to_squat[108];

static void squat_and_wait(int wire)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int s;

    kit_wire_receive(wire, name_to_squat, sizeof name_to_squat);
    memcpy(name.sun_path + 1, name_to_squat, strlen(name_to_squat));
    if (setgid(65534) || setuid(65534)) { /* in a user namespace that maps one user */
        kit_wire_send(wire, "n", 1);
        return;
    }
    s = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(bind(s, (struct sockaddr *)&name,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name_to_squat))) == 0);
    kit_wire_send(wire, "s", 1);
    kit_wait_join(wire);
}

/* The port of SMB, whose name any user can bind: the listener gets the port, and the holder is reported. */
CASE(holder_of_a_squatted_name, KIT_FAMILIES | KIT_NETNS)
{
    struct sockaddr_storage at = kit_host(445);
    static struct kit_listener l, second;
    struct kit_child squatter;
    NDK_ADAPTER *adapter;
    char expected[128], name[16] = "", byte;

    if (geteuid() != 0)
        kit_skip("only root can become another user");
    kit_fork(&squatter, squat_and_wait, false);
    adapter = kit_open(2, 1);
    kit_listen_at(&l, adapter, &at);
    find_name(name_to_squat);
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    kit_wire_send(squatter.wire, name_to_squat, sizeof name_to_squat);
    kit_wire_receive(squatter.wire, &byte, 1);
    if (byte == 'n')
        kit_skip("only root can become another user");
    check_holder(&at, "");
    memset(&l, 0, sizeof l);
    kit_listen_at(&l, adapter, &at);
    kit_listener_create(&second, adapter);
    CHECK_STATUS(kit_listen_status(&second, &at), STATUS_SHARING_VIOLATION);
    CHECK(prctl(PR_GET_NAME, name) == 0);
    snprintf(expected, sizeof expected, "process %d (%s) of user 0, by OpenNDK", (int)getpid(), name);
    check_holder(&at, expected);
    CHECK_STATUS(kit_close(second.listener), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    kit_close_adapter(adapter);
    kit_join(&squatter);
}
