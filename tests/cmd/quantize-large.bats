#!/usr/bin/env bats
# quantize: a model is streamed, however large it is

load lib

setup()
{
	scratch
	cat "$ROOT/README.md" >text
	train-tokenizer -q -v 400 --raw -o tok/ text
	# The weights of a folder of one layer give the names; there are as many layers as the file is to have gigabytes.
	init-lm -q -t tok --width 64 --ffn 96 --layers 1 --heads 4 --kv-heads 4 --context 64 -o small
}

# A layer of 2048 x 8192 and its kin: 268 MB in f32
width=2048 ffn=8192

# entry NAME SHAPE ELEMENTS: a row of the header at $at, which goes on
entry()
{
	printf ',"%s":{"dtype":"F32","shape":[%s],"data_offsets":[%d,%d]}' "$1" "$2" "$at" $((at + 4 * $3))
	at=$((at + 4 * $3))
}

# header LAYERS VOCABULARY: of a safetensors file without its length, to `header`; the bytes of all tensors to at
header()
{
	local i name square=$((width * width)) wide=$((width * ffn))

	at=0
	{
		printf '{"__metadata__":{"format":"pt"}'
		entry model.embed_tokens.weight "$2,$width" $(($2 * width))
		for ((i = 0; i < $1; i++)); do
			name=model.layers.$i
			entry $name.input_layernorm.weight $width $width
			for k in q k v o; do entry "$name.self_attn.${k}_proj.weight" $width,$width $square; done
			entry $name.post_attention_layernorm.weight $width $width
			for k in gate up; do entry "$name.mlp.${k}_proj.weight" $ffn,$width $wide; done
			entry $name.mlp.down_proj.weight $width,$ffn $wide
		done
		entry model.norm.weight $width $width
		printf '}'
	} >header
}

# sparse LAYERS: the folder `large`: all of its weights are 0, and it takes no room on the disk
sparse()
{
	local vocabulary n

	cp -r small large
	vocabulary=$(sed -n 's/.*"vocab_size": \([0-9]*\).*/\1/p' small/config.json)
	sed -i -E "s/(\"hidden_size\": )[0-9]+/\1$width/; s/(\"intermediate_size\": )[0-9]+/\1$ffn/; s/(\"num_hidden_layers\": )[0-9]+/\1$1/; s/(\"head_dim\": )[0-9]+/\1$((width / 4))/" large/config.json
	header "$1" "$vocabulary"
	n=$(stat -c %s header)
	{
		printf '%b' "$(printf '\\x%02x\\x%02x\\x%02x\\x%02x' $((n & 255)) $((n >> 8 & 255)) $((n >> 16 & 255)) $((n >> 24 & 255)))\0\0\0\0"
		cat header
	} >large/model.safetensors
	truncate -s $((8 + n + at)) large/model.safetensors
}

# peak PID: the most memory of its own that it has until it ends, in MB
peak()
{
	local most=0 now

	while now=$(awk '$1 == "RssAnon:" { print int($2 / 1024) }' "/proc/$1/status" 2>/dev/null) && [ -n "$now" ]; do
		[ "$now" -le "$most" ] || most=$now
		sleep 0.02
	done
	echo "$most"
}

@test 'memory of its own does not grow with the model' {
	local layers most=()

	[ -z "${NNUTILS_SANITIZED-}" ] || skip 'native: a sanitizer holds memory of its own'
	for layers in 1 ${LAYERS:-4}; do
		rm -rf large
		sparse "$layers"
		quantize -q -j 2 --type "${TYPE:-q8_0}" large large.gguf 2>"$err" &
		most+=("$(peak $!)")
		wait $! || fail_showing "$err"
		[ "$(stat -c %s large.gguf)" -gt $((layers * 71000000)) ] || complain "$layers layers: $(stat -c %s large.gguf) bytes"
		rm large.gguf
	done
	echo "${most[*]} MB of its own for 1 and ${LAYERS:-4} layers of 268 MB"
	[ "${most[0]}" -gt 0 ]
	[ "${most[1]}" -le $((most[0] + 8)) ] || complain 'it grows'
	[ "${most[1]}" -le 32 ] || complain 'it is much'
}
