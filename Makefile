# The front door; CMakePresets.json is behind it. Each target installs the tools it needs (scripts/setup).
.PHONY: all demo check check-all bench fuzz install clean
.DEFAULT_GOAL := all
.NOTPARALLEL:

JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
export BURIN_SHARED ?= $(abspath ../shared)

# $(call build,PRESET): configured when it is not yet or the presets are newer, and built
build = { test build/$(1)/build.ninja -nt CMakePresets.json || cmake --preset $(1) $(if $(V),,>/dev/null); } && cmake --build --preset $(1) -j$(JOBS)
# $(call script,NAME): runs scripts/NAME, or says that this tree has none
script = { test -f scripts/$(1) || { echo "make: this tree has no scripts/$(1)" >&2; exit 1; }; } && sh scripts/$(1)

all:
	@sh scripts/setup build
	@$(call build,release)

# The project's own small model, or MODEL=file.tflite
demo: all
	@$(call script,demo.sh) $(if $(MODEL),'$(MODEL)')

check:
	@sh scripts/setup check
	@$(call build,debug)
	@ctest --preset debug -j$(JOBS) -LE 'corpus|slow'

# Everything: also the corpora in ../shared and the independent runtimes; both sanitizers; clang
check-all:
	@sh scripts/setup check-all
	@$(call build,debug)
	@$(call build,clang)
	@$(call build,asan)
	@sh scripts/ctest-all

bench: all
	@$(call script,bench.sh)

fuzz:
	@sh scripts/setup fuzz
	@$(call build,fuzz)
	@$(call script,fuzz.sh)

install: all
	@cmake --install build/release --prefix $(PREFIX)

clean:
	rm -rf build
