# scripts/pretrain.mk - from text to a trained language model, one rule a step (nnutils-pretrain(7))
#
#	make -f scripts/pretrain.mk CORPUS='books.tar.zst notes/' OUT=mine
#
# Each step's output depends on what goes in and on its options: a change does again what it must, and nothing else. A run
# that was stopped, in whatever way, goes on from its last checkpoint when make is called again. `help` lists goals and variables.

CORPUS  ?=
OUT     ?= pretrain
# Folder of the tools, with a / at its end; empty: they are found by PATH.
BIN     ?=

DOCS    ?= --split file
VOCAB   ?= 4096
PIECES  ?=
VAL     ?= 0.01
PRESET  ?= tiny
INIT    ?=
SEED    ?= 0
CTX     ?= 256
BATCH   ?= 8
TOKENS  ?= 4M
LR      ?= 3e-3
TRAIN   ?=
SAMPLE  ?= In the beginning
EVAL    ?=
EXPORT  ?=
TYPE    ?= q8_0
QUANT   ?=
DECODE  ?= -n 100

.DELETE_ON_ERROR:
.PHONY: all tokenizer tokens model run resume evaluation picture gguf quantized text clean help
all: evaluation picture gguf quantized text

ifeq ($(filter-out help clean,$(or $(MAKECMDGOALS),all)),)
else ifeq ($(strip $(CORPUS)),)
$(error CORPUS is empty: name files, folders or archives of text, as in CORPUS='books.tar.zst notes/')
else
texts := $(shell find $(CORPUS) -type f)
ifeq ($(texts),)
$(error CORPUS=$(CORPUS): there is no file)
endif
endif

# --- options as files, which change only when the options do ----------------------------------------------

# $(call kept,NAME,TEXT): OUT/options/NAME holds `NAME: TEXT`.
kept = $(if $(filter-out clean help,$(or $(MAKECMDGOALS),all)),$(shell mkdir -p '$(OUT)/options')$(call \
	kept_text,$(OUT)/options/$(1),$(1): $(strip $(2))))
kept_text = $(if $(call same,$(file <$(1)),$(2)),,$(file >$(1),$(2)))
# Not empty when the two are equal.
same = $(and $(findstring x$(1)x,x$(2)x),$(findstring x$(2)x,x$(1)x))

docs_options      := $(DOCS) $(CORPUS)
tokenizer_options := -v $(VOCAB) $(PIECES)
data_options      := --split val=$(VAL)
model_options     := --preset $(PRESET) --seed $(SEED) $(INIT)
run_options       := -c $(CTX) -b $(BATCH) --tokens $(TOKENS) --lr $(LR) --seed $(SEED) $(TRAIN)
eval_options      := $(EVAL)
export_options    := $(EXPORT)
quantize_options  := --type $(TYPE) $(QUANT)
decode_options    := $(DECODE)

$(call kept,tokenizer,$(docs_options) $(tokenizer_options))
$(call kept,data,$(docs_options) $(data_options))
$(call kept,model,$(model_options))
$(call kept,run,$(run_options))
$(call kept,evaluation,$(eval_options))
$(call kept,export,$(export_options))
$(call kept,quantize,$(quantize_options) $(export_options))
$(call kept,decode,$(SAMPLE) $(decode_options))

# --- the steps ----------------------------------------------------------------------------------------------

tokenizer: $(OUT)/tok/tokenizer.json
$(OUT)/tok/tokenizer.json: $(texts) $(OUT)/options/tokenizer
	rm -rf '$(OUT)/tok'
	$(BIN)cat-docs $(docs_options) | $(BIN)train-tokenizer $(tokenizer_options) -o '$(OUT)/tok/'

tokens: $(OUT)/data/train.tok
$(OUT)/data/train.tok: $(OUT)/tok/tokenizer.json $(texts) $(OUT)/options/data
	rm -rf '$(OUT)/data'
	$(BIN)cat-docs -q $(docs_options) | $(BIN)tokenize -t '$(OUT)/tok' | $(BIN)pack-tokens $(data_options) -o '$(OUT)/data/'

model: $(OUT)/m0/config.json
$(OUT)/m0/config.json: $(OUT)/tok/tokenizer.json $(OUT)/options/model
	rm -rf '$(OUT)/m0'
	$(BIN)init-lm -t '$(OUT)/tok' $(model_options) -o '$(OUT)/m0'

# A run that began with other inputs or options is not gone on with, and not lost either: it is moved aside. OUT/run.begun is
# as old as the run is.
run resume: $(OUT)/run/done
$(OUT)/run/done: $(OUT)/data/train.tok $(OUT)/m0/config.json $(OUT)/options/run
	@if [ -e '$(OUT)/run' ] && { [ ! -e '$(OUT)/run.begun' ] || [ -n "$$(find $^ -newer '$(OUT)/run.begun')" ]; }; then \
		n=1; \
		while [ -e "$(OUT)/run.$$n" ]; do n=$$((n + 1)); done; \
		mv '$(OUT)/run' "$(OUT)/run.$$n"; \
		echo "inputs or options are others now: the run so far is $(OUT)/run.$$n"; \
	fi
	@[ -e '$(OUT)/run' ] || touch '$(OUT)/run.begun'
	$(BIN)train-lm --resume -d '$(OUT)/data/train.tok' -v '$(OUT)/data/val.tok' --sample '$(SAMPLE)' $(run_options) \
		-o '$(OUT)/run' '$(OUT)/m0'

evaluation: $(OUT)/evaluation.json
$(OUT)/evaluation.json: $(OUT)/run/done $(OUT)/options/evaluation
	$(BIN)eval-lm --json -c $(CTX) -d '$(OUT)/data/val.tok' $(eval_options) '$(OUT)/run/best' >'$@'
	@cat '$@'

picture: $(OUT)/loss.png
$(OUT)/loss.png: $(OUT)/run/done
	$(BIN)plot-log -o '$@' '$(OUT)/run'

gguf: $(OUT)/model.gguf
$(OUT)/model.gguf: $(OUT)/run/done $(OUT)/options/export
	$(BIN)export-gguf $(export_options) -o '$@' '$(OUT)/run/best'

quantized: $(OUT)/small.gguf
$(OUT)/small.gguf: $(OUT)/run/done $(OUT)/options/quantize
	$(BIN)quantize $(quantize_options) $(export_options) '$(OUT)/run/best' -o '$@'

text: $(OUT)/text
$(OUT)/text: $(OUT)/small.gguf $(OUT)/options/decode
	$(BIN)decode -q $(decode_options) --echo -p '$(SAMPLE)' '$(OUT)/small.gguf' >'$@'
	@cat '$@'

clean:
	rm -rf '$(OUT)'

help:
	@echo 'goals: all tokenizer tokens model run (or resume) evaluation picture gguf quantized text clean'
	@echo 'what goes in and out:  CORPUS=$(CORPUS)  OUT=$(OUT)  BIN=$(BIN)'
	@echo 'cat-docs:              DOCS=$(DOCS)'
	@echo 'train-tokenizer:       VOCAB=$(VOCAB)  PIECES=$(PIECES)'
	@echo 'pack-tokens:           VAL=$(VAL)'
	@echo 'init-lm:               PRESET=$(PRESET)  SEED=$(SEED)  INIT=$(INIT)'
	@echo 'train-lm:              CTX=$(CTX)  BATCH=$(BATCH)  TOKENS=$(TOKENS)  LR=$(LR)  SAMPLE=$(SAMPLE)  TRAIN=$(TRAIN)'
	@echo 'eval-lm:               EVAL=$(EVAL)'
	@echo 'export-gguf, quantize: EXPORT=$(EXPORT)  TYPE=$(TYPE)  QUANT=$(QUANT)'
	@echo 'decode:                DECODE=$(DECODE)'
