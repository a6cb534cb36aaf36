/* SPDX-License-Identifier: MIT */
/* The lines of layouts_storage.inc and layouts_devices.inc hold, as those of layouts.inc do: see layouts.c. */
#ifdef THEIRS
#include <ntifs.h>
#include <srb.h>
#include <scsi.h>
#include <ntddscsi.h>
#include <ntddstor.h>
#include <ntdddisk.h>
#include <ntddcdrm.h>
#include <ntddvol.h>
#include <ntddbeep.h>
#include <mountdev.h>
#include <wmistr.h>
#include <bcrypt.h>
#else
#include "ntifs.h"
#include "ntddscsi.h"
#include "ntddstor.h"
#include "ntdddisk.h"
#include "ntddcdrm.h"
#include "ntddvol.h"
#include "ntddbeep.h"
#include "storport.h"
#include "mountdev.h"
#include "wmistr.h"
#include "bcrypt.h"
#endif

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type);
#define AT(type, member, offset) _Static_assert(__builtin_offsetof(type, member) == (offset), #type "." #member);
#define IS(name, value) _Static_assert((unsigned)(name) == (value), #name);
#include "layouts_storage.inc"
#include "layouts_devices.inc"
