# SPDX-License-Identifier: Apache-2.0
# Targets only call scripts/.
.PHONY: help setup run check test nightly wheel deb docs p4 bench stf-corpus diff-bmv2 clean-net clean
.DEFAULT_GOAL := help
# rustup installs cargo in a directory that sudo's PATH lacks.
export PATH := $(HOME)/.cargo/bin:$(PATH)

help:
	@echo 'make run        set up, then emulate topologies/star4.yaml with Mininet hosts; results in run/'
	@echo 'make check      before a commit: check generated files and format, lint, test what changed'
	@echo 'make test       set up, then run the tests of CI'
	@echo 'make nightly    set up, then run the tests that CI omits: most emulations, browser, BMv2, quick experiments'
	@echo 'make setup      install missing dependencies and build'
	@echo 'make wheel      build a Python wheel with engine, controller and compiled P4, in build/dist'
	@echo 'make deb        build a Debian package with the dependencies of emulation, in build/dist'
	@echo 'make docs       build the documentation site and check its links, in build/site'
	@echo 'make p4         compile the P4 programs (needs p4c or a container engine)'
	@echo 'make bench      benchmark the engine, a switch in real time and the scheduler'
	@echo 'make stf-corpus SOURCES=DIR  run the STF tests of p4c (DIR: sources of p4c; needs p4c)'
	@echo 'make diff-bmv2  compare the engine with BMv2 on random tables and packets (needs simple_switch_grpc)'
	@echo 'make clean-net  delete the remains of killed runs'
	@echo 'make clean      delete all results of builds and runs (build/, run/, target/)'

setup:
	@scripts/setup

run:
	@scripts/check-machine --ports
	@scripts/setup --run
	@scripts/run

check:
	@scripts/check

test: setup
	@scripts/test

nightly: setup
	@scripts/test --nightly

docs:
	@scripts/setup --docs
	@build/venv-docs/bin/mkdocs build --strict --config-file docs-site/mkdocs.yml

wheel deb: setup
	@scripts/package $@

p4:
	@scripts/p4 compile

bench: setup
	cd engine && cargo bench --locked
	cd engine && cargo build --locked --release -p slotwise-netio --example loadgen
	scripts/bench-switch
	mvn --quiet --file controller/pom.xml --projects bench --also-make test --activate-profiles bench -DskipTests

stf-corpus: setup
	@scripts/stf-corpus $(or $(SOURCES),$(error missing SOURCES; expected a clone of https://github.com/p4lang/p4c))

diff-bmv2: setup
	@scripts/diff-bmv2 $(if $(SEED),--seed $(SEED)) $(if $(CASES),--cases $(CASES))

clean-net:
	@scripts/clean-net

clean:
	rm -rf build run engine/target controller/target controller/*/target
