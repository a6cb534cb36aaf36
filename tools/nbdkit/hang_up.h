/* SPDX-License-Identifier: MIT */
/*
 * Protects nbdkit from clients that close their connection while replies are outstanding.
 *
 * nbdkit 1.32.4 to 1.33.9 closes the sending side of a connection when a reply cannot be sent, or when a request does
 * not arrive completely. If another thread of the connection is about to send a reply at that moment, nbdkit aborts:
 *
 *   connections.c:402: raw_send_socket: Assertion `sock >= 0' failed
 *
 * Many requests that fail at the same time make this likely, because nbdcopy ends after the first error. Debian 12 has
 * nbdkit 1.32.5. Version 1.34 has no such fault.
 */
#ifndef NBDKIT_HANG_UP_H
#define NBDKIT_HANG_UP_H

/* Must be called while the process has one thread. Has no effect on version 1.34 and later. */
void hang_up_hide(void);

#endif
