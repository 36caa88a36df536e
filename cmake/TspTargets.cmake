# tsp_library(NAME sources... [DEPENDS tablegen-targets...] [LINK libraries...])
#
# A static library of the compiler. All of them share one precompiled header
# (lib/Support/Precompiled.h) and link the MLIR and LLVM shared libraries.
function(tsp_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE -Wall -Wno-unused-parameter)
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
  add_dependencies(${name} tsp-tablegen ${ARG_DEPENDS})
  if(TARGET TspPrecompiled AND NOT name STREQUAL TspPrecompiled)
    target_precompile_headers(${name} REUSE_FROM TspPrecompiled)
  endif()
endfunction()

# tsp_tablegen(FILE.td OUT generator-flags...) adds OUT to the current list of
# generated files; tsp_tablegen_done() hangs them on the target tsp-tablegen.
macro(tsp_tablegen td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  mlir_tablegen(${ARGN})
endmacro()

function(tsp_tablegen_done name)
  add_public_tablegen_target(${name})
  add_dependencies(tsp-tablegen ${name})
endfunction()
