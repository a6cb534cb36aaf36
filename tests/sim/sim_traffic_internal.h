/* SPDX-License-Identifier: MIT */
/* Declarations that the files of the traffic share. */
#ifndef SIM_SIM_TRAFFIC_INTERNAL_H
#define SIM_SIM_TRAFFIC_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ndk/ndkpi.h"
#include "sim/sim_traffic.h"

enum { SMALL = 64 };

/* sim_grants.c */
struct grant *grant_new(struct obj *maker, struct region *r, enum use use);
/* early: the request that uses it is posted before it is valid, behind the one that makes it valid */
bool grant_is_usable(const struct grant *g, const struct qp *qp, bool early);
struct grant *grant_pick(bool (*wanted)(const struct grant *g, const void *context), const void *context);
struct grant *grant_pick_for(const struct qp *qp, enum use use, bool early);
void grant_token(struct grant *g, uint32_t local, uint32_t remote); /* stores the token; checks that it is new */
void grant_end(struct grant *g); /* from now on checks that nothing accesses its memory */
void grants_free(void);
uint8_t *region_byte(const struct region *r, uint32_t i);
void region_check(const struct region *r);
void region_reclaim(struct region *r); /* the provider has released it: checks that nothing accesses it any more */

/* sim_pieces.c */
bool piece_acquire(struct grant *g, uint32_t len, enum user user, struct piece *out);
void piece_release(const struct piece *p);
bool piece_is_stale(const struct piece *p); /* another request may use its bytes */
uint8_t *piece_byte(const struct piece *p, uint32_t i);
uint64_t piece_address(const struct piece *p);
bool wr_acquire_memory(struct wr *w, unsigned most, uint32_t len, enum use use); /* false: not available */
void wr_release(struct wr *w);
void wr_free(struct wr *w);
void wr_write_pattern(struct wr *w, unsigned who, unsigned message);
bool wr_has_pattern(const struct wr *w, unsigned who, unsigned message, size_t len);
bool wr_memory_is_there(const struct wr *w);
void wr_check_rest(const struct wr *w, size_t len); /* checks the memory behind the message */

/* sim_post.c */
bool post_has_room(const struct qp *qp, enum op op);
struct wr *wr_new(struct qp *qp, enum op op);
ULONG post_any_flags(struct wr *w);
unsigned post_sges(const struct wr *w, NDK_SGE *sges);
bool post_it(struct wr *w, ULONG flags);
bool wr_may_lack_memory(const struct wr *w);

/* sim_regions.c */
NTSTATUS regions_call(struct wr *w, ULONG flags); /* executes a fast-register, bind or invalidate */
void regions_completed(struct wr *w, bool succeeded);
void regions_refused(struct wr *w); /* the post of such a request was refused */
struct grant *regions_for_peer_to_end(const struct qp *peer);
void regions_release(struct region *r);
LONGLONG regions_page(const struct region *r, unsigned page); /* returns the position of a page in the mapping */

/* sim_srq.c */
void srq_used(struct wr *w); /* the receive completes for w->qp */
void srq_end(void);

/* sim_traffic.c */
void traffic_complete(struct cq *cq, const NDK_RESULT_EX *r, bool ex);

#endif
