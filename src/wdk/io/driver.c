/* SPDX-License-Identifier: MIT */
/*
 * Loads and unloads drivers: see openndk/wdk.h. While checks are on, a driver's module is unmapped only if the driver
 * has released everything. Otherwise a timer or thread that is left could still call the driver's code.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "openndk/wdk.h"
#include "wdk/common/check.h"
#include "wdk/common/host_error.h"
#include "wdk/common/live.h"
#include "wdk/common/text.h"
#include "wdk/ex/worker.h"
#include "wdk/io/device.h"
#include "wdk/io/driver.h"
#include "wdk/io/io_trace.h"
#include "wdk/ke/thread.h"
#include "wdk/mm/pool.h"
#include "wdk/mm/pool_pages.h"
#include "wdk/ob/object.h"
#include "wdk/ps/process.h"

#define SERVICES "\\Registry\\Machine\\System\\CurrentControlSet\\Services\\"
#define OBJECTS "\\Driver\\"

enum { MAX_NAME = 200 };

struct client {
    struct client *next;
    const void *key;
    _Alignas(16) char data[];
};

struct ondk_wdk_driver {
    DRIVER_OBJECT object;
    DRIVER_EXTENSION extension;
    char name[MAX_NAME + 1];
    void *handle;
    const char *start; /* start of the module: the driver owns each object whose stack has a frame in the module */
    uint64_t size;
    UNICODE_STRING registry_path;
    struct client *clients; /* created by IoAllocateDriverObjectExtension */
    NTSTATUS entry_status;
    struct ondk_wdk_driver *next;
};

static void driver_destroy(void *driver);
static void driver_get_name(void *driver, void **named, PCUNICODE_STRING *rest);
static struct _OBJECT_TYPE driver_type = { .name = "driver", .destroy = driver_destroy, .get_name = driver_get_name };
static struct _OBJECT_TYPE *driver_type_pointer = &driver_type;
struct _OBJECT_TYPE **IoDriverObjectType = &driver_type_pointer;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* serializes loading and unloading */
static pthread_mutex_t clients_lock = PTHREAD_MUTEX_INITIALIZER;
/*
 * Guards `drivers` for reports. A report does not acquire `lock`, because a load that hangs holds it. A thread must
 * hold both locks to change `drivers`.
 */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ondk_wdk_driver *drivers;

static void driver_get_name(void *driver, void **named, PCUNICODE_STRING *rest)
{
    *named = NULL;
    *rest = &((PDRIVER_OBJECT)driver)->DriverName;
}

struct call {
    void (*routine)(void *context);
    void *context;
};

static void *driver_call_thread(void *argument)
{
    struct call *call = argument;
    struct thread_mark mark = thread_mark_get();

    thread_self()->kind = THREAD_DRIVERS;
    call->routine(call->context);
    thread_mark_check(&mark, "a thread of the system's", (const void *)(uintptr_t)call->routine);
    return NULL;
}

bool driver_call(void (*routine)(void *context), void *context)
{
    struct call call = { routine, context };
    pthread_t thread;

    if (thread_create(&thread, NULL, driver_call_thread, &call))
        return false;
    pthread_join(thread, NULL);
    return true;
}

NTSTATUS driver_invalid_request(PDEVICE_OBJECT device, PIRP irp)
{
    UNREFERENCED_PARAMETER(device);
    irp->IoStatus.Status = STATUS_INVALID_DEVICE_REQUEST;
    irp->IoStatus.Information = 0;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return STATUS_INVALID_DEVICE_REQUEST;
}

/* ---- The module ------------------------------------------------------------------------------------------------- */

struct extent {
    uintptr_t base, end;
};

static int driver_measure_module(struct dl_phdr_info *info, size_t size, void *context)
{
    struct extent *extent = context;

    UNREFERENCED_PARAMETER(size);
    if (info->dlpi_addr != extent->base)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type == PT_LOAD && info->dlpi_addr + p->p_vaddr + p->p_memsz > extent->end)
            extent->end = info->dlpi_addr + p->p_vaddr + p->p_memsz;
    }
    return 1;
}

static void driver_find_extent(struct ondk_wdk_driver *d)
{
    struct extent extent = { 0 };
    struct link_map *map;

    if (dlinfo(d->handle, RTLD_DI_LINKMAP, &map))
        return;
    extent.base = map->l_addr;
    dl_iterate_phdr(driver_measure_module, &extent);
    d->start = (const char *)extent.base;
    d->size = extent.end - extent.base;
}

#define MODEL_LIBRARY "libopenndk-wdk-" /* the names of the libraries of driver models begin like this */

/* Adds advice to dlerror's message, which contains the name of the missing symbol or library. */
static int driver_explain_dlopen(const char *path, const char *message)
{
    const char *symbol = strstr(message, "undefined symbol: ");

    if (!symbol)
        return host_error("%s: %s", path, message);
    symbol += sizeof "undefined symbol: " - 1;
    if (!strncmp(symbol, "StorPort", 8) || !strncmp(symbol, "Wdf", 3))
        return host_error("%s: the driver calls %s but is not linked with its library: add -lopenndk-wdk-%s, or link "
                          "with ndk-cc or pkg-config's flags for openndk-wdk",
                          path, *symbol == 'S' ? "Storport" : "KMDF", *symbol == 'S' ? "storport" : "wdf");
    return host_error("%s: this kernel has no such routine, and the driver's own sources do not define it. "
                      "docs/kernel-routines.md lists what there is; is a source file missing from the build?",
                      message);
}

/*
 * If `message` of dlerror is about a missing library of a driver model, loads that library from the directory of the
 * kernel's library. Returns true if this call has loaded the library. The dynamic loader does not search that directory
 * for a driver's libraries. A name without the directory is not enough: if a sanitizer has replaced dlopen, the search
 * path of the kernel's library does not apply.
 */
static bool driver_load_model_library(const char *message)
{
    size_t length = strcspn(message, ":");
    Dl_info kernel;
    char path[PATH_MAX];
    const char *slash;

    if (strncmp(message, MODEL_LIBRARY, sizeof MODEL_LIBRARY - 1) || length >= sizeof path)
        return false;
    if (!dladdr((void *)(uintptr_t)&driver_load_model_library, &kernel) || !(slash = strrchr(kernel.dli_fname, '/')))
        return false;
    if (snprintf(path, sizeof path, "%.*s/%.*s", (int)(slash - kernel.dli_fname), kernel.dli_fname, (int)length,
                 message) >= (int)sizeof path)
        return false;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL;
}

static void *driver_dlopen(const char *path)
{
    enum { MAX_MODEL_LIBRARIES = 2 };
    char message[1024];
    void *handle;

    for (int loaded = 0;; loaded++) {
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (handle)
            return handle;
        snprintf(message, sizeof message, "%s", dlerror());
        if (loaded == MAX_MODEL_LIBRARIES || !driver_load_model_library(message))
            break;
    }
    driver_explain_dlopen(path, message);
    return NULL;
}

static uint32_t driver_open_module(struct ondk_wdk_driver *d, const char *path)
{
    char whole[PATH_MAX];
    void *already;

    /* dlopen does not search directories for an absolute path. */
    if (!realpath(path, whole)) {
        host_error("%s: no such file", path);
        return (uint32_t)STATUS_OBJECT_NAME_NOT_FOUND;
    }
    already = dlopen(whole, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (already) {
        dlclose(already);
        host_error("%s is loaded already, or was left mapped when it was unloaded with something outstanding", path);
        return (uint32_t)STATUS_IMAGE_ALREADY_LOADED;
    }
    d->handle = driver_dlopen(whole);
    if (!d->handle)
        return (uint32_t)STATUS_DRIVER_UNABLE_TO_LOAD;
    d->object.DriverInit = (PDRIVER_INITIALIZE)(uintptr_t)dlsym(d->handle, "DriverEntry");
    if (!d->object.DriverInit) {
        host_error("%s has no DriverEntry that can be seen from outside: does the file that defines it include wdm.h?",
                   path);
        return (uint32_t)STATUS_DRIVER_ENTRYPOINT_NOT_FOUND;
    }
    driver_find_extent(d);
    return 0;
}

/* ---- The object ------------------------------------------------------------------------------------------------- */

static bool driver_make_name(UNICODE_STRING *out, const char *directory, const char *name)
{
    char whole[sizeof SERVICES + MAX_NAME];
    size_t n;

    snprintf(whole, sizeof whole, "%s%s", directory, name);
    out->Buffer = text_wide_copy(whole);
    if (!out->Buffer)
        return false;
    n = text_wide_length(out->Buffer) * sizeof(WCHAR);
    out->Length = (USHORT)n;
    out->MaximumLength = (USHORT)(n + sizeof(WCHAR));
    return true;
}

static bool driver_init_object(struct ondk_wdk_driver *d)
{
    DRIVER_OBJECT *o = &d->object;

    o->Type = IO_TYPE_DRIVER;
    o->Size = sizeof *o;
    o->DriverExtension = &d->extension;
    d->extension.DriverObject = o;
    for (int i = 0; i <= IRP_MJ_MAXIMUM_FUNCTION; i++)
        o->MajorFunction[i] = driver_invalid_request;
    return driver_make_name(&o->DriverName, OBJECTS, d->name) &&
           driver_make_name(&d->extension.ServiceKeyName, "", d->name) &&
           driver_make_name(&d->registry_path, SERVICES, d->name);
}

/*
 * Frees the members of the driver object when its last reference is dropped. driver_free unmaps the module. This
 * function is never called if the driver has not deleted a device, because each device has a reference on the driver
 * object.
 */
static void driver_destroy(void *driver)
{
    struct ondk_wdk_driver *d = driver;

    for (struct client *c = d->clients, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(d->object.DriverName.Buffer);
    free(d->extension.ServiceKeyName.Buffer);
    free(d->registry_path.Buffer);
}

static void driver_free(struct ondk_wdk_driver *d, bool unmap)
{
    if (unmap && d->handle)
        dlclose(d->handle);
    ob_unref(d);
}

static void *driver_find_client(const struct ondk_wdk_driver *d, const void *key)
{
    for (struct client *c = d->clients; c; c = c->next)
        if (c->key == key)
            return c->data;
    return NULL;
}

NTSTATUS IoAllocateDriverObjectExtension(PDRIVER_OBJECT DriverObject, PVOID ClientIdentificationAddress,
                                         ULONG DriverObjectExtensionSize, PVOID *DriverObjectExtension)
{
    struct ondk_wdk_driver *d = CONTAINING_RECORD(DriverObject, struct ondk_wdk_driver, object);
    struct client *c = calloc(1, sizeof *c + DriverObjectExtensionSize);
    bool exists;

    irql_check_max("IoAllocateDriverObjectExtension", DISPATCH_LEVEL);
    *DriverObjectExtension = NULL;
    if (!c)
        return STATUS_INSUFFICIENT_RESOURCES;
    c->key = ClientIdentificationAddress;
    pthread_mutex_lock(&clients_lock);
    exists = driver_find_client(d, c->key) != NULL;
    if (!exists) {
        c->next = d->clients;
        d->clients = c;
        *DriverObjectExtension = c->data;
    }
    pthread_mutex_unlock(&clients_lock);
    if (exists)
        free(c);
    return exists ? STATUS_OBJECT_NAME_COLLISION : STATUS_SUCCESS;
}

PVOID IoGetDriverObjectExtension(PDRIVER_OBJECT DriverObject, PVOID ClientIdentificationAddress)
{
    struct ondk_wdk_driver *d = CONTAINING_RECORD(DriverObject, struct ondk_wdk_driver, object);
    void *found;

    irql_check_max("IoGetDriverObjectExtension", DISPATCH_LEVEL);
    pthread_mutex_lock(&clients_lock);
    found = driver_find_client(d, ClientIdentificationAddress);
    pthread_mutex_unlock(&clients_lock);
    return found;
}

static void driver_name_from_path(char name[MAX_NAME + 1], const char *path)
{
    const char *base = strrchr(path, '/');
    const char *dot;

    base = base ? base + 1 : path;
    dot = strrchr(base, '.');
    snprintf(name, MAX_NAME + 1, "%.*s", dot && dot != base ? (int)(dot - base) : MAX_NAME, base);
}

/* ---- Load and unload -------------------------------------------------------------------------------------------- */

/*
 * Prints what the driver has not released, and returns the number of things. If no other driver is loaded, prints
 * everything that is not released. Otherwise prints the things whose stack has a frame in the driver's module.
 * Requires `lock` or `list_lock`.
 */
static uint32_t driver_report_outstanding(struct ondk_wdk_driver *d, FILE *out)
{
    if (!drivers->next)
        return ondk_wdk_report(out);
    return d->size ? live_report_of(out, d->start, d->size) + pool_report_of(out, d->start, d->size) : 0;
}

/*
 * Waits until no worker runs an Io work item of the driver. Then returns true if the driver has released everything, or
 * if checks are off. Otherwise reports what is left and returns false. Must be called before the module is unmapped,
 * because the report has the names of the module's functions.
 */
static bool driver_has_released_all(struct ondk_wdk_driver *d, const char *routine)
{
    uint32_t outstanding;

    worker_wait_io(d->start, d->size);
    if (!check_on())
        return true;
    KeFlushQueuedDpcs(); /* a DPC routine that is queued or running may still release something */
    outstanding = driver_report_outstanding(d, report_output());
    if (outstanding)
        check_failed(CHECK_UNLOAD_OUTSTANDING, routine, (uintptr_t)&d->object, outstanding, 0, 0,
                     "driver %s has left %u things behind, listed above", d->name, outstanding);
    return outstanding == 0;
}

static void driver_unlink(struct ondk_wdk_driver *d)
{
    struct ondk_wdk_driver **at = &drivers;

    pthread_mutex_lock(&list_lock);
    while (*at != d)
        at = &(*at)->next;
    *at = d->next;
    pthread_mutex_unlock(&list_lock);
}

static void driver_link(struct ondk_wdk_driver *d)
{
    pthread_mutex_lock(&list_lock);
    d->next = drivers;
    drivers = d;
    pthread_mutex_unlock(&list_lock);
}

static void driver_run_entry(void *context)
{
    struct ondk_wdk_driver *d = context;
    UNICODE_STRING path = d->registry_path;

    d->entry_status = io_trace_driver_entry(&d->object, &path);
}

static void driver_run_unload(void *context)
{
    struct ondk_wdk_driver *d = context;

    io_trace_driver_unload(&d->object);
}

/* Creates the registry key that the installation of a service creates: type kernel driver, start on demand. */
static bool driver_make_service_key(const struct ondk_wdk_driver *d, const char *path)
{
    static const uint32_t type = 1, on_demand = 3, error_normal = 1;
    char key[sizeof SERVICES + MAX_NAME];

    snprintf(key, sizeof key, "%s%s", SERVICES, d->name);
    return !ondk_wdk_registry_set(key, "Type", REG_DWORD, &type, sizeof type) &&
           !ondk_wdk_registry_set(key, "Start", REG_DWORD, &on_demand, sizeof on_demand) &&
           !ondk_wdk_registry_set(key, "ErrorControl", REG_DWORD, &error_normal, sizeof error_normal) &&
           !ondk_wdk_registry_set_text(key, "ImagePath", REG_EXPAND_SZ, path, (uint32_t)strlen(path));
}

/*
 * Calls the `start` function of each driver model. If a model refuses the driver, for example because its only device
 * does not start, unloads the driver and returns -1.
 */
static int driver_start_models(struct ondk_wdk_driver *d, uint32_t *status)
{
    char why[1024];
    bool clean;

    if (models_start(&d->object))
        return 0;
    snprintf(why, sizeof why, "%s", ondk_wdk_error());
    (void)driver_call(driver_run_unload, d);
    clean = driver_has_released_all(d, "DriverUnload");
    driver_unlink(d);
    driver_free(d, clean);
    *status = (uint32_t)STATUS_DEVICE_CONFIGURATION_ERROR;
    return host_error("%s", why);
}

static int driver_start(struct ondk_wdk_driver *d, const char *path, uint32_t *status)
{
    *status = driver_init_object(d) ? driver_open_module(d, path) : (uint32_t)STATUS_INSUFFICIENT_RESOURCES;
    if (!*status && !driver_make_service_key(d, path))
        *status = (uint32_t)STATUS_INSUFFICIENT_RESOURCES;
    if (*status) {
        driver_free(d, true);
        return -1;
    }
    driver_link(d);
    io_trace_start();
    if (!check_on()) /* the pool uses runs of pages only while checks are off */
        pool_runs_prepare();
    if (!driver_call(driver_run_entry, d)) {
        driver_unlink(d);
        driver_free(d, true);
        *status = (uint32_t)STATUS_INSUFFICIENT_RESOURCES;
        return host_error("no thread for DriverEntry");
    }
    *status = (uint32_t)d->entry_status;
    if (!NT_SUCCESS(d->entry_status)) {
        bool clean;

        models_entry_failed(&d->object);
        clean = driver_has_released_all(d, "DriverEntry"); /* DriverUnload is not called after a failed DriverEntry */

        host_error("DriverEntry of %s returned 0x%08X", d->name, *status);
        driver_unlink(d);
        driver_free(d, clean);
        return -1;
    }
    device_initialized(&d->object);
    return driver_start_models(d, status);
}

int ondk_wdk_load(const char *path, const char *service_name, ondk_wdk_driver_t **driver, uint32_t *status)
{
    struct ondk_wdk_driver *d = ob_new(&driver_type, sizeof *d);
    int result;

    if (!d) {
        *status = (uint32_t)STATUS_INSUFFICIENT_RESOURCES;
        return host_error("no memory");
    }
    driver_name_from_path(d->name, service_name ? service_name : path);
    if (service_name)
        snprintf(d->name, sizeof d->name, "%s", service_name);
    pthread_mutex_lock(&lock);
    result = driver_start(d, path, status);
    pthread_mutex_unlock(&lock);
    if (!result)
        *driver = d;
    return result;
}

static int driver_stop(struct ondk_wdk_driver *d, uint32_t *status)
{
    if (!d->object.DriverUnload) {
        *status = (uint32_t)STATUS_INVALID_DEVICE_REQUEST;
        return host_error("driver %s has set no DriverUnload", d->name);
    }
    models_before_remove(&d->object);
    if (!device_begin_unload(&d->object)) {
        *status = (uint32_t)STATUS_DEVICE_BUSY;
        return host_error("a device of driver %s is still open", d->name);
    }
    if (!models_can_remove(&d->object)) {
        device_unload_failed(&d->object);
        *status = (uint32_t)STATUS_DEVICE_BUSY;
        return -1;
    }
    models_remove(&d->object);
    if (!driver_call(driver_run_unload, d)) {
        device_unload_failed(&d->object);
        *status = (uint32_t)STATUS_INSUFFICIENT_RESOURCES;
        return host_error("no thread for DriverUnload");
    }
    *status = 0;
    return 0;
}

int ondk_wdk_unload(ondk_wdk_driver_t *driver, uint32_t *status)
{
    int result;

    process_exit();
    pthread_mutex_lock(&lock);
    result = driver_stop(driver, status);
    if (!result) {
        bool clean;

        KeFlushQueuedDpcs(); /* as Windows does before it unmaps the driver's code */
        clean = driver_has_released_all(driver, "DriverUnload");

        driver_unlink(driver);
        driver_free(driver, clean);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

uint32_t ondk_wdk_report(FILE *out)
{
    uint32_t blocks = pool_report(out);

    return blocks + live_report(out);
}

uint32_t ondk_wdk_report_driver(const char *path, FILE *out)
{
    struct ondk_wdk_driver *d;
    char name[MAX_NAME + 1];
    uint32_t n = 0;

    if (!check_on())
        return ondk_wdk_report(out);
    driver_name_from_path(name, path);
    pthread_mutex_lock(&list_lock);
    for (d = drivers; d && strcmp(d->name, name); d = d->next)
        ;
    if (d)
        n = driver_report_outstanding(d, out);
    pthread_mutex_unlock(&list_lock);
    return n;
}

uint32_t ondk_wdk_busy(void)
{
    return live_busy();
}
