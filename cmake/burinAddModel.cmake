# burin_add_model(NAME MODEL FILE [OPTIONS OPTION...] [DEPENDS FILE...])
#
# A static library NAME of the C that burin makes of the model, built again when the model, or any other file that burin read for it,
# changes. Its header is NAME.h, its symbols begin with NAME_, its plan is NAME_plan.json beside them, in ${CMAKE_CURRENT_BINARY_DIR}/NAME.
# OPTIONS are those of `burin compile`, such as --device cortex-m4, --goal size, --weights incbin, --plan kws_plan.json;
# files in them are given by whole paths. The compiler that checks what was emitted is this machine's (--compiler, --no-check).
# With --weights blob the file NAME_weights.bin is the program's to give. burin is BURIN_EXECUTABLE, else the one that was installed
# with this file, else one on the path.
include_guard(GLOBAL)

function(burin_add_model name)
    cmake_parse_arguments(PARSE_ARGV 1 given "" "MODEL" "OPTIONS;DEPENDS")
    if(NOT given_MODEL OR given_UNPARSED_ARGUMENTS OR given_KEYWORDS_MISSING_VALUES)
        message(FATAL_ERROR "burin_add_model(NAME MODEL FILE [OPTIONS ...] [DEPENDS ...]): it needs MODEL FILE, and has \"${given_UNPARSED_ARGUMENTS}\" beside that")
    endif()
    foreach(word prefix layout output)
        if(given_OPTIONS MATCHES "(^|;)--${word}(=|;|$)")
            message(FATAL_ERROR "burin_add_model: --${word} follows from the name ${name}")
        endif()
    endforeach()
    if(NOT BURIN_EXECUTABLE)
        get_filename_component(prefix "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../.." ABSOLUTE) # of lib/cmake/burin
        find_program(BURIN_EXECUTABLE burin HINTS "${prefix}/bin" "${prefix}/../bin" NO_CMAKE_FIND_ROOT_PATH REQUIRED)
    endif()
    get_filename_component(model "${given_MODEL}" ABSOLUTE)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}")
    # the header first, as burin writes it first: ninja looks for that name in the rule
    set(outputs "${folder}/${name}.h" "${folder}/${name}.c" "${folder}/${name}_plan.json")
    if(given_OPTIONS MATCHES "--weights(=|;)(blob|incbin)")
        list(APPEND outputs "${folder}/${name}_weights.bin")
    endif()
    add_custom_command(
        OUTPUT ${outputs}
        COMMAND "${BURIN_EXECUTABLE}" compile "${model}" -o "${folder}" --prefix "${name}" --layout single --force --quiet
                -MF "${folder}.d" ${given_OPTIONS}
        DEPENDS "${model}" "${BURIN_EXECUTABLE}" ${given_DEPENDS}
        DEPFILE "${folder}.d"
        COMMENT "Engraving ${name}"
        VERBATIM)
    add_library(${name} STATIC "${folder}/${name}.c" "${folder}/${name}.h")
    set_target_properties(${name} PROPERTIES BURIN_PLAN "${folder}/${name}_plan.json")
    target_include_directories(${name} PUBLIC "$<BUILD_INTERFACE:${folder}>")
    if(given_OPTIONS MATCHES "--weights(=|;)incbin") # the assembler takes it in
        target_include_directories(${name} PRIVATE "${folder}")
        set_source_files_properties("${folder}/${name}.c" PROPERTIES OBJECT_DEPENDS "${folder}/${name}_weights.bin")
        target_compile_options(${name} PRIVATE "-Wa,-I${folder}")
    endif()
    if(NOT WIN32 AND NOT CMAKE_SYSTEM_NAME STREQUAL "Generic")
        target_link_libraries(${name} PUBLIC m)
    endif()
endfunction()
