/* SPDX-License-Identifier: MIT */
/* A program that loads the driver in its argument and prints the driver's messages, as a test of a driver might. */
#include <openndk/wdk.h>

int main(int argc, char **argv)
{
    ondk_wdk_driver_t *driver;
    uint32_t status;

    ondk_wdk_set_output(stdout);
    if (argc != 2 || ondk_wdk_load(argv[1], NULL, &driver, &status) || ondk_wdk_unload(driver, &status)) {
        fprintf(stderr, "%s\n", ondk_wdk_error());
        return 1;
    }
    return 0;
}
