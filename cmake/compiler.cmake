# What everything of ours is compiled with: the library, the command, the tests.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# -ffp-contract=off: the fixed math words and the evaluator promise the same bits on every machine.
add_compile_options(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -fvisibility=hidden -ffp-contract=off)
# The x87 unit rounds to 64 bits, not 53, so that promise needs SSE2 on 32-bit x86 (-m32).
if(CMAKE_SIZEOF_VOID_P EQUAL 4 AND CMAKE_SYSTEM_PROCESSOR MATCHES "86|amd64|AMD64")
    add_compile_options(-msse2 -mfpmath=sse)
endif()
# Strict C11 hides POSIX (mmap, fsync, mkstemp); the library uses POSIX 2008 and nothing beyond it
# (but for files without a name, where the system has them: base/file.c).
add_compile_definitions(_POSIX_C_SOURCE=200809L)
if(BURIN_WERROR)
    add_compile_options(-Werror)
endif()
if(BURIN_SANITIZE)
    add_compile_options(-fsanitize=${BURIN_SANITIZE} -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${BURIN_SANITIZE})
    if(BURIN_SANITIZE MATCHES "address")
        # Every piece of an arena is an allocation of its own, so that the sanitizer sees its bounds.
        add_compile_definitions(BURIN_ARENA_CHECK)
    endif()
endif()
if(BURIN_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(BURIN_COVERAGE)
    add_compile_options(--coverage)
    add_link_options(--coverage)
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

find_program(BURIN_CCACHE ccache)
mark_as_advanced(BURIN_CCACHE)
if(BURIN_CCACHE AND NOT DEFINED CMAKE_C_COMPILER_LAUNCHER)
    set(CMAKE_C_COMPILER_LAUNCHER ${BURIN_CCACHE})
endif()
