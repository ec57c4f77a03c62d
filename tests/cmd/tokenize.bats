#!/usr/bin/env bats
# tokenize: the ids and offsets of `tokenizers` 0.23.3 for every kind of file (fixtures/golden/ids), modes, trouble

load lib

tokenizers() { printf '%s' "$ROOT/fixtures/good/tokenizers/$1"; }
HARD=$ROOT/fixtures/good/text/hard.jsonl

setup()
{
	scratch
	cp "$(tokenizers byte-level.json)" tokenizer.json
}

# The file that golden NAME was made from.
source_of()
{
	local file

	file=$(tokenizers "$1")
	[ -e "$file" ] || file=$file.json
	case $1 in
	added-*) file=$ROOT/fixtures/good/added/${1#added-}.json ;;
	# What a .model holds is more than the peer knows: here as it would be converted.
	spm-*) file=$file.want.json ;;
	esac
	printf '%s' "$file"
}

@test 'ids and offsets, for every kind of tokenizer (A01 A02 A04 A05 A13 A14 A16 A17 A19)' {
	local golden name n=0

	for golden in "$ROOT"/fixtures/golden/ids/*.jsonl; do
		name=$(basename "$golden" .jsonl)
		# One of them lacks characters, which the peer drops without a word.
		try tokenize -q -t "$(source_of "$name")" --unknown drop --offsets "$HARD"
		[ "$status" = 0 ] || worked || return
		paste "$out" "$golden" | awk -F '\t' -v name="$name" '$2 != "skip" && $1 != $2 {
			print name ":" NR ": " $1 " and not " $2; bad = 1 } END { exit bad }' >&2 || return
		n=$((n + 1))
	done
	[ "$n" -ge 30 ]
}

@test 'SentencePiece: its own ids and places (A01 A02 A04 A13 A14 A26)' {
	local model text want n=0

	while IFS=$'\t' read -r model text want; do
		case $model in spm/nmt.model | spm/user-spaces.model | tokenizers/spm-unigram.model) ;; *) continue ;; esac
		printf '%b' "$(printf '%s' "${text#-}" | sed 's/../\\x&/g')" >text
		works tokenize -q -t "$ROOT/fixtures/good/$model" --raw --ids text
		[ "$(cat "$out")" = "$(printf '%s' "$want" | sed 's/:[0-9]*:[0-9]*//g')" ] ||
			complain "$model $text: $(cat "$out") and not $want" || return
		n=$((n + 1))
		[ "$n" -lt 60 ] || break
	done <"$ROOT/fixtures/golden/spm/ids.tsv"
	[ "$n" = 60 ]
}

@test 'what the post-processor adds' {
	local golden name

	for golden in "$ROOT"/fixtures/golden/ids/*.post; do
		name=$(basename "$golden" .post)
		works tokenize -q -t "$ROOT/fixtures/good/${name/-//}" --post-process --ids "$HARD"
		diff "$golden" "$out" >&2 || return
	done
}

@test 'the same bytes on any number of threads' {
	local j

	works tokenize -q -j1 -t tokenizer.json "$HARD"
	cp "$out" one
	for j in 2 3 7; do
		works tokenize -q -j$j -t tokenizer.json "$HARD"
		same_bytes one "$out"
	done
}

@test 'there and back, byte for byte (A07 A08 A10 A14)' {
	works tokenize -q -t tokenizer.json -o tokens "$HARD"
	works detokenize -q -t tokenizer.json tokens
	same_bytes "$HARD" "$out"
}

@test 'bytes that are not UTF-8 (A26)' {
	printf 'a\xe6\xad b\xff\xc0\x80\xed\xa0\x80' >bytes
	works tokenize -q -t tokenizer.json --raw -o tokens bytes
	works detokenize -q -t tokenizer.json --raw tokens
	same_bytes bytes "$out"
	works detokenize -q -t tokenizer.json tokens
	[ "$(cat "$out")" = "{\"text_base64\":\"$(base64 -w0 bytes)\"}" ]
	tokenize -q -t tokenizer.json -o again "$out"
	same_bytes tokens again
	refuses tokenize -q -t "$(tokenizers bert.json)" --raw bytes
	one_line_error 'byte 1' 'not UTF-8'
}

@test 'special tokens in text: plain, parse, refuse (A22)' {
	local special

	special=$(sed -n '/"added_tokens"/,/\]/s/.*"content": "\(.*\)",/\1/p' tokenizer.json | head -n1)
	[ -n "$special" ]
	printf 'x%sy' "$special" >text
	works tokenize -q -t tokenizer.json --raw --ids text
	cp "$out" plain
	works tokenize -q -t tokenizer.json --raw --ids --special parse text
	[ "$(wc -w <"$out")" = 3 ]
	[ "$(wc -w <plain)" -gt 3 ]
	works tokenize -q -t tokenizer.json --raw -o tokens text
	works detokenize -q -t tokenizer.json --raw tokens
	same_bytes text "$out"
	refuses tokenize -q -t tokenizer.json --raw --special refuse text
	one_line_error 'byte 1' 'special token'
}

@test 'text that the tokenizer has no piece for: refused with its place, or dropped and counted' {
	printf '{"text":"a"}\n{"text":"\xe4\xb8\xad\xe6\x96\x87"}\n' >docs
	refuses tokenize -q -t "$(tokenizers old-merges)" --ids docs
	one_line_error 'docs:1' 'no piece'
	try tokenize -q -t "$(tokenizers old-merges)" --ids --unknown drop docs
	[ "$status" = 0 ]
	has "$err" 'characters that the tokenizer has no piece for were dropped'
}

@test 'long hostile documents take linear time (A20)' {
	head -c 300000 /dev/zero | tr '\0' a >1.txt
	head -c 300000 /dev/zero | tr '\0' ^ >2.txt
	head -c 300000 /dev/zero | tr '\0' ' ' >3.txt
	head -c 225000 /dev/urandom | base64 -w0 >4.txt
	cat ./?.txt >all
	timeout 60 tokenize -q -t tokenizer.json --raw -o tokens ./?.txt
	works detokenize -q -t tokenizer.json --raw tokens
	same_bytes all "$out"
}

@test 'a bad record: what came before it is written, and the stream is not whole' {
	printf '{"text":"one"}\n{"text":2}\n' >docs
	try tokenize -q -t tokenizer.json docs
	one_line_error 'docs:2'
	try tokenize -q -t tokenizer.json --ids docs
	[ "$(wc -l <"$out")" = 1 ]
	refuses tokenize -q -t tokenizer.json -o tokens docs
	[ ! -e tokens ]
	printf '{"other":"one"}\n' >docs
	refuses tokenize -q -t tokenizer.json docs
	one_line_error 'docs:1' '"text"'
	works tokenize -q -t tokenizer.json --field other --ids docs
}

@test 'trouble' {
	try tokenize "$HARD"
	one_usage_line
	has "$err" '-t FILE'
	refuses tokenize -t nothing.json "$HARD"
	refuses tokenize -q -t tokenizer.json nothing
	refuses tokenize -q -t tokenizer.json --bos "$HARD"
	one_line_error BOS
	for file in "$ROOT"/fixtures/bad/tokenizers/*; do
		try tokenize -q -t "$file" --ids "$HARD"
		[ "$status" = 2 ] || complain "$file is taken" || return
		one_line_error || return
	done
}

@test 'a full disk, a closed stdout, a reader that left, memory' {
	on_full_disk tokenize -q -t tokenizer.json "$HARD"
	closed_stdout tokenize -q -t tokenizer.json "$HARD"
	broken_pipe tokenize -q -t tokenizer.json "$HARD"
}

@test 'the page: options and examples' {
	options_match_man tokenize
	man_examples tokenize
}
