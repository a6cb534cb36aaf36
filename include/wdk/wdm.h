/* SPDX-License-Identifier: MIT */
/*
 * The header that every kernel-mode driver includes. The parts are in wdm/.
 */
#ifndef ONDK_WDK_WDM_H
#define ONDK_WDK_WDM_H
#ifndef _WDMDDK_
#define _WDMDDK_ /* Windows' own include guard, which some drivers test */
#endif

#ifdef __MINGW32__
#include "mingw.h"
#else
#ifndef _NTDDK_
#define _NTDDK_ /* another one, which the kit's wdm.h defines, too */
#endif

#include "ntdef.h"
#include "ntstatus.h"
#include "wdm/irql.h"
#include "wdm/dispatcher.h"
#include "wdm/timer.h"
#include "wdm/thread.h"
#include "wdm/security.h"
#include "wdm/processor.h"
#include "wdm/locks.h"
#include "wdm/work.h"
#include "wdm/interlocked.h"
#include "wdm/list.h"
#include "wdm/crt.h"
#include "wdm/pool.h"
#include "wdm/mdl.h"
#include "wdm/rtl.h"
#include "wdm/pnp.h"
#include "wdm/io.h"
#include "wdm/interface.h"
#include "wdm/access.h"
#include "wdm/csq.h"
#include "wdm/startio.h"
#include "wdm/zw.h"
#include "wdm/section.h"
#include "wdm/fastio.h"
#include "wdm/callback.h"
#include "wdm/regcallback.h"
#include "wdm/debug.h"
#include "wdm/seh.h"
#include "wdm/bus.h"

#endif
#endif
