# What every target of ours is compiled with. No contraction of a*b+c and no parallel Eigen: the
# same source must give the same bits in Debug and Release (docs/architecture.md, "Determinism").
add_library(psim_flags INTERFACE)
target_compile_options(psim_flags INTERFACE
  -march=${PSIM_ARCH} -ffp-contract=off
  -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wshadow
  -Wno-psabi -Wno-missing-field-initializers  # what a designated initialiser leaves out has its default
  # g++ 12 warns inside its own AVX-512 headers and std::string.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-restrict>
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-uninitialized>)
target_compile_definitions(psim_flags INTERFACE EIGEN_DONT_PARALLELIZE)
target_include_directories(psim_flags INTERFACE ${PROJECT_SOURCE_DIR})
if(PSIM_WERROR)
  target_compile_options(psim_flags INTERFACE -Werror)
endif()

# Of what runs once for a scenario, or for people who read its answer: it compiles in two thirds of the time.
add_library(psim_once INTERFACE)
target_link_libraries(psim_once INTERFACE psim_flags)
target_compile_options(psim_once INTERFACE $<$<CONFIG:Release>:-O1>)
