# SPDX-License-Identifier: MIT
# Profile-guided optimisation of the library, in two steps. scripts/train builds the library with counters
# (ONDK_PROFILE_GENERATE) and runs bench_train, which leaves a profile. A build with ONDK_PROFILE_USE reads that
# profile. The two builds name their objects alike in it, because -fprofile-prefix-path takes off the build directory.
if(NOT CMAKE_C_COMPILER_ID STREQUAL "GNU" OR CMAKE_C_COMPILER_VERSION VERSION_LESS 12 OR ONDK_SANITIZE)
  message(FATAL_ERROR "ONDK_PROFILE_GENERATE and ONDK_PROFILE_USE need GCC 12 or later, without sanitizers")
endif()
set(profile_flags -fprofile-prefix-path=${PROJECT_BINARY_DIR})
if(ONDK_PROFILE_GENERATE)
  list(APPEND profile_flags -fprofile-generate=${ONDK_PROFILE_GENERATE} -fprofile-update=prefer-atomic)
  link_libraries(gcov)
else()
  set(stamp ${ONDK_PROFILE_USE}/stamp) # scripts/train renews it
  if(NOT EXISTS ${stamp})
    message(FATAL_ERROR "${ONDK_PROFILE_USE} holds no profile. Run: scripts/train ${ONDK_PROFILE_USE}")
  endif()
  # Training does not reach every file, which is no fault. A profile older than the source is a warning, not an error.
  list(APPEND profile_flags -fprofile-use=${ONDK_PROFILE_USE} -fprofile-partial-training
    -fprofile-correction -Wno-missing-profile -Wno-error=coverage-mismatch)
  foreach(layer ${layers})
    get_target_property(sources ${layer} SOURCES)
    set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS ${stamp})
  endforeach()
endif()
