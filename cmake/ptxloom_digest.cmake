# SPDX-License-Identifier: Apache-2.0
# ptxloom_digest(<target> <name> <namespace> <folder>...)
#   Gives <target> the generated header <name>.hpp (include it by that path), which declares
#   `std::string_view <namespace>::digest()`: a hash of all files in these folders. What they generate is the same where
#   it is. Their list is <name>.txt beside the header.
#   Run as a script (-P), this file writes the source that defines it: with -D list=FILE root=FOLDER output=FILE
#   namespace=NAMESPACE.
if(CMAKE_SCRIPT_MODE_FILE)
  file(STRINGS "${list}" files)
  set(all "")
  foreach(file IN LISTS files)
    file(SHA256 "${root}/${file}" hash)
    string(APPEND all "${hash} ${file}\n")
  endforeach()
  string(SHA256 digest "${all}")
  file(WRITE "${output}" "// Generated.\n#include <string_view>\n\nnamespace ${namespace} {\n"
       "std::string_view digest();\nstd::string_view digest() { return \"${digest}\"; }\n}\n")
  return()
endif()

set(PTXLOOM_DIGEST_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(ptxloom_digest target name namespace)
  list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE patterns)
  list(TRANSFORM patterns APPEND "/*")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" ${patterns})
  list(FILTER files EXCLUDE REGEX "(^|/)\\.|__pycache__|~$") # what editors and interpreters leave
  list(SORT files)
  set(stem "${PROJECT_BINARY_DIR}/generated/${name}")
  list(JOIN files "\n" lines)
  file(CONFIGURE OUTPUT "${stem}.txt" CONTENT "${lines}\n" @ONLY)
  file(CONFIGURE OUTPUT "${stem}.hpp" @ONLY
       CONTENT "#pragma once\n\n#include <string_view>\n\nnamespace ${namespace} {\nstd::string_view digest();\n}\n")
  list(TRANSFORM files PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE paths)
  add_custom_command(
    OUTPUT "${stem}.cpp" DEPENDS ${paths} "${stem}.txt" "${PTXLOOM_DIGEST_SCRIPT}"
    COMMAND ${CMAKE_COMMAND} -D "list=${stem}.txt" -D "root=${PROJECT_SOURCE_DIR}" -D "output=${stem}.cpp"
            -D "namespace=${namespace}" -P "${PTXLOOM_DIGEST_SCRIPT}"
    COMMENT "Hashing what ${name} stands for" VERBATIM)
  set_source_files_properties("${stem}.cpp" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON) # it often changes
  target_sources(${target} PRIVATE "${stem}.cpp")
  target_include_directories(${target} PRIVATE "${PROJECT_BINARY_DIR}/generated")
endfunction()
