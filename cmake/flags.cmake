# The compiler flags of all psim targets. No contraction of a*b+c: the same source must give the same bits with every
# compiler and on every processor (docs/architecture.md, "Determinism"). One program serves all x86-64 processors since
# about 2011; model/numerics has products for newer ones too, and chooses at run time. psim reads no floating-point
# traps, so the compiler may use vectors. A program that links an installed psim gets the flags that affect numbers and
# the layout of Eigen's types, but no warning flags.
add_library(psim_flags INTERFACE)
set_target_properties(psim_flags PROPERTIES EXPORT_NAME flags)
target_compile_options(psim_flags INTERFACE -ffp-contract=off -fno-trapping-math)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  target_compile_options(psim_flags INTERFACE -march=x86-64-v2)
endif()
target_compile_features(psim_flags INTERFACE cxx_std_20)
set(psim_warnings -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wshadow
  -Wno-psabi -Wno-missing-field-initializers  # omitted members of a designated initialiser have defaults
  # g++ 12 warns inside its own AVX-512 headers and std::string.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-uninitialized>)
if(PSIM_WERROR)
  list(APPEND psim_warnings -Werror)
endif()
target_compile_options(psim_flags INTERFACE "$<BUILD_INTERFACE:${psim_warnings}>")
target_compile_definitions(psim_flags INTERFACE EIGEN_DONT_PARALLELIZE)
target_include_directories(psim_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/psim/internal>)

# psim_once(TARGET): for code that runs once per scenario or once per command. With -O1 it compiles in two thirds of
# the time.
function(psim_once target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# psim_split(ONCE MANY REGEX FILES...): puts files whose path matches REGEX into ONCE, the other files into MANY.
function(psim_split once many regex)
  set(all ${ARGN})
  set(some ${ARGN})
  list(FILTER some INCLUDE REGEX ${regex})
  list(FILTER all EXCLUDE REGEX ${regex})
  set(${once} ${some} PARENT_SCOPE)
  set(${many} ${all} PARENT_SCOPE)
endfunction()
