/* SPDX-License-Identifier: MIT */
/*
 * Queues of a shard's tasks. Any thread pushes onto a stack, without a lock. The thread that runs the tasks also has a
 * list, which no other thread accesses. The invariant: a task is in one queue at most, and its member `queued` is 0
 * when it runs.
 */
#ifndef ENGINE_TASK_QUEUE_H
#define ENGINE_TASK_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/task.h"

/* A stack of tasks. Any thread may push a task. The thread that runs the tasks removes all of them together. */
struct task_stack {
    struct task *_Atomic newest;
};

/* The oldest task is first. The tasks are linked by `next`. */
struct task_list {
    struct task *first;
    struct task *last;
};

static inline void task_stack_push(struct task_stack *stack, struct task *task)
{
    struct task *newest = atomic_load_explicit(&stack->newest, memory_order_relaxed);

    do
        atomic_store_explicit(&task->next, newest, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&stack->newest, &newest, task, memory_order_release,
                                                  memory_order_relaxed));
}

static inline bool task_stack_is_empty(struct task_stack *stack)
{
    return !atomic_load_explicit(&stack->newest, memory_order_relaxed);
}

/* Moves all tasks of the stack to the end of the list, in the order in which they were pushed. */
static inline void task_list_append_stack(struct task_stack *stack, struct task_list *list)
{
    struct task *newest, *task, *oldest = NULL;

    if (task_stack_is_empty(stack))
        return;
    newest = atomic_exchange_explicit(&stack->newest, NULL, memory_order_acquire);
    for (task = newest; task;) {
        struct task *older = atomic_load_explicit(&task->next, memory_order_relaxed);

        atomic_store_explicit(&task->next, oldest, memory_order_relaxed);
        oldest = task;
        task = older;
    }
    if (list->first)
        atomic_store_explicit(&list->last->next, oldest, memory_order_relaxed);
    else
        list->first = oldest;
    list->last = newest;
}

/* Removes and runs the first task. Returns false if the list is empty. */
static inline bool task_list_run_first(struct task_list *list)
{
    struct task *task = list->first;

    if (!task)
        return false;
    list->first = atomic_load_explicit(&task->next, memory_order_relaxed);
    /*
     * A store would not suffice. The exchange makes visible to task->run what the last poster wrote before that poster
     * changed `queued`.
     */
    (void)atomic_exchange_explicit(&task->queued, 0, memory_order_acq_rel);
    task->run(task);
    return true;
}

#endif
