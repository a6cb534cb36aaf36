/* SPDX-License-Identifier: MIT */
/*
 * Winsock Kernel's sockets, each over a socket of the host.
 *
 * One thread at DISPATCH_LEVEL owns all sockets: the socket thread. Only the socket thread uses sockets, completes the
 * IRPs of their requests, and calls their events, apart from the exceptions below. So the thread needs no lock. A
 * driver's call creates a request from its IRP and posts the request to the socket thread. Posts run in the order of
 * the calls, so a close runs after all earlier requests.
 *
 * The exceptions run on the driver's thread:
 * - options, I/O controls and address queries, because the host's socket is the same from WskSocket until the close
 * - enabling and disabling of events, under the socket's lock
 * - the release of indications
 *
 *   open -> bound -> listening
 *                 -> connecting -> connected -> lost      a socket can be closed in every state
 */
#ifndef ONDK_WDK_WSK_SOCKET_H
#define ONDK_WDK_WSK_SOCKET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "wsk.h"

#include "verify/stack.h"
#include "wdk/common/kernel_call.h"
#include "wdk/common/link.h"
#include "wdk/wsk/client.h"
#include "wdk/wsk/host.h"

/* ---- The thread: thread.c ---- */

/* A post: a queued call of run(post), which the socket thread makes. */
struct wsk_post {
    LIST_ENTRY link;
    void (*run)(struct wsk_post *post); /* may free the post */
};

/*
 * Increments the number of sockets. Starts the socket thread if it does not run. Returns false if the thread cannot be
 * started.
 */
bool wsk_thread_acquire(void);
/* Decrements the number of sockets. The socket thread may call this function. */
void wsk_thread_release(void);
/* Joins the thread if the number of sockets is 0. The socket thread must not call this function. */
void wsk_thread_stop(void);
/*
 * Queues a call of run(post), which the socket thread makes after all calls that were queued earlier. The caller's
 * socket must stay included in the number of sockets (see wsk_thread_acquire) until that call.
 */
void wsk_thread_post(struct wsk_post *post, void (*run)(struct wsk_post *post));

/* ---- Sockets ---- */

enum wsk_state { WSK_OPEN, WSK_BOUND, WSK_LISTENING, WSK_CONNECTING, WSK_CONNECTED, WSK_LOST };

struct wsk_socket {
    WSK_SOCKET handle; /* first: the driver's PWSK_SOCKET points at it */
    struct wsk_client *client;
    ULONG category; /* WSK_FLAG_..._SOCKET */
    ADDRESS_FAMILY family;
    bool stream;
    int fd;
    struct stack opened, closed_by;
    atomic_bool closed; /* WskCloseSocket has been called */
    atomic_int state;   /* enum wsk_state; only the socket thread writes it */
    PVOID context;
    const WSK_CLIENT_LISTEN_DISPATCH *on_listen;
    const WSK_CLIENT_CONNECTION_DISPATCH *on_connection;
    const WSK_CLIENT_DATAGRAM_DISPATCH *on_datagram;

    /* `lock` protects the members up to has_send_to. No other lock is acquired while `lock` is held. */
    pthread_mutex_t lock;
    ULONG events;        /* mask of the enabled events */
    ULONG static_events; /* mask of the events that the driver cannot disable; never changes */
    ULONG inherited;     /* listener: mask of the events that are enabled for each accepted socket */
    ULONG running;       /* the event that is being called, or 0 */
    LIST_ENTRY disables; /* WSK_DISABLE requests that wait until the running event has returned */
    bool pump_posted;
    bool no_delay; /* the driver's TCP_NODELAY; the host's option is changed only while `lock` is held */
    struct wsk_post pump_post;
    struct wsk_address fixed_remote, send_to; /* of datagram sockets */
    bool has_fixed_remote, has_send_to;

    atomic_bool packet_info; /* the driver wants packet information with each datagram */

    /* Only the socket thread uses the members from `connects` to `refused`. */
    LIST_ENTRY connects, accepts, sends, receives; /* requests; a disconnect is the last of the sends */
    LIST_ENTRY pump_again;                         /* in the socket thread's list of sockets to pump once more */
    unsigned pending;                              /* number of requests that are not completed */
    struct wsk_request *close_request;             /* the request of WskCloseSocket, or NULL */
    bool closing;              /* the host's socket is closed; this socket is freed when pending is 0 */
    bool fin_received;         /* the peer's FIN and all data before it have been received */
    bool disconnect_queued;    /* a graceful disconnect is among the sends, or has been completed */
    bool fin_sent;             /* the host has all data and has been asked to send a FIN */
    bool disconnect_indicated; /* WskDisconnectEvent has been called */
    bool paused;   /* the driver did not accept all data, so there is no WskReceiveEvent until the next WskReceive */
    NTSTATUS lost; /* in state WSK_LOST: the status of later calls */
    bool lost_by_peer;
    bool watched;
    bool delivering; /* the IRP that returns this socket to the driver is not completed, so there are no events yet */
    ULONG backlog_indicated;
    struct wsk_post close_post;
    struct wsk_datagram *refused; /* datagrams that the driver did not accept; the next receives return them first */

    atomic_size_t retained; /* number of bytes in the indications that the driver has not released */
};

/*
 * Creates a socket over fd, or over a new host socket if fd is -1. Adds the socket to the counts of the client and the
 * thread. On failure returns NULL and sets *status; the caller then still owns fd.
 */
struct wsk_socket *wsk_socket_new(struct wsk_client *client, ULONG category, ADDRESS_FAMILY family, bool stream, int fd,
                                  NTSTATUS *status);
/*
 * Posts the close of a socket that the driver has not received, or that it has refused in WskAcceptEvent. Any thread
 * may call this function.
 */
void wsk_socket_abandon(struct wsk_socket *s);
/*
 * Socket thread: closes the host's socket and cancels the pending requests. Frees `s` as soon as no request is
 * pending, which may be during the call.
 */
void wsk_socket_close(struct wsk_socket *s);
/* Socket thread: pumps the socket, that is, sends, receives, accepts and calls events as far as possible now. */
void wsk_socket_pump(struct wsk_socket *s);
/* Socket thread: handles a host socket that has become ready. `failed` is true if that socket may have an error. */
void wsk_socket_handle_ready(struct wsk_socket *s, bool failed);
/* Makes the socket thread pump the socket. Any thread may call this function. */
void wsk_socket_post_pump(struct wsk_socket *s);
/*
 * Socket thread: pumps the socket again in the next round. `starved` is true if memory or file descriptors ran out. The
 * thread then waits for events for at most STARVED_MS before the next round.
 */
void wsk_thread_pump_again(struct wsk_socket *s, bool starved);
/*
 * Socket thread: starts to watch the host's socket. From now on wsk_socket_handle_ready is called when that socket
 * becomes ready.
 */
NTSTATUS wsk_thread_watch(struct wsk_socket *s);
void wsk_thread_unwatch(struct wsk_socket *s);

static inline enum wsk_state wsk_state(struct wsk_socket *s)
{
    return (enum wsk_state)atomic_load(&s->state);
}

/* Maps an errno, negated or not, to a status. */
NTSTATUS wsk_status(int host_error);

/* ---- Requests: request.c ---- */

enum wsk_operation {
    WSK_BIND,
    WSK_LISTEN,
    WSK_CONNECT,
    WSK_SOCKET_CONNECT,
    WSK_ACCEPT,
    WSK_SEND,
    WSK_DISCONNECT,
    WSK_ABORT,
    WSK_RECEIVE,
    WSK_SEND_TO,
    WSK_RECEIVE_FROM,
    WSK_CLOSE,
    WSK_DISABLE
};

/* A position in a chain of MDLs, and the number of bytes from there to the buffer's end. */
struct wsk_cursor {
    PMDL mdl;
    SIZE_T offset, remaining;
};
enum { WSK_MAX_PARTS = 1024 }; /* the host's IOV_MAX */

/*
 * Sets *c to the start of the buffer, and maps every MDL of it. Returns false if the MDLs are shorter than the buffer
 * or cannot be mapped.
 */
bool wsk_cursor_set(struct wsk_cursor *c, const WSK_BUF *buffer);
/*
 * Fills `parts` with the addresses and lengths of the remaining bytes. Stops after WSK_MAX_PARTS parts. Returns the
 * number of parts.
 */
int wsk_cursor_parts(const struct wsk_cursor *c, struct iovec parts[WSK_MAX_PARTS]);
/* Works like wsk_cursor_set, for a datagram. Also returns false if the buffer needs more than WSK_MAX_PARTS parts. */
bool wsk_cursor_set_whole(struct wsk_cursor *c, const WSK_BUF *buffer);
void wsk_cursor_advance(struct wsk_cursor *c, SIZE_T bytes);

struct wsk_request {
    LIST_ENTRY link;
    struct wsk_post post, cancel;
    struct wsk_socket *socket;
    struct wsk_socket *connected; /* the connection that the driver receives with the completed IRP, or NULL */
    PIRP irp;
    struct kernel_call call; /* the driver's call, which the trace event of the completion names */
    enum wsk_operation operation;
    bool armed; /* the IRP has a cancel routine, or that routine has run and has queued `cancel` */
    /*
     * The request has ended with `status` and `information`, but the IRP is not completed, because the cancel routine
     * has queued `cancel`. When `cancel` runs, the socket thread completes the IRP and frees the request.
     */
    bool finished;
    NTSTATUS status;
    ULONG_PTR information;
    ULONG flags;
    struct wsk_cursor cursor;
    struct mdl_use *use; /* the record of the MDLs while the request is pending and checks are on, or NULL */
    SIZE_T done;
    struct wsk_address address, local;
    PSOCKADDR local_out, remote_out;
    PVOID context;
    const WSK_CLIENT_CONNECTION_DISPATCH *dispatch;
    struct stack by; /* the caller of WskAccept */
    PWSK_BUF_LIST list;
    struct wsk_packet_info info;
    PULONG control_length, control_flags;
    CMSGHDR *control;
};

/*
 * Checks the handle, and creates the request for a driver's call and its IRP. On failure, for example if `irp` is NULL,
 * completes the IRP if there is one, sets *status and returns NULL. The caller must then return *status.
 */
struct wsk_request *wsk_request_begin(const struct kernel_call *call, PWSK_SOCKET handle, enum wsk_operation operation,
                                      PIRP irp, NTSTATUS *status);
/* For a request that was not posted: completes its IRP with the status, frees the request, and returns the status. */
NTSTATUS wsk_request_refuse(struct wsk_request *r, NTSTATUS status);
NTSTATUS wsk_request_post(struct wsk_request *r);
/*
 * Allocates a request for the IRP and advances the IRP to this driver's stack location. Returns NULL if out of memory.
 */
struct wsk_request *wsk_request_alloc(const struct kernel_call *call, struct wsk_socket *s,
                                      enum wsk_operation operation, PIRP irp);
/*
 * Returns true if the driver may connect or send to the request's address. Otherwise the request must fail with
 * STATUS_NETWORK_UNREACHABLE: see outside.h.
 */
bool wsk_request_may_send(const struct wsk_request *r);
/*
 * Called by the socket thread. Completes the IRP and frees the request. If the IRP's cancel routine has run, r->cancel
 * is queued: this function then leaves the completion and the free to r->cancel. Frees a closing socket if this was its
 * last request.
 */
void wsk_request_finish(struct wsk_request *r, NTSTATUS status, ULONG_PTR information);
/*
 * Works like wsk_request_finish with success, for a request that has established connection s. Events of s begin after
 * the completion.
 */
void wsk_request_finish_connected(struct wsk_request *r, struct wsk_socket *s);
void wsk_request_finish_all(LIST_ENTRY *requests, NTSTATUS status);

static inline struct wsk_request *wsk_request_first(LIST_ENTRY *requests)
{
    return link_empty(requests) ? NULL : CONTAINING_RECORD(requests->Flink, struct wsk_request, link);
}

/* Returns false if the handle is NULL. While checks are on, also reports a closed socket and returns false. */
bool wsk_socket_is_usable(const char *routine, PWSK_SOCKET handle);
/*
 * Checks the handle and the list that the driver passes to WskRelease. Removes the list from the registry of retained
 * lists. After success the caller must free the list. If the list is not in the registry, reports the error. `event` is
 * the name of the WSK event that indicates lists of this kind; only the report uses it.
 */
NTSTATUS wsk_indication_remove(PWSK_SOCKET handle, void *list, const char *event);

/* ---- The functions of each kind of request; only the socket thread calls these functions. ---- */

void wsk_request_start(struct wsk_request *r); /* start.c */
void wsk_request_cancel(struct wsk_request *r);
void wsk_connect_start(struct wsk_request *r); /* connect.c */
void wsk_connect_cancel(struct wsk_request *r);
/*
 * Called after the driver has received the connection. Starts to watch the host's socket, and then handles data and
 * errors that arrived before the watch began.
 */
void wsk_connect_handle_delivered(struct wsk_socket *s);
/* Finishes the connect request if the host's connect has ended. host_error is the error, or 0 if there is none. */
void wsk_connect_handle_result(struct wsk_socket *s, int host_error);
/*
 * Handles the loss of the connection: pending sends and receives complete with the status `pending`, later calls with
 * the status `lost`. If `by_peer` is true, also calls WskDisconnectEvent, if that event is enabled.
 */
void wsk_connect_lose(struct wsk_socket *s, NTSTATUS pending, NTSTATUS lost, bool by_peer);
void wsk_send_pump(struct wsk_socket *s);     /* send.c */
void wsk_receive_pump(struct wsk_socket *s);  /* receive.c */
void wsk_listen_pump(struct wsk_socket *s);   /* listen.c */
void wsk_datagram_pump(struct wsk_socket *s); /* datagram.c */
void wsk_datagrams_free(struct wsk_datagram *list);
/* Reads the packet information from a control message. Returns false if the message is malformed or of another kind. */
bool wsk_datagram_parse_control(const CMSGHDR *control, ULONG length, struct wsk_packet_info *info);

/* ---- Events: event.c ---- */

/* Returns true if the event is enabled. The event then counts as running until wsk_event_end. */
bool wsk_event_begin(struct wsk_socket *s, ULONG event);
/* Ends the running event and completes the WSK_DISABLE requests that wait until the event has returned. */
void wsk_event_end(struct wsk_socket *s);
bool wsk_event_enabled(struct wsk_socket *s, ULONG event);
/* Calls WskDisconnectEvent if it is enabled, the peer has ended the connection, and the event was not called before. */
void wsk_event_disconnect(struct wsk_socket *s);
/* Calls WskSendBacklogEvent if it is enabled and the size of the host's send buffer has changed. */
void wsk_event_backlog(struct wsk_socket *s);
/*
 * Enables or disables events (SO_WSK_EVENT_CALLBACK). Completes the IRP with the returned status, unless that is
 * STATUS_PENDING. `irp` may be NULL.
 */
NTSTATUS wsk_event_control(const struct kernel_call *call, struct wsk_socket *s,
                           const WSK_EVENT_CALLBACK_CONTROL *control, SIZE_T size, PIRP irp);
/* Returns the WSK_EVENT_... bits that exist for sockets of the category. */
ULONG wsk_event_mask(ULONG category);

/* ---- The driver's calls ---- */

NTSTATUS WSKAPI wsk_socket(PWSK_CLIENT Client, ADDRESS_FAMILY AddressFamily, USHORT SocketType, ULONG Protocol,
                           ULONG Flags, PVOID SocketContext, const VOID *Dispatch, PEPROCESS OwningProcess,
                           PETHREAD OwningThread, PSECURITY_DESCRIPTOR SecurityDescriptor, PIRP Irp);
NTSTATUS WSKAPI wsk_socket_connect(PWSK_CLIENT Client, USHORT SocketType, ULONG Protocol, PSOCKADDR LocalAddress,
                                   PSOCKADDR RemoteAddress, ULONG Flags, PVOID SocketContext,
                                   const WSK_CLIENT_CONNECTION_DISPATCH *Dispatch, PEPROCESS OwningProcess,
                                   PETHREAD OwningThread, PSECURITY_DESCRIPTOR SecurityDescriptor, PIRP Irp);
/* Copies a sockaddr. Returns false if it is NULL or of another family. */
bool wsk_address_copy(struct wsk_address *address, ADDRESS_FAMILY family, const VOID *sockaddr);
NTSTATUS WSKAPI wsk_control_socket(PWSK_SOCKET Socket, WSK_CONTROL_SOCKET_TYPE RequestType, ULONG ControlCode,
                                   ULONG Level, SIZE_T InputSize, PVOID InputBuffer, SIZE_T OutputSize,
                                   PVOID OutputBuffer, SIZE_T *OutputSizeReturned, PIRP Irp);
NTSTATUS WSKAPI wsk_receive_release(PWSK_SOCKET Socket, PWSK_DATA_INDICATION DataIndication);
NTSTATUS WSKAPI wsk_datagram_release(PWSK_SOCKET Socket, PWSK_DATAGRAM_INDICATION DatagramIndication);
extern const WSK_PROVIDER_BASIC_DISPATCH wsk_basic_dispatch;
extern const WSK_PROVIDER_LISTEN_DISPATCH wsk_listen_dispatch;
extern const WSK_PROVIDER_CONNECTION_DISPATCH wsk_connection_dispatch;
extern const WSK_PROVIDER_DATAGRAM_DISPATCH wsk_datagram_dispatch;
extern const WSK_PROVIDER_STREAM_DISPATCH wsk_stream_dispatch;

#endif
