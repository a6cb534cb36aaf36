/* SPDX-License-Identifier: MIT */
/* Declares memory regions, windows and logical addresses. */
#ifndef FABRIC_IWARP_MEMORY_H
#define FABRIC_IWARP_MEMORY_H

#include "fabric/fabric.h"

int iwarp_mr_create(struct fabric *f, const void *domain, struct fabric_mr **out);
void iwarp_mr_kill(struct fabric_mr *mr);
bool iwarp_mr_close(struct fabric_mr *mr, void (*done)(void *context), void *context);
int iwarp_mr_register(struct fabric_mr *mr, void *memory, uint64_t len, uint64_t base_address, unsigned access,
                      uint32_t *token);
bool iwarp_mr_deregister(struct fabric_mr *mr, void (*done)(void *context), void *context);
int iwarp_mr_prepare_pages(struct fabric_mr *mr, const struct rdma_pages *p, uint32_t *token);
int iwarp_mr_prepare_window(struct fabric_mr *mw, uint32_t of, uint64_t address, uint64_t len, unsigned access,
                            uint32_t *token);
void iwarp_mr_unprepare(struct fabric_mr *mr, uint32_t token);
int iwarp_mr_reserve(struct fabric_mr *mr);
uint32_t iwarp_mr_newest_token(struct fabric_mr *mr);
uint32_t iwarp_mr_current_token(struct fabric_mr *mr);
void iwarp_mr_info(struct fabric_mr *mr, struct fabric_mr_info *info);
int iwarp_lam_create(struct fabric *f, void *memory, uint64_t len, struct fabric_lam **out);
uint64_t iwarp_lam_page(const struct fabric_lam *lam, uint64_t index);
void iwarp_lam_release(struct fabric_lam *lam);

#endif
