#!/usr/bin/env bats
# train-tokenizer: the sizes, the special tokens, what is refused, nothing half-written; each of its kinds

load lib

HARD=$ROOT/fixtures/good/text/hard.jsonl

setup()
{
	scratch
	cat "$ROOT/README.md" "$MAN/tokenize.1" "$MAN/pack-tokens.1" >text
}

# ids FILE TEXT: what a tokenizer makes of a text, on one line.
ids()
{
	printf '%s' "$2" | tokenize -q -t "$1" --raw --ids
}

# piece FILE ID: the text of a piece as the file spells it, in JSON.
piece()
{
	sed -n '/"vocab"/,$p' "$1" | grep -oE '"([^"\\]|\\.)*": '"$2"'(,|$)' | sed -E 's/: [0-9]+,?$//'
}

# count FILE: the pieces of a vocabulary, special ones too.
count()
{
	sed -n '/"vocab"/,/^    []}]/p' "$1" | grep -cE '": [0-9]+,?$'
}

@test 'every kind makes what the tools read, and the same bytes on any number of threads, in any memory, in any order' {
	local kind j

	cat-docs -q --split blank text >docs
	tac docs >back
	for kind in bpe sentencepiece unigram wordpiece; do
		works train-tokenizer -q -m "$kind" -v 600 -j1 -o "$kind/" docs
		[ -s "$kind/tokenizer.json" ] && [ -s "$kind/tokenizer_config.json" ]
		works tokenize -q -t "$kind" --ids docs
		for j in 2 3 7; do
			works train-tokenizer -q -m "$kind" -v 600 "-j$j" --memory 64M -o - back
			same_bytes "$kind/tokenizer.json" "$out"
		done
	done
	works train-tokenizer -q -v 600 -o - <docs
	same_bytes bpe/tokenizer.json "$out"
}

@test 'there and back, byte for byte: bpe and sentencepiece' {
	local kind

	for kind in bpe sentencepiece; do
		works train-tokenizer -q -m "$kind" -v 500 --raw -o "$kind.json" text
		works tokenize -q -t "$kind.json" -o tokens "$HARD"
		works detokenize -q -t "$kind.json" tokens
		# SentencePiece takes its own mark for a space.
		if [ $kind = bpe ]; then
			same_bytes "$HARD" "$out"
		else
			diff <(sed 's/\xe2\x96\x81/ /g' "$HARD") <(sed 's/\xe2\x96\x81/ /g' "$out") >&2
		fi
	done
}

@test 'B01: counts of more than 32 bits; the commonest word is merged first' {
	printf 'zq 4294967297\nxy 4294967290\nthe 5000000000\n' >counts
	works train-tokenizer -q --counts -v 259 --allow-fewer -o t.json counts
	[ "$(piece t.json 257)" = '"he"' ] || [ "$(piece t.json 257)" = '"th"' ]
	[ "$(piece t.json 258)" = '"the"' ]
	printf 'a 18446744073709551615\na 1\n' >counts
	refuses train-tokenizer -q --counts -v 258 -o t2.json counts
	[ ! -e t2.json ]
}

@test 'B03: a vocabulary that is too small: the smallest is told' {
	local n code kind

	refuses train-tokenizer -v 256 --raw -o t/ text
	one_line_error 'the smallest possible size is 257'
	# Before anything is read.
	refuses train-tokenizer -v 256 -o t/ nothing-here
	one_line_error 'the smallest possible size is 257'
	works train-tokenizer -q -v 257 --allow-fewer --raw -o least.json text
	[ "$(count least.json)" = 257 ]
	for ((n = 0; n < 2000; n++)); do
		printf -v code '%x' $((0x4e00 + n))
		printf '%b\n' "\\u$code"
	done >many
	for kind in sentencepiece unigram wordpiece; do
		refuses train-tokenizer -q -m "$kind" --character-coverage 1 -v 500 --raw -o t/ many
		n=$(grep -oE '[0-9]+' "$err" | tail -n1)
		[ "$n" -gt 2000 ] || complain "$kind: $(cat "$err")"
		works train-tokenizer -q -m "$kind" --character-coverage 1 -v "$n" --raw -o "$kind.json" many
		refuses train-tokenizer -q -m $kind --character-coverage 1 -v $((n - 1)) --raw -o t/ many
		[ ! -e t ]
	done
	[ "$(count sentencepiece.json)" = "$n" ] || [ "$(count wordpiece.json)" = "$n" ]
}

@test 'B03: a vocabulary that is too large: the largest is told, or taken with --allow-fewer' {
	local kind n

	for kind in bpe sentencepiece unigram wordpiece; do
		refuses train-tokenizer -q -m "$kind" -v 100k --raw -o t/ text
		one_line_error 'the largest possible size is' '--allow-fewer'
		[ ! -e t ]
		n=$(grep -oE 'size is [0-9]+' "$err" | grep -oE '[0-9]+')
		works train-tokenizer -q -m "$kind" -v 100k --allow-fewer --raw -o fewer.json text
		works train-tokenizer -q -m "$kind" -v "$n" --raw -o exact.json text
		[ $kind = unigram ] || same_bytes fewer.json exact.json
	done
}

@test 'B04: a line of a megabyte is learnt from like any other; longer words are cut and counted' {
	head -c 1000000 /dev/zero | tr '\0' 'a' >line
	works train-tokenizer -q -v 260 --raw -o t.json line
	[ "$(piece t.json 257)" = '"aa"' ]
	[ "$(piece t.json 259)" = '"aaaaaaaa"' ]
	train-tokenizer -v 260 --raw -o t.json line 2>"$err"
	has "$err" '1 word of more than 4096 bytes was cut' '1.00 MB'
	# Nothing of it is left out.
	train-tokenizer -v 260 --raw --max-word 1000k -o t.json line 2>"$err"
	lacks "$err" 'were cut'
}

@test 'B06: a NUL in the text is a byte' {
	local kind

	for ((i = 0; i < 100; i++)); do printf 'a\0b line %d\n' $i; done >nul
	for kind in bpe sentencepiece unigram wordpiece; do
		works train-tokenizer -q -m "$kind" -v 300 --allow-fewer --raw -o "$kind.json" nul
	done
	for kind in bpe sentencepiece; do
		works tokenize -q -t "$kind.json" --raw -o tokens nul
		works detokenize -q -t "$kind.json" --raw tokens
		same_bytes nul "$out"
	done
	printf '{"text":"a\\u0000b"}\n' >nul.jsonl
	works train-tokenizer -q -v 258 --allow-fewer -o nul.json nul.jsonl
}

@test 'B07: 50 MB of unbroken letters in little memory: done, or refused with what is needed' {
	[ -z "${NNUTILS_SANITIZED-}" ] || skip 'native: a sanitizer takes its own memory'
	yes abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQ | tr -d '\n' | head -c 50000000 >letters
	# In words of 64 bytes there are few distinct ones.
	(
		ulimit -v 400000
		train-tokenizer -q -j1 -v 300 --max-word 53 --memory 100M --raw -o t.json letters
	)
	[ -s t.json ]
	head -c 36000000 /dev/urandom | base64 -w0 >letters
	refuses train-tokenizer -q -j1 -v 300 --memory 50M --raw -o u.json letters
	one_line_error 'memory'
	(
		ulimit -v 200000
		refuses train-tokenizer -q -j1 -v 300 --memory 100G --raw -o u.json letters
	)
	[ ! -e u.json ]
}

@test 'B09: special tokens have the first ids, in order, and text never makes one' {
	local kind n
	local -a split

	try train-tokenizer -v 300 --special '<pad>' --special '' text
	one_usage_line
	has "$err" 'is empty'
	try train-tokenizer -v 300 --special '<pad>' --special '<pad>' text
	one_usage_line
	has "$err" "'<pad>' is there twice"
	try train-tokenizer -v 300 --special '<|endoftext|>' text
	one_usage_line
	try train-tokenizer -v 300 --special $'\xff' text
	one_usage_line
	# In the text more often than anything else, and in one word.
	for ((i = 0; i < 3000; i++)); do echo 'the<pad>word <cls>lower'; done >>text
	for kind in bpe sentencepiece unigram wordpiece; do
		split=(--split '\S+|\s+')
		[ $kind != wordpiece ] || split=()
		works train-tokenizer -q -m "$kind" -v 600 --special '<pad>' --special '<cls>' "${split[@]}" --raw -o "$kind/" text
		[ "$(ids $kind/tokenizer.json 'the<pad>word' | wc -w)" -ge 2 ]
		printf 'the<pad>word' | tokenize -q -t "$kind" --raw --ids --special parse >parsed
		n=$(grep -B1 '"content": "<pad>"' "$kind/tokenizer.json" | grep -oE '[0-9]+')
		[ "$(grep -B1 '"content": "<cls>"' $kind/tokenizer.json | grep -oE '[0-9]+')" = $((n + 1)) ]
		[ "$n" -le 5 ]
		grep -qw "$n" parsed
		ids "$kind" '<pad> the<pad>word <cls>' >plain
		if grep -qwE "$n|$((n + 1))" plain; then
			complain "$kind: text makes a special token: $(cat plain)"
		fi
	done
	grep -A8 '"added_tokens"' bpe/tokenizer.json | grep -q '"content": "<|endoftext|>"'
}

@test 'B09: one that is a character of the text, or a word of it' {
	refuses train-tokenizer -q -v 300 --special x --raw -o t/ text
	one_line_error "special token 'x' is one character"
	refuses train-tokenizer -q -m unigram -v 300 --special x --raw -o t/ text
	one_line_error "special token 'x' is one character"
	[ ! -e t ]
}

@test 'B10: more pieces after the old ones; text without a new pair keeps its ids' {
	printf 'a 10\nb 10\nab 9\n' >old
	works train-tokenizer -q -v 258 --counts -o old.json old
	[ "$(piece old.json 257)" = '"ab"' ]
	printf 'abc 50\nab 1\n' >new
	works train-tokenizer -q --extend old.json -v 260 --counts --special '<new>' -o more.json new
	[ "$(ids old.json 'ab ab b a')" = "$(ids more.json 'ab ab b a')" ]
	[ "$(piece more.json 258)" = '"<new>"' ]
	[ "$(ids more.json abc)" = 259 ]
	# The same for real text: every old piece and merge is there, in its place.
	works train-tokenizer -q -v 400 --chat-template chatml --raw -o tok/ text
	works train-tokenizer -q --extend tok -v 500 --raw -o big/ "$HARD"
	head -c 3000 text >part
	diff <(sed -n '/"merges"/,$p' tok/tokenizer.json | sed '/^    \]/,$d' | sed '$s/$/,/') \
		<(sed -n '/"merges"/,$p' big/tokenizer.json | sed '/^    \]/,$d' | sed '$s/$/,/') | grep '^<' &&
		complain 'old merges are gone'
	for id in 0 1 257 300 399; do
		[ "$(piece tok/tokenizer.json $id)" = "$(piece big/tokenizer.json $id)" ]
	done
	diff <(sed 's/,$//' tok/tokenizer_config.json) <(sed 's/,$//' big/tokenizer_config.json) >&2
	try train-tokenizer -q --extend tok -v 500 --split llama3 text
	one_usage_line
	try train-tokenizer -q --extend tok -v 500 --special '<|im_end|>' text
	one_usage_line
	refuses train-tokenizer -q --extend tok -v 399 --raw text
	one_line_error 'the smallest possible size is 400'
	refuses train-tokenizer -q --extend "$ROOT/fixtures/good/tokenizers/unigram.json" -v 5000 --raw text
	one_line_error 'unigram.json: only BPE can be extended'
}

@test 'roles, chat template and their file' {
	works train-tokenizer -q -v 400 --bos '<s>' --pad '<p>' --chat-template chatml --raw -o tok/ text
	has tok/tokenizer_config.json '"bos_token": "<s>"' '"eos_token": "<|endoftext|>"' '"pad_token": "<p>"' \
		'"tokenizer_class": "PreTrainedTokenizerFast"' '"chat_template": "' 'im_start'
	works tokenize -q -t tok --bos --eos --ids "$HARD"
	head -n1 "$out" | grep -qE '^0 (.* )?1$'
	printf '<|im_start|>' | tokenize -q -t tok --raw --ids --special parse >special
	[ "$(wc -w <special)" = 1 ]
	works train-tokenizer -q -m wordpiece -v 300 --raw -o bert/ text
	has bert/tokenizer_config.json '"cls_token": "[CLS]"' '"mask_token": "[MASK]"' '"unk_token": "[UNK]"'
	[ "$(printf x | tokenize -q -t bert --raw --ids --post-process | cut -d' ' -f1)" = 1 ]
	try train-tokenizer -v 400 --chat-template gpt9 text
	one_usage_line
	has "$err" "'gpt9' is not one of" chatml
	works train-tokenizer -q -v 400 --eos '<e>' --unk '<e>' --raw -o t.json text
	[ "$(grep -c '"special": true' t.json)" = 1 ]
}

@test 'split, digits, normalizers, prefix space' {
	local pattern='[a-z]+|[^a-z]'

	works train-tokenizer -q -v 300 --split "$pattern" --raw -o t.json text
	has t.json '"Regex": "[a-z]+|[^a-z]"' '"use_regex": false'
	works train-tokenizer -q -v 300 --split qwen2 --raw -o t.json text
	has t.json "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
	works train-tokenizer -q -v 300 --digits single --raw -o t.json text
	has t.json '"individual_digits": true' '"use_regex": true'
	works train-tokenizer -q -v 300 --digits three --normalizer nfc,lowercase --raw -o t.json text
	has t.json '\\p{N}{1,3}' '"type": "NFC"' '"type": "Lowercase"'
	works train-tokenizer -q -v 300 --prefix-space --raw -o t.json text
	has t.json '"add_prefix_space": true'
	refuses train-tokenizer -q -v 300 --split '[a' --raw text
	one_line_error '--split'
	try train-tokenizer -q -v 300 --split gpt5 text
	one_usage_line
	has "$err" "'gpt5' is not one of gpt2"
	try train-tokenizer -q -v 300 --normalizer nfx text
	one_usage_line
	try train-tokenizer -q -v 300 --prefix-space --digits single text
	one_usage_line
}

@test 'what pieces are learnt: frequency, length, coverage' {
	printf 'aab 9\ncd 5\n' >counts
	works train-tokenizer -q -v 300 --allow-fewer --min-frequency 6 --counts -o t.json counts
	[ "$(count t.json)" = 259 ]
	works train-tokenizer -q -v 300 --allow-fewer --max-piece 2 --counts -o t.json counts
	[ "$(count t.json)" = 259 ]
	printf 'aaaa 1000\n\xc3\xa9 1\n' >counts
	train-tokenizer -m sentencepiece -v 300 --allow-fewer --counts -o t.json counts 2>"$err"
	has "$err" '1 occurrence of characters left to bytes'
	lacks t.json $'\xc3\xa9'
	works train-tokenizer -q -m sentencepiece -v 300 --allow-fewer --character-coverage 1 --counts -o t.json counts
	has t.json $'\xc3\xa9'
	for kind in unigram wordpiece; do
		train-tokenizer -m "$kind" -v 300 --allow-fewer --character-coverage 0.99 --counts -o t.json counts 2>"$err"
		has "$err" '1 occurrence of characters left to the unknown token'
	done
	works train-tokenizer -q -m unigram --byte-fallback -v 290 --allow-fewer --counts -o t.json counts
	[ "$(ids t.json $'\xf0\x9f\x98\x80' | wc -w)" = 7 ]
}

@test 'inputs: fields, plain text, counts; what is wrong is named' {
	printf '{"body":"low lower lowest"}\n{"body":"low"}\n' >docs
	works train-tokenizer -q -v 258 --field body -o t.json docs
	refuses train-tokenizer -q -v 258 -o u.json docs
	one_line_error 'docs:1' '"text"'
	printf '{"text":"low"}\n{"text":\n' >docs
	refuses train-tokenizer -q -v 258 -o u.json docs
	one_line_error 'docs:2'
	printf 'low\n' >counts
	refuses train-tokenizer -q -v 258 --counts -o u.json counts
	one_line_error 'counts:1'
	printf 'a\xff\n' >raw
	works train-tokenizer -q -v 257 --raw -o t.json raw
	refuses train-tokenizer -q -m unigram -v 258 --raw -o u.json raw
	one_line_error 'raw' 'UTF-8'
	: >nothing
	refuses train-tokenizer -q -v 258 --raw -o u.json nothing
	one_line_error 'no text'
	refuses train-tokenizer -q -v 258 -o u.json text nothing-here
	[ ! -e u.json ]
	printf '{"text_base64":"/w=="}\n' >docs
	works train-tokenizer -q -v 257 -o t.json docs
}

@test 'the closing lines, and --dry-run' {
	train-tokenizer -v 300 --raw -o t.json text 2>"$err"
	has "$err" '1 document, ' 'of them distinct' '300 pieces, 43 merges' 'bytes each'
	tokens=$(sed -nE 's/.*: ([0-9]+) tokens.*/\1/p' "$err")
	[ "$(tokenize -q -t t.json --raw --ids text | wc -w)" = "$tokens" ]
	works train-tokenizer -v 300 --dry-run --special '<a>' nothing-here
	has "$out" '"content": "<a>"' '"id": 1' '"merges": []'
}

@test 'misuse' {
	local options

	try train-tokenizer text
	one_usage_line
	has "$err" '-v N'
	for options in '--raw --counts' '--byte-fallback' '--seed-size 10' '-m unigram --min-frequency 2' \
		'--character-coverage 1' '--prefix-space --no-prefix-space' '-m wordpiece --split gpt2' '-m gpt' \
		'-m wordpiece --byte-fallback' '--shrink 2' '--digits two'; do
		# shellcheck disable=SC2086
		try train-tokenizer -v 300 -o t/ $options text
		one_usage_line || complain "$options"
		[ ! -e t ]
	done
}

@test 'a folder that has something in it, or cannot be written' {
	mkdir full
	touch full/x
	refuses train-tokenizer -q -v 300 --raw -o full/ text
	[ "$(ls full)" = x ]
	refuses train-tokenizer -q -v 300 --raw -o none/such/ text
	refuses train-tokenizer -q -v 300 --raw -o none/such.json text
	mkdir closed
	chmod 555 closed
	if [ "$(id -u)" != 0 ]; then
		refuses train-tokenizer -q -v 300 --raw -o closed/t.json text
		refuses train-tokenizer -q -v 300 --raw -o closed/t/ text
	fi
	[ -z "$(ls -A closed)" ]
}

# Nothing half-written. When only the sync of the folder failed, the whole is there.
after_fault()
{
	local file

	while IFS= read -r file; do
		case $file in
		text) ;;
		t.json) tokenize -q -t t.json --raw --ids text >/dev/null || return ;;
		tok) tokenize -q -t tok --raw --ids text >/dev/null || return ;;
		*) complain "left: $file" || return ;;
		esac
	done < <(ls -A)
	rm -rf tok t.json
}

@test 'a full disk and faults leave nothing' {
	local call

	head -c 2000 text >less
	mv less text
	on_full_disk train-tokenizer -q -v 300 --raw -o - text
	for call in write fsync rename open; do
		each_fault "$call" ENOSPC train-tokenizer -q -v 270 --raw -o t.json text
		rm -f t.json
		each_fault "$call" ENOSPC train-tokenizer -q -v 270 --raw -o tok/ text
		rm -rf tok
	done
	each_fault read EIO train-tokenizer -q -v 270 --raw -o t.json text
}

@test 'a kill leaves nothing under the name' {
	each_kill t.json train-tokenizer -q -v 270 --allow-fewer --raw -o t.json text
	each_kill tok train-tokenizer -q -v 270 --allow-fewer --raw -o tok/ text
}

# A merge asks for memory as the one before it did: a few of them are as good as many.
@test 'out of memory, anywhere' {
	local kind

	head -c 300 text >less
	mv less text
	for kind in 'bpe -v 262' 'unigram -v 300'; do
		# shellcheck disable=SC2086
		each_fault malloc ENOMEM train-tokenizer -q -j1 -m $kind --allow-fewer --raw -o tok/ text
		rm -rf tok
	done
}

@test 'a full disk under what the memory does not hold' {
	awk 'BEGIN { for (i = 0; i < 300000; i++) print "word" i * 7919 % 1000003 }' >many
	try with_fault pwrite:100000b:ENOSPC train-tokenizer -q -j1 -v 400 --memory 4M --raw -o t.json many
	fault_came
	one_line_error 'No space left on device'
	[ ! -e t.json ]
	works train-tokenizer -q -v 400 --raw -o want.json many
	works train-tokenizer -q -v 400 --memory 200M --raw -o got.json many
	same_bytes want.json got.json
	refuses train-tokenizer -q -v 400 --memory 4M --raw -o t.json many
	one_line_error 'memory'
}

@test 'a closed stdout, and a reader that left' {
	closed_stdout train-tokenizer -q -v 300 --raw -o - text
	broken_pipe train-tokenizer -q -v 300 --raw -o - text
	closed_stdout train-tokenizer -v 300 --dry-run
}

@test 'the page: options and examples' {
	options_match_man train-tokenizer
	man_examples train-tokenizer
}

@test 'plain text where records are wanted: what to do is told' {
	try train-tokenizer -q -v 300 -o t/ text
	one_line_error 'text:1: not a JSON record'
	has "$err" '--raw'
	[ ! -e t ]
}
