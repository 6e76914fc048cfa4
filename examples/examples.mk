# The training system: libtce_tasks.so, the program tce, make train, and their tests. Included by the Makefile.
#
#   make train [TASK=reacher5] [METHOD=tce] [SEED=1] [ARGS="run.threads=2 ..."]
#   MUJOCO_VERSION=3.x.y   another MuJoCo than the first in examples/setup/versions
#   MUJOCO_DIR=dir         one that is there, with include/ and lib/; none: the tasks without simulator alone

TASK   ?= reacher5
METHOD ?= tce
SEED   ?= 1

MUJOCO_VERSION ?= $(call version_of,mujoco)
MUJOCO_DIR     ?= deps/mujoco-$(MUJOCO_VERSION)

TRAIN_NEEDS    := module:yaml-0.1 module:zlib
PICTURE_NEEDS  := package:libegl1 package:libgl1-mesa-dri command:ffmpeg

# tasks without simulator, and those that need no fetched model: their own is compiled in
PLAIN_TASKS    := $(shell sed -n '/define TASKS_PLAIN/,/^$$/s/.* X(\([a-z0-9_]*\)).*/\1/p' examples/tasks/tasks.h)
EMBEDDED_TASKS := $(PLAIN_TASKS) $(basename $(notdir $(wildcard examples/tasks/*.xml)))

BIN     := $(BUILD)/bin
TASKS   := $(BIN)/libtce_tasks.$(SO)
# the tasks on MuJoCo, which that one loads
MUJOCO_TASKS := $(if $(filter none,$(MUJOCO_DIR)),,$(BIN)/libtce_tasks_mujoco.$(SO))
PROGRAM := $(BIN)/tce
# the trainer for another process, such as Python
EMBEDDED := $(BIN)/libtce_train.$(SO)

TASK_OBJECTS    := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard examples/tasks/*.c examples/tasks/*/*.c)))
PLAIN_OBJECTS   := $(patsubst %,$(BUILD)/examples/tasks/%.o,tasks $(PLAIN_TASKS) shared/plain shared/flat_picture shared/options)
MUJOCO_OBJECTS  := $(filter-out $(PLAIN_OBJECTS),$(TASK_OBJECTS)) $(BUILD)/examples/tasks/shared/options.o
# what an exported C file is made of, as text in the program
TEMPLATES       := $(sort $(wildcard examples/trainer/export/templates/*))
TEMPLATES_TEXT  := $(BUILD)/examples/trainer/export/templates
# all but the one file that calls MPI
TRAINER_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/ranks_mpi.c,$(sort $(wildcard examples/trainer/*/*.c)))) $(TEMPLATES_TEXT).o
# rooms that another process has too
SHARED_ROOMS     := tools settings collect methods run report
EMBEDDED_OBJECTS := $(filter $(foreach room,$(SHARED_ROOMS) embed,$(BUILD)/examples/trainer/$(room)/%.o),$(TRAINER_OBJECTS))
PROGRAM_OBJECTS  := $(filter-out $(BUILD)/examples/trainer/embed/%,$(TRAINER_OBJECTS))
# all but main, for the suites: each takes what it needs
TRAINER_ARCHIVE := $(BUILD)/examples/trainer.a
TASK_SUITES     := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/tasks/test_*.c)))
TRAINER_SUITES  := $(TASK_SUITES) $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/trainer/test_*.c)))

TRAINER_LIBS = $(shell $(PKG_CONFIG) --libs yaml-0.1 zlib)
# program, tasks and bindings must share one libtce: its error message lives there
LINK_TCE     = -L$(LIB) $(call find_beside,$(@D),$(LIB)) -ltce

# ---- MuJoCo ------------------------------------------------------------------------------------------

.PHONY: needs-mujoco needs-models needs-train needs-pictures
deps: needs-mujoco needs-models needs-train needs-pictures needs-mpi

# unpacked by the Python of the virtual environment
needs-mujoco: $(if $(INSTALLING),| $(VENV)/drawing)
ifeq ($(MUJOCO_DIR),deps/mujoco-$(MUJOCO_VERSION))
	$(if $(NO_DEPS),,$(if $(INSTALLING),@[ "$$(cat $(MUJOCO_DIR)/version 2>/dev/null)" = "$(MUJOCO_VERSION)" ] || \
	    sh examples/setup/mujoco.sh $(MUJOCO_VERSION) $(MUJOCO_DIR) $(VENV)/bin/python))
endif
	@sh examples/setup/mujoco_check.sh $(MUJOCO_DIR)

# models of the paper's tasks: read when a task is made, not when it is compiled
needs-models: $(if $(INSTALLING),| $(VENV)/drawing)
	$(if $(NO_DEPS),,@for name in fancy_gym metaworld; do \
	    version=$$(awk '$$1 == "'$$name'" { print $$2 }' examples/setup/versions); \
	    [ "$$(cat deps/$$name/version 2>/dev/null)" = "$$version" ] || $(if $(INSTALLING),\
	        sh examples/setup/$$name.sh $$version deps/$$name $(VENV)/bin/python || exit,\
	        { echo "the models of $$name $$version are missing. Type:  make deps" >&2; exit 1; }); \
	done)

needs-train: | needs-build
	$(call needs,$(TRAIN_NEEDS))

needs-pictures: | needs-train
	$(call needs,$(PICTURE_NEEDS))

# ---- the task library and the program ------------------------------------------------------------------

COMPILE_TASK = $(CC) $(TCE_CFLAGS) -isystem $(MUJOCO_DIR)/include

.PHONY: program
program: $(PROGRAM) $(TASKS) $(MUJOCO_TASKS) $(EMBEDDED) ## the program tce, the task libraries and the trainer for Python, into build/bin

# changes only when MuJoCo or the flags do
$(BUILD)/examples/tasks/flags: FORCE | $(if $(MUJOCO_TASKS),needs-mujoco)
	@mkdir -p $(@D)
	@line="$(COMPILE_TASK) $$(cat $(MUJOCO_DIR)/version 2>/dev/null)"; [ "$$line" = "$$(cat $@ 2>/dev/null)" ] || echo "$$line" >$@

$(BUILD)/examples/tasks/%.o: examples/tasks/%.c $(BUILD)/examples/tasks/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(COMPILE_TASK) -MMD -MP -c -o $@ $<

# models of our own, as texts that are compiled in; a string literal of that length is not in C99
$(BUILD)/examples/tasks/%.xml.h: examples/tasks/%.xml
	$(Q)mkdir -p $(@D)
	$(Q){ od -An -v -tx1 $< | sed "s/ \(..\)/'\\\\x\1',/g"; echo 0; } >$@

TASK_MODELS := $(patsubst %.xml,$(BUILD)/%.xml.h,$(wildcard examples/tasks/*.xml))
$(TASK_OBJECTS): | $(TASK_MODELS)
$(TASK_OBJECTS): private COMPILE_TASK += -I$(BUILD)/examples/tasks

# where a copy of the library elsewhere, as in a Python package, finds the models; empty: nowhere
TASKS_DEPS ?= $(abspath deps)
$(BUILD)/examples/tasks/shared/model.o: private COMPILE_TASK += -DTASKS_DEPS='"$(TASKS_DEPS)"'

# The MuJoCo that case files and shortcuts were compared with, as its header writes it: 390 is 3.9.0, 3010000 is 3.10.0.
COMPARED_MUJOCO := $(shell echo $(call version_of,mujoco) | awk -F . '{ print $$2 < 10 ? $$1 $$2 $$3 : 1000000 * $$1 + 1000 * $$2 + $$3 }')
COMPARING       := $(patsubst %,$(BUILD)/examples/tasks/%.o,shared/model metaworld/env)
$(COMPARING): examples/setup/versions
$(COMPARING): private COMPILE_TASK += -DCOMPARED_MUJOCO=$(COMPARED_MUJOCO)

# where the tasks find MuJoCo when they are loaded
MUJOCO_RPATH ?= $(abspath $(MUJOCO_DIR))/lib

$(TASKS): $(PLAIN_OBJECTS) $(LIBTCE) | $(MUJOCO_TASKS)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -shared -o $@ $(PLAIN_OBJECTS) $(LINK_TCE) -lpthread -lm -ldl

$(BIN)/libtce_tasks_mujoco.$(SO): $(MUJOCO_OBJECTS) $(LIBTCE)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -shared -o $@ $(MUJOCO_OBJECTS) $(LINK_TCE) -L$(MUJOCO_DIR)/lib -Wl,-rpath,'$(MUJOCO_RPATH)' -lmujoco -lpthread -lm -ldl

$(TRAINER_OBJECTS): | needs-train

$(TEMPLATES_TEXT).c: examples/trainer/export/templates.awk $(TEMPLATES)
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f $^ >$@

$(TEMPLATES_TEXT).o: $(TEMPLATES_TEXT).c $(BUILD)/flags
	$(call say,CC,$<)
	$(Q)$(COMPILE) -Iexamples/trainer -MMD -MP -c -o $@ $<

$(EMBEDDED): $(EMBEDDED_OBJECTS) $(LIBTCE)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -shared $(if $(SANITIZE)$(MACOS),,-Wl$(comma)-z$(comma)defs) -o $@ $(EMBEDDED_OBJECTS) $(LINK_TCE) $(TRAINER_LIBS) -lpthread -lm

$(PROGRAM): $(PROGRAM_OBJECTS) $(LIBTCE)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(PROGRAM_OBJECTS) $(LINK_TCE) $(TRAINER_LIBS) -lpthread -lm

# ---- many processes: the same program over MPI -----------------------------------------------------------

# MPICC chooses the implementation; MPIRUN starts what it has built
MPICC       ?= mpicc
MPIRUN      ?= $(subst mpicc,mpirun,$(MPICC))
MPI_PROGRAM ?= $(BIN)/tce-mpi
MPI_RANKS   := $(MPI_PROGRAM).o
MPI_NEEDS    = command:$(firstword $(MPICC)) command:$(firstword $(MPIRUN))
COMPILE_MPI  = $(MPICC) $(TCE_CFLAGS)

.PHONY: mpi needs-mpi
mpi: $(MPI_PROGRAM) program ## the program tce-mpi, for runs on many machines: MPICC=mpicc chooses the MPI, `mpirun -n 8 build/bin/tce-mpi train ...`

needs-mpi: | needs-build
	$(call needs,$(MPI_NEEDS))

$(MPI_PROGRAM).flags: FORCE | needs-mpi
	@mkdir -p $(@D)
	@line="$(COMPILE_MPI) $$($(MPICC) -show 2>/dev/null)"; [ "$$line" = "$$(cat $@ 2>/dev/null)" ] || echo "$$line" >$@

$(MPI_RANKS): examples/trainer/tools/ranks_mpi.c $(MPI_PROGRAM).flags
	$(call say,CC,$<)
	$(Q)$(COMPILE_MPI) -Iexamples/trainer -MMD -MP -c -o $@ $<

$(MPI_PROGRAM): $(filter-out %/ranks_one.o,$(PROGRAM_OBJECTS)) $(MPI_RANKS) $(LIBTCE)
	$(call say,LD,$@)
	$(Q)$(MPICC) $(SAN) $(COUNT) $(LDFLAGS) -o $@ $(filter-out %/ranks_one.o,$(PROGRAM_OBJECTS)) $(MPI_RANKS) $(LINK_TCE) $(TRAINER_LIBS) -lpthread -lm

# what ranks do for each other, without a run
$(MPI_PROGRAM)-test: $(BUILD)/tests/mpi/ranks.o $(BUILD)/examples/trainer/tools/ranks.o $(BUILD)/examples/trainer/tools/clock.o $(MPI_RANKS) $(LIBTCE)
	$(call say,LD,$@)
	$(Q)$(MPICC) $(SAN) $(COUNT) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LINK_TCE)

# how long they take for it
$(MPI_PROGRAM)-network: $(BUILD)/tests/mpi/network.o $(BUILD)/examples/trainer/tools/ranks.o $(BUILD)/examples/trainer/tools/clock.o $(MPI_RANKS) $(LIBTCE)
	$(call say,LD,$@)
	$(Q)$(MPICC) $(SAN) $(COUNT) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LINK_TCE)

-include $(MPI_PROGRAM).d $(BUILD)/tests/mpi/ranks.d $(BUILD)/tests/mpi/network.d

# ---- install -----------------------------------------------------------------------------------------

# beside each other: the tasks, the MuJoCo that they were built with, the trainer for Python
INSTALLED       := $(DESTDIR)$(PREFIX)
PRIVATE         := $(PREFIX)/lib/tce
MUJOCO_LIBRARY   = $(filter-out %/libmujoco.so %/libmujoco.dylib,$(wildcard $(MUJOCO_DIR)/lib/libmujoco.*))
LINK_INSTALLED   = -L$(LIB) $(call find_beside,$(1),$(LIBDIR)) -ltce
INSTALLED_MODELS = $(wildcard deps/fancy_gym deps/metaworld)

.PHONY: install-program uninstall-program
install: install-program
install-program: program install-library ## program (and tce-mpi, if `make mpi` has built it), tasks, settings, models as far as they are in deps/, completion for bash and zsh
	$(Q)mkdir -p $(INSTALLED)/bin $(DESTDIR)$(PRIVATE) $(INSTALLED)/share/tce/models $(INSTALLED)/share/doc/tce \
	    $(INSTALLED)/share/bash-completion/completions $(INSTALLED)/share/zsh/site-functions
	$(Q)$(LINK) -o $(INSTALLED)/bin/tce $(PROGRAM_OBJECTS) $(call LINK_INSTALLED,$(PREFIX)/bin) $(TRAINER_LIBS) -lpthread -lm
	$(Q)$(LINK) -shared -o $(DESTDIR)$(PRIVATE)/$(notdir $(EMBEDDED)) $(EMBEDDED_OBJECTS) $(call LINK_INSTALLED,$(PRIVATE)) $(TRAINER_LIBS) -lpthread -lm
	$(Q)$(LINK) -shared -o $(DESTDIR)$(PRIVATE)/$(notdir $(TASKS)) $(PLAIN_OBJECTS) $(call LINK_INSTALLED,$(PRIVATE)) -lpthread -lm -ldl
ifneq ($(MUJOCO_TASKS),)
	$(Q)$(LINK) -shared -o $(DESTDIR)$(PRIVATE)/$(notdir $(MUJOCO_TASKS)) $(MUJOCO_OBJECTS) $(call LINK_INSTALLED,$(PRIVATE)) \
	    -L$(MUJOCO_DIR)/lib $(call find_beside,$(PRIVATE),$(PRIVATE)) -lmujoco -lpthread -lm -ldl
	$(Q)install -m 755 $(MUJOCO_LIBRARY) $(DESTDIR)$(PRIVATE)/
	$(Q)install -m 644 $(MUJOCO_DIR)/LICENSE $(INSTALLED)/share/doc/tce/LICENSE.mujoco
endif
	$(Q)[ ! -f $(MPI_PROGRAM) ] || $(MPICC) -o $(INSTALLED)/bin/tce-mpi $(filter-out %/ranks_one.o,$(PROGRAM_OBJECTS)) $(MPI_RANKS) \
	    $(call LINK_INSTALLED,$(PREFIX)/bin) $(TRAINER_LIBS) -lpthread -lm
	$(Q)install -m 644 LICENSE $(INSTALLED)/share/doc/tce/LICENSE
	$(Q)install -m 644 bindings/python/tce/plot.py $(INSTALLED)/share/tce/
	$(Q)rm -rf $(INSTALLED)/share/tce/configs && cp -R examples/configs $(INSTALLED)/share/tce/configs
	$(Q)rm -rf $(INSTALLED)/share/tce/runs
	$(Q)cd docs/runs && for run in */*; do \
	    mkdir -p $(abspath $(INSTALLED))/share/tce/runs/$$run && \
	    install -m 644 $$run/config.yaml $$run/policy.safetensors $(abspath $(INSTALLED))/share/tce/runs/$$run/ || exit; \
	done
	$(Q)for models in $(INSTALLED_MODELS); do \
	    rm -rf $(INSTALLED)/share/tce/models/$${models##*/} && cp -R $$models/. $(INSTALLED)/share/tce/models/$${models##*/} || exit; \
	done
	$(Q)$(PROGRAM) completion bash >$(INSTALLED)/share/bash-completion/completions/tce && \
	    $(PROGRAM) completion zsh >$(INSTALLED)/share/zsh/site-functions/_tce || \
	    { rm -f $(INSTALLED)/share/bash-completion/completions/tce $(INSTALLED)/share/zsh/site-functions/_tce; \
	      echo "completion is left out: $(PROGRAM) does not run on this machine" >&2; }

uninstall: uninstall-program
uninstall-program:
	$(Q)rm -rf $(DESTDIR)$(PRIVATE) $(INSTALLED)/share/tce $(INSTALLED)/share/doc/tce
	$(Q)rm -f $(INSTALLED)/bin/tce $(INSTALLED)/bin/tce-mpi $(INSTALLED)/share/bash-completion/completions/tce $(INSTALLED)/share/zsh/site-functions/_tce

.PHONY: check-install-program
check-install-program: program | needs-models ## an installed copy by itself: commands of the docs from an empty folder, also after it was moved
	@MAKE='$(MAKE)' BUILD='$(BUILD)' sh tests/install/check_program.sh

# ---- Debian packages ---------------------------------------------------------------------------------

DEB_NEEDS := command:dpkg-deb command:dpkg-shlibdeps command:strip
DEBS      ?= $(BUILD)/debs
# nothing of the builder's folders in them: no debugging information, no path of the models
DEB_MAKE   = $(MAKE) -s --no-print-directory BUILD=$(BUILD)/deb CFLAGS= TASKS_DEPS= DESTDIR=$(abspath $(BUILD))/deb/root \
                 PREFIX=/usr LIBDIR=/usr/lib/$$(dpkg-architecture -qDEB_HOST_MULTIARCH)

.PHONY: deb check-deb
deb: $(VENV)/ready | needs-train needs-mujoco needs-models ## Debian packages libtce0, libtce-dev, tce and python3-tce, into build/debs
	$(call needs,$(DEB_NEEDS))
	@rm -rf $(BUILD)/deb/root && $(DEB_MAKE) install
	@sh packaging/deb.sh $(VERSION) $(MAJOR) $(abspath $(VENV))/bin/python $(BUILD)/deb $(DEBS)

# what they depend on, and a compiler for the example
DEB_PACKAGES := libopenblas0 liblapacke libyaml-0-2 zlib1g python3 python3-numpy gcc libc6-dev make pkg-config

deps-long: deps-deb deps-debians deps-wheel-aarch64
.PHONY: deps-deb
deps-deb: ## a Debian 12 of its own in deps/debian-12, for `make check-deb`; as root
	$(call needs,command:debootstrap)
	$(if $(NO_DEPS),,@sh tests/machines/debian.sh bookworm deps/debian-12 $(DEB_PACKAGES))

check-deb: deb ## the Debian packages are installed, tried and removed in a Debian 12 of their own; as root (chroot)
	@[ -e deps/debian-12/packages ] || { echo "there is no Debian in deps/debian-12. Type:  make deps-deb" >&2; exit 1; }
	@sh tests/machines/deb.sh deps/debian-12 $(DEBS)

# ---- Python packages: a source distribution, and a wheel for any Linux -----------------------------------------------------------------------------

WHEEL_VENV := deps/venv-wheel
WHEELS     ?= $(BUILD)/wheels
WHEEL_NEEDS := command:gcc command:dpkg-source

$(WHEEL_VENV)/ready: bindings/python/wheel/wheel.txt $(if $(INSTALLING),| needs-venv)
	$(call wheels,$(WHEEL_VENV),$<,deps-wheel)

.PHONY: deps-wheel wheel
deps-wheel: $(WHEEL_VENV)/ready ## what `make wheel` needs: zig, OpenBLAS, the sources of libyaml and zlib
	$(call needs,$(WHEEL_NEEDS))
	$(if $(NO_DEPS),,@sh bindings/python/wheel/sources.sh deps/wheel/sources libyaml zlib)

wheel: $(WHEEL_VENV)/ready | $(if $(INSTALLING),deps-wheel) needs-train needs-mujoco ## the Python package libtce for any Linux with glibc 2.28, OpenBLAS inside, into build/wheels
	$(call needs,$(WHEEL_NEEDS))
	@[ -d deps/wheel/sources/zlib ] || { echo "the sources of libyaml and zlib are missing. Type:  make deps-wheel" >&2; exit 1; }
	@MAKE='$(MAKE)' CC=gcc AR=ar MUJOCO_DIR='$(MUJOCO_DIR)' sh bindings/python/wheel/build.sh $(BUILD)/wheel $(abspath $(WHEEL_VENV))/bin/python $(WHEELS)

# the same for aarch64, cross-compiled; deps/wheel/aarch64 is its OpenBLAS. numpy needs libstdc++.
AARCH64_PYTHON := python3 libstdc++6

.PHONY: deps-wheel-aarch64 wheel-aarch64
deps-wheel-aarch64: deps-wheel deps-aarch64 ## what `make wheel-aarch64` and `make check-wheel-aarch64` need
	$(if $(NO_DEPS),,@sh bindings/python/wheel/openblas.sh aarch64 deps/wheel/aarch64 $(WHEEL_VENV)/bin/python)
	$(if $(NO_DEPS),,@sh tests/machines/root.sh arm64 $(AARCH64)/python $(AARCH64_PYTHON))

wheel-aarch64: $(WHEEL_VENV)/ready | $(if $(INSTALLING),deps-wheel-aarch64) ## the same package for Linux on aarch64, cross-compiled, into build/wheels
	$(call needs,$(WHEEL_NEEDS) $(AARCH64_NEEDS))
	@[ -e deps/wheel/aarch64/pin ] && [ -d deps/wheel/sources/zlib ] || { echo "OpenBLAS for aarch64 is missing. Type:  make deps-wheel-aarch64" >&2; exit 1; }
	@PKG_CONFIG='$(AARCH64_PC)' MAKE='$(MAKE)' CC='$(AARCH64_CC)' AR=aarch64-linux-gnu-ar MUJOCO_DIR=$(AARCH64)/mujoco \
	    sh bindings/python/wheel/build.sh $(BUILD)/wheel-aarch64 $(abspath $(WHEEL_VENV))/bin/python $(WHEELS) aarch64 $(abspath deps/wheel/aarch64)/scipy_openblas32

check-wheel-aarch64: wheel-aarch64 $(LIBTCE) | $(VENV)/ready ## that wheel under qemu-user: numbers beside those of lib/, and the reacher trained for two iterations
	@[ -e $(AARCH64)/python/packages ] || { echo "Python for aarch64 is missing. Type:  make deps-wheel-aarch64" >&2; exit 1; }
	@TCE_LIBRARY='$(abspath $(LIBTCE))' PYTHONPATH='$(CURDIR)/bindings/python' sh tests/machines/wheel_aarch64.sh \
	    $(AARCH64)/python $(WHEELS)/libtce-*_aarch64.whl $(abspath $(VENV))/bin/python qemu-aarch64

# Debian 12, 11 and 13, with Python 3.11, 3.9 and 3.13
WHEEL_SUITES := bookworm bullseye trixie

.PHONY: deps-debians check-wheel check-wheel-aarch64
deps-debians: ## Debians of their own in deps/wheel-..., for `make check-wheel`; as root
	$(call needs,command:debootstrap)
	$(if $(NO_DEPS),,@for suite in $(WHEEL_SUITES); do sh tests/machines/debian.sh $$suite deps/wheel-$$suite python3 python3-venv || exit; done)

check-wheel: wheel $(LIBTCE) | $(VENV)/ready ## the wheel in Debians with Python and nothing else, beside the numbers of lib/; as root (chroot)
	@for suite in $(WHEEL_SUITES); do \
	    [ -e deps/wheel-$$suite/packages ] || { echo "there is no Debian in deps/wheel-$$suite. Type:  make deps-debians" >&2; exit 1; }; \
	    TCE_LIBRARY='$(abspath $(LIBTCE))' PYTHONPATH='$(CURDIR)/bindings/python' \
	        sh tests/machines/wheel.sh deps/wheel-$$suite $(WHEELS)/libtce-*_$$(uname -m).whl $(abspath $(VENV))/bin/python || exit; \
	done

.PHONY: sdist check-sdist
sdist: $(VENV)/ready ## the Python package with all sources, into build/wheels
	@mkdir -p $(WHEELS)
	@cd bindings/python && $(abspath $(VENV))/bin/python -c 'from setuptools import build_meta; build_meta.build_sdist("$(abspath $(WHEELS))")' >/dev/null

check-sdist: sdist ## the source distribution builds without a network, and trains from an empty folder
	@sh tests/machines/sdist.sh $(WHEELS)/libtce-$(VERSION).tar.gz $(VENV)/bin/python

.PHONY: train
train: program | $(VENV)/drawing $(if $(filter $(EMBEDDED_TASKS),$(TASK)),,needs-models) ## trains TASK (reacher5) with METHOD (tce) and SEED (1); further words in ARGS
	@OPENBLAS_NUM_THREADS=1 $(PROGRAM) train examples/configs/$(TASK)/$(METHOD).yaml --seed $(SEED) $(ARGS)

# ---- tests -------------------------------------------------------------------------------------------

PARTS := $(filter-out check-python,$(PARTS)) check-san-trainer check-fuzz check-learn check-trainer check-install-program check-python
LONG_PARTS += check-sdist check-deb check-wheel check-wheel-aarch64 check-san-long check-tsan-trainer check-valgrind-trainer check-learn-seeds fuzz-long coverage check-kills check-ranks check-mpich check-aarch64 check-old-x86 check-exported check-macos check-bare

# cases of tasks
replay: export TCE_TASKS := $(abspath $(TASKS))
replay: $(TASKS) | needs-models

$(TRAINER_ARCHIVE): $(filter-out %/main.o,$(TRAINER_OBJECTS))
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# what the suites of tasks share
TASK_SUPPORT    := $(BUILD)/tests/tasks/task_suite.o

$(TRAINER_SUITES:%=%.o) $(TASK_SUPPORT): $(BUILD)/%.o: %.c $(BUILD)/flags | needs-suites needs-train
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(COMPILE) $(TEST_CFLAGS) -Iexamples/trainer -MMD -MP -c -o $@ $<

.SECONDARY: $(TRAINER_SUITES:%=%.o)

$(TRAINER_SUITES): %: %.o $(SUPPORT) $(TRAINER_ARCHIVE) $(LIBTCE)
	$(call say,LD,$@)
	$(Q)$(LINK) -o $@ $< $(SUPPORT) $(TRAINER_ARCHIVE) $(LINK_TCE) $(TEST_LIBS) $(TRAINER_LIBS) -lpthread -lm

$(TASK_SUITES): TEST_LIBS += $(TASK_SUPPORT)
$(TASK_SUITES): $(TASK_SUPPORT)

# these call MuJoCo and what the tasks share themselves
MUJOCO_SUITES := $(BUILD)/tests/tasks/test_mujoco $(BUILD)/tests/tasks/test_model_cache
$(MUJOCO_SUITES:%=%.o): TEST_CFLAGS += -Iexamples/tasks/shared -isystem $(MUJOCO_DIR)/include
$(MUJOCO_SUITES:%=%.o): | needs-mujoco
$(MUJOCO_SUITES): TEST_LIBS += $(MUJOCO_OBJECTS) -L$(MUJOCO_DIR)/lib -Wl,-rpath,$(abspath $(MUJOCO_DIR))/lib -lmujoco -ldl
$(MUJOCO_SUITES): $(MUJOCO_OBJECTS)

# and this one the formulas of Metaworld's rewards
$(BUILD)/tests/tasks/test_metaworld: TEST_LIBS += $(BUILD)/tests/replay/metaworld_rewards.o
$(BUILD)/tests/tasks/test_metaworld: $(BUILD)/tests/replay/metaworld_rewards.o

.PHONY: check-trainer
check-trainer check-ranks: export TCE_MPI := $(abspath $(MPI_PROGRAM))
check-trainer check-ranks: export TCE_MPIRUN := $(MPIRUN)
check-trainer: $(MPI_PROGRAM) $(MPI_PROGRAM)-test
check-trainer: export TCE_PROGRAM := $(abspath $(PROGRAM))
check-trainer: export TCE_TASKS := $(abspath $(TASKS))
check-trainer: export TCE_TRAIN := $(abspath $(EMBEDDED))
check-trainer: program $(TRAINER_SUITES) | $(VENV)/ready needs-pictures needs-models ## the training system: suites, then the program by pytest
	@failed=0; \
	 $(RUN) $(TRAINER_SUITES) || failed=1; \
	 $(PYTEST) $(PYTEST_JOBS) tests/trainer || failed=1; \
	 exit $$failed

.PHONY: check-ranks check-mpich
check-ranks: export TCE_PROGRAM := $(abspath $(PROGRAM))
check-ranks: export TCE_TEST_LONG := 1
check-ranks: program $(MPI_PROGRAM) $(MPI_PROGRAM)-test | $(VENV)/ready ## every method on 1 to 4 ranks and 1 and 2 threads, and 25 kills, compared byte by byte with one process
	@$(PYTEST) tests/trainer/test_ranks.py tests/trainer/test_ranks_queue.py

MPICH_NEEDS := command:mpicc.mpich command:mpirun.mpich

.PHONY: deps-mpich
deps-mpich: ## MPICH, beside Open MPI
	$(call needs,$(MPICH_NEEDS))

deps-long: deps-mpich

check-mpich: ## check-ranks with MPICH
	@$(MAKE) MPICC=mpicc.mpich MPI_PROGRAM=$(BIN)/tce-mpich check-ranks

.PHONY: check-slurm needs-slurm
# not part of `make test-long`: it starts daemons as root
needs-slurm: | needs-build
	$(call needs,command:munged command:slurmctld command:slurmd command:sbatch)

check-slurm: program $(MPI_PROGRAM) | needs-slurm ## both files of examples/slurm on a Slurm of this machine, requeued in the middle: the bytes of runs that were never stopped
	@sh tests/slurm/check.sh $(PROGRAM) $(MPI_PROGRAM)

.PHONY: check-kills
check-kills: export TCE_PROGRAM := $(abspath $(PROGRAM))
check-kills: export TCE_TEST_LONG := 1
check-kills: program | $(VENV)/ready ## a hundred kills of a run, and of a queue
	@$(PYTEST) tests/trainer -k "kills and not ranks"

SEEDS ?= 1

.PHONY: check-learn check-learn-rivals check-learn-seeds
check-learn: check-learn-rivals
check-learn: program ## the reacher as `make train` trains it succeeds in more than 0.9 of its episodes; SEEDS="1 2"
	@sh tests/learn.sh $(PROGRAM) $(SEEDS)

check-learn-rivals: program | $(VENV)/ready ## every step-based method learns pendulum or context, with one seed
	@$(VENV)/bin/python tests/learn/rivals.py $(PROGRAM) --jobs $(JOBS)

check-learn-seeds: program | $(VENV)/ready ## both with five seeds, and the curves beside those of stable-baselines3
	@sh tests/learn.sh $(PROGRAM) 1 2 3 4 5
	@$(VENV)/bin/python tests/learn/rivals.py $(PROGRAM) --jobs $(JOBS) --seeds 5 --curves

.PHONY: bench-rl
bench-rl: program $(BUILD)/bench | $(VENV)/ready ## steps per second of whole training, beside stable-baselines3 and rltools after `make deps-peers-rl`
	@$(VENV)/bin/python tests/bench/bench_rl.py $(PROGRAM) $(BUILD)/bench $(addprefix --peers ,$(wildcard $(RL_VENV)/bin/python))

.PHONY: bench-ranks
bench-ranks: program $(MPI_PROGRAM) $(MPI_PROGRAM)-network ## two ranks beside two threads, and a model of more of them; SETTINGS=box_pushing_dense/tce SCALING="--check --real-time" as root
	@$(PYTHON) tests/bench/scaling.py $(PROGRAM) $(MPI_PROGRAM) $(MPI_PROGRAM)-network --settings $(or $(SETTINGS),box_pushing_dense/tce) $(SCALING)

# ---- the training system under the sanitizers and valgrind ----------------------------------------------------

# both episodes of every task
EPISODES_PROGRAM := $(BUILD)/tests/sanitize/episodes

$(EPISODES_PROGRAM): $(EPISODES_PROGRAM).o $(LIBTCE)
	$(call say,LD,$@)
	$(Q)$(LINK) -o $@ $< $(LINK_TCE) -lm

# Leaks are looked for at the end, when the program has unloaded the tasks, and MuJoCo with them: what these still hold would count as lost, and what is
# lost would have no names. So they are loaded before and stay, after the sanitizer's own library, which has to be first. $(1): the folder of the build.
STAYS = env LD_PRELOAD=$$(ldd $(1)/bin/tce | awk '/lib[at]san/ { printf "%s:", $$3 }')$(abspath $(1))/bin/libtce_tasks.so:$(abspath $(1))/bin/libtce_tasks_mujoco.so

# suites that load the task library
LOADING_SUITES := $(filter-out $(MUJOCO_SUITES),$(TASK_SUITES))
# compiles dozens of exported policies
EXPORT_SUITE := $(BUILD)/tests/trainer/test_export
SAN_BUILD   = $(MAKE) BUILD=$(BUILD)/san SANITIZE=address,undefined
SAN_SUITES  = TCE_TASKS=$(abspath $(BUILD))/san/bin/libtce_tasks.so TCE_PROGRAM=$(abspath $(BUILD))/san/bin/tce \
              TCE_TEST_BUILD=$(abspath $(BUILD))/san/tests $(SLOW)

.PHONY: check-san-trainer check-san-long
check-san-trainer: | needs-models ## the training system and every task under the address and undefined-behaviour sanitizers
	+@$(SAN_BUILD) program $(EPISODES_PROGRAM:$(BUILD)/%=$(BUILD)/san/%) $(TRAINER_SUITES:$(BUILD)/%=$(BUILD)/san/%)
	@failed=0; \
	 $(SAN_SUITES) $(RUN) $(patsubst $(BUILD)/%,$(BUILD)/san/%,$(filter-out $(LOADING_SUITES) $(EXPORT_SUITE),$(TRAINER_SUITES))) || failed=1; \
	 $(SAN_SUITES) LIMIT=1200 WRAP="$(call STAYS,$(BUILD)/san)" $(RUN) $(LOADING_SUITES:$(BUILD)/%=$(BUILD)/san/%) || failed=1; \
	 sh tests/sanitize/program.sh $(BUILD)/san/bin/tce $(call STAYS,$(BUILD)/san) || failed=1; \
	 $(call STAYS,$(BUILD)/san) $(BUILD)/san/tests/sanitize/episodes $(BUILD)/san/bin/libtce_tasks.so || failed=1; \
	 exit $$failed

check-san-long: ## export's suite under the address and undefined-behaviour sanitizers
	+@$(SAN_BUILD) $(EXPORT_SUITE:$(BUILD)/%=$(BUILD)/san/%)
	@$(SAN_SUITES) LIMIT=1200 $(RUN) $(EXPORT_SUITE:$(BUILD)/%=$(BUILD)/san/%)

.PHONY: check-tsan-trainer
check-tsan-trainer: | needs-models ## the training system and every task under the thread sanitizer
	@$(MAKE) BUILD=$(BUILD)/tsan SANITIZE=thread program $(EPISODES_PROGRAM:$(BUILD)/%=$(BUILD)/tsan/%)
	@sh tests/sanitize/program.sh $(BUILD)/tsan/bin/tce $(UNSHUFFLED)
	@$(UNSHUFFLED) $(BUILD)/tsan/tests/sanitize/episodes $(BUILD)/tsan/bin/libtce_tasks.so

# one task of each family: a step takes forty times as long
VALGRIND_TASKS := reacher5 point_via pendulum context box_pushing_dense hopper_jump table_tennis metaworld_door_open metaworld_assembly

.PHONY: check-valgrind-trainer
check-valgrind-trainer: program $(EPISODES_PROGRAM) | needs-models ## the training system and a task of each family under valgrind
	@LIMIT=3600 sh tests/sanitize/program.sh $(PROGRAM) $(call STAYS,$(BUILD)) $(VALGRIND) --trace-children=yes
	@$(call STAYS,$(BUILD)) $(VALGRIND) $(EPISODES_PROGRAM) $(TASKS) $(VALGRIND_TASKS)

# ---- other machines, by cross compilers and emulators --------------------------------------------------

AARCH64_NEEDS := command:aarch64-linux-gnu-gcc package:libc6-dev-arm64-cross command:qemu-aarch64
# of the other machine: what BUILD_NEEDS, SUITE_NEEDS and TRAIN_NEEDS stand for
AARCH64_PACKAGES := libc6-dev libgcc-s1 libopenblas-dev liblapacke-dev librandom123-dev libxxhash-dev \
                    check libjansson-dev zlib1g-dev libyaml-dev
AARCH64     := deps/aarch64
AARCH64_LIB := $(AARCH64)/root/usr/lib/aarch64-linux-gnu
AARCH64_RUN := qemu-aarch64 -L $(abspath $(AARCH64))/root
AARCH64_CC   = aarch64-linux-gnu-gcc --sysroot=$(abspath $(AARCH64))/root
AARCH64_PC   = env PKG_CONFIG_SYSROOT_DIR=$(abspath $(AARCH64))/root PKG_CONFIG_LIBDIR=$(abspath $(AARCH64_LIB))/pkgconfig pkg-config
AARCH64_BUILD = $(MAKE) NO_DEPS=1 BUILD=$(BUILD)/aarch64 MUJOCO_DIR=$(AARCH64)/mujoco \
                CC='$(AARCH64_CC)' AR=aarch64-linux-gnu-ar PKG_CONFIG='$(AARCH64_PC)'

.PHONY: deps-aarch64 check-aarch64
deps-aarch64: | $(VENV)/drawing ## cross compiler and emulator; Debian's arm64 packages and MuJoCo's wheel, unpacked into deps/aarch64
	$(call needs,$(AARCH64_NEEDS))
	$(if $(NO_DEPS),,@sh tests/machines/root.sh arm64 $(AARCH64)/root $(AARCH64_PACKAGES))
	$(if $(NO_DEPS),,@[ "$$(cat $(AARCH64)/mujoco/version 2>/dev/null)" = "$(MUJOCO_VERSION)" ] || \
	    MUJOCO_MACHINE=aarch64 sh examples/setup/mujoco.sh $(MUJOCO_VERSION) $(AARCH64)/mujoco $(VENV)/bin/python)

check-aarch64: | needs-models ## suites, cases and two iterations of the reacher on aarch64, cross-built and emulated by qemu-user
	$(call needs,$(AARCH64_NEEDS))
	$(if $(NO_DEPS),,@[ "$$(cat $(AARCH64)/mujoco/version 2>/dev/null)" = "$(MUJOCO_VERSION)" ] || \
	    { echo "Debian's arm64 packages and MuJoCo are missing in $(AARCH64). Type:  make deps-aarch64" >&2; exit 1; })
	@$(AARCH64_BUILD) program suites $(BUILD)/aarch64/replay
	@CK_TIMEOUT_MULTIPLIER=50 LIMIT=3600 TCE_TEST_BUILD=$(abspath $(BUILD))/aarch64/tests WRAP='$(AARCH64_RUN)' \
	    $(RUN) $(SUITES:$(BUILD)/%=$(BUILD)/aarch64/%)
	@TCE_TASKS=$(abspath $(BUILD))/aarch64/bin/libtce_tasks.so sh tests/machines/aarch64.sh $(BUILD)/aarch64 '$(AARCH64_RUN)' $(FILES)

# functions are compiled twice, and the processor that OpenBLAS and the loader see decides
OLD_X86_SUITES := $(BUILD)/tests/test_net $(BUILD)/tests/test_policy

.PHONY: check-old-x86
check-old-x86: $(OLD_X86_SUITES) ## networks and policies have the same bytes on an x86-64 without AVX2, emulated by qemu-user
	$(call needs,command:qemu-x86_64)
	@OPENBLAS_CORETYPE=Nehalem CASES=property LIMIT=1200 CK_TIMEOUT_MULTIPLIER=20 WRAP='qemu-x86_64 -cpu Nehalem' $(RUN) $(OLD_X86_SUITES)

EXPORTED_NEEDS := command:qemu-aarch64 command:aarch64-linux-gnu-gcc package:libc6-dev-arm64-cross \
                  command:arm-linux-gnueabihf-gcc package:libc6-dev-armhf-cross \
                  command:riscv64-linux-gnu-gcc package:libc6-dev-riscv64-cross \
                  command:s390x-linux-gnu-gcc package:libc6-dev-s390x-cross

deps-long: deps-aarch64 deps-exported deps-macos

.PHONY: deps-exported check-exported
deps-exported:
	$(call needs,$(EXPORTED_NEEDS))

check-exported: $(PROGRAM) ## the C file of an exported policy tests itself on aarch64, armhf, riscv64 and s390x, emulated by qemu-user
	$(call needs,$(EXPORTED_NEEDS))
	@sh tests/machines/exported.sh $(PROGRAM)

# a compiler, and what BUILD_NEEDS stand for
BARE_PACKAGES := gcc libc6-dev make pkg-config libopenblas-dev liblapacke-dev librandom123-dev libxxhash-dev

deps-long: deps-bare

.PHONY: deps-bare check-bare
deps-bare: ## a Debian of its own in deps/bare, for `make check-bare`; as root
	$(call needs,command:debootstrap)
	$(if $(NO_DEPS),,@sh tests/machines/debian.sh bookworm deps/bare $(BARE_PACKAGES))

check-bare: ## the library builds in a bare Debian without a package manager, as a user who is not root; as root (chroot)
	@[ -e deps/bare/packages ] || { echo "there is no Debian in deps/bare. Type:  make deps-bare" >&2; exit 1; }
	@JOBS=$(JOBS) sh tests/machines/bare.sh deps/bare

ZIG_VENV  := deps/venv-zig
ZIG       := $(abspath $(ZIG_VENV))/bin/python -m ziglang
# headers of this machine serve, libraries are missing: names that these would have stay open
MACOS_BUILD = $(MAKE) NO_DEPS=1 WERROR=1 AR='$(ZIG) ar' BLAS_CFLAGS='-isystem $(abspath $(BUILD))/macos/include' \
              BLAS_LIBS=-Wl,-undefined,dynamic_lookup TRAINER_LIBS=-Wl,-undefined,dynamic_lookup

$(ZIG_VENV)/ready: tests/machines/zig.txt $(if $(INSTALLING),| needs-venv)
	$(call wheels,$(ZIG_VENV),$<,deps-macos)

.PHONY: deps-macos
deps-macos: $(ZIG_VENV)/ready

# everything of the library, the trainer and the tasks
.PHONY: objects
objects: $(OBJECTS) $(TRAINER_OBJECTS) $(TASK_OBJECTS)

.PHONY: check-macos
check-macos: $(ZIG_VENV)/ready | needs-train needs-mujoco ## library, trainer and tasks compile for macOS, and the first two link; nothing is run
	@sh tests/machines/headers.sh $(BUILD)/macos/include
	+@for machine in x86_64 aarch64; do \
	     $(MACOS_BUILD) BUILD=$(BUILD)/macos/$$machine CC="$(ZIG) cc -target $$machine-macos" objects all $(BUILD)/macos/$$machine/bin/tce && \
	     echo "macOS, $$machine: compiled and linked" || exit 1; \
	 done

# ---- coverage -----------------------------------------------------------------------------------------------

COV := $(BUILD)/cov

.PHONY: coverage
coverage: | deps ## lines and branches that the tests run, by folder; ends with status 1 where lines are below 95 % (src) or 90 %
	@mkdir -p $(COV) && find $(COV) -name '*.gcda' -delete
	@CK_TIMEOUT_MULTIPLIER=10 $(MAKE) BUILD=$(COV) COVERAGE=1 check replay check-trainer check-python
	@$(VENV)/bin/python tests/coverage/coverage.py $(COV)

# ---- fuzzers: readers of files that come from elsewhere -----------------------------------------------------

FUZZ_TARGETS := $(sort $(patsubst tests/fuzz/fuzz_%.c,%,$(filter-out tests/fuzz/fuzz_file.c,$(wildcard tests/fuzz/fuzz_*.c))))
FUZZERS      := $(FUZZ_TARGETS:%=$(BUILD)/tests/fuzz/%)
FUZZ_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/fuzz/*.c))
# who calls the targets: a main that takes one file, or libFuzzer
FUZZ_MAIN    ?= $(BUILD)/tests/fuzz/one_file.o
FUZZ_LINK    ?=
FUZZ_SECONDS ?= 60
FUZZ         := $(BUILD)/fuzz

$(FUZZ_OBJECTS): $(BUILD)/%.o: %.c $(BUILD)/flags | needs-train
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(COMPILE) -Iexamples/trainer -MMD -MP -c -o $@ $<

.SECONDARY: $(FUZZ_OBJECTS)

$(FUZZERS): $(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/tests/fuzz/fuzz_file.o $(FUZZ_MAIN) $(TRAINER_ARCHIVE) $(STATIC)
	$(call say,LD,$@)
	$(Q)$(LINK) $(FUZZ_LINK) -o $@ $^ $(TRAINER_LIBS) $(LIBS)

.PHONY: check-fuzz
check-fuzz: ## the corpora of the fuzzers under the address and undefined-behaviour sanitizers
	@$(MAKE) BUILD=$(BUILD)/san SANITIZE=address,undefined $(FUZZERS:$(BUILD)/%=$(BUILD)/san/%)
	@sh tests/fuzz/check.sh $(BUILD)/san/tests/fuzz $(FUZZ_TARGETS)

.PHONY: fuzz
fuzz: | needs-train needs-fuzz ## hostile files under libFuzzer, for FUZZ_SECONDS (60) each: store, settings, queue, policy
	@$(MAKE) CC=clang BUILD=$(FUZZ) SANITIZE=address,undefined,fuzzer-no-link FUZZ_MAIN= FUZZ_LINK=-fsanitize=fuzzer $(FUZZERS:$(BUILD)/%=$(FUZZ)/%)
	@$(MAKE) -k $(FUZZ_TARGETS:%=fuzz-%)

.PHONY: fuzz-long
fuzz-long: ## fuzz, for ten minutes per target
	@$(MAKE) fuzz FUZZ_SECONDS=600

# finds stay in build/fuzz as <target>-crash-...: they belong into the corpus, with what they were a sign of mended
.PHONY: $(FUZZ_TARGETS:%=fuzz-%)
$(FUZZ_TARGETS:%=fuzz-%): fuzz-%:
	@mkdir -p $(FUZZ)/corpus/$*
	@$(FUZZ)/tests/fuzz/$* -max_total_time=$(FUZZ_SECONDS) -max_len=$(if $(filter policy,$*),32768,4096) -artifact_prefix=$(FUZZ)/$*- \
	    -print_final_stats=1 $(FUZZ)/corpus/$* tests/fuzz/corpus/$* >$(FUZZ)/$*.log 2>&1 || { tail -n 60 $(FUZZ)/$*.log; exit 1; }
	@echo "fuzz $*: $$(sed -n 's/^stat::number_of_executed_units: *//p' $(FUZZ)/$*.log) inputs in $(FUZZ_SECONDS) s, nothing found"

# the tasks as Gymnasium environments
check-python: export TCE_TASKS := $(abspath $(TASKS))
# the trainer in programs of the docs
check-docs: export TCE_TRAIN := $(abspath $(EMBEDDED))
check-docs: $(EMBEDDED)

check-python: export TCE_TRAIN := $(abspath $(EMBEDDED))
check-python: export TCE_PROGRAM := $(abspath $(PROGRAM))
check-python: program | needs-models needs-pictures

# ---- the same bytes as before --------------------------------------------------------------------------

.PHONY: witness
witness: program | $(VENV)/drawing needs-models ## checksums of three iterations of every preset, compared with the kept ones; PRESETS="a/b ...", WRITE=1 keeps new ones
	@$(VENV)/bin/python tests/witness/witness.py $(PROGRAM) $(PRESETS) --jobs $(JOBS) $(if $(WRITE),--write)

# ---- the original environments beside ours: on request only ----------------------------------------------

FANCY_VENV     := deps/venv-oracle-fancy
METAWORLD_VENV := deps/venv-oracle-metaworld
EPISODES       ?= 50

$(METAWORLD_VENV)/ready: tests/oracle/metaworld.txt | $(VENV)/ready
	$(call wheels,$(METAWORLD_VENV),$<,deps-oracle)

$(BUILD)/tests/oracle/loops.so: tests/oracle/loops.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=c99 -O2 -fPIC -shared $(WARNINGS) -o $@ $<

.PHONY: check-oracle-metaworld
check-oracle-metaworld: program $(BUILD)/tests/oracle/loops.so $(METAWORLD_VENV)/ready | needs-models ## Metaworld's tasks beside the Python package's: differences and speed; ARGS="reach --no-speed"
	@TCE_LIBRARY='$(abspath $(LIBTCE))' PYTHONPATH='$(CURDIR)/bindings/python' OPENBLAS_NUM_THREADS=1 \
	    $(METAWORLD_VENV)/bin/python tests/oracle/metaworld_oracle.py $(TASKS) $(BUILD)/tests/oracle/loops.so $(ARGS)

$(FANCY_VENV)/needed: tests/oracle/requirements.txt | $(VENV)/ready
	$(call wheels,$(FANCY_VENV),$<,deps-oracle)

$(FANCY_VENV)/originals: tests/oracle/originals.txt $(FANCY_VENV)/needed
	$(call wheels,$(FANCY_VENV),$<,deps-oracle,--no-deps --only-binary=:all:)

# The box's model has an attribute that MuJoCo 3 refuses; it asked for the default.
$(FANCY_VENV)/ready: $(FANCY_VENV)/originals
	$(Q)sed -i 's/ collision="all"//' $(FANCY_VENV)/lib/python3*/site-packages/fancy_gym/envs/mujoco/box_pushing/assets/box_pushing.xml
	$(Q)touch $@

.PHONY: deps-oracle
deps-oracle: $(FANCY_VENV)/ready $(METAWORLD_VENV)/ready ## the original environments, which the check-oracle targets compare with; gigabytes

.PHONY: check-oracle
check-oracle: $(TASKS) $(FANCY_VENV)/ready | needs-models ## the original environments beside ours, EPISODES (50) per task
	@[ "$$(cat $(MUJOCO_DIR)/version 2>/dev/null)" = "$$(sed -n 's/^mujoco==//p' tests/oracle/originals.txt)" ] || \
	    { echo "check-oracle compares under the MuJoCo of tests/oracle/originals.txt: build the tasks with it (make MUJOCO_VERSION=$(call version_of,mujoco))" >&2; exit 1; }
	@TCE_LIBRARY='$(abspath $(LIBTCE))' PYTHONPATH='$(CURDIR)/bindings/python' $(FANCY_VENV)/bin/python tests/oracle/oracle.py \
	    $(TASKS) --episodes $(EPISODES)

-include $(TASK_OBJECTS:.o=.d) $(TRAINER_OBJECTS:.o=.d) $(TRAINER_SUITES:%=%.d) $(TASK_SUPPORT:.o=.d) $(FUZZ_OBJECTS:.o=.d) $(EPISODES_PROGRAM).d
