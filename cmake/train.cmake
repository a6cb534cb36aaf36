# SPDX-License-Identifier: MIT
# A script: see OndkProfile.cmake. A profile that cannot be had is worth a word, not a failed build.
function(step what)
  if(failed)
    return()
  endif()
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said TIMEOUT 600)
  if(NOT result EQUAL 0)
    message(WARNING "the library is built without a profile: ${what}: ${result}\n${said}")
    set(failed ON PARENT_SCOPE)
  endif()
endfunction()

file(REMOVE_RECURSE ${PROFILE})
file(MAKE_DIRECTORY ${PROFILE})
step(configuring ${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD} -G ${GENERATOR} -D CMAKE_MAKE_PROGRAM=${MAKE}
  -D CMAKE_C_COMPILER=${COMPILER} -D CMAKE_CXX_COMPILER=${CXX_COMPILER} -D "CMAKE_C_FLAGS=${FLAGS}"
  -D CMAKE_BUILD_TYPE=${TYPE} -D ONDK_TESTS=OFF -D ONDK_TRAINING=${PROFILE})
step(building ${CMAKE_COMMAND} --build ${BUILD} --target bench_train)
step(training ${BUILD}/bench/bench_train)
file(GLOB counts ${PROFILE}/*.gcda)
if(NOT failed AND NOT counts)
  message(WARNING "the library is built without a profile: the training run has left none in ${PROFILE}")
endif()
if(failed)
  file(REMOVE_RECURSE ${PROFILE})
endif()
file(TOUCH ${PROFILE}.stamp)
