# libtce: build, test, install.      make help      lists the targets.
#
#   CC=clang       another compiler            BUILD=dir     objects there, libraries in dir/lib
#   SANITIZE=...   -fsanitize=...              V=1           print the commands
#   COVERAGE=1     counts what runs, for gcov
#   JOBS=n         programs run at once by the test targets
#   NO_DEPS=1      nothing is looked for, fetched or installed: what is missing becomes an error where it is needed
#   BLAS="..."     pkg-config's names of LAPACKE and a CBLAS, default "lapacke openblas"
#
# For another machine:  make CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar PKG_CONFIG=...  with a
# pkg-config that knows that machine's libraries (docs/platforms.md).

VERSION := $(shell awk '/define TCE_VERSION_(MAJOR|MINOR|PATCH) / { v = v s $$3; s = "." } END { print v }' include/tce/version.h)
MAJOR   := $(firstword $(subst ., ,$(VERSION)))

BUILD   ?= build
LIB     := $(if $(filter build,$(BUILD)),lib,$(BUILD)/lib)
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
PKG_CONFIG ?= pkg-config
JOBS    ?= $(shell nproc 2>/dev/null || echo 1)
PYTHON  ?= python3
VENV    := deps/venv
PEERS_VENV := deps/venv-peers
SITE_VENV  := deps/venv-site
TYPES_VENV := deps/venv-types
# stable-baselines3 and rltools
RL_VENV    ?= deps/venv-rl

# the compiler says which system it builds for; names and linkers of macOS differ
MACOS   := $(if $(filter %darwin %macos %macosx,$(shell $(CC) -dumpmachine 2>/dev/null | sed 's/[0-9.]*$$//')),yes)
SO      := $(if $(MACOS),dylib,so)
# name of the shared library with the version $(1) in it
versioned = libtce.$(if $(MACOS),$(1).dylib,so.$(1))

SONAME  := $(call versioned,$(MAJOR))
SHARED  := $(LIB)/$(call versioned,$(VERSION))
LIBTCE  := $(LIB)/libtce.$(SO)
STATIC  := $(LIB)/libtce.a

# version of what examples/setup fetches
version_of = $(shell awk '$$1 == "$(1)" { print $$2; exit }' examples/setup/versions)

# ---- flags -----------------------------------------------------------------------------------------

# OPT and SANITIZE may be set from outside; the rest is what the sources are written for. Contraction would make the bytes of a
# result depend on the machine.
OPT      ?= $(if $(SANITIZE)$(COVERAGE),-O1,-O2)
STANDARD := -std=c99 -D_POSIX_C_SOURCE=200809L $(if $(MACOS),-D_DARWIN_C_SOURCE)
WARNINGS := -Wall -Wextra -Wpedantic $(if $(WERROR),-Werror)
SAN      := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
COUNT    := $(if $(COVERAGE),--coverage -fprofile-update=atomic)
# DWARF 4: valgrind 3.19 cannot read what clang writes as 5
CFLAGS   ?= -g -gdwarf-4
TCE_CFLAGS := $(STANDARD) $(OPT) $(CFLAGS) $(SAN) $(COUNT) -ffp-contract=off -fPIC -fvisibility=hidden -pthread $(WARNINGS) -Iinclude -Isrc

# expanded inside recipes only: pkg-config itself may be missing, which needs-build says
BLAS       ?= lapacke openblas
BLAS_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(BLAS))
BLAS_LIBS   = $(shell $(PKG_CONFIG) --libs $(BLAS))
LIBS        = $(BLAS_LIBS) -lm -lpthread -ldl
TEST_CFLAGS = $(shell $(PKG_CONFIG) --cflags check jansson zlib) -Itests -Itests/support -Iexamples/trainer
TEST_LIBS   = $(shell $(PKG_CONFIG) --libs check jansson zlib) $(BLAS_LIBS)

# flags of single files; a file that is not there is a mistake
FILE_FLAGS := $(shell sed '/^\#/d' src/file_flags)
$(foreach line,$(FILE_FLAGS),$(if $(wildcard src/$(firstword $(subst :, ,$(line)))),,$(error src/file_flags: no file for $(line))))
file_flags  = $(patsubst $(1:src/%=%):%,%,$(filter $(1:src/%=%):%,$(FILE_FLAGS)))

COMPILE = $(CC) $(TCE_CFLAGS) $(BLAS_CFLAGS)
LINKER ?= $(CC)
LINK    = $(LINKER) $(SAN) $(COUNT) $(LDFLAGS)

# the folder $(2) as seen from the folder $(1)
relative    = $(or $(shell sh pkgconfig/relative.sh '$(1)' '$(2)'),$(error the path from "$(1)" to "$(2)" is not known))
# where a program or library in the folder $(1) finds the libraries of the folder $(2)
find_beside = -Wl,-rpath,'$(if $(MACOS),@loader_path,$$ORIGIN)/$(call relative,$(1),$(2))'
LINK_LIBTCE = -shared $(if $(MACOS),-Wl$(comma)-install_name$(comma)@rpath/$(SONAME),-Wl$(comma)-soname$(comma)$(SONAME) \
                  -Wl$(comma)--version-script=src/libtce.map $(if $(SANITIZE),,-Wl$(comma)-z$(comma)defs))

comma := ,
space := $(subst ,, )

# ---- quiet output: one short line per file, nothing under make -s, everything with V=1 ------------------

SILENT := $(findstring s,$(firstword -$(MAKEFLAGS)))
Q      := $(if $(V),,@)
say     = $(if $(V)$(SILENT),@:,@printf '  %-8s %s\n' $(1) $(2))

# ---- the library -----------------------------------------------------------------------------------

SOURCES := $(sort $(wildcard src/*/*.c))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
HEADERS := $(sort $(wildcard include/tce/*.h))

.PHONY: all
all: $(LIBTCE) $(STATIC) ## the shared and the static library, into lib/

$(LIBTCE): $(SHARED)
	$(Q)ln -sf $(notdir $(SHARED)) $(LIB)/$(SONAME)
	$(Q)ln -sf $(SONAME) $@

$(SHARED): $(OBJECTS) src/libtce.map
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) $(LINK_LIBTCE) -o $@ $(OBJECTS) $(LIBS)

$(STATIC): $(OBJECTS)
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $(OBJECTS)

$(BUILD)/%.o: %.c $(BUILD)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(COMPILE) $(if $(filter tests/%,$<),$(TEST_CFLAGS)) $(if $(filter examples/trainer/%,$<),-Iexamples/trainer) $(call file_flags,$<) -MMD -MP -c -o $@ $<

# changes only when the compiler or its flags do; objects depend on it
$(BUILD)/flags: FORCE | needs-build
	@mkdir -p $(@D)
	@echo '$(COMPILE) $(FILE_FLAGS)' | cmp -s - $@ 2>/dev/null || echo '$(COMPILE) $(FILE_FLAGS)' >$@

.PHONY: FORCE
FORCE:

# ---- test programs ---------------------------------------------------------------------------------

SUITES      := $(patsubst tests/%.c,$(BUILD)/tests/%,$(sort $(wildcard tests/test_*.c)))
SUPPORT     := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/support/*.c)))
# what the trainer learns with needs nothing but the library
SUPPORT     += $(BUILD)/examples/trainer/methods/policy_update.o $(BUILD)/examples/trainer/methods/critic.o $(BUILD)/examples/trainer/methods/value_loss.o \
               $(BUILD)/examples/trainer/methods/schedules.o $(BUILD)/examples/trainer/collect/factors.o \
               $(BUILD)/examples/trainer/tools/memory.o
# suites that start threads, for the thread sanitizer
THREADED    := $(patsubst tests/%.c,$(BUILD)/tests/%,$(shell grep -l -e tce_pool_create -e test_pool tests/test_*.c 2>/dev/null))
# task libraries that the suites load at run time
TOYS        := $(patsubst %.c,$(BUILD)/%.so,$(sort $(wildcard tests/toys/*.c)))
REPLAY      := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/replay/*.c)))
BENCH       := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/bench/*.c)))
EXAMPLES    := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard examples/*.c)))
FILES       ?= $(sort $(wildcard tests/golden/*.json tests/golden/*.json.gz))

# the environment of every program that a test target starts
export TCE_GOLDEN := $(CURDIR)/tests/golden
export TCE_TEST_BUILD := $(abspath $(BUILD))/tests
export OPENBLAS_NUM_THREADS := 1
RUN = JOBS=$(JOBS) sh tests/run.sh
# of tests that import the package of this checkout
PYTEST = TCE_LIBRARY='$(abspath $(LIBTCE))' PYTHONPATH='$(CURDIR)/bindings/python' $(VENV)/bin/python -m pytest -q
PYTEST_JOBS = -n $(JOBS) --dist worksteal

$(SUPPORT) $(REPLAY) $(BENCH) $(SUITES:%=%.o): | needs-suites

# of the runs in a case of a task the one with the MuJoCo that is fetched
$(BUILD)/tests/replay/replay.o: examples/setup/versions
$(BUILD)/tests/replay/replay.o: private TCE_CFLAGS += -DTASK_RUNS='"$(call version_of,mujoco)"'

.SECONDARY: $(SUITES:%=%.o) $(EXAMPLES:%=%.o)

$(SUITES): %: %.o $(SUPPORT) $(STATIC)
	$(call say,LD,$@)
	$(Q)$(LINK) -o $@ $^ $(TEST_LIBS) $(LIBS)

$(TOYS): $(BUILD)/%.so: $(BUILD)/%.o
	$(call say,LD,$@)
	$(Q)$(LINK) -shared -o $@ $<

# shares one libtce with the task library that it loads; the formulas of Metaworld's rewards, of statistics, of noise and of phases have no other door
REPLAY += $(BUILD)/tests/replay/metaworld_rewards.o $(BUILD)/examples/trainer/report/stats.o $(BUILD)/examples/trainer/report/correlation.o
REPLAY += $(BUILD)/examples/trainer/collect/coloured_noise.o $(BUILD)/examples/trainer/collect/fft.o
REPLAY += $(BUILD)/examples/trainer/methods/replay.o $(BUILD)/examples/trainer/methods/sac_update.o \
          $(BUILD)/examples/trainer/methods/off_policy.o $(BUILD)/examples/trainer/collect/stepping.o \
          $(BUILD)/examples/trainer/tools/clock.o $(BUILD)/src/mp/mp_phase.o

# without the flags of MuJoCo, which it does not need
$(BUILD)/tests/replay/metaworld_rewards.o: examples/tasks/metaworld/rewards.c $(BUILD)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(COMPILE) -MMD -MP -c -o $@ $<

$(BUILD)/replay: $(REPLAY) $(SUPPORT) $(BUILD)/examples/trainer.a $(LIBTCE)
	$(call say,LD,$@)
	$(Q)$(LINK) -o $@ $(REPLAY) $(SUPPORT) $(BUILD)/examples/trainer.a $(LINK_TCE) $(TEST_LIBS) $(TRAINER_LIBS) $(LIBS)

$(BUILD)/bench: $(BENCH) $(STATIC)
	$(call say,LD,$@)
	$(Q)$(LINK) -o $@ $^ $(TEST_LIBS) $(LIBS)

$(EXAMPLES): %: %.o $(LIBTCE)
	$(call say,LD,$@)
	$(Q)$(LINK) -o $@ $< $(LINK_TCE) -lm

.PHONY: suites
suites: $(SUITES) $(TOYS)

-include $(OBJECTS:.o=.d) $(TOYS:.so=.d) $(SUPPORT:.o=.d) $(SUITES:%=%.d) $(REPLAY:.o=.d) $(BENCH:.o=.d) $(EXAMPLES:%=%.d)

# ---- tests -----------------------------------------------------------------------------------------

# python comes last: pytest's own summary ends the output
PARTS := check check-headers check-map check-layers check-versions check-replay replay check-abi check-install check-docs check-examples \
         check-san check-tsan check-python
LONG_PARTS := check-valgrind check-tsan-all check-torch check-types

.PHONY: test
test: | deps ## everything that takes minutes; what CI runs
	@sh tests/parts.sh "$(MAKE) -s -j$(JOBS) --no-print-directory" $(PARTS)

.PHONY: test-long
test-long: | deps deps-fuzz ## everything that takes longer: valgrind, threads, kills, five seeds, fuzzers, coverage; run it before a release
	@sh tests/parts.sh "$(MAKE) -s -j$(JOBS) --no-print-directory" $(LONG_PARTS)

.PHONY: check
check: suites ## the C suites, under a minute
	@$(RUN) $(SUITES)

.PHONY: check-headers
check-headers: | needs-test ## each public header alone, as C99 and C++11
	@CC='$(CC)' sh tests/headers/check.sh $(HEADERS) $(wildcard bindings/cpp/*.hpp)

.PHONY: check-map
check-map: $(LIBTCE) ## exported symbols, headers and version map agree
	@CC='$(CC)' sh tests/abi/symbols.sh $(SHARED) src/libtce.map

.PHONY: check-layers
check-layers: ## a module includes only lower ones, a room of the trainer only those to its left; BLAS and LAPACK only in linalg
	@sh tests/layers.sh

.PHONY: check-versions
check-versions: ## every version number stands in one file
	@sh tests/versions.sh

.PHONY: check-abi
check-abi: $(LIBTCE) $(BUILD)/tests/abi/old_caller | needs-test $(VENV)/ready ## functions, layouts and enumerators against tests/abi, layouts seen from Python, and a caller with shorter structs
	@CC='$(CC)' PYTHON=$(VENV)/bin/python sh tests/abi/check.sh $(SHARED)
	@$(PYTEST) tests/python/test_layout.py
	@$(RUN) $(BUILD)/tests/abi/old_caller

$(BUILD)/tests/abi/old_caller: $(BUILD)/tests/abi/old_caller.o $(LIBTCE)
	$(call say,LD,$@)
	$(Q)$(LINK) -o $@ $< $(LINK_TCE)

.PHONY: abi-baseline
abi-baseline: $(LIBTCE) | needs-test ## writes the reference of check-abi from this build; docs/abi.md says when
	@CC='$(CC)' sh tests/abi/check.sh --write $(SHARED)

.PHONY: check-install
check-install: all | needs-test ## an outside project through pkg-config, CMake and C++ from an installed copy
	@MAKE='$(MAKE)' CC='$(CC)' BUILD='$(BUILD)' JOBS=$(JOBS) sh tests/install/check.sh

.PHONY: replay
replay: $(BUILD)/replay ## case files through the C API: FILES="a.json b.json.gz", default tests/golden
	@$(BUILD)/replay $(FILES)

# cases of the tasks have these names; all others need neither the task library nor MuJoCo
TASK_FILES := tests/golden/fancy_% tests/golden/metaworld_%

.PHONY: replay-library
replay-library: $(BUILD)/replay ## the case files among FILES that need no task library, and no MuJoCo
	@$(BUILD)/replay $(filter-out $(TASK_FILES),$(FILES))

.PHONY: check-replay
check-replay: $(BUILD)/replay ## replay itself, on compressed, wrong, unknown and damaged cases
	@sh tests/replay/check.sh $(BUILD)/replay

.PHONY: check-docs
check-docs: $(LIBTCE) | needs-test $(VENV)/ready ## the programs printed in README.md, docs/ and the package's README, and the links of all pages
	@$(VENV)/bin/python tests/docs/links.py $(sort $(wildcard *.md docs/*.md docs/*/*.md bindings/*/*.md tests/golden/*.md))
	@CC='$(CC)' LIB='$(abspath $(LIB))' PYTHON='$(CURDIR)/$(VENV)/bin/python' OUT='$(abspath $(BUILD))/docs' JOBS=$(JOBS) \
	    sh tests/docs/check.sh README.md bindings/python/README.md $(sort $(wildcard docs/*.md docs/*/*.md))

.PHONY: check-examples
check-examples: $(EXAMPLES) ## builds and runs examples/
	@$(RUN) $(EXAMPLES)

# the slow checkers: suites may shrink their loops under TCE_TEST_QUICK, and stay in one process
SLOW = TCE_TEST_QUICK=1 CK_FORK=no

.PHONY: check-san
check-san: ## suites and the cases of the library under the address and undefined-behaviour sanitizers
	@$(MAKE) BUILD=$(BUILD)/san SANITIZE=address,undefined suites $(BUILD)/san/replay
	@failed=0; \
	 $(SLOW) TCE_TEST_BUILD=$(abspath $(BUILD))/san/tests $(RUN) $(SUITES:$(BUILD)/%=$(BUILD)/san/%) || failed=1; \
	 sh tests/replay/check.sh $(BUILD)/san/replay || failed=1; \
	 exit $$failed

# the thread sanitizer cannot live with some layouts of the address space
UNSHUFFLED = $$(setarch -R true 2>/dev/null && echo setarch -R)
TSAN_QUICK := $(BUILD)/tests/test_base $(BUILD)/tests/test_rollout
check-tsan: TSAN_SUITES := $(TSAN_QUICK)
check-tsan-all: TSAN_SUITES := $(THREADED)

.PHONY: check-tsan check-tsan-all
check-tsan: ## suites of the thread pool and of rollouts under the thread sanitizer
check-tsan-all: ## all suites with threads under the thread sanitizer
check-tsan check-tsan-all:
	@$(MAKE) BUILD=$(BUILD)/tsan SANITIZE=thread $(TSAN_SUITES:$(BUILD)/%=$(BUILD)/tsan/%) $(TOYS:$(BUILD)/%=$(BUILD)/tsan/%)
	@$(SLOW) TCE_TEST_BUILD=$(abspath $(BUILD))/tsan/tests WRAP="$(UNSHUFFLED)" $(RUN) $(TSAN_SUITES:$(BUILD)/%=$(BUILD)/tsan/%)

VALGRIND := valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect

.PHONY: check-valgrind
check-valgrind: suites $(BUILD)/replay ## suites, without the long loops of property and gradient, and the cases of the library under valgrind
	@failed=0; \
	 $(SLOW) LIMIT=1800 CASES="golden errors memory" WRAP="$(VALGRIND)" $(RUN) $(SUITES) || failed=1; \
	 WRAP="$(VALGRIND)" sh tests/replay/check.sh $(BUILD)/replay || failed=1; \
	 exit $$failed

.PHONY: check-python
check-python: $(LIBTCE) | $(VENV)/ready ## pytest on bindings/python
	@$(PYTEST) $(PYTEST_JOBS) tests/python

# PyPI's torch comes with gigabytes for GPUs, Debian's is small
TORCH_PYTHON ?= $(firstword $(patsubst %/ready,%/bin/python,$(wildcard $(RL_VENV)/ready $(PEERS_VENV)/ready)) /usr/bin/python3)

.PHONY: check-torch
check-torch: $(LIBTCE) ## tce.torch: gradcheck, under Debian's torch or that of `make deps-peers`; stable-baselines3 after `make deps-peers-rl`
	@$(TORCH_PYTHON) -c 'import torch, numpy, pytest' 2>/dev/null || \
	    { echo "$(TORCH_PYTHON) lacks torch, numpy or pytest. Type:  make deps-torch" >&2; exit 1; }
	@TCE_LIBRARY='$(abspath $(LIBTCE))' PYTHONPATH='$(CURDIR)/bindings/python' $(TORCH_PYTHON) -m pytest -q tests/torch

.PHONY: check-types
check-types: $(LIBTCE) $(TYPES_VENV)/ready | $(VENV)/ready ## mypy and pyright, both strict, on the package, the examples and a program of mistakes
	@TCE_LIBRARY='$(abspath $(LIBTCE))' PYTHONPATH='$(CURDIR)/bindings/python' TCE_PYRIGHT='$(abspath $(TYPES_VENV))/bin/pyright' \
	    $(VENV)/bin/python -m pytest -q $(PYTEST_JOBS) tests/python/test_types.py

.PHONY: bench
bench: $(BUILD)/bench $(LIBTCE) | $(VENV)/ready ## speed; beside mp_pytorch and torch after `make deps-peers`
	@TCE_LIBRARY='$(abspath $(LIBTCE))' PYTHONPATH='$(CURDIR)/bindings/python' \
	    $(if $(wildcard $(PEERS_VENV)/ready),$(PEERS_VENV),$(VENV))/bin/python tests/bench/bench.py $(BUILD)/bench

# ---- what has to be there ------------------------------------------------------------------------------

# What needs.sh looks for.
BUILD_NEEDS  := command:$(firstword $(CC)) command:$(firstword $(PKG_CONFIG)) $(BLAS:%=module:%) header:Random123/philox.h header:xxhash.h
SUITE_NEEDS  := module:check module:jansson module:zlib
TEST_NEEDS   := $(SUITE_NEEDS) command:g++ command:cmake command:valgrind command:abidw command:abidiff package:locales
PYTHON_NEEDS := command:$(PYTHON) python:ensurepip
TORCH_NEEDS  := package:python3-torch package:python3-numpy package:python3-pytest
FUZZ_NEEDS   := command:clang package:libclang-rt-dev

# make only builds, and says what it lacks; these targets alone install it
INSTALLING := $(if $(filter deps deps-% train test,$(MAKECMDGOALS)),--install)
needs      = $(if $(NO_DEPS),,@CC='$(CC)' CPPFLAGS='$(CPPFLAGS)' CFLAGS='$(CFLAGS)' PKG_CONFIG='$(PKG_CONFIG)' PYTHON='$(PYTHON)' sh examples/setup/needs.sh $(INSTALLING) $(1))

.PHONY: needs-build needs-suites needs-test needs-venv needs-fuzz
needs-build:
	$(call needs,$(BUILD_NEEDS))

needs-suites: | needs-build
	$(call needs,$(SUITE_NEEDS))

needs-test: | needs-build
	$(call needs,$(TEST_NEEDS))

needs-venv: | needs-build
	$(call needs,$(PYTHON_NEEDS))

needs-fuzz: | needs-build
	$(call needs,$(FUZZ_NEEDS))

# A virtual environment $(1) with the wheels of the requirements files $(2), whose hashes these have. $(3): the target that installs
# it; $(4): options of pip.
wheels = $(if $(NO_DEPS),,@$(if $(INSTALLING),sh examples/setup/venv.sh $(PYTHON) $(1) $@ $(2) $(if $(4),-- $(4)),\
    echo "$(1) lacks the wheels of $(2). Type:  make $(3)" >&2; exit 1))

# the part of it that training needs
$(VENV)/drawing: tests/python/drawing.txt $(if $(INSTALLING),| needs-venv)
	$(call wheels,$(VENV),$<,deps)

$(VENV)/wheels: tests/python/requirements.txt $(VENV)/drawing
	$(call wheels,$(VENV),$<,deps)

# built by the setuptools that is there: pip would fetch one that nobody has pinned
$(VENV)/ready: tests/python/source.txt $(VENV)/wheels
	$(call wheels,$(VENV),$<,deps,--no-deps --no-build-isolation --use-pep517)

$(PEERS_VENV)/ready: tests/bench/requirements.txt tests/python/requirements.txt | $(VENV)/ready
	$(call wheels,$(PEERS_VENV),$^,deps-peers)

$(SITE_VENV)/ready: docs/site/requirements.txt $(if $(INSTALLING),| needs-venv)
	$(call wheels,$(SITE_VENV),$<,deps-site)

$(TYPES_VENV)/ready: tests/types/requirements.txt $(if $(INSTALLING),| needs-venv)
	$(call wheels,$(TYPES_VENV),$<,deps-types)

$(RL_VENV)/ready: tests/bench/rl.txt tests/python/requirements.txt | $(VENV)/ready
	$(call wheels,$(RL_VENV),$^,deps-peers-rl)

.PHONY: deps deps-drawing deps-python deps-site deps-peers deps-peers-rl deps-torch deps-types deps-fuzz deps-long
deps: needs-test $(VENV)/ready ## installs what is missing: Debian packages when root, wheels, MuJoCo and models into deps/
deps-drawing: $(VENV)/drawing
deps-python: $(VENV)/ready ## the part of deps that plots and Python's tests need
deps-peers: $(PEERS_VENV)/ready ## mp_pytorch and torch, which `make bench` compares with; gigabytes
deps-peers-rl: $(RL_VENV)/ready ## stable-baselines3 and rltools, which `make bench-rl` compares with; gigabytes
deps-torch: ## Debian's torch and pytest, 50 MB, which `make check-torch` needs
	$(call needs,$(TORCH_NEEDS))
deps-types: $(TYPES_VENV)/ready ## pyright, 70 MB, which `make check-types` needs
deps-site: $(SITE_VENV)/ready ## mkdocs, which `make site` builds the pages with
deps-fuzz: needs-fuzz ## what `make fuzz` needs
deps-long: deps deps-torch deps-types deps-fuzz ## what `make test-long` needs: also cross compilers, emulators, zig

# ---- install -----------------------------------------------------------------------------------------

FILL = sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@LIBDIR@|$(LIBDIR)|g' -e 's|@VERSION@|$(VERSION)|g' -e 's|@MAJOR@|$(MAJOR)|g' \
           -e 's|@LIBS_PRIVATE@|$(strip $(LIBS))|g' -e 's|@LIBS_CMAKE@|$(subst $(space),;,$(strip $(LIBS)))|g' \
           -e 's|@LIB_TO_PREFIX@|$(call relative,$(LIBDIR),$(PREFIX))|g' -e 's|@SHARED@|$(notdir $(SHARED))|g' -e 's|@SONAME@|$(SONAME)|g'
HPP := $(wildcard bindings/cpp/tce.hpp)

.PHONY: install install-library
install: install-library ## library and training system, ready to use: PREFIX=/usr/local, DESTDIR=, LIBDIR=

install-library: all ## headers, libraries, pkg-config and CMake files alone
	$(Q)mkdir -p $(DESTDIR)$(PREFIX)/include/tce $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(LIBDIR)/cmake/tce
	$(Q)install -m 644 $(HEADERS) $(HPP) $(DESTDIR)$(PREFIX)/include/tce/
	$(Q)install -m 755 $(SHARED) $(DESTDIR)$(LIBDIR)/
	$(Q)install -m 644 $(STATIC) $(DESTDIR)$(LIBDIR)/
	$(Q)ln -sf $(notdir $(SHARED)) $(DESTDIR)$(LIBDIR)/$(SONAME)
	$(Q)ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/$(notdir $(LIBTCE))
	$(Q)$(FILL) pkgconfig/tce.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/tce.pc
	$(Q)$(FILL) pkgconfig/tce-config.cmake.in >$(DESTDIR)$(LIBDIR)/cmake/tce/tceConfig.cmake
	$(Q)$(FILL) pkgconfig/tce-config-version.cmake.in >$(DESTDIR)$(LIBDIR)/cmake/tce/tceConfigVersion.cmake

.PHONY: uninstall uninstall-library
uninstall: uninstall-library ## removes what install wrote

uninstall-library: ## removes what install wrote
	$(Q)rm -rf $(DESTDIR)$(PREFIX)/include/tce $(DESTDIR)$(LIBDIR)/cmake/tce
	$(Q)rm -f $(DESTDIR)$(LIBDIR)/libtce.a $(DESTDIR)$(LIBDIR)/$(notdir $(LIBTCE)) $(DESTDIR)$(LIBDIR)/$(SONAME) \
	    $(DESTDIR)$(LIBDIR)/$(notdir $(SHARED)) $(DESTDIR)$(LIBDIR)/pkgconfig/tce.pc

.PHONY: site
site: | $(SITE_VENV)/ready ## the pages as a web site: build/site/html/index.html
	$(Q)NO_MKDOCS_2_WARNING=1 $(SITE_VENV)/bin/python docs/site/build.py $(BUILD)/site
	@echo "$(BUILD)/site/html/index.html"

.PHONY: format
format: ## lays out the C and C++ sources by .clang-format (clang-format 14)
	@git ls-files '*.c' '*.h' '*.cpp' '*.hpp' | xargs clang-format -i

.PHONY: clean distclean help
clean: ## removes what was built
	$(Q)rm -rf $(BUILD) $(LIB)

distclean: clean ## removes what was built, and what deps fetched
	$(Q)rm -rf deps

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-23s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

include examples/examples.mk

.DELETE_ON_ERROR:
