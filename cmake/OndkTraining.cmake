# SPDX-License-Identifier: MIT
# The build that is trained: what it does is counted. Its objects are named as those of the build that uses the profile.
foreach(layer ${layers})
  target_compile_options(${layer} PRIVATE -O3 -fprofile-generate=${ONDK_TRAINING} -fprofile-update=prefer-atomic
    -fprofile-prefix-path=${PROJECT_BINARY_DIR})
endforeach()
link_libraries(gcov)
