/* SPDX-License-Identifier: MIT */
/* Callbacks of the registry: their order, what they block, bypass and change, and the contexts of objects. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ntifs.h"

#include "live_count.h"
#include "report.h"

/* A routine that records its notifications, for example "<a createKey", and reacts to one of them. */
struct watcher {
    char name;
    LARGE_INTEGER cookie;
    REG_NOTIFY_CLASS when; /* the notification for which it returns `result`; MaxRegNtNotifyClass: none */
    NTSTATUS result;
    void (*react)(struct watcher *w, PVOID info); /* called for `when`; may be NULL */
};

static char events[2000];

static const char *class_name(REG_NOTIFY_CLASS class)
{
    static const char *const names[MaxRegNtNotifyClass] = {
        [RegNtPreDeleteKey] = "<delete",
        [RegNtPostDeleteKey] = ">delete",
        [RegNtPreSetValueKey] = "<set",
        [RegNtPostSetValueKey] = ">set",
        [RegNtPreDeleteValueKey] = "<unset",
        [RegNtPostDeleteValueKey] = ">unset",
        [RegNtPreEnumerateKey] = "<keys",
        [RegNtPostEnumerateKey] = ">keys",
        [RegNtPreEnumerateValueKey] = "<values",
        [RegNtPostEnumerateValueKey] = ">values",
        [RegNtPreQueryKey] = "<query",
        [RegNtPostQueryKey] = ">query",
        [RegNtPreQueryValueKey] = "<get",
        [RegNtPostQueryValueKey] = ">get",
        [RegNtPreKeyHandleClose] = "<close",
        [RegNtPostKeyHandleClose] = ">close",
        [RegNtPreCreateKeyEx] = "<create",
        [RegNtPostCreateKeyEx] = ">create",
        [RegNtPreOpenKeyEx] = "<open",
        [RegNtPostOpenKeyEx] = ">open",
        [RegNtPreFlushKey] = "<flush",
        [RegNtPostFlushKey] = ">flush",
        [RegNtCallbackObjectContextCleanup] = "!",
    };

    return names[class] ? names[class] : "?";
}

static NTSTATUS watch(PVOID context, PVOID argument1, PVOID argument2)
{
    struct watcher *w = context;
    REG_NOTIFY_CLASS class = (REG_NOTIFY_CLASS)(uintptr_t)argument1;
    size_t n = strlen(events);

    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
    snprintf(events + n, sizeof events - n, "%c%s ", w->name, class_name(class));
    if (class != w->when)
        return STATUS_SUCCESS;
    if (w->react)
        w->react(w, argument2);
    return w->result;
}

static NTSTATUS start(struct watcher *w, PCWSTR altitude)
{
    UNICODE_STRING wide;

    events[0] = 0;
    RtlInitUnicodeString(&wide, altitude);
    return CmRegisterCallbackEx(watch, &wide, &events, w, &w->cookie, NULL);
}

static void stop(struct watcher *w)
{
    assert_int_equal(CmUnRegisterCallback(w->cookie), STATUS_SUCCESS);
}

static void happened(const char *expected)
{
    assert_string_equal(events, expected);
    events[0] = 0;
}

static NTSTATUS open_key(HANDLE below, PCWSTR name, bool create, HANDLE *key)
{
    UNICODE_STRING wide;
    OBJECT_ATTRIBUTES a;

    RtlInitUnicodeString(&wide, name);
    InitializeObjectAttributes(&a, &wide, OBJ_KERNEL_HANDLE, below, NULL);
    return create ? ZwCreateKey(key, KEY_ALL_ACCESS, &a, 0, NULL, 0, NULL) : ZwOpenKey(key, KEY_READ, &a);
}

static NTSTATUS set_value(HANDLE key, PCWSTR name, ULONG number)
{
    UNICODE_STRING wide;

    RtlInitUnicodeString(&wide, name);
    return ZwSetValueKey(key, &wide, 0, REG_DWORD, &number, sizeof number);
}

static NTSTATUS get_value(HANDLE key, PCWSTR name, ULONG *number)
{
    union {
        KEY_VALUE_PARTIAL_INFORMATION info;
        char room[64];
    } out;
    UNICODE_STRING wide;
    ULONG length;
    NTSTATUS status;

    RtlInitUnicodeString(&wide, name);
    status = ZwQueryValueKey(key, &wide, KeyValuePartialInformation, &out, sizeof out, &length);
    if (!status)
        memcpy(number, out.info.Data, sizeof *number);
    return status;
}

static NTSTATUS delete_value(HANDLE key, PCWSTR name)
{
    UNICODE_STRING wide;

    RtlInitUnicodeString(&wide, name);
    return ZwDeleteValueKey(key, &wide);
}

static HANDLE root;

static int make_root(void **state)
{
    (void)state;
    return open_key(NULL, L"\\Registry\\Machine\\Watched", true, &root);
}

static int close_root(void **state)
{
    (void)state;
    return ZwClose(root);
}

static void test_operations(void **state)
{
    struct watcher w = { .name = 'a', .when = MaxRegNtNotifyClass };
    uint32_t before = live_count();
    char room[200];
    ULONG number, length;
    HANDLE key;

    (void)state;
    assert_int_equal(start(&w, L"100"), STATUS_SUCCESS);
    assert_int_equal(live_count(), before + 1);
    assert_int_equal(open_key(root, L"Sub", true, &key), STATUS_SUCCESS);
    happened("a<create a>create ");
    assert_int_equal(set_value(key, L"n", 5), STATUS_SUCCESS);
    assert_int_equal(get_value(key, L"n", &number), STATUS_SUCCESS);
    assert_int_equal(number, 5);
    assert_int_equal(delete_value(key, L"n"), STATUS_SUCCESS);
    happened("a<set a>set a<get a>get a<unset a>unset ");
    assert_int_equal(ZwQueryKey(key, KeyBasicInformation, room, sizeof room, &length), STATUS_SUCCESS);
    assert_int_equal(ZwEnumerateKey(key, 0, KeyBasicInformation, room, sizeof room, &length), STATUS_NO_MORE_ENTRIES);
    assert_int_equal(ZwEnumerateValueKey(key, 0, KeyValueBasicInformation, room, sizeof room, &length),
                     STATUS_NO_MORE_ENTRIES);
    assert_int_equal(ZwFlushKey(key), STATUS_SUCCESS);
    happened("a<query a>query a<keys a>keys a<values a>values a<flush a>flush ");
    assert_int_equal(ZwDeleteKey(key), STATUS_SUCCESS);
    assert_int_equal(ZwClose(key), STATUS_SUCCESS);
    happened("a<delete a>delete a<close a>close ");
    assert_int_equal(open_key(NULL, L"\\Registry\\Machine\\None", false, &key), STATUS_OBJECT_NAME_NOT_FOUND);
    happened("a<open a>open ");
    stop(&w);
    assert_int_equal(live_count(), before);
    assert_int_equal(set_value(root, L"n", 6), STATUS_SUCCESS);
    happened("");
    assert_int_equal(CmUnRegisterCallback(w.cookie), STATUS_INVALID_PARAMETER);
}

static void test_altitudes(void **state)
{
    struct watcher low = { .name = 'l', .when = MaxRegNtNotifyClass },
                   high = { .name = 'h', .when = MaxRegNtNotifyClass },
                   middle = { .name = 'm', .when = MaxRegNtNotifyClass },
                   old = { .name = 'o', .when = MaxRegNtNotifyClass };

    (void)state;
    assert_int_equal(start(&low, L"99.9"), STATUS_SUCCESS);
    assert_int_equal(start(&high, L"1000"), STATUS_SUCCESS);
    assert_int_equal(start(&middle, L"0099.95"), STATUS_SUCCESS);
    assert_int_equal(start(&old, L"99.95"), STATUS_FLT_INSTANCE_ALTITUDE_COLLISION);
    assert_int_equal(start(&old, L""), STATUS_INVALID_PARAMETER);
    assert_int_equal(CmRegisterCallback(watch, &old, &old.cookie), STATUS_SUCCESS);
    assert_int_equal(set_value(root, L"n", 1), STATUS_SUCCESS);
    happened("o<set h<set m<set l<set l>set m>set h>set o>set ");
    stop(&middle);
    stop(&old);
    assert_int_equal(set_value(root, L"n", 1), STATUS_SUCCESS);
    happened("h<set l<set l>set h>set ");
    stop(&low);
    stop(&high);
}

static void expect_denied(struct watcher *w, PVOID info)
{
    assert_int_equal(((PREG_POST_OPERATION_INFORMATION)info)->Status, STATUS_ACCESS_DENIED);
    (void)w;
}

/* Lower routines are not called for a blocked operation; higher ones learn its status. */
static void test_block(void **state)
{
    struct watcher high = { .name = 'h', .when = RegNtPostSetValueKey, .react = expect_denied },
                   middle = { .name = 'm', .when = RegNtPreSetValueKey, .result = STATUS_ACCESS_DENIED },
                   low = { .name = 'l', .when = MaxRegNtNotifyClass };
    ULONG number = 0;
    HANDLE key;

    (void)state;
    assert_int_equal(set_value(root, L"b", 1), STATUS_SUCCESS);
    assert_int_equal(start(&high, L"3"), STATUS_SUCCESS);
    assert_int_equal(start(&middle, L"2"), STATUS_SUCCESS);
    assert_int_equal(start(&low, L"1"), STATUS_SUCCESS);
    assert_int_equal(set_value(root, L"b", 2), STATUS_ACCESS_DENIED);
    happened("h<set m<set h>set ");
    middle.when = RegNtPreCreateKeyEx;
    assert_int_equal(open_key(root, L"Denied", true, &key), STATUS_ACCESS_DENIED);
    happened("h<create m<create h>create ");
    middle.when = RegNtPreKeyHandleClose; /* has no effect */
    assert_int_equal(open_key(root, L"", false, &key), STATUS_SUCCESS);
    events[0] = 0;
    assert_int_equal(ZwClose(key), STATUS_SUCCESS);
    happened("h<close m<close l<close l>close m>close h>close ");
    stop(&high);
    stop(&middle);
    stop(&low);
    assert_int_equal(get_value(root, L"b", &number), STATUS_SUCCESS);
    assert_int_equal(number, 1);
    assert_int_equal(open_key(root, L"Denied", false, &key), STATUS_OBJECT_NAME_NOT_FOUND);
}

/* The routine sets another value instead; its own operation notifies only lower routines. */
static void set_instead(struct watcher *w, PVOID info)
{
    PREG_SET_VALUE_KEY_INFORMATION set = info;

    (void)w;
    assert_int_equal(set->Type, REG_DWORD);
    assert_int_equal(set->DataSize, sizeof(ULONG));
    assert_int_equal(set_value(root, L"instead", *(ULONG *)set->Data), STATUS_SUCCESS);
}

static void change_status(struct watcher *w, PVOID info)
{
    PREG_POST_OPERATION_INFORMATION post = info;

    (void)w;
    assert_int_equal(post->Status, STATUS_SUCCESS);
    assert_int_equal(((PREG_SET_VALUE_KEY_INFORMATION)post->PreInformation)->Type, REG_DWORD);
    post->ReturnStatus = STATUS_QUOTA_EXCEEDED;
}

static void test_bypass(void **state)
{
    struct watcher w = { .name = 'w',
                         .when = RegNtPreSetValueKey,
                         .result = STATUS_CALLBACK_BYPASS,
                         .react = set_instead },
                   low = { .name = 'l', .when = MaxRegNtNotifyClass };
    ULONG number = 0;

    (void)state;
    assert_int_equal(start(&w, L"2"), STATUS_SUCCESS);
    assert_int_equal(start(&low, L"1"), STATUS_SUCCESS);
    assert_int_equal(set_value(root, L"bypassed", 7), STATUS_SUCCESS);
    happened("w<set l<set l>set ");
    assert_int_equal(get_value(root, L"bypassed", &number), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(get_value(root, L"instead", &number), STATUS_SUCCESS);
    assert_int_equal(number, 7);
    w.when = RegNtPostSetValueKey;
    w.react = change_status;
    assert_int_equal(set_value(root, L"changed", 8), STATUS_QUOTA_EXCEEDED);
    assert_int_equal(get_value(root, L"changed", &number), STATUS_SUCCESS);
    stop(&w);
    stop(&low);
}

static void create_instead(struct watcher *w, PVOID info)
{
    PREG_CREATE_KEY_INFORMATION_V1 create = info;
    UNICODE_STRING expected = RTL_CONSTANT_STRING(L"Wished");
    HANDLE key;

    (void)w;
    assert_int_equal(create->Version, 1);
    assert_true(RtlEqualUnicodeString(create->CompleteName, &expected, FALSE));
    assert_non_null(create->RootObject);
    assert_int_equal(open_key(root, L"Given", true, &key), STATUS_SUCCESS);
    assert_int_equal(
        ObReferenceObjectByHandle(key, KEY_ALL_ACCESS, *CmKeyObjectType, KernelMode, create->ResultObject, NULL),
        STATUS_SUCCESS);
    ZwClose(key);
    *create->Disposition = REG_CREATED_NEW_KEY;
    create->GrantedAccess = KEY_ALL_ACCESS;
}

static void test_bypass_create(void **state)
{
    struct watcher w = {
        .name = 'w', .when = RegNtPreCreateKeyEx, .result = STATUS_CALLBACK_BYPASS, .react = create_instead
    };
    uint32_t before = live_count();
    HANDLE key;

    (void)state;
    assert_int_equal(start(&w, L"2"), STATUS_SUCCESS);
    assert_int_equal(open_key(root, L"Wished", true, &key), STATUS_SUCCESS);
    assert_int_equal(set_value(key, L"n", 9), STATUS_SUCCESS);
    assert_int_equal(ZwClose(key), STATUS_SUCCESS);
    w.react = NULL; /* bypasses without a result */
    assert_int_equal(open_key(root, L"Wished", true, &key), STATUS_INVALID_PARAMETER);
    stop(&w);
    assert_int_equal(open_key(root, L"Given", false, &key), STATUS_SUCCESS);
    ZwClose(key);
    assert_int_equal(open_key(root, L"Wished", false, &key), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(live_count(), before);
}

static int own_context;

static void set_context(struct watcher *w, PVOID info)
{
    PREG_POST_OPERATION_INFORMATION post = info;
    PVOID old = &old;

    assert_int_equal(post->Status, STATUS_SUCCESS);
    assert_null(post->ObjectContext);
    assert_int_equal(CmSetCallbackObjectContext(post->Object, &w->cookie, &own_context, &old), STATUS_SUCCESS);
    assert_null(old);
    w->when = RegNtPreSetValueKey;
    w->react = NULL;
}

static void note_context(struct watcher *w, PVOID info)
{
    PREG_SET_VALUE_KEY_INFORMATION set = info;
    size_t n = strlen(events);

    (void)w;
    snprintf(events + n, sizeof events - n, "%s ", set->ObjectContext == &own_context ? "mine" : "none");
    set->CallContext = &events;
}

static void check_call_context(struct watcher *w, PVOID info)
{
    (void)w;
    assert_ptr_equal(((PREG_POST_OPERATION_INFORMATION)info)->CallContext, &events);
}

/* A context belongs to one open of the key and one routine. */
static void test_contexts(void **state)
{
    struct watcher w = { .name = 'w', .when = RegNtPostOpenKeyEx, .react = set_context };
    HANDLE with, without;

    (void)state;
    assert_int_equal(open_key(root, L"", false, &without), STATUS_SUCCESS);
    assert_int_equal(start(&w, L"2"), STATUS_SUCCESS);
    assert_int_equal(open_key(root, L"", false, &with), STATUS_SUCCESS);
    w.react = note_context;
    events[0] = 0;
    assert_int_equal(set_value(with, L"n", 1), STATUS_SUCCESS);
    assert_int_equal(set_value(without, L"n", 1), STATUS_SUCCESS);
    happened("w<set mine w>set w<set none w>set ");
    w.when = MaxRegNtNotifyClass;
    ZwClose(without);
    ZwClose(with);
    happened("w<close w>close w<close w>close w! ");
    w.when = RegNtPostOpenKeyEx;
    w.react = set_context;
    assert_int_equal(open_key(root, L"", false, &with), STATUS_SUCCESS);
    events[0] = 0;
    stop(&w);
    happened("w! ");
    ZwClose(with);
    happened("");
}

/* Refers to the object of the notification as a driver does that asks for its name. */
static void use_object(struct watcher *w, PVOID info)
{
    PVOID object = ((PREG_KEY_HANDLE_CLOSE_INFORMATION)info)->Object; /* also the first member of other structures */
    HANDLE key;
    ULONG length;

    (void)w;
    ObReferenceObject(object);
    assert_int_equal(
        ObOpenObjectByPointer(object, OBJ_KERNEL_HANDLE, NULL, KEY_READ, *CmKeyObjectType, KernelMode, &key),
        STATUS_SUCCESS);
    assert_int_equal(ZwQueryKey(key, KeyNameInformation, NULL, 0, &length), STATUS_BUFFER_TOO_SMALL);
    ZwClose(key);
    ObDereferenceObject(object);
}

/* The last handle's close is notified, and the last reference's end returns the context. Both may use the object. */
static void test_object_in_use(void **state)
{
    struct watcher w = { .name = 'w', .when = RegNtPostOpenKeyEx, .react = set_context };
    uint32_t before;
    HANDLE key, second;
    PVOID object;

    (void)state;
    assert_int_equal(start(&w, L"2"), STATUS_SUCCESS);
    before = live_count();
    assert_int_equal(open_key(root, L"", false, &key), STATUS_SUCCESS);
    assert_int_equal(ObReferenceObjectByHandle(key, 0, *CmKeyObjectType, KernelMode, &object, NULL), STATUS_SUCCESS);
    assert_int_equal(ObOpenObjectByPointer(object, OBJ_KERNEL_HANDLE, NULL, KEY_READ, NULL, KernelMode, &second),
                     STATUS_SUCCESS);
    w.when = RegNtPreKeyHandleClose;
    w.react = use_object;
    events[0] = 0;
    ZwClose(key);
    happened("");
    ZwClose(second);
    happened("w<close w>close ");
    w.when = RegNtCallbackObjectContextCleanup;
    ObDereferenceObject(object);
    happened("w! ");
    assert_int_equal(live_count(), before);
    stop(&w);
}

/* Checks that the callback receives after an operation the context that it has stored before. */
static NTSTATUS watch_call_context(PVOID context, PVOID argument1, PVOID argument2)
{
    REG_NOTIFY_CLASS class = (REG_NOTIFY_CLASS)(uintptr_t)argument1;

    if (class == RegNtPreSetValueKey)
        note_context(context, argument2);
    if (class == RegNtPostSetValueKey)
        check_call_context(context, argument2);
    return STATUS_SUCCESS;
}

static void test_call_context(void **state)
{
    LARGE_INTEGER cookie, other;

    (void)state;
    assert_int_equal(CmRegisterCallback(watch_call_context, NULL, &cookie), STATUS_SUCCESS);
    assert_int_equal(CmRegisterCallback(watch_call_context, NULL, &other), STATUS_SUCCESS);
    assert_int_equal(set_value(root, L"n", 1), STATUS_SUCCESS);
    assert_int_equal(CmUnRegisterCallback(cookie), STATUS_SUCCESS);
    assert_int_equal(CmUnRegisterCallback(other), STATUS_SUCCESS);
}

static void check_identity(struct watcher *w, PVOID info)
{
    static const UNICODE_STRING expected = RTL_CONSTANT_STRING(L"\\Registry\\Machine\\Watched");
    PREG_SET_VALUE_KEY_INFORMATION set = info;
    LARGE_INTEGER wrong = { .QuadPart = 1 };
    PCUNICODE_STRING name, copy;
    ULONG_PTR id, again, other;
    PVOID object;

    assert_int_equal(CmCallbackGetKeyObjectID(&w->cookie, set->Object, &id, &name), STATUS_SUCCESS);
    assert_true(RtlEqualUnicodeString(name, &expected, FALSE));
    assert_int_equal(CmCallbackGetKeyObjectIDEx(&w->cookie, set->Object, &again, &copy, 0), STATUS_SUCCESS);
    assert_true(RtlEqualUnicodeString(copy, &expected, FALSE) && again == id);
    CmCallbackReleaseKeyObjectIDEx(copy);
    assert_int_equal(ObReferenceObjectByHandle(root, 0, *CmKeyObjectType, KernelMode, &object, NULL), STATUS_SUCCESS);
    assert_ptr_not_equal(object, set->Object);
    assert_int_equal(CmCallbackGetKeyObjectID(&w->cookie, object, &other, NULL), STATUS_SUCCESS);
    assert_int_equal(other, id);
    ObDereferenceObject(object);
    assert_int_equal(CmCallbackGetKeyObjectID(&wrong, set->Object, &id, NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(CmCallbackGetKeyObjectIDEx(&w->cookie, set->Object, &id, NULL, 1), STATUS_INVALID_PARAMETER);
}

static void test_identity(void **state)
{
    struct watcher w = { .name = 'w', .when = RegNtPreSetValueKey, .react = check_identity };
    ULONG major = 0, minor = 0;
    HANDLE key;

    (void)state;
    CmGetCallbackVersion(&major, &minor);
    assert_int_equal(major * 10 + minor, 11);
    assert_int_equal(start(&w, L"2"), STATUS_SUCCESS);
    assert_int_equal(open_key(root, L"", false, &key), STATUS_SUCCESS);
    assert_int_equal(set_value(key, L"n", 1), STATUS_SUCCESS);
    ZwClose(key);
    stop(&w);
}

static atomic_int stage;

static void wait_for_stage(int expected)
{
    while (atomic_load(&stage) < expected)
        sched_yield();
}

static void block_thread(struct watcher *w, PVOID info)
{
    (void)w;
    (void)info;
    atomic_store(&stage, 1);
    wait_for_stage(2);
    atomic_store(&stage, 3);
}

static void *set_slowly(void *unused)
{
    assert_int_equal(set_value(root, L"slow", 1), STATUS_SUCCESS);
    return unused;
}

/* Lets block_thread return once CmUnRegisterCallback has removed the routine, and waits for the routine's return. */
static void *allow_return(void *context)
{
    struct watcher *w = context;
    PVOID object;
    ULONG_PTR id;

    assert_int_equal(ObReferenceObjectByHandle(root, 0, *CmKeyObjectType, KernelMode, &object, NULL), STATUS_SUCCESS);
    while (!CmCallbackGetKeyObjectID(&w->cookie, object, &id, NULL))
        sched_yield();
    ObDereferenceObject(object);
    atomic_store(&stage, 2);
    return NULL;
}

static void test_unregister_waits(void **state)
{
    struct watcher w = { .name = 'w', .when = RegNtPreSetValueKey, .react = block_thread };
    pthread_t setter, other;

    (void)state;
    atomic_store(&stage, 0);
    assert_int_equal(start(&w, L"2"), STATUS_SUCCESS);
    assert_int_equal(pthread_create(&setter, NULL, set_slowly, NULL), 0);
    wait_for_stage(1);
    assert_int_equal(pthread_create(&other, NULL, allow_return, &w), 0);
    stop(&w);
    assert_int_equal(atomic_load(&stage), 3);
    assert_int_equal(pthread_join(setter, NULL), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
    happened("w<set "); /* and no notification after the operation */
}

static void *close_slowly(void *key)
{
    ZwClose(key);
    return NULL;
}

static void test_unregister_waits_for_cleanup(void **state)
{
    struct watcher w = { .name = 'w', .when = RegNtPostOpenKeyEx, .react = set_context };
    pthread_t closer, other;
    HANDLE key;

    (void)state;
    atomic_store(&stage, 0);
    assert_int_equal(start(&w, L"2"), STATUS_SUCCESS);
    assert_int_equal(open_key(root, L"", false, &key), STATUS_SUCCESS);
    w.when = RegNtCallbackObjectContextCleanup;
    w.react = block_thread;
    assert_int_equal(pthread_create(&closer, NULL, close_slowly, key), 0);
    wait_for_stage(1);
    assert_int_equal(pthread_create(&other, NULL, allow_return, &w), 0);
    stop(&w);
    assert_int_equal(atomic_load(&stage), 3);
    assert_int_equal(pthread_join(closer, NULL), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
}

static void unregister_itself(struct watcher *w, PVOID info)
{
    (void)info;
    assert_int_equal(CmUnRegisterCallback(w->cookie), STATUS_INVALID_PARAMETER);
}

static void test_misuse(void **state)
{
    struct watcher w = { .name = 'w', .when = RegNtPreSetValueKey, .react = unregister_itself };
    struct report *r = report_start();

    (void)state;
    assert_int_equal(start(&w, L"2"), STATUS_SUCCESS);
    assert_int_equal(set_value(root, L"n", 1), STATUS_SUCCESS);
    report_says(r, "lock-recursive in CmUnRegisterCallback", "waits for its own return");
    stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_altitudes),
        cmocka_unit_test(test_block),
        cmocka_unit_test(test_bypass),
        cmocka_unit_test(test_bypass_create),
        cmocka_unit_test(test_contexts),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_unregister_waits),
        cmocka_unit_test(test_call_context),
        cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_unregister_waits_for_cleanup),
        cmocka_unit_test(test_object_in_use),
    };

    return cmocka_run_group_tests(tests, make_root, close_root);
}
