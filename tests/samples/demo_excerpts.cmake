# SPDX-License-Identifier: Apache-2.0
# Runs the demo, -D demo=<program>, and fails unless every excerpt of PTX that it prints has a matrix instruction.
execute_process(COMMAND "${demo}" OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE ";" "," output "${output}") # no list separators
string(REGEX MATCHALL "lines of PTX, among them\n( +\\|[^\n]*\n)+" excerpts "${output}")
list(LENGTH excerpts count)
if(count LESS 5)
  message(FATAL_ERROR "the demo printed ${count} excerpts of PTX instead of one for each of its 5 cases:\n${output}")
endif()
foreach(excerpt IN LISTS excerpts)
  if(NOT excerpt MATCHES "\\|[^\n]*mma")
    message(FATAL_ERROR "an excerpt of PTX has no matrix instruction:\n${excerpt}")
  endif()
endforeach()
