# SPDX-License-Identifier: MIT
# ondk_driver(NAME SOURCES a.c... [INCLUDES dir...] [DEFINES name...]): builds a kernel driver's sources, as they are,
# into NAME.so, which ndkrun loads. For a folder as it comes from Windows (include files in another spelling, a
# project's list) call ndk-cc instead; it uses the same flags.
function(ondk_driver NAME)
  cmake_parse_arguments(D "" "" "SOURCES;INCLUDES;DEFINES" ${ARGN})
  add_library(${NAME} MODULE ${D_SOURCES})
  set_target_properties(${NAME} PROPERTIES PREFIX "" C_VISIBILITY_PRESET default)
  target_include_directories(${NAME} PRIVATE ${D_INCLUDES})
  target_compile_definitions(${NAME} PRIVATE ${D_DEFINES})
  target_link_libraries(${NAME} PRIVATE openndk::driver)
endfunction()
