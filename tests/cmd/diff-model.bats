#!/usr/bin/env bats
# diff-model: what differs, by how much, and the exit status

load lib

# model NAME BYTES [DTYPE SHAPE]: one tensor w, its data from printf
model()
{
	local size

	printf '%b' "$2" >data
	size=$(wc -c <data)
	{
		printf '\x60\0\0\0\0\0\0\0'
		printf '%-96s' "{\"w\":{\"dtype\":\"${3:-F32}\",\"shape\":[${4:-$((size / 4))}],\"data_offsets\":[0,$size]}}"
		cat data
	} >"$1"
}

# differs CMD...: exit status 1
differs()
{
	try "$@"
	[ "$status" = 1 ] && return
	show "$err"
	complain "exit status $status, wanted 1"
}

one='\0\0\x80\x3f' two='\0\0\0\x40' four='\0\0\x80\x40' nan='\0\0\xc0\x7f' inf='\0\0\x80\x7f'

@test 'a model and itself' {
	works diff-model -q "$ROOT/fixtures/good/hf/llama" "$ROOT/fixtures/good/hf/llama"
	[ "$(wc -l <"$out")" = 1 ]
	works diff-model -q -a "$ROOT/fixtures/good/hf/llama" "$ROOT/fixtures/good/hf/llama"
	has "$out" alike
}

@test 'values: how many, how far, where' {
	model a "$one$two$four"
	model b "$one$four$four"
	differs diff-model -q a b
	# cosine of (1 2 4) and (1 4 4): 25 / sqrt(21 * 33)
	[ "$(tail -n1 "$out")" = "values	w	2	4	1/3	2	0.5	0.94967147" ]
	differs diff-model -q --json a b
	has "$out" '"differing":1,"first_index":1,"nan":0,"max_abs":2,"max_abs_index":1,"max_rel":0.5'
}

@test 'tolerances' {
	model a "$one$two"
	model b "$one$four"
	works diff-model -q --atol 2 a b
	differs diff-model -q --atol 1.9 a b
	works diff-model -q --rtol 0.5 a b
	differs diff-model -q --rtol 0.49 a b
}

@test 'NaN is like NaN, an infinity like itself (S05)' {
	model a "$nan$inf$one"
	works diff-model -q a a
	model b "$one$inf$one"
	differs diff-model -q --atol 1000 a b
	has "$out" '1/3'
	model c "$nan\\0\\0\\x80\\xff$one"
	differs diff-model -q --atol 1000 a c
}

@test 'missing tensors, shapes, types' {
	model a "$one$two"
	model b "$one$two" F32 2,1
	differs diff-model -q a b
	has "$out" 'shape	w	2	2x1'
	model c '\x80\x3f\0\x40' BF16 2
	differs diff-model -q a c
	has "$out" 'dtype	w	f32	bf16'
	works diff-model -q --ignore-dtype a c
	copy-model -q --rename w=v a d.safetensors
	differs diff-model -q a d.safetensors
	has "$out" 'missing	w	there	-' 'missing	v	-	there'
	works diff-model -q --except w,v a d.safetensors
}

@test 'metadata' {
	copy-model -q "$ROOT/fixtures/good/hf/llama" m
	sed -i 's/"vocab_size": [0-9]*/"vocab_size": 7/' m/config.json
	differs diff-model -q "$ROOT/fixtures/good/hf/llama" m
	has "$out" 'metadata	vocab_size'
	works diff-model -q --no-metadata "$ROOT/fixtures/good/hf/llama" m
}

@test 'the same on any number of threads' {
	try diff-model -q -j1 "$ROOT/fixtures/good/hf/llama" "$ROOT/fixtures/good/hf/llama-untied"
	cp "$out" one
	try diff-model -q -j5 "$ROOT/fixtures/good/hf/llama" "$ROOT/fixtures/good/hf/llama-untied"
	same_bytes one "$out"
}

@test 'a type that is not decoded is compared as bytes' {
	local model=$ROOT/fixtures/good/safetensors/I06-unknown-dtype.safetensors

	works diff-model -q "$model" "$model"
	cp "$model" other
	printf '\xff' | dd of=other bs=1 seek=$(($(wc -c <other) - 1)) conv=notrunc 2>/dev/null
	differs diff-model -q "$model" other
	has "$out" values
}

@test 'trouble' {
	refuses diff-model "$ROOT/fixtures/good/hf/llama" "$ROOT/fixtures/good/gguf/types.gguf"
	one_line_error 'two formats'
	try diff-model x
	one_usage_line
	model a "$one"
	model b "$two"
	on_full_disk diff-model -q a b
	closed_stdout diff-model -q a b
	each_fault malloc ENOMEM diff-model -q a a
}

@test 'the page: options and examples' {
	cp -R "$ROOT/fixtures/good/hf/llama-untied" tiny-llama
	cp "$ROOT/fixtures/good/gguf/types.gguf" tiny.gguf
	options_match_man diff-model
	man_examples diff-model
}
