# Most of a first build is spent on reading the same headers for each file. With PSIM_UNITY the files of one folder
# are compiled a few at a time, as one.
set(PSIM_UNITY_FILES 8)  # more save little, and leave the second core idle at the end

function(psim_unity target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(folder ${source} DIRECTORY)
    file(RELATIVE_PATH folder ${CMAKE_CURRENT_SOURCE_DIR} ${folder})
    string(MAKE_C_IDENTIFIER "in_${folder}" room)
    math(EXPR ${room} "0${${room}} + 1")
    math(EXPR part "(${${room}} - 1) / ${PSIM_UNITY_FILES}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room}_${part})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PSIM_UNITY} UNITY_BUILD_MODE GROUP)
endfunction()
