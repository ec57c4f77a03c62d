#!/usr/bin/env bats
# show-model: listings equal to those of the formats' own packages (fixtures/golden/listing), summaries, trouble

load lib

gguf() { printf '%s' "$ROOT/fixtures/good/gguf/$1.gguf"; }
tensors() { printf '%s' "$ROOT/fixtures/good/safetensors/$1.safetensors"; }

@test 'tensors and metadata are what gguf-py and safetensors say' {
	local golden file

	cd "$ROOT/fixtures/golden/listing"
	for golden in */*.tensors.tsv; do
		works show-model -t "$ROOT/fixtures/good/${golden%.tensors.tsv}"
		diff -u "$golden" "$out" >&2 || return
	done
	for golden in */*.metadata.tsv; do
		works show-model -m -n 0 "$ROOT/fixtures/good/${golden%.metadata.tsv}"
		grep -vP '\tarray\[' "$out" | diff -u "$golden" - >&2 || return
	done
}

@test 'the summary of a folder' {
	works show-model "$ROOT/fixtures/good/hf/llama"
	has "$out" 'Hugging Face folder' 'architecture  llama' 'layers' 'context'
}

@test 'the summary of a GGUF' {
	works show-model "$(gguf types)"
	has "$out" 'GGUF 3' 'architecture  test' 'not understood'
}

@test 'JSON: a line a thing' {
	works show-model --json "$(gguf types)"
	has "$out" '"format":"gguf"' '"architecture":"test"'
	works show-model --json -t "$(gguf types)"
	[ "$(wc -l <"$out")" = "$(($(wc -l <"$ROOT/fixtures/golden/listing/gguf/types.gguf.tensors.tsv") - 1))" ]
	has "$out" '{"tensor":"blocks","dtype":"q8_0","shape":[4,64],"elements":256,"bytes":272,"offset":'
	works show-model --json -m "$(gguf types)"
	has "$out" '{"key":"scalar.u8","type":"u8","value":200}'
}

@test 'a model in parts is shown from any of them' {
	works show-model -t "$(gguf split-00001-of-00003)"
	cp "$out" first
	works show-model -t "$(gguf split-00003-of-00003)"
	same_bytes first "$out"
}

@test 'a shard index, and the folder around it' {
	works show-model -t "$ROOT/fixtures/good/safetensors/sharded/model.safetensors.index.json"
	cp "$out" index
	works show-model -t "$ROOT/fixtures/good/safetensors/sharded"
	same_bytes index "$out"
	has "$out" model-00002-of-00002.safetensors
}

@test 'statistics: known values' {
	# 0 1 -2 nan inf 4 as f32
	{
		printf '\x50\0\0\0\0\0\0\0'
		printf '%-80s' '{"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}'
		printf '\0\0\0\0\0\0\x80\x3f\0\0\0\xc0\0\0\xc0\x7f\0\0\x80\x7f\0\0\x80\x40'
	} >w.safetensors
	works show-model -q -s w.safetensors
	# mean (0 + 1 - 2 + 4) / 4, rms sqrt(21 / 4)
	[ "$(tail -n1 "$out")" = "w	f32	2x3	24	88	-2	inf	0.75	2.29129	1	1	1" ]
	works show-model -q -s --json w.safetensors
	has "$out" '"min":-2,"max":null,"mean":0.75,"rms":2.29128784747792,"zeros":1,"nan":1,"inf":1'
}

@test 'statistics do not depend on threads or instruction set' {
	works show-model -q -s -j1 "$ROOT/fixtures/good/hf/gpt2"
	cp "$out" one
	for level in generic avx2 avx512 neon; do
		try env NNUTILS_ISA=$level show-model -q -s -j3 "$ROOT/fixtures/good/hf/gpt2"
		[ "$status" = 0 ] || continue
		same_bytes one "$out"
	done
}

@test 'a type that is not decoded has no statistics, and is listed (I06)' {
	works show-model -q -s "$(tensors I06-unknown-dtype)"
	has "$out" '	-	-	-	-	-	-	-'
}

@test 'hashes: of files and of tensors' {
	works show-model --hash "$(gguf empty)"
	[ "$(cut -c15-46 "$out" | grep -cE '^[0-9a-f]{32}$')" = 1 ]
	works show-model -t --hash "$ROOT/fixtures/good/hf/llama"
	head -n1 "$out" | grep -q 'hash$'
	[ "$(grep -cvE '(hash|[0-9a-f]{32})$' "$out")" = 0 ]
}

@test 'every bad GGUF is refused in one line that names it' {
	local file

	for file in "$ROOT"/fixtures/bad/gguf/*.gguf; do
		case $file in
		*-config-* | *H15-whole-among-00002*) ;; # well-formed as files; the next test has the former
		*) refuses show-model "$file" || return ;;
		esac
	done
}

@test 'metadata that makes no model (H03, H09) is said, and the rest is shown' {
	local file

	for file in "$ROOT"/fixtures/bad/gguf/*-config-*.gguf; do
		works show-model "$file" || return
		has "$out" 'configuration not understood' || return
	done
}

@test 'every bad safetensors file is refused in one line that names it' {
	local file

	for file in "$ROOT"/fixtures/bad/safetensors/*.safetensors; do
		refuses show-model "$file" || return
		has "$err" "${file##*/}"
	done
}

@test 'a configuration that is not understood is said, and is no trouble' {
	cp -R "$ROOT/fixtures/good/hf/llama" m
	chmod -R u+w m
	cp "$ROOT/fixtures/bad/hf/unknown-architecture.json" m/config.json
	works show-model m
	has "$out" 'configuration not understood'
}

@test 'what is no model' {
	refuses show-model nothing.gguf
	one_line_error 'nothing.gguf: No such file'
	mkdir empty
	refuses show-model empty
	one_line_error 'neither model.safetensors nor'
	: >zero
	refuses show-model zero
	refuses show-model /dev/null
	one_line_error 'file or a folder'
}

@test 'names with terminal escapes do not reach the terminal' {
	{
		printf '\x58\0\0\0\0\0\0\0'
		printf '%-88s' '{"a\u001b[31m\u0000\tb":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'
		printf '\1'
	} >w.safetensors
	works show-model -t w.safetensors
	has "$out" '"a\x1b[31m\x00\tb"'
}

@test 'misuse' {
	try show-model
	one_usage_line
	try show-model --threads 0 x
	one_usage_line
	has "$err" '--threads'
	try show-model --threads 12x x
	one_usage_line
	try show-model --item 3 --nothing x
	one_usage_line
	has "$err" '--nothing'
}

@test 'a full disk, a closed stdout, a reader that left' {
	on_full_disk show-model -t "$(gguf types)"
	closed_stdout show-model "$(gguf types)"
	broken_pipe show-model -t "$(gguf types)"
}

@test 'faults of reading and of memory end in one line' {
	each_fault open EIO show-model -t "$(gguf types)"
	each_fault mmap ENOMEM show-model -t "$(gguf types)"
	each_fault malloc ENOMEM show-model -m "$(gguf types)"
}

@test 'the page: options and examples' {
	cp -R "$ROOT/fixtures/good/hf/llama-untied" tiny-llama
	cp "$(gguf types)" tiny.gguf
	options_match_man show-model
	man_examples show-model
}
