/* SPDX-License-Identifier: MIT */
#ifndef CONSUMER_VERIFIED_PROVIDER_H
#define CONSUMER_VERIFIED_PROVIDER_H

struct ndkconform_provider;

/*
 * Returns a provider that opens the adapters of `provider` with OpenNDK's verifier in front of them, if ONDK_VERIFY turns
 * it on, and records their calls, if ONDK_TRACE asks for it. Supports one provider at a time: the returned table is
 * static.
 */
const struct ndkconform_provider *verified_provider(const struct ndkconform_provider *provider);

#endif
