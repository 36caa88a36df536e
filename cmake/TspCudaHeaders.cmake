# Headers of the CUDA driver and of NCCL, which the emulated libraries implement:
# of an installed toolkit (CUDA_HOME, CUDA_ROOT, nvcc in PATH, /usr/local/cuda),
# else of the packages that ./bootstrap puts into .venv.
find_program(TSP_NVCC nvcc PATHS /usr/local/cuda/bin)
if(TSP_NVCC)
  get_filename_component(tsp_nvcc_real "${TSP_NVCC}" REALPATH)
  get_filename_component(tsp_nvcc_bin "${tsp_nvcc_real}" DIRECTORY)
endif()
file(GLOB tsp_package_includes
  "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu13/include"
  "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/nccl/include")
set(tsp_header_hints
  "$ENV{CUDA_HOME}/include" "$ENV{CUDA_ROOT}/include" "${tsp_nvcc_bin}/../include"
  /usr/local/cuda/include ${tsp_package_includes})

find_path(TSP_CUDA_INCLUDE cuda.h HINTS ${tsp_header_hints})
find_path(TSP_NCCL_INCLUDE nccl.h HINTS ${tsp_header_hints})
find_path(TSP_CUDART_INCLUDE cuda_runtime.h HINTS ${tsp_header_hints})
foreach(header TSP_CUDA_INCLUDE TSP_NCCL_INCLUDE TSP_CUDART_INCLUDE)
  if(NOT ${header})
    message(FATAL_ERROR "The emulated GPU needs cuda.h, cuda_runtime.h (CUDA 13) and nccl.h: "
      "none found for ${header}. Set CUDA_HOME to a toolkit, or run ./bootstrap, which "
      "installs them into .venv.")
  endif()
endforeach()

# Reads a header after preprocessing, so that names have their versions.
function(tsp_preprocess header result)
  execute_process(
    COMMAND "${CMAKE_CXX_COMPILER}" -E -P -x c++ ${ARGN} "${header}"
    OUTPUT_VARIABLE text RESULT_VARIABLE code ERROR_VARIABLE error)
  if(code)
    message(FATAL_ERROR "${header} cannot be preprocessed: ${error}")
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# Writes a function for each one that a header declares by `pattern` (its last
# word is the name). It answers `answer(name)`. Being weak, it gives way to the
# function that the library really has.
function(tsp_make_unsupported text pattern declaration answer output)
  string(REGEX MATCHALL "${pattern}" matches "${text}")
  set(content "// Made from a header by cmake/TspCudaHeaders.cmake.\n${declaration}\nextern \"C\" {\n")
  set(names)
  foreach(match IN LISTS matches)
    string(REGEX REPLACE ".*[ \n]([A-Za-z0-9_]+)$" "\\1" name "${match}")
    list(APPEND names ${name})
  endforeach()
  list(REMOVE_DUPLICATES names)
  foreach(name IN LISTS names)
    string(APPEND content "[[gnu::weak]] int ${name}() { return ${answer}(\"${name}\"); }\n")
  endforeach()
  file(GENERATE OUTPUT "${output}" CONTENT "${content}}\n")
endfunction()

# ErrorNames.inc and Unsupported.cpp of the driver.
function(tsp_make_driver_tables header directory)
  tsp_preprocess("${header}" text)
  string(REGEX MATCHALL "CUDA_(SUCCESS|ERROR_[A-Z0-9_]+) *= *[0-9]+" entries "${text}")
  set(content)
  foreach(entry IN LISTS entries)
    string(REGEX REPLACE " *=.*" "" name "${entry}")
    string(REGEX REPLACE "CUDA_(ERROR_)?" "" words "${name}")
    string(REPLACE "_" " " words "${words}")
    string(TOLOWER "${words}" words)
    string(APPEND content "{${name}, \"${name}\", \"${words}\"},\n")
  endforeach()
  file(GENERATE OUTPUT "${directory}/ErrorNames.inc" CONTENT "${content}")
  tsp_make_unsupported("${text}" "CUresult[ \n]+cu[A-Z][A-Za-z0-9_]+"
    "int tspUnsupportedDriverCall(const char *name);"
    tspUnsupportedDriverCall "${directory}/Unsupported.cpp")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
endfunction()

# Unsupported.cpp of NCCL.
function(tsp_make_nccl_table header directory)
  tsp_preprocess("${header}" text "-I${TSP_CUDART_INCLUDE}")
  tsp_make_unsupported("${text}" "ncclResult_t[ \n]+nccl[A-Z][A-Za-z0-9_]+"
    "int tspUnsupportedNcclCall(const char *name);"
    tspUnsupportedNcclCall "${directory}/Unsupported.cpp")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
endfunction()
