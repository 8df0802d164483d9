# cmake -DLIST=... -DOUT=... -P embed.cmake: writes the C file OUT with the bytes of each file that LIST names.
# Bytes, not string literals: C11 promises only 4,095 characters in one literal.
file(STRINGS ${LIST} files)
set(arrays "")
set(rows "")
set(count 0)
foreach(file IN LISTS files)
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(................................)" "\\1\n    " bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1, " bytes "${bytes}")
    get_filename_component(name ${file} NAME)
    string(APPEND arrays "static const unsigned char text_${count}[] = {\n    ${bytes}0x00,\n};\n")
    string(APPEND rows "    {\"${name}\", (const char *)text_${count}, sizeof text_${count} - 1},\n")
    math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUT}.new "/* Generated from the .op files of src/ops. */
#include \"ops/embedded.h\"

${arrays}
const ops_source ops_sources[] = {
${rows}    {NULL, NULL, 0},
};
const size_t ops_source_count = ${count};
")
file(RENAME ${OUT}.new ${OUT})
