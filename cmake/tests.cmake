# Tests from the folders. Each becomes a ctest; none is listed here.
#   tests/ROOM/test_X.c     ROOM.X: cmocka, linked with ROOM and the rooms below it (ROOM may be formats/tflite);
#                           other .c files of the folder are helpers of its tests; corpus_X.c is the same, label corpus
#   tests/fuzz/fuzz_X.c     fuzz.X: the fuzzer over the files in tests/fuzz/seeds/X
#   tests/**/*.py           when one of the first three lines says  # ctest: name=..., labels=a b, timeout=seconds
#                           (a C test may say the same in its first comment); tests/corpus/* has the label corpus
# Exit status 77 is "skipped". Tests are given BURIN (the command), BURIN_SOURCE, BURIN_BUILD in the environment.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_path(CMOCKA_INCLUDE cmocka.h)
find_library(CMOCKA_LIBRARY cmocka)
if(NOT CMOCKA_INCLUDE OR NOT CMOCKA_LIBRARY)
    message(FATAL_ERROR "The tests need cmocka: run scripts/setup check")
endif()

set(environment
    BURIN_SOURCE=${PROJECT_SOURCE_DIR}
    BURIN_BUILD=${PROJECT_BINARY_DIR}
    PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support
    PYTHONDONTWRITEBYTECODE=1)
if(TARGET burin)
    list(APPEND environment BURIN=$<TARGET_FILE:burin>)
endif()

# Reads the marker of a test's source and sets the properties of test NAME.
function(burin_test_properties name file)
    set(labels "")
    set(timeout 300)
    file(STRINGS ${file} marker LIMIT_COUNT 3 REGEX "ctest:")
    if(marker MATCHES "labels=([a-z0-9_ -]+)")
        string(REGEX MATCHALL "[a-z0-9_-]+" labels "${CMAKE_MATCH_1}")
    endif()
    if(file MATCHES "/tests/corpus/|/corpus_[^/]*$")
        list(APPEND labels corpus)
    endif()
    if(labels)
        set(timeout 1800)
    endif()
    if(marker MATCHES "timeout=([0-9]+)")
        set(timeout ${CMAKE_MATCH_1})
    endif()
    set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} SKIP_RETURN_CODE 77
        ENVIRONMENT "${environment}")
endfunction()

file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS tests/test_*.c tests/corpus_*.c)
foreach(source IN LISTS test_sources)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/tests OUTPUT_VARIABLE relative)
    cmake_path(GET relative PARENT_PATH room)
    cmake_path(GET relative STEM stem)
    if(NOT room IN_LIST BURIN_ROOMS)
        message(FATAL_ERROR "tests/${relative}: there is no room src/${room} with sources")
    endif()
    burin_room_id(${room} id)
    file(GLOB helpers CONFIGURE_DEPENDS tests/${room}/*.c)
    list(FILTER helpers EXCLUDE REGEX "/(test|corpus)_[^/]*$")
    set(target ${stem}_in_${id})
    add_executable(${target} ${source} ${helpers})
    target_include_directories(${target} PRIVATE src include tests ${BURIN_GENERATED} ${CMOCKA_INCLUDE})
    target_compile_definitions(${target} PRIVATE
        BURIN_SOURCE_DIR="${PROJECT_SOURCE_DIR}" BURIN_OPS_DIR="${PROJECT_SOURCE_DIR}/src/ops")
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    burin_link_room(${target} ${room})
    target_link_libraries(${target} PRIVATE ${CMOCKA_LIBRARY})
    string(REGEX REPLACE "^(test|corpus)_" "" short ${stem})
    string(REPLACE "/" "." prefix ${room})
    add_test(NAME ${prefix}.${short} COMMAND ${target})
    burin_test_properties(${prefix}.${short} ${source})
endforeach()

# The link test of each room: all its objects against the rooms below it only.
file(CONFIGURE OUTPUT ${BURIN_GENERATED}/link_main.c CONTENT "int main(void) {\n    return 0;\n}\n")
if(BURIN_LINK_TESTS)
    foreach(room IN LISTS BURIN_ROOMS)
        burin_room_id(${room} id)
        string(REPLACE "/" "." name ${room})
        add_executable(link_${id} ${BURIN_GENERATED}/link_main.c)
        set_target_properties(link_${id} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
        burin_link_room(link_${id} ${room} WHOLE)
        add_test(NAME link.${name} COMMAND link_${id})
        set_tests_properties(link.${name} PROPERTIES TIMEOUT 60 ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
    endforeach()
endif()

# The fuzzers tests/fuzz/fuzz_X.c as tests fuzz.X: run over tests/fuzz/seeds/X (cmake/fuzz.cmake builds them to search).
file(GLOB fuzzers CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
foreach(source IN LISTS fuzzers)
    cmake_path(GET source STEM stem)
    string(REGEX REPLACE "^fuzz_" "" name ${stem})
    file(GLOB seeds CONFIGURE_DEPENDS LIST_DIRECTORIES true tests/fuzz/seeds/${name})
    add_executable(replay_${name} ${source} tests/fuzz/replay.c)
    target_include_directories(replay_${name} PRIVATE src include tests ${BURIN_GENERATED})
    set_target_properties(replay_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_link_libraries(replay_${name} PRIVATE libburin)
    add_test(NAME fuzz.${name} COMMAND replay_${name} ${seeds})
    burin_test_properties(fuzz.${name} ${source})
endforeach()

add_test(NAME layers COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/check_layers.py ${PROJECT_SOURCE_DIR})
set_tests_properties(layers PROPERTIES TIMEOUT 60)

file(GLOB_RECURSE scripts CONFIGURE_DEPENDS tests/*.py)
foreach(script IN LISTS scripts)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
    file(STRINGS ${script} marker LIMIT_COUNT 3 REGEX "^# ctest:")
    if(NOT marker)
        continue()
    endif()
    if(NOT marker MATCHES "name=([A-Za-z0-9_.-]+)")
        message(FATAL_ERROR "${script}: its ctest line gives no name")
    endif()
    set(name ${CMAKE_MATCH_1})
    add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} ${script})
    burin_test_properties(${name} ${script})
endforeach()
