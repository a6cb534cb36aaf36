/* SPDX-License-Identifier: MIT */
/* What the files of the traffic share among themselves. */
#ifndef SIM_SIM_TRAFFIC_INTERNAL_H
#define SIM_SIM_TRAFFIC_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ndk/ndkpi.h"
#include "sim/sim_traffic.h"

enum { SMALL = 64 };

/* sim_pieces.c */
struct region *region_pick(const struct qp *qp, enum use use); /* any that qp may use */
bool piece_take(struct region *r, uint32_t len, struct piece *out);
void piece_give(const struct piece *p);
uint8_t *piece_at(const struct piece *p);
bool wr_take_memory(struct wr *w, uint32_t len, enum use use); /* false: what was taken is given back */
void wr_give_back(struct wr *w);
void wr_write_pattern(struct wr *w, unsigned who, unsigned message);
bool wr_has_pattern(const struct wr *w, unsigned who, unsigned message, size_t len);
bool wr_memory_is_there(const struct wr *w);
void wr_check_rest(const struct wr *w, size_t len); /* behind the message the memory is as it was */

/* sim_traffic.c */
void traffic_complete(struct cq *cq, const NDK_RESULT_EX *r, bool ex);

#endif
