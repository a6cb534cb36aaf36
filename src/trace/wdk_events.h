/* SPDX-License-Identifier: MIT */
/*
 * Lists the events of the kernel in which drivers run, in the form that trace/events.h describes: drivers, IRPs and
 * Winsock Kernel. The invariant: an event with the name of a routine is a driver's call of that routine, and is
 * recorded when the call begins. When the call returns, `kernel_returned` is recorded. If the routine returns no
 * status, `kernel_done` is recorded instead.
 *
 * The kernel's calls into a driver have events of the same form: DriverEntry, DriverUnload, completion_routine, and the
 * events of sockets (WskAcceptEvent and the others).
 */
#ifndef TRACE_WDK_EVENTS_H
#define TRACE_WDK_EVENTS_H

#define TRACE_WDK_EVENTS(EVENT)                                                                                        \
    EVENT(200, kernel_returned)                                                                                        \
    EVENT(201, kernel_done)                                                                                            \
    EVENT(202, DriverEntry)                                                                                            \
    EVENT(203, DriverUnload)                                                                                           \
    EVENT(205, IoAllocateIrp)                                                                                          \
    EVENT(206, IoFreeIrp)                                                                                              \
    EVENT(207, IoCallDriver)                                                                                           \
    EVENT(208, IoCompleteRequest)                                                                                      \
    EVENT(209, completion_routine)                                                                                     \
    EVENT(210, irp_ended)                                                                                              \
    EVENT(211, IoCancelIrp)                                                                                            \
    EVENT(220, WskRegister)                                                                                            \
    EVENT(221, WskDeregister)                                                                                          \
    EVENT(222, WskCaptureProviderNPI)                                                                                  \
    EVENT(223, WskReleaseProviderNPI)                                                                                  \
    EVENT(224, WskQueryProviderCharacteristics)                                                                        \
    EVENT(225, WskControlClient)                                                                                       \
    EVENT(226, WskSocket)                                                                                              \
    EVENT(227, WskSocketConnect)                                                                                       \
    EVENT(228, WskGetAddressInfo)                                                                                      \
    EVENT(229, WskFreeAddressInfo)                                                                                     \
    EVENT(230, WskGetNameInfo)                                                                                         \
    EVENT(231, WskOpenNdkAdapter)                                                                                      \
    EVENT(232, WskCloseNdkAdapter)                                                                                     \
    EVENT(233, OpenNDKAdapterHandler)                                                                                  \
    EVENT(234, CloseNDKAdapterHandler)                                                                                 \
    EVENT(240, WskControlSocket)                                                                                       \
    EVENT(241, WskCloseSocket)                                                                                         \
    EVENT(242, WskBind)                                                                                                \
    EVENT(243, WskGetLocalAddress)                                                                                     \
    EVENT(244, WskGetRemoteAddress)                                                                                    \
    EVENT(245, WskConnect)                                                                                             \
    EVENT(246, WskConnectEx)                                                                                           \
    EVENT(247, WskListen)                                                                                              \
    EVENT(248, WskAccept)                                                                                              \
    EVENT(249, WskInspectComplete)                                                                                     \
    EVENT(250, WskSend)                                                                                                \
    EVENT(251, WskSendEx)                                                                                              \
    EVENT(252, WskReceive)                                                                                             \
    EVENT(253, WskReceiveEx)                                                                                           \
    EVENT(254, WskDisconnect)                                                                                          \
    EVENT(255, WskRelease)                                                                                             \
    EVENT(256, WskSendTo)                                                                                              \
    EVENT(257, WskSendMessages)                                                                                        \
    EVENT(258, WskReceiveFrom)                                                                                         \
    EVENT(270, wsk_completed)                                                                                          \
    EVENT(271, WskAcceptEvent)                                                                                         \
    EVENT(272, WskReceiveEvent)                                                                                        \
    EVENT(273, WskReceiveFromEvent)                                                                                    \
    EVENT(274, WskDisconnectEvent)                                                                                     \
    EVENT(275, WskSendBacklogEvent)

/*
 * The call of `routine` on `object` has returned. `created` is the object that the call has created, or 0. `bytes` is
 * the number of bytes that the call has returned, or for WskReceiveEvent the number that the driver has accepted.
 */
#define TRACE_FIELDS_kernel_returned(F, N)                                                                             \
    F(ptr, object)                                                                                                     \
    N(u16, routine, kernel_routine) N(status, status, status) F(ptr, created) F(u64, bytes) F(ns, duration)
#define TRACE_FIELDS_kernel_done(F, N) F(ptr, object) N(u16, routine, kernel_routine) F(ns, duration)

/* ---- Drivers and IRPs ---- */

/* `object` is the DRIVER_OBJECT. `name` is the name of the service. */
#define TRACE_FIELDS_DriverEntry(F, N) F(ptr, object) F(text16, name)
#define TRACE_FIELDS_DriverUnload(F, N) F(ptr, object) F(text16, name)
/* `object` is the IRP that the call returns. No event is recorded when the call returns. */
#define TRACE_FIELDS_IoAllocateIrp(F, N) F(ptr, object) F(u8, locations)
#define TRACE_FIELDS_IoFreeIrp(F, N) F(ptr, object)
/*
 * The IRP `object` is sent to `device`, which `driver` has created. `in` and `out` are the sizes of the buffers in
 * bytes. `mode` is the IRP's RequestorMode: user mode if a program has made the request, kernel mode if a driver has
 * made it.
 */
#define TRACE_FIELDS_IoCallDriver(F, N)                                                                                \
    F(ptr, object)                                                                                                     \
    F(ptr, device)                                                                                                     \
    F(text16, driver)                                                                                                  \
    N(u8, major, irp_major)                                                                                            \
    F(u8, minor) N(x32, code, io_code) F(u32, in) F(u32, out) F(u64, offset) N(u8, mode, irp_mode)
#define TRACE_FIELDS_IoCompleteRequest(F, N) F(ptr, object) N(status, status, status) F(u64, information)
#define TRACE_FIELDS_completion_routine(F, N)                                                                          \
    F(ptr, object) F(ptr, completion_routine) N(status, status, status) F(u64, information)
/*
 * All stack locations of the IRP are completed, and the sender was notified. The IRP is freed if the system has
 * allocated it.
 */
#define TRACE_FIELDS_irp_ended(F, N) F(ptr, object) N(status, status, status) F(u64, information)
/* `cancel_routine` is the routine that IoCancelIrp calls, or 0. */
#define TRACE_FIELDS_IoCancelIrp(F, N) F(ptr, object) F(ptr, cancel_routine)

/* ---- Winsock Kernel: clients ---- */

/* `object` is the WSK_REGISTRATION. */
#define TRACE_FIELDS_WskRegister(F, N) F(ptr, object) F(x16, version)
#define TRACE_FIELDS_WskDeregister(F, N) F(ptr, object)
#define TRACE_FIELDS_WskCaptureProviderNPI(F, N) F(ptr, object) N(u32, timeout, wsk_wait)
#define TRACE_FIELDS_WskReleaseProviderNPI(F, N) F(ptr, object)
#define TRACE_FIELDS_WskQueryProviderCharacteristics(F, N) F(ptr, object)
/* `object` is the WSK_CLIENT. `irp` is the IRP that the driver has passed. */
#define TRACE_FIELDS_WskControlClient(F, N)                                                                            \
    F(ptr, object) N(x32, code, wsk_client_code) F(u64, in) F(u64, out) F(ptr, irp)
#define TRACE_FIELDS_WskSocket(F, N)                                                                                   \
    F(ptr, object)                                                                                                     \
    N(u16, family, family) N(u16, type, socket_type) N(u32, protocol, protocol) N(u32, kind, socket_kind) F(ptr, irp)
#define TRACE_FIELDS_WskSocketConnect(F, N)                                                                            \
    F(ptr, object)                                                                                                     \
    N(u16, type, socket_type) N(u32, protocol, protocol) F(addr, local) F(addr, remote) F(ptr, irp)
#define TRACE_FIELDS_WskGetAddressInfo(F, N) F(ptr, object) F(text16, node) F(text16, service) F(ptr, irp)
#define TRACE_FIELDS_WskFreeAddressInfo(F, N) F(ptr, object) F(ptr, info)
#define TRACE_FIELDS_WskGetNameInfo(F, N) F(ptr, object) F(addr, remote) F(ptr, irp)
#define TRACE_FIELDS_WskOpenNdkAdapter(F, N) F(ptr, object) F(u32, interface) F(u16, major) F(u16, minor)
#define TRACE_FIELDS_WskCloseNdkAdapter(F, N) F(ptr, object) F(ptr, adapter)
/* A driver calls a handler of the NDK provider as NDIS does (ndisndk.h). `object` is 0. */
#define TRACE_FIELDS_OpenNDKAdapterHandler(F, N) TRACE_FIELDS_WskOpenNdkAdapter(F, N)
#define TRACE_FIELDS_CloseNDKAdapterHandler(F, N) TRACE_FIELDS_WskCloseNdkAdapter(F, N)

/* ---- Winsock Kernel: sockets ---- */

/*
 * `option` is an I/O control code, or a socket option: the level in the upper half, and the option in the lower half.
 */
#define TRACE_FIELDS_WskControlSocket(F, N)                                                                            \
    F(ptr, object)                                                                                                     \
    N(u8, request, wsk_control) N(x32, option, wsk_option) F(u64, in) F(u64, out) F(ptr, irp)
#define TRACE_FIELDS_WskCloseSocket(F, N) F(ptr, object) F(ptr, irp)
#define TRACE_FIELDS_WskBind(F, N) F(ptr, object) F(addr, local) F(ptr, irp)
#define TRACE_FIELDS_WskGetLocalAddress(F, N) F(ptr, object) F(ptr, irp)
#define TRACE_FIELDS_WskGetRemoteAddress(F, N) F(ptr, object) F(ptr, irp)
#define TRACE_FIELDS_WskConnect(F, N) F(ptr, object) F(addr, remote) F(ptr, irp)
#define TRACE_FIELDS_WskConnectEx(F, N) F(ptr, object) F(addr, remote) F(u64, bytes) F(ptr, irp)
#define TRACE_FIELDS_WskListen(F, N) F(ptr, object) F(ptr, irp)
#define TRACE_FIELDS_WskAccept(F, N) F(ptr, object) F(ptr, irp)
#define TRACE_FIELDS_WskInspectComplete(F, N) F(ptr, object) F(u8, action) F(ptr, irp)
#define TRACE_FIELDS_WskSend(F, N) F(ptr, object) F(u64, bytes) N(flags, flags, wsk_send_flag) F(ptr, irp)
#define TRACE_FIELDS_WskSendEx(F, N) TRACE_FIELDS_WskSend(F, N)
#define TRACE_FIELDS_WskReceive(F, N) F(ptr, object) F(u64, bytes) N(flags, flags, wsk_receive_flag) F(ptr, irp)
#define TRACE_FIELDS_WskReceiveEx(F, N) TRACE_FIELDS_WskReceive(F, N)
#define TRACE_FIELDS_WskDisconnect(F, N) F(ptr, object) F(u64, bytes) N(flags, flags, wsk_disconnect_flag) F(ptr, irp)
#define TRACE_FIELDS_WskRelease(F, N) F(ptr, object) F(ptr, indication)
#define TRACE_FIELDS_WskSendTo(F, N) F(ptr, object) F(addr, remote) F(u64, bytes) F(ptr, irp)
#define TRACE_FIELDS_WskSendMessages(F, N) TRACE_FIELDS_WskSendTo(F, N)
#define TRACE_FIELDS_WskReceiveFrom(F, N) F(ptr, object) F(u64, bytes) F(ptr, irp)
/*
 * The kernel completes the IRP of a call that has returned STATUS_PENDING. `duration` is the time since the call began.
 */
#define TRACE_FIELDS_wsk_completed(F, N)                                                                               \
    F(ptr, object)                                                                                                     \
    N(u16, routine, kernel_routine)                                                                                    \
    F(ptr, irp) N(status, status, status) F(ptr, created) F(u64, bytes) F(ns, duration)
/* `object` is the listening socket. `socket` is the socket of the new connection. */
#define TRACE_FIELDS_WskAcceptEvent(F, N) F(ptr, object) F(ptr, socket) F(addr, local) F(addr, remote)
#define TRACE_FIELDS_WskReceiveEvent(F, N) F(ptr, object) F(u64, bytes) N(flags, flags, wsk_event_flag)
#define TRACE_FIELDS_WskReceiveFromEvent(F, N) F(ptr, object) F(u64, bytes) N(flags, flags, wsk_event_flag)
#define TRACE_FIELDS_WskDisconnectEvent(F, N) F(ptr, object) N(flags, flags, wsk_disconnect_flag)
#define TRACE_FIELDS_WskSendBacklogEvent(F, N) F(ptr, object) F(u64, bytes)

#endif
