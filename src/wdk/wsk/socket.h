/* SPDX-License-Identifier: MIT */
/*
 * Sockets of Winsock Kernel over the host's.
 *
 * One thread, at DISPATCH_LEVEL, owns every socket: it alone reads, writes and changes them, completes IRPs and calls
 * events, with nothing held. What a driver calls makes a request of the IRP and posts it to the thread; posts run in
 * the order in which they came, so that closing a socket comes after all that was asked of it before. The exceptions
 * need no owner: options (the host's socket is the same from WskSocket until the close), which events are enabled
 * (under the socket's lock), and releasing indications.
 *
 *   open -> bound -> listening
 *                 -> connecting -> connected -> lost      closing takes every state to the end
 */
#ifndef ONDK_WDK_WSK_SOCKET_H
#define ONDK_WDK_WSK_SOCKET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "wsk.h"

#include "verify/stack.h"
#include "wdk/common/link.h"
#include "wdk/wsk/client.h"
#include "wdk/wsk/host.h"

/* ---- The thread: thread.c ---- */

struct wsk_post {
    LIST_ENTRY link;
    void (*run)(struct wsk_post *post); /* may free it */
};

/* From the first socket until the last: false if there is no thread to be had. give may be called by the thread. */
bool wsk_thread_take(void);
void wsk_thread_give(void);
/* Ends the thread if there are no sockets. */
void wsk_thread_stop(void);
void wsk_thread_post(struct wsk_post *post, void (*run)(struct wsk_post *post));

/* ---- Sockets ---- */

enum wsk_state { WSK_OPEN, WSK_BOUND, WSK_LISTENS, WSK_CONNECTING, WSK_CONNECTED, WSK_LOST };

struct wsk_socket {
    WSK_SOCKET handle; /* first: what the driver has */
    struct wsk_client *client;
    ULONG category; /* WSK_FLAG_..._SOCKET */
    ADDRESS_FAMILY family;
    bool stream;
    int fd;
    struct stack opened, closed_by;
    atomic_bool closed;    /* WskCloseSocket has been called */
    atomic_int state;      /* enum wsk_state; written by the thread alone */
    PVOID context;
    const WSK_CLIENT_LISTEN_DISPATCH *on_listen;
    const WSK_CLIENT_CONNECTION_DISPATCH *on_connection;
    const WSK_CLIENT_DATAGRAM_DISPATCH *on_datagram;

    pthread_mutex_t lock;  /* a leaf, for the events */
    ULONG events, static_events, inherited, running; /* enabled; always; for what is accepted; being called */
    LIST_ENTRY disables;   /* requests that wait until `running` has come back */
    bool pump_posted;
    bool no_delay;         /* the driver's own option; under the lock, and the host's with it */
    struct wsk_post pump_post;
    struct wsk_address fixed_remote, send_to; /* of datagrams; under the lock too */
    bool has_fixed_remote, has_send_to;
    atomic_bool packet_info; /* the driver wants it with each datagram */

    /* The thread's own. */
    LIST_ENTRY connects, accepts, sends, receives; /* requests; a disconnect is the last of the sends */
    LIST_ENTRY again;      /* in the thread's list of sockets that have more to do */
    unsigned pending;      /* requests that are not completed */
    struct wsk_request *closing; /* of WskCloseSocket */
    bool ending;           /* closed, and waiting for what is pending */
    bool ended;            /* the peer has sent its end */
    bool disconnects;      /* a graceful disconnect is among the sends, or is done */
    bool fin_sent;         /* and everything before it has gone to the host, with the end */
    bool told_end;         /* WskDisconnectEvent has been called */
    bool paused;           /* the driver did not take all: no WskReceiveEvent until the next WskReceive */
    NTSTATUS lost;         /* what later calls get */
    bool lost_by_peer;
    bool watched;
    bool withheld;         /* the IRP with which the driver gets it is not completed: no events yet */
    ULONG backlog_told;
    struct wsk_post close_post;
    struct wsk_datagram *held; /* not accepted: they come first */
    atomic_size_t retained;     /* octets of indications that the driver keeps */
};

/* With its place in the client's count and a use of the thread; NULL: *status says why. fd -1: one of its own is
 * opened. */
struct wsk_socket *wsk_socket_new(struct wsk_client *client, ULONG category, ADDRESS_FAMILY family, bool stream, int fd,
                                  NTSTATUS *status);
/* From any thread: one that nobody has got goes. */
void wsk_socket_abandon(struct wsk_socket *s);
/* The thread: the host's socket goes, what is pending is cancelled, and when all of that has ended, the memory too. */
void wsk_socket_end(struct wsk_socket *s);
/* The thread: does what can be done now. */
void wsk_socket_pump(struct wsk_socket *s);
void wsk_socket_ready(struct wsk_socket *s, bool failed);
/* From any thread: the thread pumps it. */
void wsk_socket_post_pump(struct wsk_socket *s);
/* The thread calls wsk_socket_pump again: soon, or when there is hope for memory or descriptors. */
void wsk_thread_again(struct wsk_socket *s, bool starved);
/* The thread: from now on it is told what happens at the host's socket. */
NTSTATUS wsk_thread_watch(struct wsk_socket *s);
/* Until now. */
void wsk_thread_unwatch(struct wsk_socket *s);

static inline enum wsk_state wsk_state(struct wsk_socket *s)
{
    return (enum wsk_state)atomic_load(&s->state);
}

NTSTATUS wsk_status(int host_error); /* negated or not */

/* ---- Requests: request.c ---- */

enum wsk_operation {
    WSK_BIND, WSK_LISTEN, WSK_CONNECT, WSK_SOCKET_CONNECT, WSK_ACCEPT, WSK_SEND, WSK_DISCONNECT, WSK_ABORT, WSK_RECEIVE,
    WSK_SEND_TO, WSK_RECEIVE_FROM, WSK_CLOSE, WSK_DISABLE
};

/* A place in a chain of MDLs, and what is left from there. */
struct wsk_cursor {
    PMDL mdl;
    SIZE_T offset, left;
};
enum { WSK_PARTS = 1024 }; /* as many as the host takes at once */

/* False: it does not describe that much memory. Maps every MDL of it. */
bool wsk_cursor_set(struct wsk_cursor *c, const WSK_BUF *buffer);
int wsk_cursor_parts(const struct wsk_cursor *c, struct iovec parts[WSK_PARTS]);
/* The same for a datagram, which goes as a whole: false too if it has more parts than the host takes. */
bool wsk_cursor_set_whole(struct wsk_cursor *c, const WSK_BUF *buffer);
void wsk_cursor_advance(struct wsk_cursor *c, SIZE_T octets);

struct wsk_request {
    LIST_ENTRY link;
    struct wsk_post post, cancel;
    struct wsk_socket *socket, *gives; /* what the driver has when the IRP is completed */
    PIRP irp;
    enum wsk_operation operation;
    bool armed;    /* it has the cancel routine */
    bool finished; /* and waits for the cancel routine's post */
    NTSTATUS status;
    ULONG_PTR information;
    ULONG flags;
    struct wsk_cursor cursor;
    SIZE_T done;
    struct wsk_address address, local;
    PSOCKADDR local_out, remote_out;
    PVOID context;
    const WSK_CLIENT_CONNECTION_DISPATCH *dispatch;
    struct stack by; /* of WskAccept */
    PWSK_BUF_LIST list;
    struct wsk_packet_info info;
    PULONG control_length, control_flags;
    CMSGHDR *control;
};

/*
 * A request for the call; the IRP is the provider's from here on. NULL: *status is what the call returns, and the IRP,
 * where there is one, has been completed with it.
 */
struct wsk_request *wsk_request_new(const char *routine, PWSK_SOCKET handle, enum wsk_operation operation, PIRP irp,
                                    NTSTATUS *status);
/* The call ends here: it returns this. */
NTSTATUS wsk_request_refuse(struct wsk_request *r, NTSTATUS status);
NTSTATUS wsk_request_post(struct wsk_request *r);
/* Where the IRP has a request already (WskSocketConnect). */
struct wsk_request *wsk_request_of(struct wsk_socket *s, enum wsk_operation operation, PIRP irp);
/* The thread: the request is over. It is gone, or goes with the cancel routine's post. */
void wsk_request_finish(struct wsk_request *r, NTSTATUS status, ULONG_PTR information);
/* It is over, and has brought a connection, which begins when the IRP is completed. */
void wsk_request_give(struct wsk_request *r, struct wsk_socket *s);
void wsk_request_finish_all(LIST_ENTRY *requests, NTSTATUS status);

static inline struct wsk_request *wsk_request_first(LIST_ENTRY *requests)
{
    return link_empty(requests) ? NULL : CONTAINING_RECORD(requests->Flink, struct wsk_request, link);
}

/* False: it is closed, or none; that has been reported. */
bool wsk_socket_is_usable(const char *routine, PWSK_SOCKET handle);
/*
 * WskRelease of a list that this event has given and the driver has kept: after success it is no longer the driver's.
 */
NTSTATUS wsk_take_back(PWSK_SOCKET handle, void *list, const char *event);

/* ---- What requests do, by kind; the thread alone calls these. ---- */

void wsk_request_start(struct wsk_request *r);  /* start.c */
void wsk_request_cancel(struct wsk_request *r);
void wsk_connect_start(struct wsk_request *r);  /* connect.c */
void wsk_connect_cancel(struct wsk_request *r);
/* The driver has the connection: what has come meanwhile is looked at. */
void wsk_connect_begin(struct wsk_socket *s);
/* The host has come to an end with it, or with nothing. */
void wsk_connect_done(struct wsk_socket *s, int host_error);
/* The connection is over: whatever is pending ends with that status, what comes later with `lost`. */
void wsk_connect_lose(struct wsk_socket *s, NTSTATUS pending, NTSTATUS lost, bool by_peer);
void wsk_send_pump(struct wsk_socket *s);       /* send.c */
void wsk_receive_pump(struct wsk_socket *s);    /* receive.c */
void wsk_listen_pump(struct wsk_socket *s);     /* listen.c */
void wsk_datagram_pump(struct wsk_socket *s);   /* datagram.c */
void wsk_datagrams_free(struct wsk_datagram *list);
/* False: it is malformed, or of a kind that is not known here. */
bool wsk_datagram_info(const CMSGHDR *control, ULONG length, struct wsk_packet_info *info);

/* ---- Events: event.c ---- */

/* True: the event is enabled, and is running until the end. */
bool wsk_event_begin(struct wsk_socket *s, ULONG event);
void wsk_event_end(struct wsk_socket *s);
bool wsk_event_enabled(struct wsk_socket *s, ULONG event);
/* Once, if the event is enabled. */
void wsk_event_disconnect(struct wsk_socket *s);
void wsk_event_backlog(struct wsk_socket *s);
NTSTATUS wsk_event_control(struct wsk_socket *s, const WSK_EVENT_CALLBACK_CONTROL *control, SIZE_T size, PIRP irp);
/* Which of WSK_EVENT_... a socket of the category has. */
ULONG wsk_event_mask(ULONG category);

/* ---- The driver's calls ---- */

NTSTATUS WSKAPI wsk_socket(PWSK_CLIENT Client, ADDRESS_FAMILY AddressFamily, USHORT SocketType, ULONG Protocol,
                           ULONG Flags, PVOID SocketContext, const VOID *Dispatch, PEPROCESS OwningProcess,
                           PETHREAD OwningThread, PSECURITY_DESCRIPTOR SecurityDescriptor, PIRP Irp);
NTSTATUS WSKAPI wsk_socket_connect(PWSK_CLIENT Client, USHORT SocketType, ULONG Protocol, PSOCKADDR LocalAddress,
                                   PSOCKADDR RemoteAddress, ULONG Flags, PVOID SocketContext,
                                   const WSK_CLIENT_CONNECTION_DISPATCH *Dispatch, PEPROCESS OwningProcess,
                                   PETHREAD OwningThread, PSECURITY_DESCRIPTOR SecurityDescriptor, PIRP Irp);
/* False: there is none, or it is of another family. */
bool wsk_address_take(struct wsk_address *address, ADDRESS_FAMILY family, const VOID *sockaddr);
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
