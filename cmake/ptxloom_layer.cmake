# SPDX-License-Identifier: Apache-2.0
# The layers of src/. Each is a library target whose link list holds the only edges allowed; the test
# "layering" reads the same list (layers.txt) and fails on an #include that goes elsewhere.

# ptxloom_layer(<name> [PUBLIC <header>...] [USES <layer>...] [LIBS <library>...] [SOURCES <file>...] [CUDA])
#   PUBLIC   the headers of include/ptxloom/ that this layer implements
#   USES     the layers it may use, directly and through them
#   LIBS     third-party libraries
#   SOURCES  files besides src/<name>/*.cpp, e.g. generated ones
#   CUDA     with PTXLOOM_CUDA=OFF, src/<name>/absent/*.cpp is compiled in place of src/<name>/*.cpp
# Makes the target ptxloom_<name>; a layer without sources is an INTERFACE library.
function(ptxloom_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CUDA" "" "PUBLIC;USES;LIBS;SOURCES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ptxloom_layer(${name}): what is '${arg_UNPARSED_ARGUMENTS}'?")
  endif()
  foreach(used IN LISTS arg_USES)
    if(NOT TARGET ptxloom_${used})
      message(FATAL_ERROR "ptxloom_layer(${name}) uses the layer ${used}, which is not there or comes later")
    endif()
  endforeach()

  set(folder "${PROJECT_SOURCE_DIR}/src/${name}")
  if(arg_CUDA AND NOT PTXLOOM_CUDA)
    string(APPEND folder "/absent")
    set_property(GLOBAL APPEND PROPERTY ptxloom_absent_layers ${name})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  list(APPEND sources ${arg_SOURCES})

  set(target ptxloom_${name})
  list(TRANSFORM arg_USES PREPEND ptxloom_ OUTPUT_VARIABLE uses)
  if(sources)
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_BINARY_DIR}/generated")
    target_link_libraries(${target} PRIVATE ptxloom_options)
    set_property(GLOBAL APPEND PROPERTY ptxloom_core_layers ${target})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope} "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${target} ${scope} ${uses} ${arg_LIBS})
  ptxloom_record_layer(${name} "${arg_PUBLIC}" "${arg_USES}")
endfunction()

# ptxloom_layer_tables(<layer> <file>): a generated source file of the layer, in a library of its own, so that the
# program that generates it can be made of the layer's objects.
function(ptxloom_layer_tables layer file)
  set(target ptxloom_${layer}_tables)
  add_library(${target} STATIC "${file}")
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${target} PRIVATE ptxloom_options)
  target_link_libraries(ptxloom_${layer} INTERFACE ${target})
  set_property(GLOBAL APPEND PROPERTY ptxloom_core_layers ${target})
endfunction()

# Layers are recorded for the test, one line each: name|public headers|layers it may use.
function(ptxloom_record_layer name public uses)
  string(REPLACE ";" "," line "${name}|${public}|${uses}\n")
  set_property(GLOBAL APPEND_STRING PROPERTY ptxloom_layers "${line}")
endfunction()

function(ptxloom_write_layers path)
  get_property(lines GLOBAL PROPERTY ptxloom_layers)
  file(CONFIGURE OUTPUT "${path}" CONTENT "${lines}" @ONLY)
endfunction()

# ptxloom_product(<name> <target>...): one library that people link, of the objects of the targets given.
function(ptxloom_product name)
  if(ARGN)
    list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
    add_library(${name} ${objects})
    set(scope PUBLIC)
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION}
                          SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(ptxloom::${name} ALIAS ${name})
  target_compile_features(${name} ${scope} cxx_std_20)
  target_include_directories(${name} ${scope} "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                             "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
endfunction()

# ptxloom_core: every layer added so far.
function(ptxloom_add_core)
  get_property(layers GLOBAL PROPERTY ptxloom_core_layers)
  ptxloom_product(ptxloom_core ${layers})
  if(layers)
    target_link_libraries(ptxloom_core PRIVATE fmt::fmt Threads::Threads ${CMAKE_DL_LIBS})
  endif()
endfunction()
