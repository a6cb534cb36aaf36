/* SPDX-License-Identifier: MIT */
/* The messages about an address that no interface has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "report.h"
#include "wdk/common/missing.h"

/* Returns what is printed about this local address; the caller frees the report. */
static struct report *check_address(const char *text)
{
    struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
    struct sockaddr_in four = { .sin_family = AF_INET };
    struct report *r = report_start();

    if (inet_pton(AF_INET, text, &four.sin_addr) == 1) {
        missing_check_address("Test", &four, sizeof four, true);
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
        missing_check_address("Test", &six, sizeof six, true);
    }
    assert_int_equal(report_stop(r), 0); /* a message, and no broken rule */
    return r;
}

static void says(const char *address, const char *words)
{
    struct report *r = check_address(address);

    if (words ? !strstr(r->text, words) : r->length > 0)
        fail_msg("%s: expected \"%s\", saw \"%s\"", address, words ? words : "", r->text);
    report_free(r);
}

static void test_addresses(void **state)
{
    (void)state;
    says("192.0.2.1",
         "Test: no interface has the local address 192.0.2.1. Option of ndkrun: --net INDEX=192.0.2.1/24 ");
    says("192.0.2.1", NULL); /* each is named once */
    says("2001:db8::1", "Test: no interface has the local address 2001:db8::1. ");
    says("127.0.0.1", NULL);
    says("0.0.0.0", NULL);
    says("::1", NULL);
    says("::", NULL);
    says("224.0.0.1", NULL);
    says("ff02::1", NULL);
}

/* An IPv4-mapped address is the IPv4 address that it contains. */
static void test_mapped_addresses(void **state)
{
    (void)state;
    says("::ffff:127.0.0.1", NULL);
    says("::ffff:0.0.0.0", NULL);
    says("::ffff:192.0.2.2", "Test: no interface has the local address 192.0.2.2. Option of ndkrun: --net INDEX=");
    says("192.0.2.2", NULL);
    says("::fffe:127.0.0.1", "Test: no interface has the local address ");
}

static void test_destination(void **state)
{
    struct sockaddr_in four = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc0000203) };
    struct report *r = report_start();

    (void)state;
    missing_check_address("Test", &four, sizeof four, false);
    fflush(r->out);
    assert_int_equal(r->length, 0); /* the peer may be in any network */
    missing_set_isolated();
    missing_check_address("Test", &four, sizeof four, false);
    assert_int_equal(report_stop(r), 0);
    assert_non_null(strstr(r->text, "Test: no interface has the destination address 192.0.2.3. "));
    report_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_mapped_addresses),
        cmocka_unit_test(test_destination),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
