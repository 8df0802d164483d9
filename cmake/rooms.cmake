# Rooms from src/ROOMS and the folders: for each an object library room_X and an archive roomlib_X; all objects together
# are libburin. Also makes the lists of formats and targets, and embeds the operators' definitions.
# Gives BURIN_ROOMS (those that have sources, bottom to top) and BURIN_BELOW_X (what X may link).
set(BURIN_GENERATED ${PROJECT_BINARY_DIR}/generated)

function(burin_room_id room out)
    string(REPLACE "/" "_" id ${room})
    set(${out} ${id} PARENT_SCOPE)
endfunction()

# The sub-folders of src/GROUP that hold a .c file, sorted: the rooms GROUP/*.
function(burin_subrooms group out)
    file(GLOB files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src/${group} src/${group}/*/*.c)
    set(names "")
    foreach(file IN LISTS files)
        get_filename_component(name ${file} DIRECTORY)
        if(NOT name MATCHES "^[a-z][a-z0-9_]*$")
            message(FATAL_ERROR "src/${group}/${name}: the folder's name becomes part of a C name: lower case, digits, _")
        endif()
        list(APPEND names ${name})
    endforeach()
    list(REMOVE_DUPLICATES names)
    set(${out} ${names} PARENT_SCOPE)
endfunction()

# generated/GROUP/list.c: defines PREFIX_list and PREFIX_count, which the face GROUP/HEADER declares, from what each
# sub-folder NAME exports: a TYPE called PREFIX_NAME.
function(burin_list group type prefix header)
    burin_subrooms(${group} names)
    set(externs "")
    set(rows "")
    foreach(name IN LISTS names)
        string(APPEND externs "extern const ${type} ${prefix}_${name};\n")
        string(APPEND rows "    &${prefix}_${name},\n")
    endforeach()
    list(LENGTH names count)
    file(CONFIGURE OUTPUT ${BURIN_GENERATED}/${group}/list.c @ONLY CONTENT "/* Generated from the folders in src/${group}. */
#include \"${group}/${header}\"
${externs}const ${type} *const ${prefix}_list[] = {
${rows}    NULL,
};
const size_t ${prefix}_count = ${count};
")
endfunction()

# generated/providers/list.c: the entry function providers_NAME of each sub-folder of src/providers, and of examples/null_provider.c,
# which is built in as it stands.
function(burin_providers out)
    burin_subrooms(providers names)
    list(PREPEND names null)
    set(externs "")
    set(rows "")
    foreach(name IN LISTS names)
        string(APPEND externs "const burin_provider *providers_${name}(void);\n")
        string(APPEND rows "    providers_${name},\n")
    endforeach()
    set(list ${BURIN_GENERATED}/providers/list.c)
    file(CONFIGURE OUTPUT ${list} @ONLY CONTENT "/* Generated from the folders in src/providers. */
#include \"providers/providers.h\"
${externs}const burin_provider_entry_fn providers_list[] = {
${rows}    NULL,
};
")
    set_source_files_properties(examples/null_provider.c PROPERTIES COMPILE_DEFINITIONS NULL_PROVIDER_ENTRY=providers_null)
    set(${out} ${list} examples/null_provider.c PARENT_SCOPE)
endfunction()

# The definitions src/ops/*.op as C bytes; the text is made again when one of them changes.
function(burin_embed_ops out)
    file(GLOB definitions CONFIGURE_DEPENDS src/ops/*.op)
    set(file ${BURIN_GENERATED}/ops/embedded.c)
    set(list ${BURIN_GENERATED}/ops/definitions.txt)
    list(JOIN definitions "\n" lines)
    file(CONFIGURE OUTPUT ${list} CONTENT "@lines@\n" @ONLY)
    add_custom_command(
        OUTPUT ${file}
        COMMAND ${CMAKE_COMMAND} -DLIST=${list} -DOUT=${file} -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
        DEPENDS ${definitions} ${list} cmake/embed.cmake
        COMMENT "Embedding the operators' definitions"
        VERBATIM)
    set(${out} ${file} PARENT_SCOPE)
endfunction()

# The device profiles devices/*.yaml as a C table.
function(burin_devices out)
    file(GLOB profiles CONFIGURE_DEPENDS devices/*.yaml)
    set(file ${BURIN_GENERATED}/plan/devices.c)
    file(MAKE_DIRECTORY ${BURIN_GENERATED}/plan)
    # The system's Python first: its packages are the ones that scripts/setup installs.
    find_program(BURIN_PYTHON python3 HINTS /usr/bin NO_CMAKE_ENVIRONMENT_PATH REQUIRED)
    add_custom_command(
        OUTPUT ${file}
        COMMAND ${BURIN_PYTHON} ${PROJECT_SOURCE_DIR}/scripts/devices.py ${file} ${profiles}
        DEPENDS ${profiles} scripts/devices.py
        COMMENT "Making the table of devices"
        VERBATIM)
    set(${out} ${file} PARENT_SCOPE)
endfunction()

function(burin_add_room room below)
    burin_room_id(${room} id)
    file(GLOB sources CONFIGURE_DEPENDS src/${room}/*.c)
    if(room STREQUAL ops AND sources)
        burin_embed_ops(embedded)
        list(APPEND sources ${embedded})
    elseif(room STREQUAL plan AND sources)
        burin_devices(devices)
        list(APPEND sources ${devices})
    elseif(room STREQUAL providers AND sources)
        burin_providers(more)
        list(APPEND sources ${more})
    elseif(room STREQUAL formats AND EXISTS ${PROJECT_SOURCE_DIR}/src/formats/formats.h)
        burin_list(formats formats_interface formats formats.h)
        list(APPEND sources ${BURIN_GENERATED}/formats/list.c)
    elseif(room STREQUAL targets AND EXISTS ${PROJECT_SOURCE_DIR}/src/targets/target.h)
        burin_list(targets target_interface target target.h)
        list(APPEND sources ${BURIN_GENERATED}/targets/list.c)
    endif()
    set(BURIN_BELOW_${id} "${below}" PARENT_SCOPE)
    if(NOT sources)
        return()
    endif()
    if(room STREQUAL lang AND NOT BURIN_COVERAGE)
        # The row kernels are loops that count on being vectorised, in every preset. No -march: the same bits everywhere.
        set_source_files_properties(src/lang/eval_rows.c src/lang/eval_access.c PROPERTIES COMPILE_OPTIONS -O3)
    endif()
    add_library(room_${id} OBJECT ${sources})
    target_include_directories(room_${id} PRIVATE src include ${BURIN_GENERATED})
    add_library(roomlib_${id} STATIC $<TARGET_OBJECTS:room_${id}>)
    set_target_properties(roomlib_${id} PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/rooms)
    set(BURIN_ROOMS ${BURIN_ROOMS} ${room} PARENT_SCOPE)
endfunction()

# Links TARGET with ROOM and the rooms below it. WHOLE: every object of ROOM, so that a name it cannot reach is an error.
function(burin_link_room target room)
    burin_room_id(${room} id)
    set(wanted ${BURIN_BELOW_${id}})
    # A group's list names its members, and a member may use what its group shares.
    foreach(other IN LISTS BURIN_ROOMS)
        if(other MATCHES "^${room}/" OR (room MATCHES "^([a-z]+)/" AND other STREQUAL CMAKE_MATCH_1))
            list(APPEND wanted ${other})
        endif()
    endforeach()
    set(libraries "")
    foreach(other IN LISTS BURIN_ROOMS)
        burin_room_id(${other} other_id)
        if(other IN_LIST wanted OR (other STREQUAL room AND NOT "WHOLE" IN_LIST ARGN))
            list(APPEND libraries roomlib_${other_id})
        endif()
    endforeach()
    if("WHOLE" IN_LIST ARGN)
        target_link_libraries(${target} PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,roomlib_${id}>")
    endif()
    if(libraries)
        list(JOIN libraries "," libraries)
        target_link_libraries(${target} PRIVATE "$<LINK_GROUP:RESCAN,${libraries}>")
    endif()
    target_link_libraries(${target} PRIVATE m Threads::Threads)
endfunction()

set(BURIN_ROOMS "")
set(above "")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/ROOMS)
file(STRINGS src/ROOMS lines REGEX "^[a-z]")
foreach(line IN LISTS lines)
    if(NOT line MATCHES "^([a-z]+)(/[*])?:(.*)$")
        message(FATAL_ERROR "src/ROOMS: not a room: ${line}")
    endif()
    set(name ${CMAKE_MATCH_1})
    set(members ${CMAKE_MATCH_2})
    string(REGEX MATCHALL "[^ ]+" words "${CMAKE_MATCH_3}")
    set(below "")
    foreach(word IN LISTS words)
        if(word STREQUAL "...")
            list(APPEND below ${above})
        elseif(word MATCHES "^([a-z]+)/[*]$")
            burin_subrooms(${CMAKE_MATCH_1} subrooms)
            list(TRANSFORM subrooms PREPEND ${CMAKE_MATCH_1}/)
            list(APPEND below ${subrooms})
        else()
            list(APPEND below ${word})
        endif()
    endforeach()
    set(rooms ${name})
    if(members)
        burin_subrooms(${name} rooms)
        list(TRANSFORM rooms PREPEND ${name}/)
    endif()
    if(NOT name STREQUAL cli)
        foreach(room IN LISTS rooms)
            burin_add_room(${room} "${below}")
        endforeach()
        list(APPEND above ${rooms})
    endif()
endforeach()

if(BURIN_ROOMS)
    add_library(libburin STATIC)
    foreach(room IN LISTS BURIN_ROOMS)
        burin_room_id(${room} id)
        target_sources(libburin PRIVATE $<TARGET_OBJECTS:room_${id}>)
    endforeach()
    set_target_properties(libburin PROPERTIES OUTPUT_NAME burin EXPORT_NAME burin LINKER_LANGUAGE C)
    target_include_directories(libburin INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
    target_link_libraries(libburin PUBLIC m Threads::Threads)
endif()

file(GLOB cli_sources CONFIGURE_DEPENDS src/cli/*.c)
if(cli_sources)
    add_executable(burin ${cli_sources})
    target_include_directories(burin PRIVATE src) # its own headers; scripts/check_layers.py holds it to include/burin
    target_link_libraries(burin PRIVATE libburin)
    # Files of options (--config) are YAML. Without the library the command says so; the core reads none.
    find_path(BURIN_YAML_INCLUDE yaml.h)
    find_library(BURIN_YAML_LIBRARY yaml)
    if(BURIN_YAML_INCLUDE AND BURIN_YAML_LIBRARY)
        target_compile_definitions(burin PRIVATE BURIN_YAML)
        target_include_directories(burin SYSTEM PRIVATE ${BURIN_YAML_INCLUDE})
        target_link_libraries(burin PRIVATE ${BURIN_YAML_LIBRARY})
    else()
        message(STATUS "No libyaml: burin will have no --config (Debian: libyaml-dev)")
    endif()
endif()
