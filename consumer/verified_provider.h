/* SPDX-License-Identifier: MIT */
#ifndef CONSUMER_VERIFIED_PROVIDER_H
#define CONSUMER_VERIFIED_PROVIDER_H

struct ndkconform_provider;

/*
 * Returns a provider that opens the adapters of `provider`. If ONDK_VERIFY turns the verifier on, the verifier stands
 * in front of these adapters. If ONDK_TRACE asks for it, the calls on these adapters are recorded. Supports one
 * provider at a time, because the returned table is static.
 */
const struct ndkconform_provider *verified_provider(const struct ndkconform_provider *provider);

#endif
