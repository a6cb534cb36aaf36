/* SPDX-License-Identifier: MIT */
/* In a module, this library is a foreign provider: the program that loads the module verifies the consumer. */
#include "openndk/verify.h"

__attribute__((constructor)) static void leave_verification_to_the_program(void)
{
    ondk_verify_set_mode(ONDK_VERIFY_OFF);
}
