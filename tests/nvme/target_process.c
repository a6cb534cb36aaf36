/* SPDX-License-Identifier: MIT */
/* The program nvme-target as a child: see target_process.h. */
#include "target_process.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void process_exec(const char *program, const char *const *arguments, int out)
{
    const char *words[PROCESS_MAX_ARGUMENTS + 6] = { program, "--listen", "127.0.0.1", "--nqn", PROCESS_NQN };

    for (int i = 0; arguments[i] && i < PROCESS_MAX_ARGUMENTS; i++)
        words[5 + i] = arguments[i];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(out, STDOUT_FILENO);
    execv(program, (char *const *)words);
    perror(program);
    _exit(127);
}

bool process_start(struct target_process *process, const char *program, const char *const *arguments)
{
    char line[256];
    int ends[2];

    memset(process, 0, sizeof *process);
    process->address = (struct sockaddr_in){ .sin_family = AF_INET,
                                             .sin_port = htons(PROCESS_PORT),
                                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    if (pipe(ends))
        return false;
    process->pid = fork();
    if (process->pid == 0)
        process_exec(program, arguments, ends[1]);
    close(ends[1]);
    process->out = fdopen(ends[0], "r");
    return process->pid > 0 && process->out && fgets(line, sizeof line, process->out) && strstr(line, "listening");
}

int process_wait(struct target_process *process)
{
    int status = 0;
    bool has_ended = waitpid(process->pid, &status, 0) == process->pid;

    fclose(process->out);
    if (!has_ended || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

int process_stop(struct target_process *process, int signal)
{
    kill(process->pid, signal);
    return process_wait(process);
}
