# SPDX-License-Identifier: Apache-2.0
# ptxloom_digest(<target> <header> <namespace> <constant> <folder>...)
#   Gives <target> the generated header <header> (include it by that path), in which a hash of all sources in these
#   folders is `inline constexpr std::string_view <namespace>::<constant>`: what they generate is the same where it is.
#   Run as a script (-P), this file writes it.
if(CMAKE_SCRIPT_MODE_FILE)
  set(all "")
  foreach(file IN LISTS files)
    file(SHA256 "${root}/${file}" hash)
    string(APPEND all "${hash} ${file}\n")
  endforeach()
  string(SHA256 digest "${all}")
  file(WRITE "${output}" "// Generated.\n#pragma once\n\n#include <string_view>\n\n"
       "namespace ${namespace} {\ninline constexpr std::string_view ${constant} = \"${digest}\";\n}\n")
  return()
endif()

set(PTXLOOM_DIGEST_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(ptxloom_digest target header namespace constant)
  list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/")
  list(TRANSFORM ARGN APPEND "/*.[chj]*" OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" ${patterns})
  list(SORT files)
  set(output "${PROJECT_BINARY_DIR}/generated/${header}")
  list(TRANSFORM files PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE paths)
  add_custom_command(
    OUTPUT "${output}" DEPENDS ${paths} "${PTXLOOM_DIGEST_SCRIPT}"
    COMMAND ${CMAKE_COMMAND} -D "root=${PROJECT_SOURCE_DIR}" -D "files=${files}" -D "output=${output}"
            -D "namespace=${namespace}" -D "constant=${constant}" -P "${PTXLOOM_DIGEST_SCRIPT}"
    COMMENT "Hashing sources for ${header}" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
  target_include_directories(${target} PRIVATE "${PROJECT_BINARY_DIR}/generated")
endfunction()
