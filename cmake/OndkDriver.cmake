# SPDX-License-Identifier: MIT
# ondk_driver(NAME SOURCES a.c... [INCLUDES dir...] [DEFINES name...]): builds a kernel driver's sources, as they are, into
# NAME.so, which ndkrun loads. For a folder as it comes from Windows (include files in another spelling, a project's list)
# call ndk-cc instead; it uses the same flags.
#
# What MSVC takes for granted, in gcc's and clang's words: 16-bit wide literals, its extensions and bit fields, one object
# for a variable that several files define without a value, pointers that may alias, arithmetic that wraps. A call stays a
# call, and a frame has its pointer, so that stacks in reports are whole.
set(ONDK_DRIVER_FLAGS -fshort-wchar -fms-extensions -mms-bitfields -fno-strict-aliasing -fwrapv
  -fno-delete-null-pointer-checks -fno-optimize-sibling-calls -fno-omit-frame-pointer
  -Wno-multichar -Wno-unknown-pragmas -Wno-ignored-attributes -Wno-microsoft)
set(ONDK_DRIVER_C_FLAGS -std=gnu11 -fcommon)
set(ONDK_DRIVER_DEFINES _AMD64_ _WIN64 NTDDI_VERSION=0x0A000000)
# Files that were given the same __inline function each have a copy of it. Functions are visible, so that reports can name
# them, and yet a driver calls its own.
set(ONDK_DRIVER_LINK_FLAGS -Wl,-z,muldefs -Wl,-Bsymbolic -Wl,--as-needed)
# The kernel, Storport and KMDF: --as-needed leaves out those that the driver does not call.
set(ONDK_DRIVER_KERNEL openndk-wdk openndk-wdk-storport openndk-wdk-wdf)

function(ondk_driver NAME)
  cmake_parse_arguments(D "" "" "SOURCES;INCLUDES;DEFINES" ${ARGN})
  add_library(${NAME} MODULE ${D_SOURCES})
  set_target_properties(${NAME} PROPERTIES PREFIX "" C_VISIBILITY_PRESET default)
  target_include_directories(${NAME} PRIVATE ${D_INCLUDES} ${ONDK_WDK_INCLUDE})
  target_compile_definitions(${NAME} PRIVATE ${ONDK_DRIVER_DEFINES} ${D_DEFINES})
  target_compile_options(${NAME} PRIVATE ${ONDK_DRIVER_FLAGS} $<$<COMPILE_LANGUAGE:C>:${ONDK_DRIVER_C_FLAGS}>)
  if(ONDK_SANITIZE MATCHES address) # a common variable has no red zones
    target_compile_options(${NAME} PRIVATE $<$<COMPILE_LANGUAGE:C>:-fno-common>)
  endif()
  target_link_options(${NAME} PRIVATE ${ONDK_DRIVER_LINK_FLAGS})
  target_link_libraries(${NAME} PRIVATE ondk_wdk ondk_wdk_storport ondk_wdk_wdf)
endfunction()
