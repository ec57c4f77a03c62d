#!/usr/bin/env bats
# copy-model: the same bytes when nothing is asked, and no half-written output whatever happens

load lib

gguf() { printf '%s' "$ROOT/fixtures/good/gguf/$1.gguf"; }

# What is in the folder, temporaries too.
left() { find . -mindepth 1 | sort | tr '\n' ' '; }

@test 'nothing asked: byte for byte' {
	local file

	for file in "$ROOT"/fixtures/good/gguf/{types,dtypes,gaps,align-16,align-64,nested-8,version-2,empty}.gguf; do
		works copy-model -q "$file" copy.gguf
		same_bytes "$file" copy.gguf
	done
	for file in "$ROOT"/fixtures/good/safetensors/*.safetensors; do
		works copy-model -q "$file" copy.safetensors
		same_bytes "$file" copy.safetensors
	done
}

@test 'nothing asked: a folder, with all that lies in it' {
	works copy-model -q "$ROOT/fixtures/good/hf/llama" m
	diff -r "$ROOT/fixtures/good/hf/llama" m >&2
	works copy-model -q "$ROOT/fixtures/good/safetensors/sharded" s
	diff -r "$ROOT/fixtures/good/safetensors/sharded" s >&2
}

@test 'shards and back' {
	works copy-model -q --shard-size 2k "$ROOT/fixtures/good/hf/llama" s
	[ -f s/model.safetensors.index.json ]
	[ -f s/model-00002-of-00006.safetensors ]
	[ ! -e s/model.safetensors ]
	works diff-model -q "$ROOT/fixtures/good/hf/llama" s
	works copy-model -q --join s j
	works diff-model -q "$ROOT/fixtures/good/hf/llama" j
	[ "$(find j -name '*.safetensors*' | wc -l)" = 1 ]
	works copy-model -q s one.safetensors
	same_bytes one.safetensors j/model.safetensors
}

@test 'GGUF: to parts and back, the keys in their order (H14, H15)' {
	works copy-model -q --shard-size 100 "$(gguf types)" p.gguf
	[ -f p-00001-of-00004.gguf ]
	works show-model -m -n 0 "$(gguf types)"
	cp "$out" keys
	works show-model -m -n 0 p-00003-of-00004.gguf
	grep -v '^split\.' "$out" | diff keys - >&2
	works copy-model -q p-00002-of-00004.gguf joined.gguf
	same_bytes "$(gguf types)" joined.gguf
	works copy-model -q p-0000{3,1,4,2}-of-00004.gguf joined.gguf
	same_bytes "$(gguf types)" joined.gguf
	refuses copy-model p-0000{3,1,2}-of-00004.gguf joined.gguf
	refuses copy-model p-0000{3,3,1,2}-of-00004.gguf joined.gguf
	mv p-00003-of-00004.gguf elsewhere
	refuses copy-model p-00001-of-00004.gguf joined.gguf
	one_line_error p-00003-of-00004.gguf
}

@test 'a changed header moves the data, and every tensor keeps its bytes (H11)' {
	works copy-model -q --rename 'matrix=a.much.longer.name.than.it.had.before' "$(gguf types)" r.gguf
	for t in half blocks cube; do
		get-tensor -f raw "$(gguf types)" $t >a
		get-tensor -f raw r.gguf $t >b
		same_bytes a b
	done
}

@test 'patterns and names' {
	works copy-model -q --only '*norm*' --except 'model.norm.weight' "$ROOT/fixtures/good/hf/llama/model.safetensors" n.safetensors
	works show-model -t n.safetensors
	has "$out" input_layernorm
	lacks "$out" q_proj model.norm.weight
	works copy-model -q --rename 'model.layers.*=h.*' --rename 'model.*=*' "$ROOT/fixtures/good/hf/llama/model.safetensors" n.safetensors
	works show-model -t n.safetensors
	has "$out" h.0.input_layernorm.weight
	grep -q '^norm.weight' "$out"
	refuses copy-model --rename '*=same' "$ROOT/fixtures/good/hf/llama/model.safetensors" n.safetensors
	one_line_error 'two tensors would be named same'
	refuses copy-model --only nothing "$ROOT/fixtures/good/hf/llama/model.safetensors" n.safetensors
	one_line_error 'no tensor is left'
}

@test 'conversion: values, file_type, config.json' {
	works copy-model -q -d bf16 "$ROOT/fixtures/good/hf/llama-untied" h
	works show-model h
	has "$out" 'bf16 19'
	grep -q '"dtype": "bfloat16"' h/config.json
	try diff-model -q --no-metadata --ignore-dtype --rtol 0.001 "$ROOT/fixtures/good/hf/llama-untied" h
	[ "$status" = 1 ]
	works diff-model -q --no-metadata --ignore-dtype --rtol 0.00391 "$ROOT/fixtures/good/hf/llama-untied" h
	works copy-model -q -d f32 "$(gguf types)" f.gguf
	works show-model -t f.gguf
	has "$out" 'blocks	f32' 'cube	i16'
	works diff-model -q --no-metadata --ignore-dtype "$(gguf types)" f.gguf
}

@test 'overflow is refused, or allowed and counted (G06)' {
	{
		printf '\x50\0\0\0\0\0\0\0'
		printf '%-80s' '{"w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}'
		printf '\x89\x47\x80\x3f' # 70144, 1
	} >w.safetensors
	refuses copy-model -d f16 w.safetensors h.safetensors
	one_line_error 'tensor w: 1 values are past the range of f16'
	[ "$(left)" = './w.safetensors ' ]
	try copy-model -d f16 --allow-overflow w.safetensors h.safetensors
	[ "$status" = 0 ]
	has "$err" '1 values were past the range of f16'
	works get-tensor -f text h.safetensors w
	[ "$(cat "$out")" = 'inf	1' ]
}

@test 'to stdout' {
	works copy-model -q "$(gguf types)" -
	same_bytes "$(gguf types)" "$out"
	refuses copy-model -q --shard-size 1 "$(gguf types)" -
}

@test 'the source is no target (G16)' {
	cp "$(gguf types)" m.gguf
	ln -s m.gguf link.gguf
	refuses copy-model m.gguf m.gguf
	refuses copy-model m.gguf link.gguf
	one_line_error 'is the source too'
	same_bytes "$(gguf types)" m.gguf
}

@test 'another format, a folder that is not empty' {
	refuses copy-model "$(gguf types)" x.safetensors
	refuses copy-model "$ROOT/fixtures/good/hf/llama" x.gguf
	mkdir full
	: >full/file
	refuses copy-model "$ROOT/fixtures/good/hf/llama" full
	[ "$(left)" = './full ./full/file ' ]
}

@test 'a full disk leaves nothing' {
	refuses copy-model -q "$(gguf types)" /dev/full
	one_line_error 'No space left on device'
	on_full_disk copy-model -q "$(gguf types)" -
}

after_fault()
{
	# Nothing is there, or the whole: a fault can come after the renaming (the folder's fsync).
	[ "$status" != 0 ] || [ -e t.gguf ] || complain 'exit status 0, and no t.gguf'
	if [ -e t.gguf ]; then
		same_bytes "$(gguf types)" t.gguf && rm t.gguf
	fi
	[ "$(left)" = '' ] || complain "left: $(left)"
}

@test 'every fault of writing ends in the whole file or in nothing' {
	local call

	for call in open fsync; do
		each_fault $call EIO copy-model -q "$(gguf types)" t.gguf || return
	done
	each_fault malloc ENOMEM copy-model -q "$(gguf types)" t.gguf
	each_fault write ENOSPC copy-model -q "$(gguf types)" t.gguf
	each_fault rename EIO copy-model -q "$(gguf types)" t.gguf
}

@test 'faults while a folder is written' {
	after_fault()
	{
		if [ "$status" = 0 ]; then
			works diff-model -q "$ROOT/fixtures/good/hf/llama" t && rm -r t
		fi
		[ "$(left)" = '' ] || complain "left: $(left)"
	}
	each_fault write ENOSPC copy-model -q --shard-size 4k "$ROOT/fixtures/good/hf/llama" t
}

# killed_by SIGNAL: a copy that stops itself before its first fsync gets SIGNAL there.
killed_by()
{
	local pid code=0

	FAULT=fsync:1:stop LD_PRELOAD=$SHIM env --default-signal copy-model -q --rename x=y "$(gguf types)" out.gguf 3>&- &
	pid=$!
	for _ in $(seq 200); do
		[ "$(cut -d ' ' -f 3 /proc/$pid/stat)" != T ] || break
		sleep 0.02
	done
	find . -name '.out.gguf.tmp*' | grep -q . || complain 'no temporary was there' || return
	kill -"$1" $pid
	kill -CONT $pid
	wait $pid || code=$?
	[ "$code" = $((128 + $(kill -l "$1"))) ] || complain "SIG$1: exit status $code" || return
	[ "$(left)" = '' ] || complain "SIG$1: left: $(left)"
}

@test 'a signal removes what is half-written, and kills' {
	local signal

	needs_shim
	for signal in INT TERM HUP QUIT; do
		killed_by $signal || return
	done
}

@test 'the page: options and examples' {
	cp -R "$ROOT/fixtures/good/hf/llama-untied" tiny-llama
	cp "$(gguf types)" tiny.gguf
	options_match_man copy-model
	man_examples copy-model
}
