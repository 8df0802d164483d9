/* fuzz_tflite.c - any bytes as a TFLite file (model.h). */
#include "fuzz/model.h"

enum { BYTES_FOR_EACH = 400, BYTES_ANYWAY = 1 << 28 }; /* a variable may begin with 16 MiB of zeros, which are read, printed and parsed */

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size) {
    fuzz_read("tflite", BYTES_ANYWAY, BYTES_FOR_EACH, at, size);
    return 0;
}
