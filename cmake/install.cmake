# Rules of `cmake --install`: the program with its scenarios and course, and the library.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS psim psim-further RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY docs/course DESTINATION ${CMAKE_INSTALL_DATADIR}/psim)
install(DIRECTORY scenarios DESTINATION ${CMAKE_INSTALL_DATADIR}/psim FILES_MATCHING PATTERN "*.toml")
install(DIRECTORY docs/stories DESTINATION ${CMAKE_INSTALL_DATADIR}/psim)
install(FILES docs/glossary.md DESTINATION ${CMAKE_INSTALL_DATADIR}/psim)
install(FILES LICENSE CITATION.cff docs/dependencies.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(TARGETS psim_library psim_further psim_cli psim_study psim_analysis psim_sim psim_model psim_flags
  EXPORT psimTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY sim/include/psim DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# The headers that the public headers include, under their own names.
foreach(folder model sim/protocol sim/record sim/scenario/spec)
  get_filename_component(above ${folder} DIRECTORY)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/psim/internal/${above}
    FILES_MATCHING PATTERN "*.hpp")
endforeach()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/psim)
install(EXPORT psimTargets NAMESPACE psim:: DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/psimConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/psimConfig.cmake cmake/dependencies.cmake ${PROJECT_BINARY_DIR}/psimConfigVersion.cmake
  DESTINATION ${package})
