/* SPDX-License-Identifier: MIT */
/* Looks up the kernel's routines by name: see wdm/mdl.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdlib.h>

#include "wdm.h"

#include "wdk/common/text.h"
#include "wdk/ke/thread.h"

/* Returns the address of a symbol that this library exports, or NULL. Ignores symbols of the libraries it uses. */
static void *routine_find(const char *name)
{
    Dl_info here, there;
    void *library, *address;

    if (!dladdr((void *)(uintptr_t)&MmGetSystemRoutineAddress, &here))
        return NULL;
    library = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return NULL;
    address = dlsym(library, name);
    dlclose(library);
    return address && dladdr(address, &there) && there.dli_fbase == here.dli_fbase ? address : NULL;
}

PVOID MmGetSystemRoutineAddress(PUNICODE_STRING SystemRoutineName)
{
    char *name;
    void *address;

    irql_check_max("MmGetSystemRoutineAddress", PASSIVE_LEVEL);
    name = text_narrow_copy(SystemRoutineName->Buffer, SystemRoutineName->Length / sizeof(WCHAR));
    address = name ? routine_find(name) : NULL;
    free(name);
    return address;
}
