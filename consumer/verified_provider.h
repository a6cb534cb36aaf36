/* SPDX-License-Identifier: MIT */
#ifndef CONSUMER_VERIFIED_PROVIDER_H
#define CONSUMER_VERIFIED_PROVIDER_H

struct ndkconform_provider;

/*
 * Returns a provider that opens the adapters of `provider`. If the environment variable ONDK_VERIFY enables the
 * verifier, the verifier checks the calls on these adapters. If ONDK_TRACE is set, the calls are recorded. Supports
 * one provider at a time, because the returned table is static.
 */
const struct ndkconform_provider *verified_provider(const struct ndkconform_provider *provider);

#endif
