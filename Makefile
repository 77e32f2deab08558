# The verbs of this repository, each one script. 'make help' lists them.
export ARCH KDIR BASE SERIES TREE ONLY RESUME FROM STRESS FUZZ SEED JOBS VERSION PREVIOUS LAVA_URL RUN QUIETPERF_CACHE

.DEFAULT_GOAL := help
.PHONY: help run test bench ablate kunit shell tree export check-series check-commits debug submission lava

help: ## this text
	@echo 'make VERB [ARCH=x86_64|arm64] [KDIR=a kernel git tree] [BASE=a tarball]'
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 18

run: ## base, series, kernel, boot, KUnit and kselftests; one table
	@scripts/run.sh
test: ## what CI runs: the scripts, the series, both architectures
	@scripts/test.sh
bench: ## base and patched kernel side by side [ONLY=cgroup]
	@scripts/bench.sh
ablate: ## each change taken out in turn: who notices [ONLY= RESUME=]
	@scripts/ablate.sh
kunit: ## the KUnit suite through kunit.py
	@scripts/kunit.sh $(or $(ARCH),x86_64) $$(scripts/source.sh)
shell: ## the patched kernel with a prompt
	@scripts/shell.sh
tree: ## the kernel git tree to work in, a commit for each patch
	@scripts/tree.sh
export: ## patches/ and the plain copies, from that tree
	@scripts/export.sh
check-series: ## the series by itself: applies three ways, round trip, mails, checkpatch
	@scripts/check-series.sh
check-commits: ## each commit by itself: W=1 and sparse, both architectures, other configurations [FROM=]
	@scripts/check-commits.sh
debug: ## KUnit and kselftests on kernels that watch themselves [ONLY=debug|kcsan]
	@scripts/debug.sh
submission: ## the mails of a posting, checked, not sent: SERIES=perf|sched|record|cgroup
	@scripts/submission.sh
lava: ## LAVA jobs for board farms, checked [RUN=1: run one here]
	@scripts/lava.sh $(ARCH)
