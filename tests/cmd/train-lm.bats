#!/usr/bin/env bats
# train-lm: runs, and runs that go on; what is refused; signals, full disks, kills

load lib

MODEL=$ROOT/fixtures/good/lm/llama
# A run that takes some tenths of a second. One thread: two wait for each other where a test has no processor to itself.
export NNUTILS_THREADS=1
SMALL='-d data/train.tok -c 32 -b 8 --micro-batch 4 --steps 30 --checkpoint-every 10 --lr 3e-3'

# Documents of 61 ids in which the next one can be guessed.
setup()
{
	scratch
	awk 'BEGIN {
		srand(5)
		for (d = 0; d < 200; d++) {
			n = 20 + int(rand() * 60)
			x = int(rand() * 61)
			line = ""
			for (i = 0; i < n; i++) {
				x = (x * 7 + int(rand() * 2) + 3) % 61
				line = line x " "
			}
			print line
		}
	}' >ids
	pack-tokens -q --from ids --vocab 61 --separator none --split val=0.1 -o data/ ids
	cp -r "$MODEL" m0
}

# The lines of a log that must be the same each time: no events, and no times.
log_of()
{
	grep -v '"event"' "$1/log.jsonl" | sed 's/,"perf".*//'
}

# same_run A B: weights, optimizer, log.
same_run()
{
	same_bytes "$1/last/model.safetensors" "$2/last/model.safetensors"
	same_bytes "$1/last/optimizer.safetensors" "$2/last/optimizer.safetensors"
	diff <(log_of "$1") <(log_of "$2") >&2
}

# loss RUN STEP [KEY]
loss()
{
	sed -nE "s/^\{\"step\":$2,.*\"${3:-loss}\":([^,}]*).*/\1/p" "$1/log.jsonl"
}

lower()
{
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }' || complain "$1 is not below $2"
}

@test 'the examples of the man page' {
	man_examples train-lm
	[ -e run/done ] && [ -e run2/done ]
}

@test 'options are those of the man page' {
	options_match_man train-lm
}

@test 'a run: checkpoints, links, log, done' {
	# shellcheck disable=SC2086
	works train-lm -q $SMALL -v data/val.tok --val-every 10 -o run m0
	[ "$(readlink run/last)" = step-30 ] && [ -e run/done ] && [ -L run/best ]
	[ "$(cd run && echo step-*)" = 'step-20 step-30' ]
	[ "$(wc -l <run/log.jsonl)" = 30 ]
	lower "$(loss run 30)" "$(loss run 1)"
	lower "$(loss run 30 val_loss)" "$(loss run 10 val_loss)"
	has run/log.jsonl '"tokens":7680' '"grad_norm":' '"perf":{"tok_s":' '"mfu":' '"mem":' '"time":'
	[ -z "$(loss run 29 val_loss)" ]
	has run/last/run.json '"lr": "0.003"' '"batch": "8"' '"level": ' '"kernels": ' '"version": '
	works show-model run/last
	works train-lm --dry-run -d data/train.tok run/best
}

@test 'the same bits on any number of threads, however blocks are recomputed' {
	local how

	# shellcheck disable=SC2086
	works train-lm -q $SMALL --dropout 0.1 -j1 --recompute none -o one m0
	for how in '-j2' '-j3 --recompute all' '-j1 --recompute all' '--without segments,epilogue'; do
		rm -rf two
		# shellcheck disable=SC2086
		works train-lm -q $SMALL --dropout 0.1 $how -o two m0
		same_run one two
	done
	rm -rf two
	# shellcheck disable=SC2086
	works train-lm -q $SMALL --dropout 0.1 --seed 1 -o two m0
	if cmp -s one/last/model.safetensors two/last/model.safetensors; then
		complain 'the seed changes nothing'
	fi
}

# TEST_KILLS: how many; the slow lane asks for 100.
@test 'killed at random moments, and each time gone on with: the same bits' {
	local n=${TEST_KILLS:-10} i kills=0
	local run="-d data/train.tok -v data/val.tok -c 32 -b 8 --micro-batch 4 --steps $((n * 40)) --checkpoint-every 7"

	run+=' --val-every 15 --dropout 0.1 --lr 3e-3'
	# shellcheck disable=SC2086
	works train-lm -q $run -o whole m0
	for ((i = 0; i < n; i++)); do
		# shellcheck disable=SC2086
		timeout -s KILL "0.$((RANDOM % 3 + 1))$((RANDOM % 10))" train-lm -q --resume $run -o broken m0 2>"$err" ||
			kills=$((kills + 1))
	done
	echo "$kills kills" >&2
	# shellcheck disable=SC2086
	works train-lm -q --resume $run -o broken m0
	same_run whole broken
	[ "$(readlink whole/best)" = "$(readlink broken/best)" ]
	[ "$kills" -gt 0 ]
}

@test 'resuming: done is done, options are those of the run, others are refused by name' {
	local name

	# shellcheck disable=SC2086
	works train-lm -q $SMALL -v data/val.tok -o run m0
	works train-lm --resume -q -o run
	try train-lm --resume -o run
	has "$err" 'run: done, there is nothing to do'
	[ "$status" = 0 ]
	rm run/done
	find run -ls >before
	for name in lr=1 steps=31 batch=4 ctx=16 seed=3 optimizer=lion dtype=bf16 dropout=0.5 tokens=100 warmup=1 clip=2; do
		refuses train-lm --resume "--$name" -o run
	done
	has "$err" '--clip: the run has 1, not 2 (--allow clip goes on with 2)'
	refuses train-lm --resume -d data/val.tok -o run
	one_line_error 'the tokens' '--allow tokens'
	refuses train-lm --resume -o run "$ROOT/fixtures/good/lm/qwen2"
	one_line_error 'the model' '--allow model'
	NNUTILS_ISA=generic refuses train-lm --resume -o run
	one_line_error 'the instruction set: generic' '--allow level'
	refuses train-lm --resume --device ref -o run
	one_line_error 'the instruction set: ref'
	find run -ls | diff before - >&2
	# shellcheck disable=SC2086
	works train-lm -q $SMALL -o blind m0
	rm blind/done
	refuses train-lm --resume -v data/val.tok -o blind
	one_line_error 'the validation tokens' 'the run began with none' '--allow validation'
	works train-lm -q --resume -v data/val.tok --allow validation -o blind
	try train-lm --resume --allow nothing -o run
	one_usage_line
	works train-lm -q --resume -j1 --keep 5 --log more.jsonl --checkpoint-every 4 --lr 3e-3 -d data/../data/train.tok -o run m0
	[ -e run/done ]
	rm run/done
	works train-lm -q --resume --steps 40 --allow steps -o run
	[ "$(readlink run/last)" = step-40 ]
}

@test 'SIGTERM: a checkpoint, the command that goes on, death by the signal; and the same bits' {
	local pid run='-d data/train.tok -c 32 -b 8 --micro-batch 2 --steps 1000 --checkpoint-every 1000 --dropout 0.1'

	# shellcheck disable=SC2086
	works train-lm -q $run -o whole m0
	# shellcheck disable=SC2086
	train-lm -q $run -o run m0 2>"$err" &
	pid=$!
	until [ -e run/log.jsonl ] && [ "$(wc -l <run/log.jsonl)" -ge 20 ]; do sleep 0.02; done
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	[ "$status" = 143 ]
	has "$err" '; this goes on: train-lm --resume -o run'
	[ "$(wc -l <"$err")" = 1 ]
	[ ! -e run/done ] && [ -e run/last/run.json ]
	works bash -c "$(sed 's/.*goes on: //' "$err") -q"
	same_run whole run
}

@test 'SIGUSR1 reports, SIGUSR2 writes a checkpoint' {
	local pid

	train-lm -q -d data/train.tok -c 32 -b 8 --steps 1000000 --checkpoint-every 0 -o run m0 2>"$err" &
	pid=$!
	while [ ! -s run/log.jsonl ]; do sleep 0.02; done
	kill -USR1 $pid
	kill -USR2 $pid
	while [ ! -L run/last ] || [ ! -s "$err" ]; do sleep 0.02; done
	kill -KILL $pid
	wait $pid || true
	grep -qE '^train-lm: step [0-9]+/1000000, loss [0-9.]+, .* tok/s, .*left, .*B$' "$err"
	[ "$(find run -name 'step-*' -maxdepth 1 | wc -l)" = 1 ]
}

@test 'two runs in one folder, a folder that is not empty, a folder that cannot be' {
	local pid

	train-lm -q -d data/train.tok -c 32 -b 8 --steps 1000000 -o run m0 &
	pid=$!
	while [ ! -s run/log.jsonl ]; do sleep 0.02; done
	refuses train-lm -d data/train.tok -o run m0
	one_line_error 'run' "$pid"
	refuses train-lm --resume -o run
	one_line_error "$pid"
	kill -KILL $pid
	wait $pid || true
	refuses train-lm -d data/train.tok -o data m0
	one_line_error 'data: is not empty (a run goes on with --resume)'
	refuses train-lm -d data/train.tok -o ids m0
	refuses train-lm -d data/train.tok -o no/where m0
	one_line_error 'no/where'
}

@test 'what a first-time user gets wrong' {
	try train-lm -d data/train.tok m0
	one_usage_line
	has "$err" '--output is needed'
	try train-lm -d data/train.tok -o run --learning-rate 3 m0
	one_usage_line
	has "$err" "'--learning-rate' is not an option here"
	try train-lm -d data/train.tok -o run --lr fast m0
	one_usage_line
	try train-lm -d data/train.tok -o run --tokens 100 --steps 5 m0
	one_usage_line
	refuses train-lm -o run m0
	one_line_error 'tokens are needed: -d FILE'
	refuses train-lm -d data/train.tok -o run
	one_line_error 'a model is needed'
	refuses train-lm -d nothing -o run m0
	one_line_error 'nothing: No such file'
	: >empty
	refuses train-lm -d empty -o run m0
	one_line_error 'empty: is empty, no tokens'
	yes 'a line of text' | head -n 100000 >text
	refuses train-lm -d text -o run m0
	one_line_error 'text: is neither a packed token file nor a token mix; of text they are made by: tokenize -t TOKENIZER text | pack-tokens -o FILE.tok'
	printf 'NNTOKSTR and more' >stream
	refuses train-lm -d stream -o run m0
	one_line_error 'stream: is a token stream: pack-tokens -o FILE.tok stream packs it'
	refuses train-lm -d ids -o run m0
	one_line_error 'ids: is neither'
	refuses train-lm -d data/train.tok -o run nothing
	one_line_error 'nothing: '
	refuses train-lm -d data/train.tok -c 65 -o run m0
	one_line_error '--ctx: 65 tokens; the model has positions for 64'
	head -n 1 ids | cut -d' ' -f1-10 | pack-tokens -q --from ids --vocab 61 --separator none -o short.tok -
	refuses train-lm -d short.tok -o run m0
	one_line_error 'short.tok: has 10 tokens' '--ctx'
	pack-tokens -q --from ids --vocab 300 --separator none -o wide.tok ids
	refuses train-lm -d wide.tok -o run m0
	one_line_error 'wide.tok: has ids below 300, the model a vocabulary of 61' 'another tokenizer'
	refuses train-lm -d data/train.tok -c 32 -b 8 --micro-batch 3 -o run m0
	one_line_error '--micro-batch: 3 windows do not divide a batch of 8'
	refuses train-lm -d data/train.tok -c 32 --steps 5 --warmup 6 -o run m0
	one_line_error 'the schedule' 'warm-up'
	refuses train-lm -d data/train.tok -c 32 --memory 20k -o run m0
	one_line_error 'training needs' '20000 allowed'
	refuses train-lm -d data/train.tok -c 32 --rollback 1 -o run m0
	one_line_error '--rollback'
	[ ! -e run ]
}

@test 'what of the model takes no part is told, and stays as it is' {
	sed -i 's/"num_hidden_layers": 2/"num_hidden_layers": 1/' m0/config.json
	# shellcheck disable=SC2086
	try train-lm $SMALL --steps 2 -o run m0
	[ "$status" = 0 ] || fail_showing "$err"
	has "$err" 'train-lm: m0: 16 tensors not used: model.layers.1.self_attn.k_proj.bias, '
	for tensor in model.layers.0.mlp.up_proj.weight model.layers.1.mlp.up_proj.weight; do
		get-tensor -f raw m0 $tensor >before
		get-tensor -f raw run/last $tensor >after
		cmp -s before after && echo $tensor
	done >same
	[ "$(cat same)" = model.layers.1.mlp.up_proj.weight ] || fail_showing same
}

@test 'steps that are not finite change nothing, and end the run after so many' {
	local file=m0/model-00002-of-00002.safetensors

	# The last value becomes infinite.
	printf '\0\0\200\177' | dd of=$file bs=1 seek=$(($(wc -c <$file) - 4)) conv=notrunc 2>/dev/null
	try train-lm -d data/train.tok -c 32 -b 8 --steps 40 --max-skipped 3 -o run m0
	[ "$status" = 2 ]
	has "$err" 'is not finite: nothing was changed' '3 steps in a row were not finite'
	[ ! -e run/done ]
	has run/log.jsonl '"loss":null' '"skipped":true' '"event":"skipped"'
}

@test 'optimizers, types, schedules: the loss falls with each' {
	local how

	for how in '--optimizer lion' '--optimizer muon' '--optimizer sgd --lr 1' '--optimizer adamw8' '--dtype bf16' \
		'--weights bf16' '--weights bf16 --rounding nearest' '--schedule wsd' '--schedule linear' '--schedule constant' \
		'--ema 0.9 --z-loss 1e-4 --label-smoothing 0.01' '--documents joined' '--fit best' '--optimizer muon --dtype bf16'; do
		rm -rf run
		# shellcheck disable=SC2086
		works train-lm -q $SMALL $how -o run m0 || complain "$how"
		lower "$(loss run 30)" "$(loss run 1)" || complain "$how"
		rm run/done run/last
		rm -rf run/step-30
		cp -r run/step-20 kept
		works train-lm -q --resume -o run
		rm -rf kept
	done
	has run/last/run.json '"optimizer": "muon"' '"dtype": "bf16"'
}

@test 'what is watched' {
	# shellcheck disable=SC2086
	works train-lm -q $SMALL --watch 10 -o run m0
	[ "$(grep -c '"event":"watch"' run/log.jsonl)" = 3 ]
	has run/log.jsonl '"name":"model.embed_tokens.weight","grad_norm":' '"update_ratio":'
	# shellcheck disable=SC2086
	works train-lm -q $SMALL -o plain m0
	same_run run plain
}

@test 'a disk that is full during a checkpoint: the one before stays, the run goes on and tries again' {
	needs_shim
	FAULT_PATH=step-20.new
	export FAULT_PATH
	# shellcheck disable=SC2086
	try with_fault 'write:1:ENOSPC' train-lm -q $SMALL -o run m0
	[ "$status" = 0 ]
	has "$err" 'No space left on device; the checkpoint before stays, the next try is after step 22'
	[ "$(cd run && echo step-*)" = 'step-22 step-30' ]
	has run/log.jsonl '{"event":"checkpoint failed","step":20,"of":20}'
	# shellcheck disable=SC2086
	works train-lm -q $SMALL -o plain m0
	same_run run plain
	# At the last step there is nothing to go on for.
	rm -rf run
	FAULT_PATH=step-30
	# shellcheck disable=SC2086
	try with_fault 'write:1+:ENOSPC' train-lm -q $SMALL -o run m0
	one_line_error 'No space left on device'
	[ "$(readlink run/last)" = step-20 ] && [ ! -e run/done ]
	works train-lm -q --resume -o run
	same_run run plain
}

@test 'a disk that is full under the log: its lines are kept until there is room' {
	needs_shim
	FAULT_PATH=log.jsonl
	export FAULT_PATH
	# shellcheck disable=SC2086
	try with_fault 'pwrite:4:ENOSPC,pwrite:5:ENOSPC,pwrite:6:ENOSPC' train-lm -q $SMALL -o run m0
	[ "$status" = 0 ]
	[ "$(wc -l <"$err")" = 1 ]
	has "$err" "the log's lines are kept until there is room"
	# shellcheck disable=SC2086
	works train-lm -q $SMALL -o plain m0
	same_run run plain
}

@test 'spikes are told; with --rollback the run goes back, and on with other data' {
	local n

	# shellcheck disable=SC2086
	try train-lm -q $SMALL --steps 60 --lr 1e-9 --min-lr 1e-9 --spike 0.02 -o told m0
	[ "$status" = 0 ]
	has "$err" 'the loss leaps to'
	has told/log.jsonl '"event":"spike"'
	# shellcheck disable=SC2086
	try train-lm -q $SMALL --steps 60 --lr 1e-9 --min-lr 1e-9 --spike 0.02 --rollback 2 -o back m0
	[ "$status" = 0 ] && [ -e back/done ]
	has "$err" ': the run goes back to step '
	[ "$(grep -c '"event":"rollback"' back/log.jsonl)" = 2 ]
	has back/last/run.json '"rollbacks": 2'
	[ "$(readlink back/last)" = step-60 ]
	# The first step after it, with one loss each time: other data.
	n=$(sed -nE 's/.*rollback","step":([0-9]*).*/\1/p' back/log.jsonl | head -n 1)
	[ "$(loss back $((n + 1)) | wc -l)" -gt 1 ]
	[ -z "$(loss back $((n + 1)) | sort | uniq -d)" ]
	# Gone on with after the second one: the same.
	rm back/done
	ln -sfn step-50 back/last
	cp back/log.jsonl whole.jsonl
	cp back/step-60/model.safetensors whole
	try train-lm -q --resume -o back
	[ "$status" = 0 ]
	same_bytes back/last/model.safetensors whole
	diff <(grep -v event whole.jsonl | sed 's/,"perf".*//') <(log_of back) >&2
}

@test 'masks: bert learns them, and the wrong objective is refused' {
	local bert=$ROOT/fixtures/good/lm/bert

	pack-tokens -q --from ids --vocab 61 --separator none -o bert.tok ids
	# shellcheck disable=SC2086
	works train-lm -q -d bert.tok -v bert.tok --val-tokens 512 -c 32 -b 8 --steps 40 --lr 1e-2 --mask-id 3 -o run "$bert"
	has run/last/run.json '"objective": "mlm"' '"mask": "0.15"' '"mask-id": "3"'
	lower "$(loss run 40 val_loss)" "$(loss run 1)"
	refuses train-lm -d bert.tok -c 32 -o x "$bert"
	one_line_error '--mask-id'
	refuses train-lm -d bert.tok -c 32 --objective next -o x "$bert"
	one_line_error 'both sides'
	refuses train-lm -d bert.tok -c 32 --objective mlm -o x m0
	one_line_error 'what came before'
}

@test 'the micro-batch follows from the memory, and stays' {
	local needs

	# shellcheck disable=SC2086
	works train-lm -q -d data/train.tok -c 32 -b 16 --steps 4 --checkpoint-every 2 --keep 0 -o run m0
	has run/last/run.json '"micro-batch": "16"'
	works train-lm --dry-run -d data/train.tok -c 32 -b 16 --micro-batch 16 --recompute all m0
	needs=$(sed -n 's/^in all *//p' "$out")
	works train-lm -q -d data/train.tok -c 32 -b 16 --steps 4 --checkpoint-every 2 --memory $((needs - 1)) -o less m0
	has less/last/run.json '"micro-batch": "8"'
	rm run/done
	ln -sfn step-2 run/last
	cp run/step-4/model.safetensors whole
	works train-lm -q --resume --recompute all -o run
	has run/last/run.json '"micro-batch": "16"'
	same_bytes run/last/model.safetensors whole
}

@test 'checkpoints beside training: the same bits, also after kills and on a full disk' {
	local n

	# shellcheck disable=SC2086
	works train-lm -q $SMALL -v data/val.tok --val-every 6 -o run m0
	# shellcheck disable=SC2086
	works train-lm -q $SMALL -v data/val.tok --val-every 6 --checkpoint-async on --checkpoint-every 1 -o aside m0
	same_run run aside
	[ "$(readlink run/best)" = "$(readlink aside/best)" ]
	for n in 1 2 3; do
		# shellcheck disable=SC2086
		timeout -s KILL "0.$((RANDOM % 2 + 1))" train-lm -q --resume $SMALL -v data/val.tok --val-every 6 \
			--checkpoint-async on --checkpoint-every 2 -o broken m0 || true
	done
	# shellcheck disable=SC2086
	works train-lm -q --resume $SMALL -v data/val.tok --val-every 6 --checkpoint-every 2 -o broken m0
	same_run run broken
	needs_shim
	# shellcheck disable=SC2086
	FAULT_PATH=step-10.new try with_fault 'write:1:ENOSPC' train-lm -q $SMALL --checkpoint-async on -o full m0
	[ "$status" = 0 ]
	has "$err" 'step 10: ' 'No space left on device; the checkpoint before stays, the next try is after step '
	# shellcheck disable=SC2086
	works train-lm -q $SMALL -o plain m0
	same_run plain full
	works train-lm --dry-run -d data/train.tok --checkpoint-async on m0
	has "$out" 'copy to be written'
}

# A model with a tokenizer, and its tokens, of this tree's own pages.
with_tokenizer()
{
	cat-docs -q --split blank "$ROOT/README.md" "$MAN/tokenize.1" "$MAN/pack-tokens.1" >docs
	train-tokenizer -q -v 400 --eos '<end>' -o tok/ docs
	tokenize -q -t tok/ docs | pack-tokens -q -o text.tok -
	init-lm -q -t tok/ --layers 2 --width 32 --heads 2 --kv-heads 1 --ffn 64 --context 64 -o m1
}

@test 'samples: printed at each evaluation, in the log, the same each time, and no bit of the run differs' {
	with_tokenizer
	works train-lm -q -d text.tok -c 32 -b 8 --steps 30 --val-every 10 --lr 1e-2 --sample 'The tokens' --sample-tokens 12 -o run m1
	[ "$(grep -c '^--- step [123]0$' "$out")" = 3 ]
	[ "$(grep -c '^The tokens' "$out")" = 3 ]
	[ "$(grep -c '"event":"sample"' run/log.jsonl)" = 3 ]
	has run/log.jsonl '"text":"The tokens'
	cp "$out" first
	works train-lm -q -d text.tok -c 32 -b 8 --steps 30 --val-every 10 --lr 1e-2 --sample 'The tokens' --sample-tokens 12 -j1 -o two m1
	same_bytes first "$out"
	works train-lm -q -d text.tok -c 32 -b 8 --steps 30 --val-every 10 --lr 1e-2 -o plain m1
	same_run run plain
	same_run run two
	[ -s run/last/tokenizer.json ] && [ -s run/last/tokenizer_config.json ]
	refuses train-lm -q -d data/train.tok -c 32 --sample x -o x m0
	one_line_error 'no tokenizer'
	[ ! -e x ]
	on_full_disk train-lm -q -d text.tok -c 32 -b 8 --steps 2 --sample x -o y m1
	closed_stdout train-lm -q -d text.tok -c 32 -b 8 --steps 2 --sample x -o z m1
}

@test 'a token stream: steps in its order, gone on with when it is given again; ended, cut, passed' {
	local run='-d - -c 32 -b 8 --micro-batch 4 --checkpoint-every 5 --lr 3e-3 --shuffle 1000'

	pack-tokens -q --from ids --vocab 61 --separator none --to stream -o tokens ids
	# shellcheck disable=SC2086
	works train-lm -q $run --steps 20 -o whole m0 <tokens
	lower "$(loss whole 20)" "$(loss whole 1)"
	# shellcheck disable=SC2086
	timeout -s KILL 0.2 train-lm -q $run --steps 20 -o broken m0 < <(head -c 9000 tokens; sleep 5) || true
	# shellcheck disable=SC2086
	works train-lm -q --resume $run --steps 20 -o broken m0 <tokens
	same_run whole broken
	# shellcheck disable=SC2086
	refuses train-lm -q $run --steps 2000 -o short m0 <tokens
	one_line_error 'the stream has ended after' 'within step'
	[ ! -e short/done ] && [ -e short/last/run.json ]
	# shellcheck disable=SC2086
	refuses train-lm -q $run --steps 20 -o cut m0 < <(head -c 5000 tokens)
	one_line_error 'cut'
	# shellcheck disable=SC2086
	refuses train-lm -q $run -o endless m0 <tokens
	one_line_error '--steps or --tokens'
	# shellcheck disable=SC2086
	refuses train-lm -q $run --steps 2 --fit best -o best m0 <tokens
	one_line_error 'packed file'
	refuses train-lm -q -d data/train.tok --shuffle 100 --steps 1 -o packed m0
	one_line_error '--shuffle' 'stream'
}

@test 'tokens of another tokenizer are refused' {
	with_tokenizer
	train-tokenizer -q -v 399 --eos '<end>' -o other/ docs
	tokenize -q -t other/ docs | pack-tokens -q -o other.tok -
	refuses train-lm -d other.tok -c 32 -o run m1
	one_line_error 'other.tok' 'm1'
	[ ! -e run ]
	pack-tokens -q --from ids --vocab 300 --separator none -o known.tok ids
	works train-lm -q -d known.tok -c 32 -b 8 --steps 1 -o run m1
}

# little NUMBER: as eight bytes
little()
{
	local i n=$1

	for i in 0 1 2 3 4 5 6 7; do
		# shellcheck disable=SC2059
		printf "\\x$(printf %02x $((n & 255)))"
		n=$((n >> 8))
	done
}

# sparse_pack TOKENS FILE: one document of so many tokens 0, of which the disk has next to nothing
sparse_pack()
{
	echo 0 | pack-tokens -q --from ids --vocab 61 --separator none -o one.tok -
	head -c 80 one.tok >"$2"
	truncate -s $((80 + 2 * $1)) "$2"
	{
		little 0
		little "$1"
		printf NNTOKEND
		little "$1"
		little 1
		tail -c 64 one.tok
	} >>"$2"
}

@test 'memory does not grow with the corpus, nor with what was read of it: 10 GB' {
	local name

	[ -z "${NNUTILS_SANITIZED-}" ] || skip 'native: a sanitizer takes its own memory'
	sparse_pack 8000 small.tok
	sparse_pack 5000000000 large.tok
	for name in small large; do
		works train-lm -q -j 1 -d $name.tok -c 32 -b 32 --steps 100 --checkpoint-every 0 -o $name m0
		sed -n '$s/.*"mem":\([0-9]*\).*/\1/p' $name/log.jsonl >$name.mem
	done
	[ $(($(cat large.mem) - $(cat small.mem))) -lt 6000000 ] || complain "$(cat small.mem) and $(cat large.mem) bytes"
}

@test 'memory that is refused, early or late: one line, and what is left of a run goes on' {
	local call n run='-d data/train.tok -c 32 -b 4 --steps 2 -o run m0'

	needs_shim
	for call in malloc mmap; do
		for ((n = 1;; n += 1 + n / 4)); do
			rm -rf run
			# shellcheck disable=SC2086
			try with_fault "$call:$n:ENOMEM" train-lm -q -j 1 $run
			fault_came || break
			[ "$status" = 0 ] || one_line_error || complain "with FAULT=$call:$n:ENOMEM"
			# shellcheck disable=SC2086
			[ ! -e run ] || works train-lm -q --resume -j 1 $run || complain "after FAULT=$call:$n:ENOMEM"
		done
		[ "$n" -gt 20 ] || complain "only $n calls of $call"
	done
}
