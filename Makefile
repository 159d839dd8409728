# make demo         from nothing to estimated parameters of 2601 Lotka-Volterra environments, and a report
# make build        the program, target/release/paramill
# make build-light  the same without libtorch, which models of fields and GPUs need
# make test         everything that must hold: formatting, clippy, unit, integration, property and interop tests, without libtorch too
# make test-faults  a fault at every single operation on the disk, of which make test takes a sample
# make test-slurm   shards on Slurm itself: installs it (Debian, as root), three nodes on this machine, with nodes lost and jobs killed
# make bench        how fast it is, beside its peers      make lint     formatting and clippy alone
# make test-gpu     what stays on a CUDA device, held against the CPU      make bench-gpu   how fast it is there; fills docs/studies/gpu.md
# make results      RESULTS.md anew from the files in results/
# make schemas      the JSON Schemas in schemas/ and the reference pages in docs/reference/ anew from the program
#
# All that is fetched goes to .tools/ (git-ignored): libtorch from PyPI, cmake too where there is none of 3.26 or later, and a Python
# environment for the tests.

.DEFAULT_GOAL := help
.PHONY: help setup setup-light demo build build-light test test-light test-faults test-slurm test-gpu lint bench bench-gpu results schemas clean
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

TORCH := 2.11.0
CUDA_HEADERS := nvidia-cuda-crt==13.0.88
# Its loader alone is tested, with the torch of libtorch: its own requirements would bring torch with CUDA once more.
THE_WELL := 1.2.0
PIP := python3 -m pip --disable-pip-version-check
PIP_INSTALL := install --quiet --root-user-action=ignore
# With an NVIDIA driver, libtorch comes with its CUDA libraries; without, only with the two stubs that its CPU part links to.
CUDA := $(if $(wildcard /proc/driver/nvidia/version /dev/nvidiactl),cuda,cpu)
TORCH_PACKAGES := $(if $(filter cuda,$(CUDA)),torch==$(TORCH),--no-deps torch==$(TORCH) nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85)

LIGHT := --no-default-features
# Faults on request at every operation on the disk: in the light program, which is built for tests alone.
FAULTS := --features failpoints
# Compiles this crate, not what it builds on, quickly, for programs that are only tested.
QUICK := $(foreach set,opt-level=1 codegen-units=256 debug=0,--config profile.release.package.paramill.$(set))

# The advisories come from GitHub; where neither they nor the program can be had, the rest is checked, or nothing.
define DENY
if ! cargo deny --version >/dev/null 2>&1; then \
	echo "cargo deny is not installed: packages are not checked (cargo install --locked cargo-deny)"; \
elif GIT_TERMINAL_PROMPT=0 timeout 30 git ls-remote https://github.com/rustsec/advisory-db HEAD >/dev/null 2>&1; then \
	cargo deny --all-features check; \
else \
	echo "the advisory database cannot be had: packages are checked without it"; \
	cargo deny --offline --all-features check bans licenses sources; \
fi
endef

help:
	@sed -n 's/^# \?//; 1,/^$$/p' Makefile

setup: setup-light .tools/torch-$(TORCH)-$(CUDA) .tools/cuda-headers/$(CUDA_HEADERS)

setup-light: .tools/bin/cmake

.tools/torch-$(TORCH)-$(CUDA):
	@echo "fetching libtorch $(TORCH) ($(CUDA)) into .tools/ (about half a minute)"
	@rm -rf .tools/torch .tools/torch.new .tools/torch-* && mkdir -p .tools/libtorch/lib
	@$(PIP) $(PIP_INSTALL) --target .tools/torch.new $(TORCH_PACKAGES)
	@mv .tools/torch.new .tools/torch
	@ln -sfn ../torch/torch/include .tools/libtorch/include
	@ln -sfn ../../torch/torch/lib/libtorch_cpu.so .tools/libtorch/lib/libtorch_cpu.so
	@ln -sfn ../../torch/torch/lib/libtorch_cpu.so .tools/libtorch/lib/libtorch.so
	@ln -sfn ../../torch/torch/lib/libc10.so .tools/libtorch/lib/libc10.so
	@echo $(TORCH) > .tools/libtorch/build-version
	@touch $@

# What of CUDA's headers does not come with libtorch: CUDA graphs are recorded by a few lines of C++.
.tools/cuda-headers/$(CUDA_HEADERS):
	@echo "fetching headers of CUDA into .tools/"
	@rm -rf .tools/cuda-headers
	@$(PIP) $(PIP_INSTALL) --no-deps --target .tools/cuda-headers $(CUDA_HEADERS)
	@touch $@

# What builds HDF5: the machine's own cmake if it will do.
.tools/bin/cmake:
	@mkdir -p .tools/bin
	@if cmake --version 2>/dev/null | awk '/version/ { split($$3, v, "."); ok = v[1] > 3 || v[1] == 3 && v[2] >= 26 } END { exit !ok }'; then \
		ln -sfn "$$(command -v cmake)" $@; \
	elif $(PIP) --version >/dev/null 2>&1; then \
		echo "fetching cmake into .tools/"; \
		rm -rf .tools/cmake .tools/cmake.new; \
		$(PIP) $(PIP_INSTALL) --target .tools/cmake.new 'cmake>=3.26,<5'; \
		mv .tools/cmake.new .tools/cmake; \
		ln -sfn ../cmake/cmake/data/bin/cmake $@; \
	else \
		echo "found neither cmake 3.26 or later nor python3 with pip to fetch it with; install one of them" >&2; exit 1; \
	fi

# The interpreter of the interop tests. `--without-pip` works where Python comes without ensurepip.
.tools/venv/ready: tests/interop/requirements.txt
	@echo "fetching the Python packages of the interop tests into .tools/venv"
	@rm -rf .tools/venv && mkdir -p .tools && python3 -m venv --without-pip .tools/venv
	@$(PIP) --python .tools/venv/bin/python $(PIP_INSTALL) -r tests/interop/requirements.txt
	@$(PIP) --python .tools/venv/bin/python $(PIP_INSTALL) --no-deps the_well==$(THE_WELL)
	@touch $@

build: setup
	@echo "building (the first time takes about ten minutes on two cores)"
	cargo build --release --locked

build-light: setup-light
	@echo "building (the first time takes about ten minutes on two cores)"
	cargo build --release --locked $(LIGHT)

demo: build
	target/release/paramill run pipelines/lv-demo.toml

lint: setup
	cargo fmt --check
	cargo clippy --release --locked --all-targets -- -D warnings
	cargo clippy --release --locked --all-targets $(LIGHT) $(FAULTS) -- -D warnings
	@$(DENY)

# The light build comes first, so that target/release/paramill is the whole program afterwards.
test: lint .tools/venv/ready test-light
	cargo test --release --locked --no-fail-fast

# What is built otherwise without libtorch, and what must not need it.
test-light: setup-light
	cargo test --release --locked --no-fail-fast $(LIGHT) $(FAULTS) $(QUICK) --lib --test engine --test train --test estimate --test physics --test cli \
		--test faults

# Some 380 operations, each met by a kill, by an error and by a disk that stays full: a quarter of an hour on two cores.
test-faults: setup-light
	PARAMILL_FAULTS=all cargo test --release --locked $(LIGHT) $(FAULTS) $(QUICK) --test faults

test-slurm: build
	tests/slurm/run.sh target/release/paramill

# What the peers of the bench run on. Nothing can be shared with .tools/torch: the wheel of PyTorch does not load without
# all of its CUDA libraries, which libtorch on the CPU does without.
.tools/peers/ready: benches/peers/requirements.txt
	@echo "fetching the Python packages of the peers into .tools/peers (some gigabytes)"
	@rm -rf .tools/peers && mkdir -p .tools && python3 -m venv --without-pip .tools/peers
	@$(PIP) --python .tools/peers/bin/python $(PIP_INSTALL) -r benches/peers/requirements.txt
	@touch $@

bench: build .tools/peers/ready
	cargo bench --locked

test-gpu: setup
	cargo test --release --locked --test device -- --include-ignored

bench-gpu: build .tools/peers/ready
	python3 benches/gpu/bench.py

results: build
	target/release/paramill results results/*.json > RESULTS.md

schemas: build
	target/release/paramill schema --write schemas
	target/release/paramill reference --write docs/reference

clean:
	cargo clean
	rm -rf .tools
