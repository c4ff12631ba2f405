# SPDX-License-Identifier: Apache-2.0
# For tests that use the tool installed in ${work} with template libraries.
# says(<library> <exit code> <regular expression> <argument>...): what the tool prints with a library.
function(says library code expected)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env "PTXLOOM_TEMPLATES=${library}" "PTXLOOM_CACHE_DIR=${work}/cache"
                          "PTXLOOM_RECORDS=${work}/records" "${work}/installed/bin/ptxloom" ${ARGN}
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result STREQUAL code OR NOT output MATCHES "${expected}")
    list(JOIN ARGN " " arguments)
    message(FATAL_ERROR "ptxloom ${arguments}: exit code ${result}, not ${code} with '${expected}': ${output}")
  endif()
endfunction()
