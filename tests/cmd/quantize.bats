#!/usr/bin/env bats
# quantize: the types that each tensor gets, what does not fit, what is refused, the same bytes for any number of threads

load lib

setup_file()
{
	load lib
	untrained_lm --layers 2 --heads 3 --kv-heads 1 --width 96 --ffn 256
	init-lm -q -t tok --width 256 --ffn 512 --context 64 --layers 2 --heads 4 --kv-heads 2 -o wide
	quantize -q --type f32 wide wide.gguf
	quantize -q --type f32 model small.gguf
}

setup()
{
	scratch
	cp "$BATS_FILE_TMPDIR"/{wide,small}.gguf .
	cp -r "$BATS_FILE_TMPDIR/model" tiny-llama
}

# to TENSOR: its type in the table on stdout, and what was wanted.
to() { awk -F '\t' -v name="$1" '$1 == name { print $4, $5 }' "$out"; }

left() { find . -mindepth 1 -newer mark | sort | tr '\n' ' '; }

# gguf FILE OUT KEY...: an importance matrix for tensor NAME, by way of printf.
u32() { printf '%b' "$(printf '\\x%02x\\x%02x\\x%02x\\x%02x' $(($1 & 255)) $(($1 >> 8 & 255)) $(($1 >> 16 & 255)) $(($1 >> 24 & 255)))"; }
u64() { u32 "$1"; u32 0; }
text() { u64 "${#1}"; printf '%s' "$1"; }

# importance NAME COLUMNS HEX COLUMN HEX: all columns have the f32 HEX, but COLUMN, which has another.
importance()
{
	local name=$1 columns=$2 i

	printf GGUF; u32 3; u64 2; u64 2
	text general.type; u32 8; text imatrix
	text imatrix.chunk_count; u32 4; u32 7
	text "$name.in_sum2"; u32 2; u64 "$columns"; u64 1; u32 0; u64 0
	text "$name.counts"; u32 2; u64 1; u64 1; u32 0; u64 $((4 * columns))
	printf '%*s' $(((32 - ($(header_size "$name") % 32)) % 32)) '' | tr ' ' '\0'
	for ((i = 0; i < columns; i++)); do
		if [ "$i" = "$4" ]; then u32 "$5"; else u32 "$3"; fi
	done
	u32 $((0x40000000))
	head -c 28 /dev/zero
}

header_size() { echo $((24 + 8 + 12 + 4 + 8 + 7 + 8 + 19 + 4 + 4 + 2 * (8 + ${#1} + 4 + 16 + 4 + 8) + 8 + 7)); }

@test 'the man page'\''s examples' {
	man_examples quantize
}

@test 'q4_k_m: which tensor gets which type' {
	works quantize -q --dry-run --type q4_k_m wide.gguf
	[ "$(to token_embd.weight)" = 'q6_k -' ]
	[ "$(to blk.0.attn_q.weight)" = 'q4_k -' ]
	[ "$(to blk.0.attn_v.weight)" = 'q4_k -' ]
	[ "$(to blk.1.attn_v.weight)" = 'q6_k -' ]
	[ "$(to blk.1.ffn_down.weight)" = 'q6_k -' ]
	[ "$(to blk.0.attn_norm.weight)" = 'f32 -' ]
	[ ! -e q4_k_m ]
}

@test 'what is named goes first; what is left goes before that' {
	works quantize -q --dry-run --type q8_0 --type 'blk.*.ffn_down=q2_k' --type 'blk.1.*=q5_1' --output-type f16 \
		--leave 'blk.1.ffn_up' wide.gguf
	[ "$(to token_embd.weight)" = 'f16 -' ]
	[ "$(to blk.1.ffn_down.weight)" = 'q2_k -' ]
	[ "$(to blk.1.attn_q.weight)" = 'q5_1 -' ]
	[ "$(to blk.0.attn_q.weight)" = 'q8_0 -' ]
	[ "$(to blk.1.ffn_up.weight)" = 'f32 -' ]
	[ "$(to blk.1.ffn_norm.weight)" = 'f32 -' ]
}

@test 'without a mix the rest stays, byte for byte' {
	works quantize -q --type 'blk.0.attn_q=q4_0' wide.gguf one.gguf
	try diff-model wide.gguf one.gguf
	[ "$status" = 1 ]
	[ "$(awk '/blk/ { print $2 }' "$out" | sort -u)" = blk.0.attn_q.weight ] || fail_showing "$out"
}

@test 'rows that do not fit: the rule, the count, and --no-fallback (G01, G03)' {
	try quantize --dry-run --type q4_k_m small.gguf
	[ "$status" = 0 ]
	[ "$(to blk.0.attn_q.weight)" = 'q5_0 q4_k' ]
	[ "$(to blk.1.attn_v.weight)" = 'q8_0 q6_k' ]
	[ "$(to blk.1.ffn_down.weight)" = 'q6_k -' ]
	[ "$(to token_embd.weight)" = 'q8_0 -' ]
	has "$err" '12 of 15 tensors' 'bits per weight, not'
	works quantize -q --dry-run --type q2_k wide.gguf
	refuses quantize --no-fallback --type q4_k_m small.gguf never.gguf
	has "$err" 'rows of 96 values are no multiple of 256' q5_0
	[ ! -e never.gguf ]
	quantize -q --dry-run --type '*=q3_k' small.gguf >table 2>/dev/null
	grep -q 'q4_0	q3_k' table || fail_showing table
}

@test 'rows of 172 become f16; matrices are looked at by rows, not by elements (G01)' {
	works init-lm -q -t "$BATS_FILE_TMPDIR/tok" --width 172 --heads 2 --kv-heads 1 --head-dim 32 --layers 1 --ffn 64 -o odd
	try quantize --type q8_0 odd odd.gguf
	[ "$status" = 0 ] || fail_showing "$err"
	quantize --dry-run --type q8_0 odd >"$out" 2>/dev/null
	[ "$(to blk.0.attn_q.weight)" = 'f16 q8_0' ]
	[ "$(to blk.0.ffn_down.weight)" = 'q8_0 -' ]
}

@test 'the same bytes for any number of threads, and twice (G15)' {
	for type in q8_0 q4_k_m q3_k_s; do
		quantize -q -j 1 --type $type wide.gguf one.gguf
		for j in 2 3 7; do
			quantize -q -j $j --type $type wide.gguf other.gguf
			same_bytes one.gguf other.gguf
		done
	done
	quantize -q -j 1 --type q4_k_m -e wide.gguf one.gguf >one
	quantize -q -j 5 --memory 3M --type q4_k_m -e wide.gguf other.gguf >other
	same_bytes one other
	same_bytes one.gguf other.gguf
}

@test 'a folder and the GGUF made of it give the same tensors' {
	quantize -q --type q5_k_m "$BATS_FILE_TMPDIR/model" a.gguf 2>/dev/null
	quantize -q --type q5_k_m small.gguf b.gguf 2>/dev/null
	works diff-model -q a.gguf b.gguf
}

@test 'errors are those of the values, by another way' {
	quantize -q -e --type q4_k_m wide.gguf q.gguf >table
	try diff-model wide.gguf q.gguf
	max=$(awk -F '\t' '$1 == "blk.0.attn_q.weight" { print $9 }' table)
	grep -F blk.0.attn_q.weight "$out" | grep -qF "$max" || { show table; fail_showing "$out"; }
	awk -F '\t' 'NR > 1 && $4 == "f32" && ($8 != 0 || $10 != 1)' table | grep . && fail_showing table
	awk -F '\t' 'NR > 1 && $4 ~ /^q/ { n++; if (!($8 > 0 && $8 < $9 && $10 > 0.99 && $10 < 1)) bad = 1 } END { exit n < 10 || bad }' table || fail_showing table
}

@test 'what was quantized is not quantized again, unless that is allowed' {
	quantize -q --type q8_0 wide.gguf q8.gguf
	refuses quantize --type q4_k_m q8.gguf never.gguf
	has "$err" 'is q8_0 already' --allow-requantize
	[ ! -e never.gguf ]
	works quantize -q --allow-requantize --type q4_k_m q8.gguf again.gguf
	works quantize -q --type q8_0 q8.gguf same.gguf
	same_bytes q8.gguf same.gguf
	works quantize -q --type f32 q8.gguf plain.gguf
	try diff-model -q plain.gguf q8.gguf
	works quantize -q --type 'blk.0.attn_q=f16' q8.gguf part.gguf
}

@test 'the source is no target (G16)' {
	cp wide.gguf before
	refuses quantize --type q8_0 wide.gguf wide.gguf
	has "$err" 'is the source too'
	ln wide.gguf link.gguf
	refuses quantize --type q8_0 wide.gguf -o link.gguf
	refuses quantize --type q8_0 tiny-llama tiny-llama/model.safetensors
	same_bytes before wide.gguf
}

@test 'importance: weighs, leaves what it does not know, and is written down' {
	importance blk.0.attn_q.weight 256 $((0x3f800000)) 3 $((0x47000000)) >im.gguf
	try quantize --type q4_k_m --importance im.gguf wide.gguf w.gguf
	[ "$status" = 0 ] || fail_showing "$err"
	has "$err" '14 quantized tensors are not in im.gguf'
	quantize -q --type q4_k_m wide.gguf plain.gguf
	try diff-model plain.gguf w.gguf
	has "$out" blk.0.attn_q.weight quantize.imatrix.file quantize.imatrix.chunks_count
	lacks "$out" blk.0.attn_k.weight
}

@test 'importance of zeros is none; NaN, infinite and negative name tensor and column (G04)' {
	importance blk.0.attn_q.weight 256 0 3 0 >zero.gguf
	quantize -q --type q4_k_m --importance zero.gguf wide.gguf z.gguf
	quantize -q --type q4_k_m wide.gguf plain.gguf
	try diff-model plain.gguf z.gguf
	lacks "$out" blk.
	importance blk.0.attn_q.weight 256 0 3 $((0x3f800000)) >one.gguf
	works quantize -q -e --type q4_k_m --importance one.gguf wide.gguf o.gguf
	lacks "$out" nan inf
	for bad in 0x7fc00000 0x7f800000 0xbf800000; do
		importance blk.0.attn_q.weight 256 $((0x3f800000)) 77 $((bad)) >bad.gguf
		refuses quantize --type q4_k_m --importance bad.gguf wide.gguf never.gguf
		has "$err" blk.0.attn_q.weight 'column 77'
	done
	importance blk.0.attn_q.weight 128 $((0x3f800000)) 3 0 >narrow.gguf
	refuses quantize --type q4_k_m --importance narrow.gguf wide.gguf never.gguf
	has "$err" '1 x 128 columns'
	refuses quantize --type q4_k_m --importance wide.gguf wide.gguf never.gguf
	has "$err" 'no importance matrix'
	[ ! -e never.gguf ]
}

@test 'bad values: f16 overflow, NaN, scales past f16 (G06)' {
	# 70144 in bf16, then a NaN, an infinity and the largest, as element 5 of the second row of the last matrix, which a vector of
	# f32 follows
	quantize -q --type bf16 wide.gguf b.gguf
	at=$(($(stat -c %s b.gguf) - 4 * 256 - 2 * 256 * 512 + 2 * (512 + 5)))
	poke() { printf '%b' "$1" | dd of=b.gguf bs=1 seek=$at conv=notrunc status=none; }
	poke '\x89\x47'
	refuses quantize --type f16 b.gguf never.gguf
	has "$err" '70144 is past the range of f16' --clamp
	try quantize --clamp --type f16 b.gguf clamped.gguf
	[ "$status" = 0 ]
	has "$err" '1 values were past the range of f16'
	for type in q8_0 q4_k q6_k q4_0 bf16; do
		works quantize -q --type "*=$type" --leave '*norm*' b.gguf ok.gguf
	done
	poke '\xc0\x7f'
	refuses quantize --type q4_k_m b.gguf never.gguf
	has "$err" 'row 1, column 5 is nan'
	poke '\x80\xff'
	refuses quantize --type q4_k_m b.gguf never.gguf
	has "$err" 'is -inf'
	poke '\x7f\x7f'
	refuses quantize --type q4_k_m b.gguf never.gguf
	has "$err" 'a scale past the range'
	works quantize -q --type q4_k_m --leave blk.1.ffn_down b.gguf left.gguf
	[ ! -e never.gguf ]
}

@test 'misuse' {
	misused quantize wide.gguf
	misused quantize --type q8_0 wide.gguf
	misused quantize wide.gguf a.gguf
	misused quantize --type q9_0 wide.gguf a.gguf
	misused quantize --type 'x=q4_k_m' wide.gguf a.gguf
	misused quantize --type q8_0 --type q4_0 wide.gguf a.gguf
	misused quantize --type q8_0 -o b.gguf wide.gguf a.gguf
	misused quantize --type q8_0 -e wide.gguf -
	misused quantize --type q8_0 -e --dry-run wide.gguf
	refuses quantize --type 'nothing*=q8_0' wide.gguf a.gguf
	has "$err" "no matrix matches 'nothing*'"
	refuses quantize --type '*norm*=q8_0' wide.gguf a.gguf
	refuses quantize --type q8_0 --leave 'nothing*' wide.gguf a.gguf
	refuses quantize --type q8_0 --memory 1k wide.gguf a.gguf
	has "$err" 'need at least'
	[ ! -e a.gguf ]
}

@test 'types that are not decoded, and files that are not whole' {
	refuses quantize --dry-run --type '*=f32' "$ROOT/fixtures/good/gguf/dtypes.gguf"
	has "$err" 'are not decoded'
	for file in "$ROOT"/fixtures/bad/gguf/*.gguf; do
		try quantize --type q8_0 "$file" never.gguf
		[ "$status" = 0 ] || one_line_error || complain "$file"
		[ "$status" = 0 ] || [ ! -e never.gguf ]
		rm -f never.gguf
	done
}

@test 'a full disk, a closed stdout, and failed calls leave nothing' {
	on_full_disk quantize -q --type q8_0 wide.gguf -
	on_full_disk quantize -q --dry-run --type q8_0 wide.gguf
	closed_stdout quantize -q --dry-run --type q8_0 wide.gguf
	touch mark
	after_fault() { [ "$status" = 0 ] || [ -z "$(left)" ] || complain "left: $(left)"; rm -f w.gguf; }
	each_fault write ENOSPC quantize -q --type q8_0 small.gguf w.gguf
	each_fault fsync EIO quantize -q --type q8_0 small.gguf w.gguf
}

@test 'stdout gets the file' {
	quantize -q --type q8_0 wide.gguf a.gguf
	quantize -q --type q8_0 wide.gguf - | cmp - a.gguf >&2
}

@test 'perplexity, before and after' {
	printf 'Once upon a time there was a tool that read what stood there, and wrote less.' >text
	works quantize -q --perplexity text --type q8_0 tiny-llama a.gguf
	[ "$(wc -l <"$out")" = 3 ] || fail_showing "$out"
	works eval-lm -q --json --raw -d text -c 512 a.gguf
	loss=$(sed -E 's/.*"loss":([0-9.]{6}).*/\1/' "$out")
	quantize -q --perplexity text --type q8_0 tiny-llama a.gguf | grep after | grep -qF "$loss"
	quantize -q --perplexity text --type f32 tiny-llama a.gguf | grep after | grep -qE '[+-]0\.000 %'
}
