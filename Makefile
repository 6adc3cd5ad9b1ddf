# Everything a newcomer types. Needs Python 3.11+ and make, nothing else; all that it installs lies in .venv.

VENV := .venv
PY := $(VENV)/bin/python
PYTHON ?= $(shell for each in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$each -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$each; break; }; done)

# The stamps carry a checksum of all that decides what is installed, so a warm run installs nothing
# and a changed lock file always does, whatever the times of the files are.
CHECKSUM = $(shell cat pyproject.toml requirements-build.lock $(1) | cksum | tr ' ' '-')
RUNTIME := $(VENV)/.runtime-$(call CHECKSUM,requirements.lock)
DEVELOPMENT := $(VENV)/.development-$(call CHECKSUM,requirements-dev.lock)
PIP := $(PY) -m pip --disable-pip-version-check --quiet

SHARED ?= ../shared

CHECKED := src tests tools bench

.PHONY: help demo serve test peers check unit bench quality docs locks
.DEFAULT_GOAL := help

help:
	@echo "make demo      swap the faces of the bundled sample and print its receipt"
	@echo "make serve     serve jobs over HTTP on this machine; the first start prints a key"
	@echo "make test      all checks and all tests"
	@echo "make check     formatting, lint, types and import contracts"
	@echo "make bench     speed and memory of runs against a plain decode and encode, and of the service"
	@echo "make quality   a sheet of source, target, output and figures for the sample media"
	@echo "make docs      write what is generated again: pages of docs/ and message catalogs"
	@echo "make locks     resolve the lock files again"

demo: $(RUNTIME)
	@$(PY) -m secondface demo

serve: $(RUNTIME)
	@$(PY) -m secondface serve

test: peers check unit

# Programs that some tests start or call; where they can't be installed those tests skip, with this line. They are a
# part of the machine, so they are asked for by name and not by a stamp.
PEERS = curl jq openssl postgresql clamav-daemon bubblewrap apparmor systemd linux-libc-dev
peers:
	@export PATH="$$PATH:/usr/sbin:/sbin"; all=yes; \
	for each in curl jq openssl clamd bwrap apparmor_parser systemd-analyze; do command -v $$each >/dev/null || all=no; done; \
	command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || all=no; \
	[ "$$(uname -m)" != x86_64 ] || ls /usr/include/x86_64-linux-gnu/asm/unistd_64.h >/dev/null 2>&1 || all=no; \
	[ $$all = yes ] || { \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		{ apt-get -qq update; DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
			$(PEERS) >/dev/null; } || \
		echo "To run all tests: apt-get install $(PEERS)"; }

check: $(DEVELOPMENT)
	$(PY) -m ruff check $(CHECKED)
	$(PY) -m ruff format --check $(CHECKED)
	$(VENV)/bin/lint-imports --no-cache
	$(PY) -m pyright --warnings --pythonpath $(PY)

unit: $(DEVELOPMENT)
	$(PY) -m pytest

bench: $(DEVELOPMENT)
	$(PY) -m bench.models
	$(PY) -m bench.swap_speed
	$(PY) -m bench.pass_through
	$(PY) -m bench.regions
	$(PY) -m bench.watermark
	$(PY) -m bench.memory
	$(PY) -m bench.memory --long
	$(PY) -m bench.hostile_media
	$(PY) -m bench.stop
	$(PY) -m bench.service_swap
	$(PY) -m bench.service_cage
	$(PY) -m bench.service_submits
	$(PY) -m bench.service_batching
	$(PY) -m bench.service_claims

quality: $(DEVELOPMENT)
	$(PY) -m tools.quality_sheet --shared $(SHARED)

docs: $(DEVELOPMENT)
	$(PY) -m tools.translations
	$(PY) -m tools.details
	$(PY) -m tools.write_error_docs
	$(PY) -m tools.write_reference_docs

# No header and no annotations of indexes: a lock file names no host. uv comes from the development group.
LOCK := $(PY) -m uv pip compile --universal --generate-hashes --no-header --quiet --upgrade
locks: $(DEVELOPMENT)
	$(LOCK) pyproject.toml -o requirements.lock
	$(LOCK) --group build -o requirements-build.lock
	$(LOCK) pyproject.toml --group dev --constraint requirements.lock -o requirements-dev.lock

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "secondface needs Python 3.11 or newer: make demo PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "This Python cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }

$(RUNTIME): | $(PY)
	@echo "Installing secondface into $(VENV) (once) ..."
	@$(PIP) install --require-hashes -r requirements.lock -r requirements-build.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@rm -f $(VENV)/.runtime-*; touch $@

$(DEVELOPMENT): | $(RUNTIME)
	@echo "Installing the development tools into $(VENV) (once) ..."
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@rm -f $(VENV)/.development-*; touch $@
