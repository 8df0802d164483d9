/* replay.c - main of a fuzzer in the ordinary builds: runs it over files, as a test.
 *
 * Takes folders (tests/fuzz/seeds/X: inputs worth keeping, found by the fuzzer or made by hand) and gives the fuzzer
 * every file of them; first, always, the empty input and each single byte. A fault ends the program.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size);

/* Copies to memory of exactly that size, so that AddressSanitizer sees a read past its end. */
static void run(const uint8_t *bytes, size_t size) {
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact)
        exit(1);
    for (size_t i = 0; i < size; i++)
        exact[i] = bytes[i];
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static int run_file(const char *path) {
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    size_t size = fread(bytes, 1, sizeof bytes, file);
    int whole = feof(file) && !ferror(file);
    fclose(file);
    if (whole)
        run(bytes, size);
    return whole;
}

int main(int argc, char **argv) {
    size_t count = 0;
    run(NULL, 0);
    for (unsigned byte = 0; byte < 256; byte++)
        run(&(uint8_t){(uint8_t)byte}, 1);
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (!folder) {
            perror(argv[i]);
            return 1;
        }
        for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
            char path[4096];
            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            if (!run_file(path)) {
                fprintf(stderr, "%s: cannot be read, or is larger than 1 MiB\n", path);
                return 1;
            }
            count++;
        }
        closedir(folder);
    }
    printf("257 inputs and %zu files\n", count);
    return 0;
}
