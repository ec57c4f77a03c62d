#!/usr/bin/env bats
# scripts/pretrain.mk: the whole way, what is done again after which change, runs that go on, what a first-time user does

load lib

# make_it [VARIABLE=VALUE | GOAL]...: what it ran is in the file did, a tool a line.
make_it()
{
	status=0
	make -f "$ROOT/scripts/pretrain.mk" BIN="$BIN/" CORPUS='book.txt more/' OUT=out DOCS='--split blank' VOCAB=400 VAL=0.4 PRESET=nano \
		INIT='--layers 1 --width 64 --heads 1 --kv-heads 1 --ffn 64' CTX=32 BATCH=4 TOKENS=1k \
		TRAIN='-j 2 --checkpoint-every 3' "$@" >made 2>&1 || status=$?
	sed -nE "s|.*$BIN/([a-z-]+).*|\1|p" made | sort -u | tr '\n' ' ' >did
	[ "$status" = 0 ] || cat made >&2
	return "$status"
}

# did TOOL...: these ran, and no others (the last of a pipe is what is seen of it).
did()
{
	local want

	want=$(printf '%s\n' "$@" | sort | tr '\n' ' ')
	[ $# = 0 ] && want=
	[ "$(cat did)" = "$want" ] || {
		show made
		complain "ran: $(cat did); wanted: $want"
	}
}

setup()
{
	scratch
	mkdir more
	cp "$ROOT/README.md" book.txt
	cp "$MAN/train-lm.1" more/page
}

@test 'the whole way; then nothing; each change does what it must and no more' {
	make_it
	did train-tokenizer pack-tokens init-lm train-lm eval-lm plot-log export-gguf quantize decode
	[ -e out/run/done ]
	[ "$(head -c 4 out/loss.png | tail -c 3)" = PNG ]
	grep -q '"perplexity":' out/evaluation.json
	[ "$(head -c 4 out/model.gguf)$(head -c 4 out/small.gguf)" = GGUFGGUF ]
	[ "$(stat -c %s out/small.gguf)" -lt "$(stat -c %s out/model.gguf)" ]
	grep -q '^In the beginning' out/text
	grep -q -- '--- step' made
	make_it
	did
	# options, from the last step to the first
	make_it EVAL='--stride 8'
	did eval-lm
	make_it EVAL='--stride 8' DECODE='-n 5'
	did decode
	make_it EVAL='--stride 8' DECODE='-n 5' TYPE=q4_0
	did quantize decode
	make_it EVAL='--stride 8' LR=1e-3
	did train-lm eval-lm plot-log export-gguf quantize decode
	[ -e out/run.1/done ]
	make_it EVAL='--stride 8' LR=1e-3 SEED=5
	did init-lm train-lm eval-lm plot-log export-gguf quantize decode
	make_it EVAL='--stride 8' LR=1e-3 SEED=5 VAL=0.3
	did pack-tokens train-lm eval-lm plot-log export-gguf quantize decode
	make_it EVAL='--stride 8' LR=1e-3 SEED=5 VAL=0.3 VOCAB=410
	did train-tokenizer pack-tokens init-lm train-lm eval-lm plot-log export-gguf quantize decode
	make_it EVAL='--stride 8' LR=1e-3 SEED=5 VAL=0.3 VOCAB=410
	did
}

@test 'inputs that change: the text, and what lies between' {
	make_it
	touch more/page
	make_it
	did train-tokenizer pack-tokens init-lm train-lm eval-lm plot-log export-gguf quantize decode
	rm out/loss.png
	make_it
	did plot-log
	rm -r out/run
	make_it run
	did train-lm
}

@test 'a run that was killed goes on, and ends with the same weights' {
	make_it
	cp out/run/last/model.safetensors whole
	rm -r out/run
	# a train-lm that tells its number
	mkdir tools
	printf '#!/bin/sh\necho $$ >pid\nexec "%s/train-lm" "$@"\n' "$BIN" >tools/train-lm
	chmod +x tools/train-lm
	(
		until [ -e out/run/last ]; do sleep 0.01; done
		kill -KILL "$(cat pid)"
	) &
	make_it run BIN=tools/ 2>/dev/null || true
	wait
	[ ! -e out/run/done ]
	make_it resume
	same_bytes whole out/run/last/model.safetensors
	[ ! -e out/run.1 ]
}

@test 'what a first-time user does' {
	status=0
	make -f "$ROOT/scripts/pretrain.mk" >made 2>&1 || status=$?
	[ "$status" = 2 ]
	grep -q 'CORPUS is empty: name files' made
	status=0
	make -f "$ROOT/scripts/pretrain.mk" CORPUS=more/nothing/ >made 2>&1 || status=$?
	[ "$status" = 2 ]
	grep -q 'there is no file' made
	make -f "$ROOT/scripts/pretrain.mk" help >made
	grep -q 'train-lm:.*TOKENS=4M' made
	[ ! -e pretrain ]
	# an option that is none stops at its step, whose output does not appear
	if make_it INIT='--no-such'; then complain 'make ended well'; fi
	[ ! -e out/m0 ]
	[ -e out/tok/tokenizer.json ]
}
