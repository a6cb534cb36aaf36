# SPDX-License-Identifier: MIT
# What drivers are compiled and linked with: for the target openndk::driver, openndk-wdk.pc, ndk-cc and the tests.
#
# What MSVC takes for granted, in gcc's and clang's words: 16-bit wide literals, its extensions and bit fields, one
# object for a variable that several files define without a value, pointers that may alias, arithmetic that wraps. A
# call stays a call, and a frame has its pointer, so that stacks in reports are whole.
set(ONDK_DRIVER_FLAGS -fshort-wchar -fms-extensions -mms-bitfields -fno-strict-aliasing -fwrapv
  -fno-delete-null-pointer-checks -fno-optimize-sibling-calls -fno-omit-frame-pointer
  -Wno-multichar -Wno-unknown-pragmas -Wno-ignored-attributes)
set(ONDK_DRIVER_C_FLAGS -std=gnu11 -fcommon)
set(ONDK_DRIVER_DEFINES _AMD64_ _WIN64 NTDDI_VERSION=0x0A000000)
# Files that were given the same __inline function each have a copy of it. Functions are visible, so that reports can
# name them, and yet a driver calls its own.
set(ONDK_DRIVER_LINK_FLAGS -Wl,-z,muldefs -Wl,-Bsymbolic -Wl,--as-needed)
# The kernel, Storport, KMDF and CNG: --as-needed leaves out those that the driver does not call.
set(ONDK_DRIVER_KERNEL openndk-wdk openndk-wdk-storport openndk-wdk-wdf openndk-wdk-cng)
