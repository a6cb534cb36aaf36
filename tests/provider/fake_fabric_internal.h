/* SPDX-License-Identifier: MIT */
/* Functions that both files of the scripted fabric use. */
#ifndef TESTS_PROVIDER_FAKE_FABRIC_INTERNAL_H
#define TESTS_PROVIDER_FAKE_FABRIC_INTERNAL_H

#include "provider/fake_fabric.h"

/* Returns fake.error and clears it. */
int fake_pop_error(void);
/* Returns true if the end waits for fake_run_deferred. */
bool fake_defer_end(void (*done)(void *), void *context);

/* Operations of fake_memory.c. */
int fake_mr_create(struct fabric *f, const void *domain, struct fabric_mr **out);
void fake_mr_kill(struct fabric_mr *mr);
bool fake_mr_close(struct fabric_mr *mr, void (*done)(void *context), void *context);
int fake_mr_register(struct fabric_mr *mr, void *memory, uint64_t len, uint64_t base_address, unsigned access,
                     uint32_t *token);
bool fake_mr_deregister(struct fabric_mr *mr, void (*done)(void *context), void *context);
int fake_mr_reserve(struct fabric_mr *mr);
int fake_mr_prepare_pages(struct fabric_mr *mr, const struct rdma_pages *p, uint32_t *token);
int fake_mr_prepare_window(struct fabric_mr *mw, uint32_t of, uint64_t address, uint64_t len, unsigned access,
                           uint32_t *token);
void fake_mr_unprepare(struct fabric_mr *mr, uint32_t token);
uint32_t fake_mr_newest_token(struct fabric_mr *mr);
void fake_mr_info(struct fabric_mr *mr, struct fabric_mr_info *info);
int fake_lam_create(struct fabric *f, void *memory, uint64_t len, struct fabric_lam **out);
uint64_t fake_lam_page(const struct fabric_lam *lam, uint64_t index);
void fake_lam_release(struct fabric_lam *lam);

#endif
