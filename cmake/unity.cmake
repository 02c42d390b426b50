# A first build spends most of its time on reading the same headers for each file. With PSIM_UNITY the compiler takes
# two dozen files of a target as one, in the order of their folders.
set(PSIM_UNITY_FILES 24 CACHE STRING "With PSIM_UNITY: the files of a group. Small groups suit frequent changes.")

# Such a compilation takes up to 2.3 GB (g++ 12). So only as many run at the same time as fit into the memory.
cmake_host_system_information(RESULT psim_memory QUERY TOTAL_PHYSICAL_MEMORY)  # MiB
math(EXPR psim_unity_jobs "${psim_memory} / 2500")
if(psim_unity_jobs LESS 1)
  set(psim_unity_jobs 1)
endif()
set_property(GLOBAL APPEND PROPERTY JOB_POOLS psim_unity=${psim_unity_jobs})
# With a gigabyte more, g++ collects garbage less often and takes a sixth less time.
cmake_host_system_information(RESULT psim_cores QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR psim_memory_of_core "${psim_memory} / ${psim_cores}")
if(PSIM_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND psim_memory_of_core GREATER 4000)
  add_compile_options(--param=ggc-min-heapsize=1000000)
endif()

function(psim_unity target)
  get_target_property(sources ${target} SOURCES)
  list(SORT sources)
  list(LENGTH sources count)
  math(EXPR groups "(${count} + ${PSIM_UNITY_FILES} - 1) / ${PSIM_UNITY_FILES}")
  set(place 0)
  foreach(source IN LISTS sources)
    math(EXPR group "${place} * ${groups} / ${count}")
    math(EXPR place "${place} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${target}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PSIM_UNITY} UNITY_BUILD_MODE GROUP)
  if(PSIM_UNITY)
    set_target_properties(${target} PROPERTIES JOB_POOL_COMPILE psim_unity)
  endif()
endfunction()
