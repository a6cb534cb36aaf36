# SPDX-License-Identifier: MIT
# Installation. Every file belongs to one component, for `cmake --install --component` and for packages:
#   openndk-lib       libopenndk.so.0                 openndk-wdk-lib    the kernel's libraries
#   openndk-dev       headers, archive, pkg-config,   openndk-wdk-dev    the same for drivers
#                     find_package                    openndk-wdk-tools  ndk-cc, ndkrun, plugin of nbdkit
#   openndk-tools     the other tools                 openndk-doc        docs/
# The target ondk_installable builds what `cmake --install` needs, without tests, samples and benchmark.
add_custom_target(ondk_installable)

# ondk_install(target... [COMPONENT name] [DEV name] [EXPORT name]): COMPONENT's default is openndk-tools. DEV is the
# component of a library's link that names no version. EXPORT: the list in which find_package finds the targets.
function(ondk_install)
  cmake_parse_arguments(I "" "COMPONENT;DEV;EXPORT" "" ${ARGN})
  set(targets ${I_UNPARSED_ARGUMENTS})
  if(NOT ONDK_INSTALL)
    return()
  endif()
  if(NOT I_COMPONENT)
    set(I_COMPONENT openndk-tools)
  endif()
  set(export "")
  if(I_EXPORT)
    set(export EXPORT ${I_EXPORT})
  endif()
  set(dev "")
  if(I_DEV)
    set(dev NAMELINK_COMPONENT ${I_DEV})
  endif()
  install(TARGETS ${targets} ${export}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${I_COMPONENT}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${I_COMPONENT} ${dev}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${I_COMPONENT}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL INTERFACE_LIBRARY)
      add_dependencies(ondk_installable ${target})
    endif()
  endforeach()
endfunction()

# A pkg-config file. Where it lies says where it is installed: that is chosen after this (cmake --install --prefix), and
# may be moved. Only an absolute CMAKE_INSTALL_LIBDIR decides that now.
function(ondk_install_pc NAME COMPONENT)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(ONDK_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
  else()
    file(RELATIVE_PATH to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
    string(REGEX REPLACE "/$" "" to_prefix ${to_prefix})
    set(ONDK_PC_PREFIX \${pcfiledir}/${to_prefix})
  endif()
  cmake_path(APPEND ONDK_PC_LIBDIR "\${prefix}" "${CMAKE_INSTALL_LIBDIR}") # an absolute path stays as it is
  cmake_path(APPEND ONDK_PC_INCLUDEDIR "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${NAME}.pc.in ${PROJECT_BINARY_DIR}/cmake/${NAME}.pc @ONLY)
  if(ONDK_INSTALL)
    install(FILES ${PROJECT_BINARY_DIR}/cmake/${NAME}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
      COMPONENT ${COMPONENT})
  endif()
endfunction()

# What belongs to no target: find_package's files, headers and documents. Called when all targets are there.
function(ondk_install_package)
  if(NOT ONDK_INSTALL)
    return()
  endif()
  include(CMakePackageConfigHelpers)
  set(dir ${CMAKE_INSTALL_LIBDIR}/cmake/openndk)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/openndk-config.cmake.in
    ${PROJECT_BINARY_DIR}/cmake/openndk-config.cmake INSTALL_DESTINATION ${dir})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/openndk-config-version.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/cmake/openndk-config.cmake
    ${PROJECT_BINARY_DIR}/cmake/openndk-config-version.cmake DESTINATION ${dir} COMPONENT openndk-dev)
  foreach(part shared static)
    install(EXPORT openndk-${part}-targets NAMESPACE openndk:: DESTINATION ${dir} COMPONENT openndk-dev)
  endforeach()
  install(DIRECTORY include/ndk include/ndkconform include/openndk DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    COMPONENT openndk-dev PATTERN wdk.h EXCLUDE)
  # With the paths by which documents refer to each other.
  set(doc ${CMAKE_INSTALL_DATAROOTDIR}/doc/openndk)
  install(DIRECTORY docs examples samples DESTINATION ${doc} COMPONENT openndk-doc
    USE_SOURCE_PERMISSIONS
    FILES_MATCHING PATTERN *.md PATTERN *.svg PATTERN *.[ch] PATTERN build PATTERN netio.def PATTERN nvmectl
    PATTERN man EXCLUDE)
  install(FILES README.md SECURITY.md CONTRIBUTING.md CHANGELOG.md LICENSE DESTINATION ${doc} COMPONENT openndk-doc)
  install(FILES tests/interop/README.md DESTINATION ${doc}/tests/interop COMPONENT openndk-doc)
  if(ONDK_WDK)
    install(EXPORT openndk-wdk-targets NAMESPACE openndk:: DESTINATION ${dir} COMPONENT openndk-wdk-dev)
    install(FILES cmake/OndkDriver.cmake DESTINATION ${dir} COMPONENT openndk-wdk-dev)
    install(DIRECTORY include/wdk DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT openndk-wdk-dev)
    install(FILES include/openndk/wdk.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/openndk COMPONENT openndk-wdk-dev)
  endif()
endfunction()
