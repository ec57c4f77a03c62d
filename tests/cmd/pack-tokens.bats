#!/usr/bin/env bats
# pack-tokens: what goes in comes out, in every format; what is damaged is refused; nothing half-written

load lib

GOOD=$ROOT/fixtures/good/tokens
BAD=$ROOT/fixtures/bad/tokens

# ids FILE [OPTION...]: the ids on stdin, documents of a vocabulary of 1,000, 0 for the end.
ids()
{
	local file=$1

	shift
	pack-tokens -q --from ids --vocab 1000 --separator 0 -o "$file" "$@"
}

# N documents, each of its own.
documents()
{
	seq "$1" | awk '{ printf "%d", $1 % 997 + 1; for (i = 0; i < $1 % 23; i++) printf " %d", ($1 * 7 + i * i) % 997 + 1; print "" }'
}

# The documents of a packed file of 2-byte ids, a line each: ids, then those of the separator.
texts()
{
	pack-tokens -q --from packed --to nanogpt --separator none -o - "$1" | od -An -v -t u2 | tr -s ' \n' '  ' | sed 's/ 0 /\n/g' |
		sed -E 's/^ +//; s/ +$//' | grep .
}

checked()
{
	works pack-tokens --check "$1"
	[ "$(cut -f2- "$out")" = "$(printf '%s\t%s\t%s\t%s\t%s' "${@:2}")" ] || complain "$(cat "$out")"
}

@test 'C16: tokens in + separators = tokens out, printed' {
	printf '1\n2\n' | ids two.tok
	checked two.tok packed 2 4 2 0
	printf '1\n2\n' | pack-tokens --from ids --vocab 10 --separator 0 -o two.tok 2>"$err"
	has "$err" 'two.tok: 2 documents, 2 tokens in + 2 separators = 4 tokens out'
	works pack-tokens -q --separator none -o none.tok "$GOOD/plain.tokens"
	checked none.tok packed 4 8 0 0
	pack-tokens -o eos.tok "$GOOD/plain.tokens" 2>"$err"
	has "$err" '8 tokens in + 3 separators = 11 tokens out'
	# One that ends in it gets no second one.
	works pack-tokens -q -o chat.tok "$GOOD/chat.tokens"
	checked chat.tok packed 2 11 1 5
}

@test 'the bytes of the page' {
	for name in plain chat wide nothing; do
		works pack-tokens -q --separator none -o "$name.tok" "$GOOD/$name.tokens"
		same_bytes "$name.tok" "$GOOD/$name.tok"
	done
	works pack-tokens -q --separator none --from packed --to stream -o wide.tokens "$GOOD/wide.tok"
	same_bytes wide.tokens "$GOOD/wide.tokens"
	pack-tokens -q --separator none -o - "$GOOD/chat.tokens" | cmp - "$GOOD/chat.tok"
	pack-tokens -q --separator none -o - <"$GOOD/chat.tokens" | cmp - "$GOOD/chat.tok"
}

@test 'C07: every bad file is refused, and leaves nothing' {
	for file in "$BAD"/*; do
		refuses pack-tokens --check "$file"
		case $file in
		*.tok) refuses pack-tokens --from packed -o x.tok "$file" ;;
		*) refuses pack-tokens -o x.tok "$file" ;;
		esac
		[ -z "$(ls -A)" ] || complain "$file left $(ls -A)"
	done
	refuses pack-tokens -o x.tok "$BAD/C07-cut.tokens"
	one_line_error 'C07-cut.tokens: byte 160: the stream is cut'
	refuses pack-tokens -o x.tok "$BAD/C07-trailing.tokens"
	one_line_error 'byte 192: bytes after the end of the stream'
}

@test 'C13: the width follows from the vocabulary; an id past it is refused' {
	echo 151643 | pack-tokens -q --from ids --vocab 151936 -o wide.tok
	[ "$(od -An -t u4 -j 80 -N 4 wide.tok | tr -d ' ')" = 151643 ]
	echo 65535 | pack-tokens -q --from ids --vocab 65536 -o small.tok
	[ "$(od -An -t u2 -j 80 -N 2 small.tok | tr -d ' ')" = 65535 ]
	refuses pack-tokens --from packed --to nanogpt -o x.bin wide.tok
	one_line_error 'ids of 2 bytes, which a vocabulary of 151936 does not fit'
	echo 10 >ten
	refuses pack-tokens --from ids --vocab 10 -o x.tok ten
	one_line_error 'ten:1: a token id from 10 on is not below the vocabulary size 10'
	printf '\12\0' >ten.bin
	refuses pack-tokens --from nanogpt --vocab 10 -o x.tok ten.bin
	one_line_error 'ten.bin: token id 10 is not below the vocabulary size 10'
	pack-tokens -q --from packed --to llmc --separator none -o wide.bin wide.tok
	works pack-tokens -q --from llmc --like wide.tok -o back.tok wide.bin
	same_bytes wide.tok back.tok
	refuses pack-tokens --from llmc --vocab 151643 -o x.tok wide.bin
	one_line_error 'token id 151643 is not below the vocabulary size 151643'
}

@test 'several inputs of one tokenizer; another one is refused, both named' {
	works pack-tokens -q -o two.tok "$GOOD/plain.tokens" "$GOOD/chat.tokens"
	checked two.tok packed 6 22 4 5
	refuses pack-tokens -o x.tok "$GOOD/plain.tokens" "$GOOD/other.tokens"
	one_line_error 'other.tokens: tokens of tokenizer 0102' 'plain.tokens has those of 0001'
	refuses pack-tokens -o x.tok "$GOOD/plain.tokens" "$GOOD/wide.tokens"
	one_line_error 'wide.tokens: vocabulary size 151936' 'plain.tokens has 10'
	[ ! -e x.tok ]
}

@test 'split: whole documents, each in one part, and it stays there as the corpus grows' {
	documents 2000 >all
	head -n 1000 all >half
	ids big/ --split val=0.1,test=5% all
	tac half | ids small/ --split val=0.1,test=5%
	for part in train val test; do
		texts "big/$part.tok" | sort >"big.$part"
		texts "small/$part.tok" | sort >"small.$part"
		[ -z "$(comm -13 "big.$part" "small.$part")" ] || complain "$part: documents have moved"
	done
	sort all | cmp - <(cat big.train big.val big.test | grep . | sort) >&2
	n=$(grep -c . big.val)
	[ "$n" -gt 150 ] && [ "$n" -lt 250 ] || complain "$n of 2000 in val, wanted about 200"
	n=$(grep -c . big.test)
	[ "$n" -gt 65 ] && [ "$n" -lt 135 ] || complain "$n of 2000 in test, wanted about 100"
	ids other/ --split val=0.1 --split-key again all
	if texts other/val.tok | sort | cmp -s - big.val; then
		complain 'the key changes nothing'
	fi
}

@test 'shuffle: the same documents in another order, with their roles' {
	documents 500 >all
	ids plain.tok all
	ids a.tok --shuffle all
	ids b.tok --shuffle --seed 7 all
	ids again.tok --shuffle all
	same_bytes a.tok again.tok
	texts plain.tok | sort >want
	for file in a b; do
		texts "$file.tok" | sort | cmp - want >&2
		[ "$(cksum <"$file.tok")" != "$(cksum <plain.tok)" ] || complain 'nothing has moved'
	done
	[ "$(cksum <a.tok)" != "$(cksum <b.tok)" ] || complain 'the seed changes nothing'
	swapped=0
	for seed in 1 2 3 4 5 6 7 8; do
		works pack-tokens -q --separator none --shuffle --seed "$seed" -o chat.tok "$GOOD/chat.tokens"
		checked chat.tok packed 2 10 0 5
		cmp -s chat.tok "$GOOD/chat.tok" || swapped=$((swapped + 1))
	done
	[ "$swapped" -gt 0 ] && [ "$swapped" -lt 8 ] || complain "two documents are swapped $swapped times of 8"
}

@test 'llm.c: magic, version and count; cut and longer files are refused' {
	works pack-tokens -q --to llmc --separator none -o plain.bin "$GOOD/plain.tokens"
	[ "$(od -An -t u4 -N 12 plain.bin | tr -s ' ')" = ' 20240520 1 8' ]
	[ "$(wc -c <plain.bin)" = $((1024 + 16)) ]
	[ "$(od -An -v -t u2 -j 1024 plain.bin | tr -s ' ')" = ' 1 2 3 4 5 6 7 8' ]
	works pack-tokens -q --from llmc --like "$GOOD/plain.tok" --separator 4 -o two.tok plain.bin
	checked two.tok packed 2 8 0 0
	[ "$(od -An -t u8 -j 96 -N 24 two.tok | tr -s ' \n' ' ')" = ' 0 3 8 ' ]
	head -c 1039 plain.bin >cut.bin
	refuses pack-tokens --from llmc --vocab 10 -o x.tok cut.bin
	one_line_error 'cut.bin: is cut within an id'
	head -c 1030 plain.bin >cut.bin
	refuses pack-tokens --from llmc --vocab 10 -o x.tok cut.bin
	one_line_error 'cut.bin: is cut: 5 ids are missing'
	head -c 512 plain.bin >cut.bin
	refuses pack-tokens --from llmc --vocab 10 -o x.tok cut.bin
	(cat plain.bin; printf x) >long.bin
	refuses pack-tokens --from llmc --vocab 10 -o x.tok long.bin
	one_line_error 'long.bin: bytes after the ids'
	refuses pack-tokens --from llmc --vocab 10 -o x.tok "$GOOD/plain.tok"
	one_line_error 'is no file of llm.c'
}

@test 'nanoGPT: ids and nothing else' {
	documents 3000 >all
	ids want.tok all
	works pack-tokens -q --from packed --to nanogpt -o all.bin want.tok
	works pack-tokens -q --from nanogpt --vocab 1000 --separator 0 -o got.tok all.bin
	[ "$(texts got.tok | cksum)" = "$(texts want.tok | cksum)" ]
	checked got.tok packed 3000 "$(($(wc -c <all.bin) / 2))" 0 0
	printf 'abc' >odd.bin
	refuses pack-tokens --from nanogpt --vocab 1000 -o x.tok odd.bin
	one_line_error 'odd.bin: is cut within an id'
	pack-tokens -q --to nanogpt -o chat.bin "$GOOD/chat.tokens" 2>"$err"
	has "$err" '5 runs of roles have no place in this format, and are lost'
}

@test 'windows are counted' {
	pack-tokens --separator none --window 6 --fit best -o best.tok "$GOOD/plain.tokens" 2>"$err"
	has "$err" 'best.tok: 1 window of 6 tokens, 5 targets, 83.33 % full; 0 documents cut, 1 token lost'
	[ "$(od -An -t u4 -j $(($(wc -c <best.tok) - 88 + 44)) -N 8 best.tok | tr -s ' ')" = ' 2 6' ]
	pack-tokens --separator none --window 2 --fit one -o one.tok "$GOOD/plain.tokens" 2>"$err"
	has "$err" '4 windows of 2 tokens, 4 targets' '1 document cut, 1 token lost'
}

@test 'roles to be learnt' {
	works pack-tokens -q --separator none --learn user,tool -o x.tok "$GOOD/chat.tokens"
	[ "$(od -An -t u4 -j $(($(wc -c <x.tok) - 88 + 40)) -N 4 x.tok | tr -d ' ')" = 80 ]
	refuses pack-tokens --learn users -o x.tok "$GOOD/chat.tokens"
	one_line_error "--learn: 'users' is not one of text, prompt"
}

@test 'a mix names its parts and their hashes' {
	mkdir sub
	cp "$GOOD/plain.tok" sub/a.tok
	cp "$GOOD/chat.tok" sub/b.tok
	works pack-tokens --mix -o sub/m.mix 3=a.tok 1=b.tok
	{
		echo 'nnutils token mix 1'
		printf '3\t%s\ta.tok\n' "$(tail -c 16 sub/a.tok | od -An -t x1 | tr -d ' ')"
		printf '1\t%s\tb.tok\n' "$(tail -c 16 sub/b.tok | od -An -t x1 | tr -d ' ')"
	} | cmp - sub/m.mix >&2
	for operands in '' 'a.tok' '0=a.tok' 'x=a.tok' '1=none.tok' '1=sub/a.tok'; do
		# shellcheck disable=SC2086
		refuses pack-tokens --mix -o sub/x.mix $operands || complain "$operands"
		[ ! -e sub/x.mix ] || complain "$operands: has written"
	done
	refuses pack-tokens --mix -o x.mix 1=sub/a.tok 1="$GOOD/wide.tok"
	one_line_error 'wide.tok: vocabulary size 151936, but sub/a.tok has 10'
	try pack-tokens --mix 1=sub/a.tok
	one_usage_line
}

@test 'misuse' {
	try pack-tokens "$GOOD/plain.tokens"
	one_usage_line
	has "$err" '-o PATH'
	try pack-tokens --check -o x "$GOOD/plain.tokens"
	one_usage_line
	has "$err" '--check writes nothing'
	for options in '--split val' '--split val=2' '--split =0.1' '--split a=0.6,b=0.6' '--split a=0.1,a=0.1' \
		'--split ../a=0.1' '--split train=0.1' '--fit best' '--separator 10' '--separator x' '--vocab 10' \
		'--from ids' '--from ids --vocab 10 --like x' '--split val=0.1 -o file'; do
		# shellcheck disable=SC2086
		refuses pack-tokens -o data/ $options "$GOOD/plain.tokens" || complain "$options"
		[ ! -e data ] || complain "$options: has written"
	done
	mkdir full
	touch full/x
	refuses pack-tokens --split val=0.1 -o full/ "$GOOD/plain.tokens"
	[ "$(ls full)" = x ]
}

# Nothing half-written. When only the sync of the folder failed, the whole is there.
after_fault()
{
	while IFS= read -r file; do
		case $file in
		x.tok) pack-tokens --check x.tok >/dev/null || return ;;
		data) pack-tokens --check data/train.tok data/val.tok >/dev/null || return ;;
		*) complain "left: $file" || return ;;
		esac
	done < <(ls -A)
	rm -rf data x.tok
}

@test 'a full disk and faults leave nothing' {
	on_full_disk pack-tokens -q -o - "$GOOD/plain.tokens"
	on_full_disk pack-tokens -q --check "$GOOD/plain.tokens"
	for call in write fsync rename open; do
		each_fault "$call" ENOSPC pack-tokens -q -o x.tok "$GOOD/chat.tokens"
		rm x.tok
		each_fault "$call" ENOSPC pack-tokens -q --split val=0.5 --shuffle -o data/ "$GOOD/chat.tokens"
		rm -r data
	done
	each_fault malloc ENOMEM pack-tokens -q --split val=0.5 --shuffle --window 4 --fit best -o data/ "$GOOD/chat.tokens"
	rm -r data
	each_fault read EIO pack-tokens -q -o x.tok "$GOOD/chat.tokens"
}

@test 'a full disk under what is put aside' {
	documents 200000 >"$BATS_TEST_TMPDIR/all"
	try with_fault write:1048576b:ENOSPC pack-tokens -q --from ids --vocab 1000 --shuffle -o x.tok "$BATS_TEST_TMPDIR/all"
	fault_came
	one_line_error 'No space left on device'
	[ -z "$(ls -A)" ] || complain "left: $(ls -A)"
}

@test 'a kill leaves nothing under the name' {
	each_kill x.tok pack-tokens -q -o x.tok "$GOOD/chat.tokens"
	each_kill data pack-tokens -q --split val=0.5 -o data/ "$GOOD/chat.tokens"
}

@test 'a closed stdout, and a reader that left' {
	closed_stdout pack-tokens -q -o - "$GOOD/plain.tokens"
	broken_pipe pack-tokens -q -o - "$GOOD/plain.tokens"
	broken_pipe pack-tokens --check "$GOOD/plain.tokens"
}

@test 'memory does not grow with the corpus' {
	[ -z "${NNUTILS_SANITIZED-}" ] || skip 'native: a sanitizer takes its own memory'
	truncate -s 40000000 zeros.bin
	(
		ulimit -v 30000
		pack-tokens -q --from nanogpt --vocab 10 --separator none -o - zeros.bin >/dev/null
		pack-tokens -q --from nanogpt --vocab 10 --separator none --split val=0.1 -o data/ zeros.bin
	)
}

@test 'the page: options and examples' {
	cp "$GOOD/plain.tokens" .
	options_match_man pack-tokens
	man_examples pack-tokens
}

@test 'documents that a format would lose are told of' {
	printf '1 2\n3\n' | pack-tokens -q --from ids --vocab 10 --to stream -o two.tokens
	for to in llmc nanogpt; do
		try pack-tokens -q --to $to -o two.bin two.tokens
		[ "$status" = 0 ]
		has "$err" 'two.bin: 2 documents run together' || return
		works pack-tokens -q --to $to --separator 0 -o two.bin two.tokens || return
		works pack-tokens -q --to $to --separator none -o two.bin two.tokens || return
	done
	works pack-tokens -q -o two.tok two.tokens
}
