/* case_models.c - the reader of src/ops/NAME.case, which belongs to tests/ops: each room's tests are linked with the files
 * of their own folder. */
#include "ops/case_file.c"
