/* SPDX-License-Identifier: MIT */
/* Hashes at DISPATCH_LEVEL with a provider of its own, and unloads with a provider, a hash and a key left. */
#include <ntddk.h>

#include <bcrypt.h>

static BCRYPT_ALG_HANDLE sha256;

static NTSTATUS hash_something(void)
{
    UCHAR value[32];
    NTSTATUS status;
    KIRQL irql;

    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    status = BCryptHash(sha256, NULL, 0, (PUCHAR) "abc", 3, value, sizeof value);
    KeLowerIrql(irql);
    return NT_SUCCESS(status) && value[0] == 0xba ? STATUS_SUCCESS : STATUS_UNSUCCESSFUL;
}

static void forgetful_unload(PDRIVER_OBJECT driver)
{
    UNREFERENCED_PARAMETER(driver);
}

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    BCRYPT_HASH_HANDLE hash;
    BCRYPT_KEY_HANDLE key;
    UCHAR secret[32] = { 0 };

    UNREFERENCED_PARAMETER(path);
    driver->DriverUnload = forgetful_unload;
    if (!NT_SUCCESS(BCryptOpenAlgorithmProvider(&sha256, BCRYPT_SHA256_ALGORITHM, NULL, BCRYPT_PROV_DISPATCH)) ||
        !NT_SUCCESS(BCryptCreateHash(sha256, &hash, NULL, 0, NULL, 0, 0)) ||
        !NT_SUCCESS(BCryptGenerateSymmetricKey(BCRYPT_AES_GCM_ALG_HANDLE, &key, NULL, 0, secret, sizeof secret, 0)))
        return STATUS_UNSUCCESSFUL;
    return hash_something();
}
