# SPDX-License-Identifier: MIT
# Cross build for arm64 with Debian's compiler. The libraries are in ONDK_SYSROOT, which tests/arm64/sysroot creates,
# and qemu runs the tests.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(ONDK_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../build/sysroot-arm64" CACHE PATH
  "A Debian root of arm64 with the libraries")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ONDK_SYSROOT)
get_filename_component(CMAKE_SYSROOT "${ONDK_SYSROOT}" ABSOLUTE)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${CMAKE_SYSROOT})
