# SPDX-License-Identifier: MIT
# ondk_driver(NAME SOURCES a.c... [INCLUDES dir...] [DEFINES name...]): builds a kernel driver's sources, as they are, into
# NAME.so, which ndkrun loads.
set(ONDK_DRIVER_FLAGS -fshort-wchar -fms-extensions -Wno-multichar -Wno-unknown-pragmas -fvisibility=hidden)

function(ondk_driver NAME)
  cmake_parse_arguments(D "" "" "SOURCES;INCLUDES;DEFINES" ${ARGN})
  add_library(${NAME} MODULE ${D_SOURCES})
  set_target_properties(${NAME} PROPERTIES PREFIX "")
  target_include_directories(${NAME} PRIVATE ${D_INCLUDES} ${ONDK_WDK_INCLUDE})
  target_compile_definitions(${NAME} PRIVATE _AMD64_ _WIN64 NTDDI_VERSION=0x0A000000 ${D_DEFINES})
  target_compile_options(${NAME} PRIVATE ${ONDK_DRIVER_FLAGS})
  target_link_libraries(${NAME} PRIVATE ondk_wdk)
endfunction()
