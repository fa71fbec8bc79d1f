# SPDX-License-Identifier: Apache-2.0
# Thin: the work is in scripts/.
.PHONY: help setup run check test nightly wheel deb docs p4 bench stf-corpus diff-bmv2 clean-net clean
.DEFAULT_GOAL := help
# Rust's own installer puts cargo where sudo's PATH does not look.
export PATH := $(HOME)/.cargo/bin:$(PATH)

help:
	@echo 'make run        set up, then run the main job: topologies/star4.yaml with Mininet hosts; results in run/'
	@echo 'make check      before a commit: format, lint, and the tests of what changed'
	@echo 'make test       set up, then run the tests of CI'
	@echo 'make nightly    set up, then run what CI leaves out: live networks, browser, BMv2, quick experiments, ...'
	@echo 'make setup      install what is missing and build'
	@echo 'make wheel      a Python wheel with engine, controller and compiled P4, in build/dist'
	@echo 'make deb        a Debian package with what live networks need, in build/dist'
	@echo 'make docs       the documentation as a site, links checked, in build/site'
	@echo 'make p4         compile the P4 programs (needs p4c or a container engine)'
	@echo 'make bench      measure the engine, a live switch and the scheduler'
	@echo 'make stf-corpus SOURCES=DIR  run p4c'"'"'s own STF tests (DIR: its sources; needs p4c)'
	@echo 'make diff-bmv2  random tables and packets on the engine and on simple_switch_grpc (needs it)'
	@echo 'make clean-net  delete what killed runs have left'
	@echo 'make clean      delete everything that was built'

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
	@scripts/stf-corpus $(or $(SOURCES),$(error SOURCES is a clone of https://github.com/p4lang/p4c))

diff-bmv2: setup
	@scripts/diff-bmv2 $(if $(SEED),--seed $(SEED)) $(if $(CASES),--cases $(CASES))

clean-net:
	@scripts/clean-net

clean:
	rm -rf build run engine/target controller/target controller/*/target
