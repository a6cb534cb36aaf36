# SPDX-License-Identifier: MIT
# Before a layer is compiled: builds the library once more, with counters, in a build of its own, runs bench_train with
# it, and has the layers compiled with what was counted. Where that cannot be done they are compiled without. What the
# compiler says of counts that are missing is of no use to anybody, and all other warnings stop all other builds (-w).
set(training ${PROJECT_BINARY_DIR}/training)
set(profile ${training}/profile)
file(GLOB_RECURSE trained CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.h ${PROJECT_SOURCE_DIR}/include/*.h)
foreach(layer ${layers})
  get_target_property(sources ${layer} SOURCES)
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(APPEND trained ${sources})
  list(APPEND profiled ${sources})
endforeach()
add_custom_command(OUTPUT ${profile}.stamp COMMENT "Training the library" VERBATIM
  DEPENDS ${trained} ${PROJECT_SOURCE_DIR}/bench/train.c ${PROJECT_SOURCE_DIR}/bench/pairs.c
  COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR} -D BUILD=${training} -D PROFILE=${profile}
          -D GENERATOR=${CMAKE_GENERATOR} -D MAKE=${CMAKE_MAKE_PROGRAM} -D COMPILER=${CMAKE_C_COMPILER}
          -D CXX_COMPILER=${CMAKE_CXX_COMPILER} -D FLAGS=${CMAKE_C_FLAGS} -D TYPE=${CMAKE_BUILD_TYPE}
          -P ${PROJECT_SOURCE_DIR}/cmake/train.cmake)
set_source_files_properties(${profiled} PROPERTIES OBJECT_DEPENDS ${profile}.stamp)
list(APPEND whole_flags -fprofile-use=${profile} -fprofile-prefix-path=${PROJECT_BINARY_DIR}
  -fprofile-partial-training -w)
