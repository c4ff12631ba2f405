# SPDX-License-Identifier: Apache-2.0
# The layers of src/. Each is a library target whose link list holds the only edges allowed; the test
# "layering" reads the same list (layers.txt) and fails on an #include that goes elsewhere.

# ptxloom_layer(<name> [PUBLIC <header>...] [USES <layer>...] [LIBS <library>...] [SOURCES <file>...] [CUDA] [EXACT_FLOATS] [HOT])
#   PUBLIC   the headers of include/ptxloom/ that this layer implements
#   USES     the layers it may use, directly and through them
#   LIBS     third-party libraries
#   SOURCES  files besides src/<name>/*.cpp, e.g. generated ones
#   HOT      its loops are what users wait for, so it is compiled at the build type's level even in a quick build
#            (PTXLOOM_QUICK_BUILD)
#   EXACT_FLOATS  its floating arithmetic is what is written, see ptxloom_exact_floats
#   CUDA     with PTXLOOM_CUDA=OFF, src/<name>/absent/*.cpp is compiled in place of src/<name>/*.cpp
# Makes the target ptxloom_<name>; a layer without sources is an INTERFACE library.
function(ptxloom_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CUDA;EXACT_FLOATS;HOT" "" "PUBLIC;USES;LIBS;SOURCES")
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
    if(NOT arg_HOT)
      target_compile_options(${target} PRIVATE ${PTXLOOM_OPTIMISE_COLD})
    endif()
    if(arg_EXACT_FLOATS) # options of its own, so that it cannot share precompiled headers
      ptxloom_exact_floats(${name})
    else()
      ptxloom_use_precompiled(${target} ptxloom_headers)
    endif()
    set_property(GLOBAL APPEND PROPERTY ptxloom_core_layers ${target})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope} "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${target} ${scope} ${uses} ${arg_LIBS})
  set_target_properties(${target} PROPERTIES ptxloom_folders "src/${name};include")
  ptxloom_record_layer(${name} "${arg_PUBLIC}" "${arg_USES}")
endfunction()

# ptxloom_layer_tables(<layer> <file> <folder>): a source file of the layer that is generated from what lies in a
# folder, in a library of its own, so that the program that generates it can be made of the layer's objects.
function(ptxloom_layer_tables layer file folder)
  set(target ptxloom_${layer}_tables)
  add_library(${target} STATIC "${file}")
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${target} PRIVATE ptxloom_options)
  target_link_libraries(ptxloom_${layer} INTERFACE ${target})
  set_target_properties(${target} PROPERTIES ptxloom_folders "${folder}")
  set_property(GLOBAL APPEND PROPERTY ptxloom_core_layers ${target})
endfunction()

# ptxloom_linked_folders(<variable> <target>): the folders that the layers' code and data come from which a target
# links, by itself or through others.
function(ptxloom_linked_folders variable target)
  set(waiting ${target})
  set(seen)
  set(folders)
  while(waiting)
    list(POP_FRONT waiting next)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.+)>$" "\\1" next "${next}")
    if(next IN_LIST seen OR NOT TARGET ${next})
      continue()
    endif()
    list(APPEND seen ${next})
    foreach(property ptxloom_folders LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      get_target_property(values ${next} ${property})
      if(NOT values)
        continue()
      elseif(property STREQUAL ptxloom_folders)
        list(APPEND folders ${values})
      else()
        list(APPEND waiting ${values})
      endif()
    endforeach()
  endwhile()
  list(REMOVE_DUPLICATES folders)
  list(SORT folders)
  set(${variable} ${folders} PARENT_SCOPE)
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
