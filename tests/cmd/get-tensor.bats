#!/usr/bin/env bats
# get-tensor: values, slices, formats, trouble

load lib

# 2 x 3 of f32: 0 1 2 / 3 4 5
make_model()
{
	{
		printf '\x50\0\0\0\0\0\0\0'
		printf '%-80s' '{"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}'
		printf '\0\0\0\0\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40'
	} >w.safetensors
}

@test 'text: a row a line' {
	make_model
	works get-tensor -f text w.safetensors w
	printf '0\t1\t2\n3\t4\t5\n' | diff - "$out" >&2
}

@test 'slices' {
	make_model
	works get-tensor -f text -s 1,1: w.safetensors w
	printf '4\t5\n' | diff - "$out" >&2
	works get-tensor -f text -s :,::2 w.safetensors w
	printf '0\t2\n3\t5\n' | diff - "$out" >&2
	works get-tensor -f text -s -1,-1 w.safetensors w
	printf '5\n' | diff - "$out" >&2
	works get-tensor -f text -s 1:1 w.safetensors w
	[ ! -s "$out" ]
}

@test 'raw bytes, converted and not' {
	make_model
	works get-tensor -f raw w.safetensors w
	tail -c 24 w.safetensors | cmp - "$out" >&2
	works get-tensor -f raw -d bf16 -s 0 w.safetensors w
	printf '\0\0\x80\x3f\0\x40' | cmp - "$out" >&2
	works get-tensor -f raw -d f64 -s 0,1 w.safetensors w
	printf '\0\0\0\0\0\0\xf0\x3f' | cmp - "$out" >&2
}

@test 'npy: the bytes that NumPy writes' {
	make_model
	works get-tensor w.safetensors w
	{
		printf '\x93NUMPY\x01\x00\x76\x00'
		printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
		tail -c 24 w.safetensors
	} | cmp - "$out" >&2
}

@test 'blocks become f32 in npy and text, and stay blocks in raw' {
	local model=$ROOT/fixtures/good/gguf/types.gguf

	works get-tensor -f raw "$model" blocks
	[ "$(wc -c <"$out")" = 272 ]
	works get-tensor "$model" blocks
	has "$out" "'<f4'" '(4, 64)'
	works get-tensor -f text -s 0 "$model" blocks
	[ "$(tr '\t' '\n' <"$out" | wc -l)" = 64 ]
	refuses get-tensor -f raw -s :,0:32 "$model" blocks
	one_line_error 'stored in blocks'
	works get-tensor -f raw -d f32 -s :,0:32 "$model" blocks
	[ "$(wc -c <"$out")" = 512 ]
}

@test 'trouble' {
	make_model
	refuses get-tensor w.safetensors v
	one_line_error 'has no tensor v'
	refuses get-tensor -s 2 w.safetensors w
	one_line_error '--slice: axis 0: index 2, but the axis has 2'
	refuses get-tensor -d bf16 w.safetensors w
	one_line_error bf16
	refuses get-tensor "$ROOT/fixtures/good/safetensors/I06-unknown-dtype.safetensors" \
		"$(show-model -t "$ROOT/fixtures/good/safetensors/I06-unknown-dtype.safetensors" | awk '$2 == "XYZ" { print $1 }')"
	one_line_error 'unknown dtype XYZ'
	try get-tensor w.safetensors
	one_usage_line
	try get-tensor -f csv w.safetensors w
	one_usage_line
	has "$err" "'csv' is not one of npy, text or raw"
}

@test 'a full disk, a closed stdout, a reader that left, faults' {
	make_model
	on_full_disk get-tensor w.safetensors w
	closed_stdout get-tensor w.safetensors w
	broken_pipe get-tensor w.safetensors w
	each_fault malloc ENOMEM get-tensor -f text -s ::2 w.safetensors w
}

@test 'the page: options and examples' {
	cp -R "$ROOT/fixtures/good/hf/llama-untied" tiny-llama
	options_match_man get-tensor
	man_examples get-tensor
}
