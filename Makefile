# btml: builds with PGXS, as extensions do.
#
#   make && make install     needs g++ (C++20), Eigen 3.4, FFTW 3 and the server headers of PostgreSQL 15 to 18
#   make installcheck        regression tests against a running server
#   make test | demo | bench set everything up by themselves, in a private throw-away cluster
#   make sanitize            likewise; the unit tests under AddressSanitizer and UndefinedBehaviorSanitizer
#   make format              clang-format 14 over the sources; check-format and check-scripts only look at them
#   make docs                the documentation's tables of options, from those of the core
#
# PG_CONFIG=/path/to/pg_config chooses the server; WERROR=1 turns warnings into errors; DEBUG_INFO=0 leaves out what
# debuggers read, which compiles in seven tenths of the time; WITH_CUDA=1 builds and installs btml_cuda.so as well, which
# takes NVIDIA's compiler of CUDA 12 (NVCC=/path/to/nvcc); WITH_FFTW=0 builds without FFTW, whose licence is the GPL, and
# with the slower transforms that Eigen ships; EIGEN_CFLAGS, FFTW_CFLAGS and FFTW_LIBS say where the two are installed.

EXTENSION = btml
MODULE_big = btml
EXTVERSION := $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" btml.control)

WITH_FFTW ?= 1
core_sources := $(filter-out %$(if $(filter 0,$(WITH_FFTW)),_fftw,_kissfft).cpp,\
    $(sort $(wildcard src/core/*/*.cpp src/core/*/*/*.cpp)))
pg_sources := $(sort $(wildcard src/pg/*.cpp src/pg/*/*.cpp))
install_parts := $(sort $(wildcard sql/install/[0-9]*.sql))

objdir := build/module
# Files *_levels.cpp are compiled once for each level of core/base/levels.hpp, as far as the compiler has levels.
compiler_macros = $(eval compiler_macros := $$(shell $(CXX) -dM -E -x c++ /dev/null 2>/dev/null))$(compiler_macros)
levels = $(if $(filter __x86_64__,$(compiler_macros)),$(if $(filter __clang__,$(compiler_macros)),,avx2 avx512))
avx2_flags = -mavx2 -mfma
avx512_flags = $(avx2_flags) -mavx512f -mavx512dq -mavx512bw -mavx512vl
level_sources = $(filter %_levels.cpp,$(core_sources))
# The other files of a folder are compiled as one, which takes half the time; those of src/pg itself, each a capability,
# one by one.
room_sources = $(filter-out $(level_sources) $(wildcard src/pg/*.cpp),$(core_sources) $(pg_sources))
rooms = $(patsubst src/%/,%,$(sort $(dir $(room_sources))))
OBJS = $(patsubst src/%.cpp,$(objdir)/%.o,$(level_sources) $(filter-out $(room_sources),$(pg_sources))) $(rooms:%=$(objdir)/%.o) \
    $(foreach level,$(levels),$(level_sources:src/%.cpp=$(objdir)/%_$(level).o))
DATA_built = $(EXTENSION)--$(EXTVERSION).sql
DATA = $(wildcard sql/$(EXTENSION)--*--*.sql)
EXTRA_CLEAN = build btml_cuda.so results regression.diffs regression.out output_iso

REGRESS = $(filter-out $(EXTENSION)--%,$(patsubst sql/%.sql,%,$(sort $(wildcard sql/*.sql))))
REGRESS_OPTS = --load-extension=$(EXTENSION)
ISOLATION = $(patsubst test/isolation/specs/%.spec,%,$(sort $(wildcard test/isolation/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test/isolation --load-extension=$(EXTENSION)

# No -ffast-math: it would switch the whole backend to flush-to-zero. No contraction either: results are the same bytes
# on every processor, whatever instructions a kernel is compiled for.
warnings = -Wall -Wextra -Wno-missing-format-attribute $(if $(filter 1,$(WERROR)),-Werror)
PG_CXXFLAGS = -std=c++20 -fno-math-errno -ffp-contract=off -pthread -fvisibility-inlines-hidden $(warnings) \
    $(if $(filter 0,$(DEBUG_INFO)),-g0)
# libstdc++ by name, because PGXS links with the C compiler. The version script alone decides what is exported: hiding
# symbols in src/pg by a flag would hide the entry points as well on PostgreSQL 15.
SHLIB_LINK = -Wl,--version-script=src/btml.map $(if $(filter-out 0,$(WITH_FFTW)),$(FFTW_LIBS)) -lstdc++ -pthread -ldl
# Where the libraries' headers are: -isystem, since they are not written for the warnings asked of ours.
system_headers = $(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I $(1) 2>/dev/null || echo $(2)))
EIGEN_CFLAGS ?= $(call system_headers,eigen3,-I/usr/include/eigen3)
FFTW_CFLAGS ?= $(call system_headers,fftw3)
library_flags := $(EIGEN_CFLAGS) $(if $(filter-out 0,$(WITH_FFTW)),$(FFTW_CFLAGS))
# A static FFTW, where there is one, has its allocator replaced: src/core/relational/queries/fourier_fftw.cpp says why.
fftw_archive := $(filter /%,$(shell $(CXX) -print-file-name=libfftw3.a))
fftw_wrap = -Wl,--wrap=fftw_kernel_malloc,--wrap=fftw_kernel_free
FFTW_LIBS ?= $(if $(fftw_archive),$(fftw_wrap) $(fftw_archive),-lfftw3) -lm
# PGXS does not pass C++ flags to the rule for JIT bitcode.
override with_llvm = no

.DEFAULT_GOAL := all
PG_CONFIG ?= pg_config
PGXS := $(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null))

ifneq ($(PGXS),)
include $(PGXS)

# -isystem: PostgreSQL's headers are not written for -Wextra in C++.
pg_flags = -Wno-register -isystem $(includedir_server) $(library_flags) -Isrc $(CPPFLAGS)
# The core is compiled without PostgreSQL's include directories: it cannot depend on them.
core_flags = -fvisibility=hidden $(if $(levels),-DBTML_ALL_LEVELS) $(library_flags) -Isrc $(filter-out -I%,$(CPPFLAGS))

# Reading the same headers again and again takes a quarter of the time, so each layer has them compiled once.
core_headers = core/precompiled.hpp
pg_headers = core/precompiled.hpp pg/bridge/postgres.hpp
define precompiled_rule
$(objdir)/$(1).hpp.gch: $(addprefix src/,$($(1)_headers)) $(objdir)/flags
	@printf '#include "%s"\n' $($(1)_headers) > $$(basename $$@)
	$$(CXX) $$(CXXFLAGS) $$($(1)_flags) -MMD -MP -MF $$(@:.gch=.d) -x c++-header $$(basename $$@) -o $$@
endef
$(foreach layer,core pg,$(eval $(call precompiled_rule,$(layer))))
-include $(objdir)/core.hpp.d $(objdir)/pg.hpp.d

# Sources are those of src and, for a room, the one that includes its files.
define compile_rule
$(objdir)/$(1)/%.o: $(2)/$(1)/%.cpp $(objdir)/$(1).hpp.gch
	@mkdir -p $$(@D)
	$$(CXX) $$(CXXFLAGS) $$($(1)_flags) -include $(objdir)/$(1).hpp -MMD -MP -c $$< -o $$@
endef
$(foreach layer,core pg,$(foreach from,src $(objdir),$(eval $(call compile_rule,$(layer),$(from)))))
$(rooms:%=$(objdir)/%.cpp): force
	@mkdir -p $(@D)
	@printf '#include "%s"\n' $(patsubst src/%,%,$(filter $(wildcard $(@:$(objdir)/%.cpp=src/%)/*.cpp),$(room_sources))) > $@.new
	@cmp -s $@.new $@ || mv $@.new $@; rm -f $@.new

# Without weak symbols GCC 16 gives every object its own tables of virtual functions, of the same names: they are made local.
# Nor is std::type_info::operator== inline without them, and libstdc++ has no such function: the macro makes it inline.
define level_rule
$(objdir)/core/%_levels_$(1).o: src/core/%_levels.cpp $(objdir)/flags
	@mkdir -p $$(@D)
	$$(CXX) $$(CXXFLAGS) $$(core_flags) $$($(1)_flags) -fno-weak -D__GXX_TYPEINFO_EQUALITY_INLINE=1 -w -DBTML_LEVEL=$(1) -MMD -MP -c $$< -o $$@
	objcopy -w -L '_ZTV*' $$@
endef
$(foreach level,$(levels),$(eval $(call level_rule,$(level))))

# Another server or other flags: everything is compiled anew, since one btml.so serves one major version.
flags_text = $(VERSION) $(WITH_FFTW) $(CXX) $(CXXFLAGS) $(core_flags) $(pg_flags)
# $(call require_header,header,package): an error that names both where the compiler does not find the header.
require_header = printf '\#if !__has_include(<$(1)>)\n\#error\n\#endif\n' | $(CXX) $(library_flags) -std=c++20 -x c++ -fsyntax-only - 2>/dev/null || \
    { echo 'btml: the header $(1) is missing; on Debian and Ubuntu: apt-get install $(2)' >&2; exit 1; }
$(objdir)/flags: force
	@printf '#include <bit>\nint zero = std::bit_cast<int>(0u);' | $(CXX) -std=c++20 -x c++ -fsyntax-only - 2>/dev/null || \
	    { echo 'btml: $(CXX) is missing or no C++20 compiler (g++ 11 or later); on Debian and Ubuntu: apt-get install g++' >&2; exit 1; }
	@$(call require_header,unsupported/Eigen/FFT,libeigen3-dev)
ifneq ($(WITH_FFTW),0)
	@$(call require_header,fftw3.h,libfftw3-dev (or build with WITH_FFTW=0))
endif
	@mkdir -p $(@D)
	@printf '%s\n' '$(flags_text)' | cmp -s - $@ || printf '%s\n' '$(flags_text)' > $@

$(MODULE_big)$(DLSUFFIX): src/btml.map
-include $(OBJS:.o=.d)

# Loaded by btml.so when btml.device asks for it.
include src/core/device/cuda.mk
btml_cuda$(DLSUFFIX): $(cuda_sources) $(cuda_headers)
	$(compile_cuda) $@
ifeq ($(WITH_CUDA),1)
all: btml_cuda$(DLSUFFIX)
install: install-cuda
install-cuda: btml_cuda$(DLSUFFIX) installdirs
	$(INSTALL_SHLIB) $< '$(DESTDIR)$(pkglibdir)/'
endif
uninstall: uninstall-cuda
uninstall-cuda:
	rm -f '$(DESTDIR)$(pkglibdir)/btml_cuda$(DLSUFFIX)'

# A module for tests of the boundary alone.
guard_test: build/guard_test.so
build/guard_test.so: test/modules/guard/guard_test.cpp $(addprefix $(objdir)/,pg/bridge/guard.o core/base/error.o)
	$(CXX) $(CXXFLAGS) $(pg_flags) -shared $^ $(SHLIB_LINK) -o $@

# What the documentation and the checks know of options comes from the tables in the core.
core_objects = $(filter $(objdir)/core/%,$(OBJS))
core_archive: $(objdir)/core.a
$(objdir)/core.a: $(core_objects)
	rm -f $@ && $(AR) rcsT $@ $^
option_tables: build/option_tables
build/option_tables: test/options/option_tables.cpp $(core_objects)
	$(CXX) $(CXXFLAGS) $(core_flags) $^ $(if $(filter-out 0,$(WITH_FFTW)),$(FFTW_LIBS)) -pthread -ldl -o $@
docs: build/option_tables
	@for page in contrib_docs/*.md; do $< page $$page > build/page.md && cp build/page.md $$page || exit 1; done

$(DATA_built): $(install_parts) Makefile
	{ printf '%s\n' '\echo Use "CREATE EXTENSION $(EXTENSION)" to load this file. \quit'; cat /dev/null $(install_parts); } > $@

else ifeq ($(filter-out test sanitize demo bench format check-format check-scripts clean print-library-flags print-regress print-sources,$(or $(MAKECMDGOALS),all)),)
clean:
	rm -rf $(EXTRA_CLEAN) $(DATA_built) $(MODULE_big).so
else
$(error btml: '$(PG_CONFIG) --pgxs' names no PGXS makefile; install a PostgreSQL server's headers (Debian and Ubuntu: apt-get install g++ libeigen3-dev libfftw3-dev postgresql-server-dev-all) or set PG_CONFIG)
endif

# Of test/run, which says what they are.
PARTS = suite
test:
	@test/run $(PARTS)
sanitize:
	@test/run sanitize
demo:
	@test/demo
bench:
	@test/bench/run
CLANG_FORMAT ?= clang-format
formatted_sources = find src test \( -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' \) -print0
format:
	$(formatted_sources) | xargs -0 $(CLANG_FORMAT) -i
check-format:
	$(formatted_sources) | xargs -0 $(CLANG_FORMAT) --dry-run --Werror
check-scripts:
	grep -rlE '^#!/usr/bin/env bash' .ci test | xargs shellcheck -x
print-library-flags:
	@echo '$(library_flags)'
print-regress:
	@printf '%s\n' $(REGRESS)
# What the module is compiled from; a test compares it with the sources CMake compiles.
print-sources:
	@printf '%s\n' $(core_sources) $(pg_sources)

.PHONY: test sanitize demo bench format check-format check-scripts print-library-flags print-regress print-sources guard_test option_tables docs install-cuda uninstall-cuda force core_archive
