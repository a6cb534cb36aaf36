/* SPDX-License-Identifier: MIT */
/*
 * Lists the events of NDKPI calls and callbacks, in the form that trace/events.h describes. The invariant: an event
 * whose name begins with Ndk is a call of the function with this name, and its first field is the object that was
 * called.
 *
 * Most calls have one event when they begin, and the event `returned` when they return. Posts, NdkArmCq and the
 * functions that return a token have only one event, recorded when they return. Its last two fields are the status and
 * the duration. So a call whose event has the field `duration` has no `returned`. A poll has no event, but each result
 * that the consumer has received has an event `result`.
 *
 * An object in an event is the address of the provider's object. If the verifier is on, the consumer has another
 * address for it: see the event `proxy`.
 */
#ifndef TRACE_CALL_EVENTS_H
#define TRACE_CALL_EVENTS_H

#define TRACE_CALL_EVENTS(EVENT)                                                                                       \
    EVENT(40, returned)                                                                                                \
    EVENT(41, completed)                                                                                               \
    EVENT(42, cq_notification)                                                                                         \
    EVENT(43, srq_notification)                                                                                        \
    EVENT(44, connect_event)                                                                                           \
    EVENT(45, disconnect_event)                                                                                        \
    EVENT(46, callback_returned)                                                                                       \
    EVENT(47, result)                                                                                                  \
    EVENT(48, proxy)                                                                                                   \
    EVENT(49, untraced)                                                                                                \
    EVENT(50, NdkCreateCq)                                                                                             \
    EVENT(51, NdkCreatePd)                                                                                             \
    EVENT(52, NdkCreateSharedEndpoint)                                                                                 \
    EVENT(53, NdkCreateConnector)                                                                                      \
    EVENT(54, NdkCreateListener)                                                                                       \
    EVENT(55, NdkCreateMr)                                                                                             \
    EVENT(56, NdkCreateMw)                                                                                             \
    EVENT(57, NdkCreateSrq)                                                                                            \
    EVENT(58, NdkCreateQp)                                                                                             \
    EVENT(59, NdkCreateQpWithSrq)                                                                                      \
    EVENT(60, NdkCloseCq)                                                                                              \
    EVENT(61, NdkClosePd)                                                                                              \
    EVENT(62, NdkCloseSharedEndpoint)                                                                                  \
    EVENT(63, NdkCloseConnector)                                                                                       \
    EVENT(64, NdkCloseListener)                                                                                        \
    EVENT(65, NdkCloseMr)                                                                                              \
    EVENT(66, NdkCloseMw)                                                                                              \
    EVENT(67, NdkCloseSrq)                                                                                             \
    EVENT(68, NdkCloseQp)                                                                                              \
    EVENT(70, NdkListen)                                                                                               \
    EVENT(71, NdkControlConnectEvents)                                                                                 \
    EVENT(72, NdkConnect)                                                                                              \
    EVENT(73, NdkConnectWithSharedEndpoint)                                                                            \
    EVENT(74, NdkCompleteConnect)                                                                                      \
    EVENT(75, NdkCompleteConnectEx)                                                                                    \
    EVENT(76, NdkAccept)                                                                                               \
    EVENT(77, NdkAcceptEx)                                                                                             \
    EVENT(78, NdkReject)                                                                                               \
    EVENT(79, NdkDisconnect)                                                                                           \
    EVENT(80, NdkGetConnectionData)                                                                                    \
    EVENT(81, NdkGetLocalAddress)                                                                                      \
    EVENT(82, NdkGetPeerAddress)                                                                                       \
    EVENT(83, NdkQueryAdapterInfo)                                                                                     \
    EVENT(84, NdkQueryExtension)                                                                                       \
    EVENT(85, NdkBuildLAM)                                                                                             \
    EVENT(86, NdkReleaseLAM)                                                                                           \
    EVENT(87, NdkRegisterMr)                                                                                           \
    EVENT(88, NdkDeregisterMr)                                                                                         \
    EVENT(89, NdkInitializeFastRegisterMr)                                                                             \
    EVENT(90, NdkGetLocalTokenFromMr)                                                                                  \
    EVENT(91, NdkGetRemoteTokenFromMr)                                                                                 \
    EVENT(92, NdkGetRemoteTokenFromMw)                                                                                 \
    EVENT(93, NdkGetPrivilegedMemoryRegionToken)                                                                       \
    EVENT(94, NdkResizeCq)                                                                                             \
    EVENT(95, NdkControlCqInterruptModeration)                                                                         \
    EVENT(96, NdkModifySrq)                                                                                            \
    EVENT(97, NdkFlush)                                                                                                \
    EVENT(100, NdkSend)                                                                                                \
    EVENT(101, NdkSendAndInvalidate)                                                                                   \
    EVENT(102, NdkReceive)                                                                                             \
    EVENT(103, NdkSrqReceive)                                                                                          \
    EVENT(104, NdkRead)                                                                                                \
    EVENT(105, NdkWrite)                                                                                               \
    EVENT(106, NdkBind)                                                                                                \
    EVENT(107, NdkFastRegister)                                                                                        \
    EVENT(108, NdkInvalidate)                                                                                          \
    EVENT(109, NdkArmCq)

/* ---- Returns and callbacks ---- */

/*
 * The call of `routine` on `object` has returned. `created` is the object that the call has created, or 0. `context` is
 * the RequestContext of a call that may be pending, or 0. After a pending call, an event `completed` with the same
 * object, routine and context follows.
 */
#define TRACE_FIELDS_returned(F, N)                                                                                    \
    F(ptr, object)                                                                                                     \
    N(u16, routine, routine) N(status, status, status) F(ptr, created) F(ns, duration) F(ptr, context)
/* The completion routine of a call of `routine` on `object` begins. */
#define TRACE_FIELDS_completed(F, N)                                                                                   \
    F(ptr, object) N(u16, routine, routine) N(status, status, status) F(ptr, created) F(ptr, context)
/* The notification callback of the CQ `object` begins. */
#define TRACE_FIELDS_cq_notification(F, N) F(ptr, object) N(status, status, status)
/*
 * The notification callback of the SRQ `object` begins. `object` is 0 if the call that creates the SRQ has not returned
 * yet.
 */
#define TRACE_FIELDS_srq_notification(F, N) F(ptr, object) N(status, status, status)
/* The connect event callback of the listener `object` begins. `connector` is the new connector. */
#define TRACE_FIELDS_connect_event(F, N) F(ptr, object) F(ptr, connector)
/*
 * The disconnect callback of the connector `object` begins. `reason` is the provider's reason for the disconnect. It is
 * 0 if the provider gives no reason, or if the callback has the form of NDKPI before version 2.1.
 */
#define TRACE_FIELDS_disconnect_event(F, N) F(ptr, object) F(x32, reason)
/* The innermost callback of the thread has returned. `object` is the object that the callback was about. */
#define TRACE_FIELDS_callback_returned(F, N) F(ptr, object) F(ns, duration)
/* NdkGetCqResults(Ex) has returned a result. `object` is the CQ. `operation` is 0 if the result has no such member. */
#define TRACE_FIELDS_result(F, N)                                                                                      \
    F(ptr, object)                                                                                                     \
    F(ptr, context) F(ptr, qp_context) N(status, status, status) F(u32, bytes) N(u16, operation, operation)
/* The verifier has put the object `proxy` in front of `object`. The consumer has only the address of `proxy`. */
#define TRACE_FIELDS_proxy(F, N) F(ptr, object) F(ptr, proxy)
/* The calls on a new object are not recorded, because memory ran out or the provider has too many dispatch tables. */
#define TRACE_FIELDS_untraced(F, N) F(ptr, object) N(u8, type, object_type)

/* The last fields of an event that is recorded when its call returns. */
#define TRACE_FIELDS_at_return(F, N) N(status, status, status) F(ns, duration)

/* ---- Calls that create and close objects ---- */

#define TRACE_FIELDS_NdkCreateCq(F, N) F(ptr, object) F(u32, depth)
#define TRACE_FIELDS_NdkCreatePd(F, N) F(ptr, object)
#define TRACE_FIELDS_NdkCreateSharedEndpoint(F, N) F(ptr, object) F(addr, local)
#define TRACE_FIELDS_NdkCreateConnector(F, N) F(ptr, object)
#define TRACE_FIELDS_NdkCreateListener(F, N) F(ptr, object)
#define TRACE_FIELDS_NdkCreateMr(F, N) F(ptr, object) F(u8, fast_register)
#define TRACE_FIELDS_NdkCreateMw(F, N) F(ptr, object)
#define TRACE_FIELDS_NdkCreateSrq(F, N) F(ptr, object) F(u32, depth) F(u32, sges) F(u32, threshold)
#define TRACE_FIELDS_NdkCreateQp(F, N)                                                                                 \
    F(ptr, object)                                                                                                     \
    F(ptr, receive_cq)                                                                                                 \
    F(ptr, initiator_cq)                                                                                               \
    F(ptr, qp_context)                                                                                                 \
    F(u32, receive_depth)                                                                                              \
    F(u32, initiator_depth)                                                                                            \
    F(u32, receive_sges)                                                                                               \
    F(u32, initiator_sges)                                                                                             \
    F(u32, inline_size)
#define TRACE_FIELDS_NdkCreateQpWithSrq(F, N)                                                                          \
    F(ptr, object)                                                                                                     \
    F(ptr, receive_cq)                                                                                                 \
    F(ptr, initiator_cq)                                                                                               \
    F(ptr, srq)                                                                                                        \
    F(ptr, qp_context)                                                                                                 \
    F(u32, initiator_depth)                                                                                            \
    F(u32, initiator_sges)                                                                                             \
    F(u32, inline_size)
#define TRACE_FIELDS_NdkCloseCq(F, N) F(ptr, object)
#define TRACE_FIELDS_NdkClosePd(F, N) F(ptr, object)
#define TRACE_FIELDS_NdkCloseSharedEndpoint(F, N) F(ptr, object)
#define TRACE_FIELDS_NdkCloseConnector(F, N) F(ptr, object)
#define TRACE_FIELDS_NdkCloseListener(F, N) F(ptr, object)
#define TRACE_FIELDS_NdkCloseMr(F, N) F(ptr, object)
#define TRACE_FIELDS_NdkCloseMw(F, N) F(ptr, object)
#define TRACE_FIELDS_NdkCloseSrq(F, N) F(ptr, object)
#define TRACE_FIELDS_NdkCloseQp(F, N) F(ptr, object)

/* ---- Connections ---- */

#define TRACE_FIELDS_NdkListen(F, N) F(ptr, object) F(addr, local)
#define TRACE_FIELDS_NdkControlConnectEvents(F, N) F(ptr, object) F(u8, pause)
#define TRACE_FIELDS_NdkConnect(F, N)                                                                                  \
    F(ptr, object) F(ptr, qp) F(addr, local) F(addr, remote) F(u32, inbound) F(u32, outbound) F(u32, data_size)
#define TRACE_FIELDS_NdkConnectWithSharedEndpoint(F, N)                                                                \
    F(ptr, object) F(ptr, qp) F(ptr, endpoint) F(addr, remote) F(u32, inbound) F(u32, outbound) F(u32, data_size)
#define TRACE_FIELDS_NdkCompleteConnect(F, N) F(ptr, object)
#define TRACE_FIELDS_NdkCompleteConnectEx(F, N) F(ptr, object)
#define TRACE_FIELDS_NdkAccept(F, N) F(ptr, object) F(ptr, qp) F(u32, inbound) F(u32, outbound) F(u32, data_size)
#define TRACE_FIELDS_NdkAcceptEx(F, N) TRACE_FIELDS_NdkAccept(F, N)
#define TRACE_FIELDS_NdkReject(F, N) F(ptr, object) F(u32, data_size)
#define TRACE_FIELDS_NdkDisconnect(F, N) F(ptr, object)
#define TRACE_FIELDS_NdkGetConnectionData(F, N) F(ptr, object)
#define TRACE_FIELDS_NdkGetLocalAddress(F, N) F(ptr, object)
#define TRACE_FIELDS_NdkGetPeerAddress(F, N) F(ptr, object)

/* ---- Adapter, memory, queues ---- */

#define TRACE_FIELDS_NdkQueryAdapterInfo(F, N) F(ptr, object)
#define TRACE_FIELDS_NdkQueryExtension(F, N) F(ptr, object)
#define TRACE_FIELDS_NdkBuildLAM(F, N) F(ptr, object) F(ptr, mdl) F(u64, length) F(ptr, lam)
#define TRACE_FIELDS_NdkReleaseLAM(F, N) F(ptr, object) F(ptr, lam)
/* `address` is the address of the region's first byte. A peer uses the same address. */
#define TRACE_FIELDS_NdkRegisterMr(F, N)                                                                               \
    F(ptr, object) F(ptr, mdl) F(u64, length) N(flags, flags, mr_flag) F(ptr, address)
#define TRACE_FIELDS_NdkDeregisterMr(F, N) F(ptr, object)
#define TRACE_FIELDS_NdkInitializeFastRegisterMr(F, N) F(ptr, object) F(u32, pages) F(u8, remote_access)
/* `token` is the token that the call has returned. */
#define TRACE_FIELDS_NdkGetLocalTokenFromMr(F, N) F(ptr, object) F(x32, token) TRACE_FIELDS_at_return(F, N)
#define TRACE_FIELDS_NdkGetRemoteTokenFromMr(F, N) F(ptr, object) F(x32, token) TRACE_FIELDS_at_return(F, N)
#define TRACE_FIELDS_NdkGetRemoteTokenFromMw(F, N) F(ptr, object) F(x32, token) TRACE_FIELDS_at_return(F, N)
#define TRACE_FIELDS_NdkGetPrivilegedMemoryRegionToken(F, N) F(ptr, object) F(x32, token) TRACE_FIELDS_at_return(F, N)
#define TRACE_FIELDS_NdkResizeCq(F, N) F(ptr, object) F(u32, depth)
#define TRACE_FIELDS_NdkControlCqInterruptModeration(F, N) F(ptr, object) F(u32, interval) F(u32, count)
#define TRACE_FIELDS_NdkModifySrq(F, N) F(ptr, object) F(u32, depth) F(u32, threshold)
#define TRACE_FIELDS_NdkFlush(F, N) F(ptr, object)

/* ---- Requests ---- */

/* `bytes` is the number of bytes in all SGEs, or 0 if there are more SGEs than the queue pair allows. */
#define TRACE_FIELDS_NdkSend(F, N)                                                                                     \
    F(ptr, object) F(ptr, context) F(u16, sges) F(u32, bytes) N(flags, flags, op_flag) TRACE_FIELDS_at_return(F, N)
#define TRACE_FIELDS_NdkSendAndInvalidate(F, N)                                                                        \
    F(ptr, object)                                                                                                     \
    F(ptr, context)                                                                                                    \
    F(u16, sges)                                                                                                       \
    F(u32, bytes)                                                                                                      \
    N(flags, flags, op_flag)                                                                                           \
    F(x32, token)                                                                                                      \
    TRACE_FIELDS_at_return(F, N)
#define TRACE_FIELDS_NdkReceive(F, N)                                                                                  \
    F(ptr, object) F(ptr, context) F(u16, sges) F(u32, bytes) TRACE_FIELDS_at_return(F, N)
#define TRACE_FIELDS_NdkSrqReceive(F, N) TRACE_FIELDS_NdkReceive(F, N)
/* `address` and `token` are the address and the token of the peer's memory. */
#define TRACE_FIELDS_NdkRead(F, N)                                                                                     \
    F(ptr, object)                                                                                                     \
    F(ptr, context)                                                                                                    \
    F(u16, sges)                                                                                                       \
    F(u32, bytes)                                                                                                      \
    N(flags, flags, op_flag)                                                                                           \
    F(x64, address)                                                                                                    \
    F(x32, token)                                                                                                      \
    TRACE_FIELDS_at_return(F, N)
#define TRACE_FIELDS_NdkWrite(F, N) TRACE_FIELDS_NdkRead(F, N)
#define TRACE_FIELDS_NdkBind(F, N)                                                                                     \
    F(ptr, object)                                                                                                     \
    F(ptr, context)                                                                                                    \
    F(ptr, mr)                                                                                                         \
    F(ptr, mw)                                                                                                         \
    F(x64, address)                                                                                                    \
    F(u64, length)                                                                                                     \
    N(flags, flags, op_flag)                                                                                           \
    TRACE_FIELDS_at_return(F, N)
#define TRACE_FIELDS_NdkFastRegister(F, N)                                                                             \
    F(ptr, object)                                                                                                     \
    F(ptr, context)                                                                                                    \
    F(ptr, mr)                                                                                                         \
    F(u32, pages)                                                                                                      \
    F(u32, offset)                                                                                                     \
    F(u64, length)                                                                                                     \
    F(x64, address)                                                                                                    \
    N(flags, flags, op_flag)                                                                                           \
    TRACE_FIELDS_at_return(F, N)
/* `target` is the region or window to be invalidated. */
#define TRACE_FIELDS_NdkInvalidate(F, N)                                                                               \
    F(ptr, object) F(ptr, context) F(ptr, target) N(flags, flags, op_flag) TRACE_FIELDS_at_return(F, N)
#define TRACE_FIELDS_NdkArmCq(F, N) F(ptr, object) N(u8, type, arm) TRACE_FIELDS_at_return(F, N)

#endif
