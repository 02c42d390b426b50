# find_package(psim): psim::psim is the library (docs/library.md), psim::command_line all of psim's subcommands.
include(${CMAKE_CURRENT_LIST_DIR}/dependencies.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/psimTargets.cmake)
