# The instruction set decides how Eigen blocks and rounds. So psim chooses it once, here, and records it in every
# run. Default: the best x86-64 level of this machine.
function(psim_best_level result)
  set(level "x86-64-v2")
  if(EXISTS /proc/cpuinfo)
    file(STRINGS /proc/cpuinfo flags REGEX "^flags" LIMIT_COUNT 1)
    if(flags MATCHES " avx2 " AND flags MATCHES " fma " AND flags MATCHES " bmi2 ")
      set(level "x86-64-v3")
      if(flags MATCHES " avx512f " AND flags MATCHES " avx512bw " AND flags MATCHES " avx512cd "
         AND flags MATCHES " avx512dq " AND flags MATCHES " avx512vl")
        set(level "x86-64-v4")
      endif()
    endif()
  endif()
  set(${result} ${level} PARENT_SCOPE)
endfunction()

psim_best_level(best_level)
set(PSIM_ARCH "${best_level}" CACHE STRING "Instruction set: x86-64-v2, x86-64-v3 or x86-64-v4.")
set_property(CACHE PSIM_ARCH PROPERTY STRINGS x86-64-v2 x86-64-v3 x86-64-v4)
message(STATUS "Instruction set: ${PSIM_ARCH} (best here: ${best_level})")
