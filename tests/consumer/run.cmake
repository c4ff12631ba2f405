# SPDX-License-Identifier: Apache-2.0
# run(<command>...): runs a command, and ends the test if it fails.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}: ${result}")
  endif()
endfunction()
