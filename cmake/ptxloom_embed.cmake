# SPDX-License-Identifier: Apache-2.0
# ptxloom_embed(<target> <file> <header> <namespace> <constant>)
#   Gives <target> the generated header <header> (include it by that path), in which the text of <file> is
#   `inline constexpr std::string_view <namespace>::<constant>`. Run as a script (-P), this file writes it.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${input}" text)
  # A compiler need not take a string literal longer than 64 KB; adjacent ones are joined.
  string(LENGTH "${text}" length)
  set(literal "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 16000 piece)
    string(APPEND literal "\n    R\"~~~(${piece})~~~\"")
    math(EXPR at "${at} + 16000")
  endwhile()
  file(WRITE "${output}" "// Generated; the text of ${source}.\n#pragma once\n\n#include <string_view>\n\n"
       "namespace ${namespace} {\ninline constexpr std::string_view ${constant} = ${literal};\n}\n")
  return()
endif()

set(PTXLOOM_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(ptxloom_embed target file header namespace constant)
  set(output "${PROJECT_BINARY_DIR}/generated/${header}")
  file(RELATIVE_PATH source "${PROJECT_SOURCE_DIR}" "${file}")
  add_custom_command(
    OUTPUT "${output}" DEPENDS "${file}" "${PTXLOOM_EMBED_SCRIPT}"
    COMMAND ${CMAKE_COMMAND} -D "input=${file}" -D "output=${output}" -D "source=${source}"
            -D "namespace=${namespace}" -D "constant=${constant}" -P "${PTXLOOM_EMBED_SCRIPT}"
    COMMENT "Embedding ${source}" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
  target_include_directories(${target} PRIVATE "${PROJECT_BINARY_DIR}/generated")
endfunction()
