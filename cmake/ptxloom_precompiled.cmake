# SPDX-License-Identifier: Apache-2.0
# In a build from nothing (CMAKE_UNITY_BUILD) the headers that nearly every file includes are parsed once.
# ptxloom_precompiled(<name> <header>...): precompiles these headers with the options of the targets in this folder.
# ptxloom_use_precompiled(<target> <name>): the target's files begin with them. It must have the same options.
function(ptxloom_precompiled name)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// Generated: for the precompiled headers alone.\n")
  add_library(${name} STATIC "${source}")
  target_link_libraries(${name} PRIVATE ptxloom_options fmt::fmt)
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()

function(ptxloom_use_precompiled target name)
  if(TARGET ${name})
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()
