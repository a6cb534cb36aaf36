/* SPDX-License-Identifier: MIT */
/*
 * test_client HOST PORT: the client of first.c, but it sends each line of its standard input, up to an empty one, and
 * prints the answers. So a test decides how long it is connected.
 */
int first_main(int argc, char **argv);
#define main first_main
#include "../../examples/first.c"
#undef main

static bool exchange_line(struct end *end, const char *line)
{
    NDK_RESULT_EX result;

    if (!post_send(end, line))
        return false;
    for (int outstanding = 2; outstanding; outstanding--) { /* the send and the receive, in any order */
        if (!next_result(end, &result))
            return false;
        if (result.Type == NdkOperationTypeReceive)
            print_line("the server answers", end->lines[1], result.BytesTransferred);
    }
    return post_receive(end);
}

static bool run_lines(struct end *end, struct sockaddr *from, struct sockaddr *to, socklen_t length)
{
    NTSTATUS status = end->adapter->Dispatch->NdkCreateConnector(end->adapter, on_created, end, &end->connector);
    char line[LINE_SIZE];

    if (!succeeded(end, "NdkCreateConnector", finish_create(end, status, &end->connector)) || !post_receive(end))
        return false;
    status = end->connector->Dispatch->NdkConnect(end->connector, end->qp, from, length, to, length, 0, 0, NULL, 0,
                                                  on_completed, end);
    if (!succeeded(end, "NdkConnect", finish(end, status)))
        return false;
    status = end->connector->Dispatch->NdkCompleteConnectEx(end->connector, on_disconnected, end, on_completed, end);
    if (!succeeded(end, "NdkCompleteConnectEx", finish(end, status)))
        return false;
    while (fgets(line, sizeof line, stdin) && line[0] != '\n') {
        line[strcspn(line, "\n")] = '\0';
        if (!exchange_line(end, line))
            return false;
    }
    status = end->connector->Dispatch->NdkDisconnect(end->connector, on_completed, end);
    return succeeded(end, "NdkDisconnect", finish(end, status));
}

int main(int argc, char **argv)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *address;
    struct end end = { .has_request = ATOMIC_FLAG_INIT };
    struct sockaddr_storage from = { 0 };
    bool is_done = false;

    if (argc != 3 || getaddrinfo(argv[1], argv[2], &hints, &address))
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (find_source(address->ai_addr, address->ai_addrlen, &from)) {
        is_done = open_end(&end, (struct sockaddr *)&from) &&
                  run_lines(&end, (struct sockaddr *)&from, address->ai_addr, address->ai_addrlen);
        close_end(&end);
    }
    freeaddrinfo(address);
    return is_done ? 0 : 1;
}
