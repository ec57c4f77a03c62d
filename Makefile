# nnutils: builds everything. `make help` lists the targets.
#
# A tool is a file cmd/X.c, and nothing else needs to change for a new one: everything but cmd/
# goes into build/libcore.a, and --as-needed keeps the libraries of one tool out of another.

CC       = gcc
AR       = ar
PREFIX   = /usr/local
DESTDIR  =
VERSION  = 0.1.0
BUILD    = build
CFLAGS   = -O3
LDFLAGS  =

-include config.mk

comma := ,

# --- what is asked for -------------------------------------------------------------------
ifdef DEBUG
CFLAGS  := -O0 -g3
endif
ifdef SANITIZE
CFLAGS  := -O1 -g1 -fno-omit-frame-pointer -fsanitize=$(SANITIZE) -fno-sanitize-recover=all
LDFLAGS += -fsanitize=$(SANITIZE)
BUILD   := build/$(subst $(comma),-,$(SANITIZE))
endif
ifdef CI
WERROR = -Werror
endif
ifndef V
Q = @
say = @printf '  %-5s %s\n' $(1) $(2);
endif

# --- the libraries (design.md, 1.8): pkg-config finds them ---------------------------------
PKGS    = libxxhash libcjson libpcre2-8 libarchive zlib libzstd cairo libedit
needs_packages := $(filter-out clean help lint format uninstall,$(or $(MAKECMDGOALS),all))
installs       := $(filter demo check check-slow,$(MAKECMDGOALS))
PKG_CONFIG     ?= pkg-config

ifneq ($(needs_packages),)
missing := $(shell for p in $(PKGS); do $(PKG_CONFIG) --exists $$p 2>/dev/null || echo $$p; done)
ifneq ($(installs),)
# `make check` and `make demo` set a fresh machine up by themselves.
ifneq ($(shell scripts/install-deps --check $(installs) 2>/dev/null && echo ready),ready)
$(info installing what is missing: scripts/install-deps $(installs))
ignored := $(shell scripts/install-deps $(installs) >&2 || echo failed)
ifneq ($(filter failed,$(ignored)),)
$(error scripts/install-deps failed: see above)
endif
endif
missing := $(shell for p in $(PKGS); do $(PKG_CONFIG) --exists $$p 2>/dev/null || echo $$p; done)
endif
ifneq ($(missing),)
$(error missing: $(missing). scripts/install-deps installs what nnutils needs)
endif
endif

PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PKGS) 2>/dev/null)
PKG_LIBS   := $(shell $(PKG_CONFIG) --libs $(PKGS) 2>/dev/null)

# --- flags ---------------------------------------------------------------------------------
WARN     = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef \
           -Wpointer-arith -Wwrite-strings -Wno-unused-parameter $(WERROR)
STD      = -std=c17 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -D_FILE_OFFSET_BITS=64
ALL_CFLAGS = $(STD) -I. -ffp-contract=off -fno-math-errno -fvisibility=hidden $(WARN) $(TEAM) $(PKG_CFLAGS) $(CFLAGS)
ALL_LDFLAGS = -Wl,--as-needed $(LDFLAGS)
LIBS     = $(PKG_LIBS) -lm

# The thread team: OpenMP, or pthreads where ThreadSanitizer watches.
ifneq ($(findstring thread,$(SANITIZE)),)
TEAM = -DNNUTILS_PTHREADS -pthread
else
TEAM = -fopenmp
endif

# --- what there is -------------------------------------------------------------------------
TOOLS      := $(patsubst cmd/%.c,%,$(filter-out $(wildcard cmd/cmd*.c),$(wildcard cmd/*.c)))
CORE_SRC   := $(wildcard lib/*/*.c formats/*.c kernels/*.c kernels/ref/*.c)
CORE_OBJ   := $(CORE_SRC:%.c=$(BUILD)/%.o)
CMD_OBJ    := $(patsubst %.c,$(BUILD)/%.o,$(wildcard cmd/cmd*.c))
BIN        := $(TOOLS:%=$(BUILD)/bin/%)
UNIT       := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/*.c tests/kernel/*.c))
FUZZERS    := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

# Kernels are compiled once per base level of this architecture; those of kernels/cpu/UNIT once, for that unit
# (kernels/cpu/level.h).
ARCH       := $(shell $(CC) -dumpmachine | cut -d- -f1)
LEVELS_x86_64  = generic avx2 avx512
LEVELS_aarch64 = generic neon
LEVELS     := $(or $(LEVELS_$(ARCH)),generic)
UNITS_x86_64  = avx_vnni avx512_vnni avx512_bf16 amx
UNITS_aarch64 = neon_dotprod neon_bf16
UNITS      := $(UNITS_$(ARCH))
FLAGS_avx2   = -mavx2 -mfma -mf16c -mbmi2
FLAGS_avx512 = -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mbmi2 -mprefer-vector-width=512
FLAGS_avx_vnni     = $(FLAGS_avx2) -mavxvnni
FLAGS_avx512_vnni  = $(FLAGS_avx512) -mavx512vnni
FLAGS_avx512_bf16  = $(FLAGS_avx512) -mavx512bf16
FLAGS_amx          = $(FLAGS_avx512_bf16) -mamx-tile -mamx-int8 -mamx-bf16
FLAGS_neon         = -DSIMD_NEON
FLAGS_neon_dotprod = $(FLAGS_neon) -march=armv8.2-a+dotprod
FLAGS_neon_bf16    = $(FLAGS_neon) -march=armv8.2-a+bf16
KERNEL_SRC := $(filter-out kernels/cpu/level.c kernels/cpu/choice.c,$(wildcard kernels/cpu/*.c))
unit_objects  = $(patsubst %.c,$(BUILD)/%.$(1)$(2).o,$(wildcard kernels/cpu/$(1)/*.c))
level_objects = $(KERNEL_SRC:%.c=$(BUILD)/%.$(1)$(2).o)
CORE_OBJ   += $(BUILD)/kernels/cpu/level.o $(BUILD)/kernels/cpu/choice.o \
              $(foreach l,$(LEVELS),$(call level_objects,$(l))) $(foreach u,$(UNITS),$(call unit_objects,$(u)))

# The levels above AVX2 computed on it, for tests (kernels/cpu/intrinsics.h): libcore-emulated.a.
ifeq ($(ARCH),x86_64)
EMULATED       = avx512 avx_vnni avx512_vnni avx512_bf16 amx
FLAGS_emulated = $(FLAGS_avx2) -DSIMD_EMULATED -Wno-psabi
REAL_OBJ      := $(BUILD)/kernels/cpu/level.o $(foreach l,$(EMULATED),$(call level_objects,$(l)) $(call unit_objects,$(l)))
EMULATED_OBJ  := $(filter-out $(REAL_OBJ),$(CORE_OBJ)) $(BUILD)/kernels/cpu/level.emulated.o \
                 $(call level_objects,avx512,.emulated) $(foreach l,$(EMULATED),$(call unit_objects,$(l),.emulated))
EMULATED_TEST := $(addprefix $(BUILD)/tests/emulated/kernel/,test_amx test_level test_matmul test_op_levels test_pairs \
                 test_peak test_quantize)
endif

.PHONY: all check check-slow demo install uninstall lint format clean help fuzz tests
all: $(BIN)

help:
	@echo 'all         build the tools into build/bin (the default)'
	@echo 'check       the fast tests; installs what is missing; ends in N passed, N failed, N skipped'
	@echo 'check-slow  the same, with sanitizers, other architectures, peers and fuzzing time'
	@echo 'demo        the main job on real data; installs what is missing'
	@echo 'install     tools, man pages, completion to DESTDIR/PREFIX ($(PREFIX)); uninstall removes them'
	@echo 'lint        formatting, include direction, banned functions, man pages, shell scripts'
	@echo 'format      apply .clang-format'
	@echo 'fuzz        each reader under libFuzzer for FUZZ_TIME seconds (60)'
	@echo 'clean       remove build/'
	@echo 'Variables: CC=clang  DEBUG=1  SANITIZE=address,undefined  V=1  CFLAGS=  PREFIX=  DESTDIR='

# --- building --------------------------------------------------------------------------------
# Objects are rebuilt when the flags change; the stamp holds the flags of the last build.
FLAGS_NOW := $(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(LEVELS) $(UNITS)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D); echo '$(FLAGS_NOW)' | cmp -s - $@ || echo '$(FLAGS_NOW)' > $@
.PHONY: FORCE
FORCE:

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# level_rule LEVEL SUFFIX FLAGS
define level_rule
$(BUILD)/%.$(1)$(2).o: %.c $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(call say,CC,'$$< ($(1)$(2))')
	$$(Q)$$(CC) $$(ALL_CFLAGS) $(3) -DLEVEL=$(1) -MMD -MP -c -o $$@ $$<
endef
$(foreach l,$(LEVELS) $(UNITS),$(eval $(call level_rule,$(l),,$(FLAGS_$(l)))))
$(foreach l,$(EMULATED),$(eval $(call level_rule,$(l),.emulated,$(FLAGS_emulated))))
$(BUILD)/%.emulated.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,'$< (emulated)')
	$(Q)$(CC) $(ALL_CFLAGS) -DLEVEL_EMULATED -MMD -MP -c -o $@ $<

# The commit goes into one small object, made again only when it changes.
COMMIT := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)$(shell git diff --quiet HEAD 2>/dev/null || echo +)
$(BUILD)/commit: FORCE
	@mkdir -p $(@D); echo '$(VERSION) $(COMMIT)' | cmp -s - $@ || echo '$(VERSION) $(COMMIT)' > $@
$(BUILD)/cmd/cmd_version.o: $(BUILD)/commit
$(BUILD)/cmd/cmd_version.o: ALL_CFLAGS += -DNNUTILS_VERSION='"$(VERSION)"' -DNNUTILS_COMMIT='"$(COMMIT)"'

$(BUILD)/libcore.a: $(CORE_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@; $(AR) rcs $@ $^

$(BUILD)/libcore-emulated.a: $(EMULATED_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@; $(AR) rcs $@ $^

# What tools share: an archive, so that a tool holds what it uses.
$(BUILD)/libcmd.a: $(CMD_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@; $(AR) rcs $@ $^

$(BUILD)/bin/%: $(BUILD)/cmd/%.o $(BUILD)/libcmd.a $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(TEAM) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

# --- tests -----------------------------------------------------------------------------------
TEST_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/*.c))
SHIM     := $(BUILD)/tests/shim/faults.so
# Programs that the comparisons with peers run.
PEER     := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/peer/*.c))

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(TEST_OBJ) $(BUILD)/libcmd.a $(BUILD)/libcore.a
	$(call say,LD,$@)
	$(Q)$(CC) $(TEAM) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)
$(BUILD)/tests/kernel/%: $(BUILD)/tests/kernel/%.o $(TEST_OBJ) $(BUILD)/libcore.a
	$(call say,LD,$@)
	$(Q)$(CC) $(TEAM) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)
$(BUILD)/tests/emulated/%: $(BUILD)/tests/%.o $(TEST_OBJ) $(BUILD)/libcore-emulated.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(TEAM) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)
$(BUILD)/tests/peer/%: $(BUILD)/tests/peer/%.o $(TEST_OBJ) $(BUILD)/libcore.a
	$(call say,LD,$@)
	$(Q)$(CC) $(TEAM) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)
$(SHIM): tests/shim/faults.c
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(STD) $(WARN) -D_GNU_SOURCE -fPIC -shared -O1 -o $@ $< -ldl

tests: all $(UNIT) $(EMULATED_TEST) $(PEER) $(SHIM)

check: tests
	@scripts/run-tests fast $(BUILD)

check-slow: tests
	@scripts/run-tests slow $(BUILD)

fuzz:
	@scripts/fuzz $(FUZZ_TIME)

demo: all
	@scripts/demo $(BUILD)

lint:
	@scripts/lint

format:
	clang-format -i $(shell git ls-files '*.c' '*.h')

# --- installing --------------------------------------------------------------------------------
bindir  = $(DESTDIR)$(PREFIX)/bin
mandir  = $(DESTDIR)$(PREFIX)/share/man
compdir = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
sharedir = $(DESTDIR)$(PREFIX)/share/nnutils
MAN     = $(wildcard man/man?/*)

install: all
	install -d $(bindir) $(compdir) $(patsubst %,$(mandir)/%,$(notdir $(wildcard man/man?)))
	install -m 755 $(BIN) $(bindir)
	$(foreach m,$(MAN),install -m 644 $(m) $(mandir)/$(m:man/%=%);)
	install -m 644 scripts/completion.bash $(compdir)/nnutils
	install -d $(sharedir)
	install -m 644 scripts/pretrain.mk $(sharedir)
	$(foreach t,$(TOOLS),ln -sf nnutils $(compdir)/$(t);)

uninstall:
	rm -f $(TOOLS:%=$(bindir)/%) $(MAN:man/%=$(mandir)/%) $(TOOLS:%=$(compdir)/%) $(compdir)/nnutils
	rm -rf $(sharedir)

clean:
	rm -rf build
