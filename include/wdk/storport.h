/* SPDX-License-Identifier: MIT */
/* The header that Storport miniports include. Only virtual miniports run here, because there is no storage hardware. */
#ifndef ONDK_WDK_STORPORT_H
#define ONDK_WDK_STORPORT_H

#include "wdm.h"
#include "srb.h"
#include "scsi.h"
#include "storport/config.h"
#include "storport/routines.h"
#include "storport/physical.h"
#ifdef __MINGW32__
#include "storport/mingw.h"
#endif

#endif
