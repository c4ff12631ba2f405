# SPDX-License-Identifier: Apache-2.0
# ptxloom_page(<file.html> <output>)
#   Makes one page of <file.html> and of what lies beside it: each stylesheet and script that it names, as
#   `<link rel="stylesheet" href="X.css">` or `<script src="X.js"></script>`, is put in the place of its name. Run
#   as a script (-P), this file writes it.
if(CMAKE_SCRIPT_MODE_FILE)
  cmake_path(GET input PARENT_PATH folder)
  file(READ "${input}" page)

  function(ptxloom_put_in tag pattern)
    string(REGEX MATCHALL "${pattern}" names "${page}")
    foreach(name IN LISTS names)
      string(REGEX REPLACE "${pattern}" "\\1" file "${name}")
      file(READ "${folder}/${file}" text)
      string(REPLACE "${name}" "<${tag}>\n${text}</${tag}>" page "${page}")
    endforeach()
    set(page "${page}" PARENT_SCOPE)
  endfunction()

  ptxloom_put_in(style "<link rel=\"stylesheet\" href=\"([a-z_]+\\.css)\">")
  ptxloom_put_in(script "<script src=\"([a-z_]+\\.js)\"></script>")
  file(WRITE "${output}" "${page}")
  return()
endif()

set(PTXLOOM_PAGE_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(ptxloom_page file output)
  cmake_path(GET file PARENT_PATH folder)
  file(GLOB parts CONFIGURE_DEPENDS "${folder}/*.css" "${folder}/*.js")
  file(RELATIVE_PATH source "${PROJECT_SOURCE_DIR}" "${file}")
  add_custom_command(OUTPUT "${output}" DEPENDS "${file}" ${parts} "${PTXLOOM_PAGE_SCRIPT}"
                     COMMAND ${CMAKE_COMMAND} -D "input=${file}" -D "output=${output}" -P "${PTXLOOM_PAGE_SCRIPT}"
                     COMMENT "Joining ${source}" VERBATIM)
endfunction()
