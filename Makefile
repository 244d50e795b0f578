# Thin verbs; the logic is Python. `make help` lists them.

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
BIN := $(VENV)/bin
READY := $(VENV)/.ready
OUT := build
FUZZ ?= 1000000
# What `make fuzz` plays with FUZZ packets a unit, and with a tenth of them.
FUZZED := 8x32 zvcplus-fp32
FUZZED_LESS := 2x8b32 16x16 32x8 8x32-ones 8x32-asic 8x32-fold 16x16-ones-zport-asic 32x8-z80 \
	$(foreach type,fp16 bf16 int8,zvcplus-$(type)) \
	$(foreach type,fp32 fp16 bf16 int8,zvcplus-$(type)-left) zvcplus-fp32+bf16
FUZZ_SECONDS ?= 300
CONFIGS := 8x32 16x16 32x8 32x32b128
TENSORS := vgg.s040.relu2_2 nin.s080.relu_conv2 vgg.s000.pool4
# Quick tests of each layer; the rest of the regression is in `make test`.
CHECK := tests/test_layers.py tests/test_plan.py tests/golden/zvc tests/golden/test_imports.py \
	tests/hdl/lib tests/hdl/zvc/test_config.py tests/cdma/test_errors.py tests/cdma/test_files.py \
	tests/cdma/test_format.py tests/cdma/test_signals.py tests/cdma/tensors tests/cdma/study/algorithms \
	tests/synth/liberty tests/sim/test_backpressure.py tests/sim/test_compare.py

# Hundreds of tests start processes of their own: each would compile our sources again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := demo
.PHONY: demo check release test test-all formal formal-sby generate cosim fuzz fuzz-engine fuzz-golden coverage coverage-engine mutate mutate-engine synth bench-hw synth-engine bench-engine performance bench study lint docs soc clean help

demo: $(OUT)/activations/capture.json generate  ## capture activations, run them through the generated Verilog, print a table (default)
	$(BIN)/cdma demo $(OUT)/activations --engine 4

check: $(READY)  ## before each commit: style, layers, and a sample of every layer in two minutes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow" $(CHECK) $(PYTEST)

test: $(READY)  ## the regression, about twelve minutes on two cores
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow" $(PYTEST)

test-all: $(READY)  ## the regression with its long sweeps; RESUME=1 goes on with a run of it that was interrupted
	$(if $(RESUME),,rm -f $(OUT)/passed.txt)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --passed=$(OUT)/passed.txt $(PYTEST)

formal: $(READY)  ## every proof about the hardware, into the table of docs/verification.md
	$(BIN)/python -m pytest tests/verify/proofs -n $(JOBS) --dist worksteal -m proof --save-proofs docs/measurements/formal.json
	$(BIN)/python docs/draw

formal-sby: $(READY)  ## the proofs once more, before SymbiYosys and Z3, into the same table
	$(BIN)/cdma formal --quick --engine sby --seconds 300 --save docs/measurements/formal_sby.json
	$(BIN)/python docs/draw

generate: $(READY)  ## Verilog of both units, 8 lanes x 32 bits, into build/verilog
	$(BIN)/cdma generate compressor -o $(OUT)/verilog
	$(BIN)/cdma generate decompressor -o $(OUT)/verilog

cosim: $(OUT)/activations/capture.json  ## one tensor through both units in a row, with back-pressure
	$(BIN)/cdma cosim $(OUT)/activations/step0500.relu2.npy --unit roundtrip --stall bernoulli:0.3

fuzz: $(READY)  ## a million random packets through each unit, malformed ones through the decompressor; a tenth at other sizes
	@mkdir -p docs/measurements/fuzz
	@for each in $(FUZZED:%=%/$(FUZZ)) $(FUZZED_LESS:%=%/$(shell expr $(FUZZ) / 10)); do \
		echo "$$each"; $(BIN)/cdma fuzz --config $${each%/*} --packets $${each#*/} --jobs $(JOBS) \
		--save docs/measurements/fuzz/$${each%/*}.json || exit; done
	$(BIN)/python docs/draw

fuzz-engine: $(READY)  ## a million random jobs through engines of a dozen sizes, with faults; RESUME=1 goes on
	$(BIN)/cdma fuzz --unit engine --all-sizes --packets $(FUZZ) --seed 1 --jobs $(JOBS) \
		$(if $(RESUME),--resume) --save docs/measurements/fuzz_engine.json; \
		status=$$?; $(BIN)/python docs/draw && exit $$status

fuzz-golden: $(READY)  ## coverage-guided fuzzing of the golden decoders for FUZZ_SECONDS (atheris)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fuzz]'
	$(BIN)/python tests/golden/fuzz_golden.py $(OUT)/fuzz-golden $(FUZZ_SECONDS)

coverage: $(READY)  ## functional and code coverage of the regression's stimulus
	$(BIN)/cdma coverage --save docs/measurements/coverage.json
	$(BIN)/cdma coverage --config zvcplus-fp32 --save docs/measurements/coverage_zvcplus.json
	$(BIN)/python docs/draw

coverage-engine: $(READY)  ## functional coverage of the engine: operations, fields, faults, phases
	$(BIN)/cdma coverage --unit engine --channels 2 --lanes 2 --stripe-bytes 1024 --latency 20 \
		--address-bits 33 --link-fifo-bytes 2048 --batches 2 --save docs/measurements/coverage_engine.json
	$(BIN)/python docs/draw

mutate-engine: $(READY)  ## a thousand faults in the engine, or SAMPLE of them: trials, then proofs
	$(BIN)/cdma mutate --unit engine --proofs --jobs $(JOBS) $(if $(SAMPLE),--sample $(SAMPLE)) \
		--save docs/measurements/mutation_engine.json; \
		status=$$?; $(BIN)/python docs/draw && exit $$status

mutate: $(READY)  ## a thousand faults in each unit, and which tests and proofs find them: long
	$(BIN)/cdma mutate --jobs $(JOBS) --save docs/measurements/mutation.json
	$(BIN)/cdma mutate --config zvcplus-fp32 --save docs/measurements/mutation_zvcplus.json
	$(BIN)/python -m pytest tests/verify/proofs/test_mutants.py --save-mutants docs/measurements
	$(BIN)/python docs/draw

synth: $(READY)  ## area and timing of both units, four configurations, 8 seeds (CDMA_LIBERTY for ASIC figures)
	$(BIN)/cdma synth $(CONFIGS:%=--config %) -o $(OUT)/synth --jobs $(JOBS)

bench-hw: $(READY)  ## the same; fails if area or Fmax regresses against docs/measurements/baseline.json
	$(BIN)/cdma synth $(CONFIGS:%=--config %) -o $(OUT)/bench-hw --jobs $(JOBS) --baseline docs/measurements/baseline.json

synth-engine: $(READY)  ## area and critical path of the engine by part, 1 to 8 channels, into docs/engine-performance.md (CDMA_LIBERTY)
	$(BIN)/cdma synth --unit engine --channels 1 2 4 8 --no-ecp5 -o $(OUT)/synth-engine --jobs $(JOBS) --save-baseline docs/measurements/engine_area.json
	$(BIN)/python docs/draw

bench-engine: $(READY)  ## speed of the engine against its targets, cycle by cycle, into docs/engine-performance.md; fails if one is missed
	$(BIN)/cdma bench --targets --save docs/measurements/engine_targets.json; status=$$?; $(BIN)/python docs/draw; exit $$status

performance: $(READY)  ## every figure of docs/performance.md, docs/codecs.md and docs/zvcplus.md again: hours (CDMA_LIBERTY, CDMA_DATA)
	$(BIN)/cdma synth $(CONFIGS:%=--config %) -o $(OUT)/synth --jobs $(JOBS) --save-baseline docs/measurements/baseline.json
	$(BIN)/cdma synth --alternatives -o $(OUT)/alternatives --jobs $(JOBS) --save-baseline docs/measurements/alternatives.json
	$(BIN)/cdma synth --sweep --seeds 3 -o $(OUT)/sweep --jobs $(JOBS) --save-baseline docs/measurements/scaling.json
	$(BIN)/cdma synth --config zvcplus-fp32 --config zvcplus-fp32-left --config zvcplus-int8 --no-ecp5 -o $(OUT)/zvcplus --jobs $(JOBS) --save-baseline docs/measurements/zvcplus.json
	CDMA_LIBERTY= $(BIN)/cdma synth --config zvcplus-fp32 -o $(OUT)/zvcplus-ecp5 --jobs $(JOBS) --save-baseline docs/measurements/zvcplus_ecp5.json
	$(BIN)/cdma synth --config zvcplus-fp32+bf16 --config zvcplus-all --config zvcplus-all-left --no-ecp5 -o $(OUT)/zvcplus-types --jobs $(JOBS) --save-baseline docs/measurements/zvcplus_types.json
	$(BIN)/cdma power $(TENSORS:%=$(CDMA_DATA)/training.npz:%) --save docs/measurements/power.json
	$(BIN)/cdma power --config 8x32 --words 1024 $(TENSORS:%=$(CDMA_DATA)/training.npz:%) --save docs/measurements/power_zvc.json
	$(BIN)/cdma power --config zvcplus-fp32 --words 1024 $(TENSORS:%=$(CDMA_DATA)/training.npz:%) --save docs/measurements/power_zvcplus.json
	$(BIN)/python docs/draw

bench: $(READY)  ## speed of the golden model and of the compiled RTL
	$(BIN)/cdma bench

study: $(READY) $(if $(CDMA_DATA),,$(OUT)/activations/capture.json)  ## the paper's claims on CDMA_DATA, into docs; without it on captured activations, into build/study
	$(BIN)/cdma study "$(or $(CDMA_DATA),$(OUT)/activations)" -o $(if $(CDMA_DATA),docs,$(OUT)/study) --jobs $(JOBS)

lint: $(READY)  ## style of the sources; the generated Verilog in Verilator, slang, Icarus and Yosys
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/cdma lint
	$(BIN)/cdma lint --unit engine --channels 2

docs: $(READY)  ## the web site of the documents and of the Python API, into build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet --site-dir $(OUT)/site
	@echo "wrote $(OUT)/site/index.html"

soc: $(READY)  ## a LiteX system in simulation: RISC-V runs the C driver, LiteDRAM is device memory
	$(BIN)/python integration/litex $(OUT)/soc

release: $(READY)  ## wheel, sources, Verilog, changelog and checksums of the last commit, into build/release
	rm -rf $(OUT)/release
	$(BIN)/python integration/release $(OUT)/release

clean:  ## delete what was built and the environment
	rm -rf $(OUT) $(VENV) *.egg-info dist .pytest_cache .ruff_cache .hypothesis

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1	\2/p' $(MAKEFILE_LIST) | expand -t 14

$(OUT)/activations/capture.json: $(READY)
	$(BIN)/cdma capture -o $(OUT)/activations

$(READY): pyproject.toml constraints.txt
	@echo "setting up $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
