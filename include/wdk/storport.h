/* SPDX-License-Identifier: MIT */
/*
 * What a Storport miniport includes. Virtual miniports run here; there is no hardware for the others.
 */
#ifndef ONDK_WDK_STORPORT_H
#define ONDK_WDK_STORPORT_H

#include "wdm.h"
#include "srb.h"
#include "scsi.h"
#include "storport/config.h"
#include "storport/routines.h"

#endif
