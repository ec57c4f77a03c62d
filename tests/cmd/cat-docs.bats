#!/usr/bin/env bats
# cat-docs: inputs, cuts, filters, damage, trouble. Numbers as C01 are those of the collected cases.

load lib

GOOD=$ROOT/fixtures/good/docs
BAD=$ROOT/fixtures/bad/docs

A='{"text":"One.\n\nTwo lines,\none text.\n"'

# The lines on stdin are what the tool wrote.
wrote()
{
	diff - "$out" >&2
}

# docs FILE...: it works, without a summary.
docs()
{
	works cat-docs -q "$@"
}

@test 'a folder: sorted, links not followed, special files left out' {
	cp -R "$GOOD/docs" .
	ln -s /etc/passwd docs/link
	ln -s . docs/loop
	mkfifo docs/pipe
	try cat-docs docs
	[ "$status" = 0 ]
	has "$err" '3 documents, 36 B; skipped: links 2, special files 1'
	wrote <<-END
		$A,"source":"docs/a.txt"}
		{"text":"cafe\n","source":"docs/more/b.txt"}
		{"text":"# c\n","source":"docs/more/c.md"}
	END
	docs docs/more/ docs/a.txt
	[ "$(tail -n1 "$out")" = "$A,\"source\":\"docs/a.txt\"}" ]
	has "$out" '"source":"docs/more/b.txt"'
}

@test 'a link that is named on the command line is followed' {
	ln -s "$GOOD/docs/more/b.txt" link
	docs link
	wrote <<<'{"text":"cafe\n","source":"link"}'
	ln -s "$GOOD/docs/more" folder
	docs folder
	[ "$(wc -l <"$out")" = 2 ]
}

@test 'stdin: by - and by itself' {
	cat-docs -q <"$GOOD/docs/a.txt" >"$out"
	wrote <<<"$A,\"source\":\"stdin\"}"
	cat-docs -q - "$GOOD/docs/more/b.txt" <"$GOOD/docs.tar.gz" >"$out"
	[ "$(wc -l <"$out")" = 4 ]
	has "$out" '"source":"stdin:docs/more/b.txt"'
}

@test 'every compression, from a file and from a pipe' {
	local file

	for file in "$GOOD"/a.txt.*; do
		docs "$file"
		wrote <<<"$A,\"source\":\"$file\"}"
		cat-docs -q < <(cat "$file") >"$out"
		wrote <<<"$A,\"source\":\"stdin\"}"
	done
	[ "$(find "$GOOD" -name 'a.txt.*' | wc -l)" = 8 ]
}

@test 'two compressed files, one after the other, are one' {
	local file

	for file in gz bz2 xz zst lz4 lz; do
		cat "$GOOD/a.txt.$file" "$GOOD/a.txt.$file" >"two.$file"
		docs "two.$file"
		wrote <<<"{\"text\":\"One.\n\nTwo lines,\none text.\nOne.\n\nTwo lines,\none text.\n\",\"source\":\"two.$file\"}"
	done
}

# A frame of one block that is stored as it is (RFC 8878, 3.1.1): 100,000 bytes of stdin.
zstd_frame()
{
	printf '\x28\xB5\x2F\xFD\x00\x58\x01\x35\x0C'
	head -c 100000
}

@test 'zstd: many frames, with user data between them, and what follows' {
	seq 1000000 >n
	{
		zstd_frame
		zstd_frame
		printf '\x5A\x2A\x4D\x18\x04\0\0\0user'
		zstd_frame
	} <n >n.zst
	head -c 300000 n >first
	docs -s file n.zst
	cat-docs -q -s file first | sed 's/"first"}$/"n.zst"}/' | cmp - "$out" >&2
	{ cat n.zst; printf 'no frame'; } >junk.zst
	try cat-docs -q -s line junk.zst
	one_line_error 'junk.zst: byte 300039: bytes after the end of the compressed data (byte 300000 of'
	[ "$(wc -l <"$out")" = "$(wc -l <first)" ]
	head -c -5 n.zst >cut.zst
	try cat-docs -q -s line cut.zst
	one_line_error 'cut.zst: byte 300034: the compressed data ends too early (byte 299995 of'
	[ "$(wc -l <"$out")" -gt 50000 ]
}

@test 'tar, tar.gz, zip, from files and pipes; archives in archives' {
	local file

	cd "$GOOD"
	for file in docs.tar docs.tar.gz docs.zip; do
		docs "$file"
		wrote <<-END
			$A,"source":"$file:docs/a.txt"}
			{"text":"cafe\n","source":"$file:docs/more/b.txt"}
			{"text":"# c\n","source":"$file:docs/more/c.md"}
		END
		cat-docs -q < <(cat "$file") >"$out"
		[ "$(wc -l <"$out")" = 3 ]
		has "$out" '"source":"stdin:docs/more/c.md"'
	done
	docs --field body nested.tar
	[ "$(wc -l <"$out")" = 5 ]
	has "$out" '"source":"nested.tar:in/docs.zip:docs/a.txt"' '"source":"nested.tar:in/records.jsonl.gz:2","id":2}'
}

@test 'names in archives never reach the file system' {
	docs "$GOOD/hostile-names.tar"
	has "$out" ':/tmp/nnutils-evil"' ':../../nnutils-evil"' ':new\nline\u001b[31m"'
	[ ! -e /tmp/nnutils-evil ] && [ ! -e ../../nnutils-evil ] && [ -z "$(ls -A)" ]
}

@test 'JSON lines: by the name, by the first line; other fields are passed on' {
	cp "$GOOD/records.jsonl" "$GOOD/records.jsonl.gz" .
	docs --field body records.jsonl records.jsonl.gz
	wrote <<-'END'
		{"text":"first","source":"records.jsonl:1","id":1}
		{"text":"second","source":"records.jsonl:2","id":2}
		{"text":"first","source":"records.jsonl.gz:1","id":1}
		{"text":"second","source":"records.jsonl.gz:2","id":2}
	END
	printf '\n {"n":[1, {"x":"\\u0041"}],"text":"by its first line","text2":null}\n' >plain
	docs plain
	wrote <<<'{"text":"by its first line","source":"plain:2","n":[1, {"x":"\u0041"}],"text2":null}'
	printf '{"source":"mine","text":"t"}\n' >own
	docs own
	wrote <<<'{"text":"t","source":"mine"}'
	printf '{"text":"title","body":"t"}\n' >other
	docs -f body other
	wrote <<<'{"text":"t","source":"other:1"}'
	printf '{"no":"field"}\n{\n' >json
	docs json
	wrote <<<'{"text":"{\"no\":\"field\"}\n{\n","source":"json"}'
}

@test 'what was written is read again, to the byte' {
	printf 'caf\xe9 \\ "q" \x00\x1f\x7f\n' >latin1
	docs --invalid keep latin1 "$GOOD/docs.tar"
	cp "$out" once
	docs --invalid keep once
	same_bytes once "$out"
}

@test 'plain text: cut at lines, at blank lines, at form feeds' {
	printf '\nHello\nworld\n \t\n\n  again\nand\n\n' >t
	docs -s file t
	wrote <<<'{"text":"\nHello\nworld\n \t\n\n  again\nand\n\n","source":"t"}'
	docs -s line t
	wrote <<-'END'
		{"text":"Hello","source":"t:2"}
		{"text":"world","source":"t:3"}
		{"text":"  again","source":"t:6"}
		{"text":"and","source":"t:7"}
	END
	docs -s blank t
	wrote <<-'END'
		{"text":"Hello\nworld","source":"t:2"}
		{"text":"  again\nand","source":"t:6"}
	END
	printf '\fone\n\ftwo\f\fthree' >f
	docs -s form-feed f
	wrote <<-'END'
		{"text":"one\n","source":"f:2"}
		{"text":"two","source":"f:3"}
		{"text":"three","source":"f:5"}
	END
	: >empty
	docs empty
	wrote <<<'{"text":"","source":"empty"}'
	for split in line blank form-feed; do
		docs -s "$split" empty
		[ ! -s "$out" ]
	done
}

@test 'plain text: names of one length, and names that end in what looks like a line' {
	printf '1\n2\n' >a:1
	printf '3\n4\n' >b:1
	printf '5\n' >b
	docs -s line a:1 b:1 b
	wrote <<-'END'
		{"text":"1","source":"a:1:1"}
		{"text":"2","source":"a:1:2"}
		{"text":"3","source":"b:1:1"}
		{"text":"4","source":"b:1:2"}
		{"text":"5","source":"b:1"}
	END
	docs --shuffle-buffer 9 -s line a:1 b:1 b
	sort "$out" >sorted
	docs -s line a:1 b:1 b
	sort "$out" | cmp - sorted >&2
}

@test '--include and --exclude: last part or whole name, files and members' {
	cp -R "$GOOD/docs" .
	cp "$GOOD/docs.tar.gz" "$GOOD/a.txt.gz" docs
	docs --include '*.md' docs
	[ "$(grep -o '"source":.*' "$out" | tr -d '\n')" = \
		'"source":"docs/docs.tar.gz:docs/more/c.md"}"source":"docs/more/c.md"}' ]
	docs --include '*.txt' --exclude '*/more/*' --exclude '*.tar.gz' docs
	[ "$(grep -o '"source":.*' "$out" | tr -d '\n')" = '"source":"docs/a.txt"}"source":"docs/a.txt.gz"}' ]
	try cat-docs --exclude '*' docs docs/a.txt
	has "$err" '1 document, 27 B; skipped: files by their names 5'
}

@test '--min-bytes, --max-docs, --dedup: counted' {
	printf 'aa\nb\naa\ncc\ndd\n' >t
	try cat-docs -s line --min-bytes 2 --dedup -n 2 t
	[ "$status" = 0 ]
	has "$err" '2 documents, 4 B; skipped: too short 1, duplicates 1; 16.4 kB for --dedup'
	wrote <<-'END'
		{"text":"aa","source":"t:1"}
		{"text":"cc","source":"t:4"}
	END
	seq 1 20000 >n
	cat-docs -q -s line -d n n >"$out"
	[ "$(wc -l <"$out")" = 20000 ]
	[ "$(tail -n1 "$out")" = '{"text":"20000","source":"n:20000"}' ]
}

@test '--max-bytes: one document, to the byte; memory is not its size' {
	printf 'abcde\n' >t
	docs -s line --max-bytes 5 t
	docs --max-bytes 6 t
	refuses cat-docs -q --max-bytes 5 t
	one_line_error 't: byte 0: a document of more than 5 bytes (--max-bytes, or --split)'
	refuses cat-docs -q -s line --max-bytes 4 t
	printf '{"text":"abcde"}\n' >r
	docs --max-bytes 5 r
	refuses cat-docs -q --max-bytes 4 r
	one_line_error 'r:1: a document of more than 4 bytes'
}

# 256 MB of zeros, 250 kB packed: refused with 64 MB of memory for everything.
@test 'a bomb: memory stays within bounds' {
	[ -z "${NNUTILS_SANITIZED-}" ] || skip 'native: a sanitizer needs more memory'
	head -c 256M /dev/zero | gzip -1 >bomb.gz
	try bash -c 'ulimit -v 64000; exec cat-docs -q --max-bytes 8M bomb.gz'
	tool=cat-docs one_line_error 'bomb.gz: byte 0: a document of more than 8000000 bytes'
	try bash -c 'ulimit -v 64000; exec cat-docs -q -s line --max-bytes 8M bomb.gz'
	tool=cat-docs one_line_error 'more than 8000000 bytes'
	yes 'a line' | head -c 64M | gzip -1 >lines.gz
	bash -c 'ulimit -v 64000; exec cat-docs -q -s line lines.gz' | tail -n1 >"$out"
	has "$out" '"source":"lines.gz:'
}

@test '--invalid refuse, keep, replace; --lax' {
	printf 'ok\xe6\xad \xff\xf0\x9f\x98x\xc0\x80\xed\xa0\x80' >t
	refuses cat-docs -q t
	one_line_error 't: byte 2: 0xE6 is not UTF-8'
	docs --invalid keep t
	wrote <<<'{"text_base64":"b2vmrSD/8J+YeMCA7aCA","source":"t"}'
	# A maximal subpart each: E6 AD, FF, F0 9F 98, C0, 80, ED, A0, 80
	try cat-docs --lax t
	has "$err" '; replaced by U+FFFD 8'
	wrote <<<'{"text":"ok� ��x�����","source":"t"}'
	printf '{"text":"caf\xe9","n":"\xff"}\n' >r
	refuses cat-docs -q r
	one_line_error 'r:1: byte 12 of the line: ill-formed UTF-8'
	docs --invalid replace r
	wrote <<<'{"text":"caf�","source":"r:1","n":"�"}'
	refuses cat-docs -q --invalid keep r
	one_line_error 'r:1: byte 22 of the line: only the text may hold what is not UTF-8, not field n'
	printf '{"text":"caf\xe9"}\n' >r
	docs --invalid keep r
	wrote <<<'{"text_base64":"Y2Fm6Q==","source":"r:1"}'
	cp "$out" kept
	docs --lax kept
	wrote <<<'{"text":"caf�","source":"r:1"}'
	refuses cat-docs -q "$BAD/latin1.txt"
}

@test 'the place of a byte in a large file' {
	{ seq 1 400000; printf '\xff\n'; } >t
	refuses cat-docs -q t
	one_line_error "t: byte 2688895: 0xFF is not UTF-8"
	try cat-docs -q -s line t
	one_line_error "t: byte 2688895: 0xFF is not UTF-8"
	[ "$(wc -l <"$out")" = 400000 ]
}

@test 'C01: CR LF' {
	printf '{"text":"a"}\r\n{"text":"b"}\r\n' >r.jsonl
	docs r.jsonl
	wrote <<-'END'
		{"text":"a","source":"r.jsonl:1"}
		{"text":"b","source":"r.jsonl:2"}
	END
	printf 'a\r\nb\r\n' >t
	try cat-docs t
	has "$err" 'documents with CR LF (--crlf makes it LF) 1'
	wrote <<<'{"text":"a\r\nb\r\n","source":"t"}'
	docs --crlf t
	wrote <<<'{"text":"a\nb\n","source":"t"}'
	docs -s line t
	wrote <<-'END'
		{"text":"a\r","source":"t:1"}
		{"text":"b\r","source":"t:2"}
	END
	docs -s line --crlf t
	wrote <<-'END'
		{"text":"a","source":"t:1"}
		{"text":"b","source":"t:2"}
	END
	printf 'a\rb\r\r\nc\r' >t
	docs --crlf t
	wrote <<<'{"text":"a\rb\r\nc\r","source":"t"}'
	printf 'a\xff\r\n' >t
	docs --crlf --lax t
	wrote <<<'{"text":"a�\n","source":"t"}'
}

@test 'C02: a byte order mark' {
	printf '\xef\xbb\xbf{"text":"a"}\n{"text":"\xef\xbb\xbfb"}\n' >r.jsonl
	docs r.jsonl
	printf '{"text":"a","source":"r.jsonl:1"}\n{"text":"\xef\xbb\xbfb","source":"r.jsonl:2"}\n' | wrote
	cat-docs -q <r.jsonl | diff <(sed 's/r.jsonl/stdin/' "$out") - >&2
	printf '\xef\xbb\xbfa\xef\xbb\xbf' >t
	docs t
	printf '{"text":"a\xef\xbb\xbf","source":"t"}\n' | wrote
	printf '\xef\xbb\xbfab\xff' >t
	refuses cat-docs -q t
	one_line_error 't: byte 5:'
}

@test 'C04: no newline at the end, blank lines, a line of 64 MB' {
	printf '\n{"text":"a"}\n\n \n{"text":"b"}' >r
	docs r
	wrote <<-'END'
		{"text":"a","source":"r:2"}
		{"text":"b","source":"r:5"}
	END
	{
		printf '{"text":"'
		head -c 64M /dev/zero | tr '\0' x
		printf '","n":1}'
	} >long
	[ "$(cat-docs -q long | wc -c)" = $((64 * 1024 * 1024 + 36)) ]
	[ "$(cat-docs -q long | tail -c 28)" = 'x","source":"long:1","n":1}' ]
	head -c 64M /dev/zero | tr '\0' x >long
	[ "$(cat-docs -q -s line long | wc -c)" = $((64 * 1024 * 1024 + 30)) ]
}

@test 'C05: JSON escapes' {
	printf '{"text":"\\ud83d\\ude00\\u0000\\u0041\\/"}\n' >r
	docs r
	wrote <<<'{"text":"😀\u0000A/","source":"r:1"}'
	printf '{"text":"a"}\n{"n":"\\\\ud83d","text":"\\ud83d|\\udE00|\\ud83d\\u0041","m":"\\uDBFF"}\n' >r
	try cat-docs -q r
	one_line_error 'r:2: byte 23 of the line: lone surrogate in a string'
	wrote <<<'{"text":"a","source":"r:1"}'
	try cat-docs --lax r
	has "$err" 'replaced by U+FFFD 4'
	wrote <<-'END'
		{"text":"a","source":"r:1"}
		{"text":"�|�|�A","source":"r:2","n":"\\ud83d","m":"\ufffd"}
	END
	refuses cat-docs -q --invalid keep r
}

@test 'C07: cut and followed by junk: what there is, then an error' {
	try cat-docs -q "$BAD/cut.tar.gz"
	one_line_error 'cut.tar.gz: byte' 'ends too early'
	[ "$(wc -l <"$out")" = 3 ]
	seq 1 100000 | gzip >n.gz
	{ cat n.gz; echo junk; } >junk.gz
	try cat-docs -q -s line junk.gz
	one_line_error 'junk.gz: byte' 'bytes after the end of the compressed data'
	[ "$(wc -l <"$out")" = 100000 ]
	head -c -5 n.gz >cut.gz
	try cat-docs -q -s line cut.gz
	one_line_error 'ends too early'
	[ "$(wc -l <"$out")" -gt 99000 ]
	# Also where the input is no longer than what is looked at to tell what it is.
	try cat-docs -q -s line "$BAD/cut.gz"
	one_line_error 'cut.gz: byte' 'ends too early'
	[ "$(wc -l <"$out")" = 3 ]
	for kind in bz2 lz4; do
		{ cat "$GOOD/a.txt.$kind"; echo junk; } >"junk.$kind"
		try cat-docs -q -s line "junk.$kind"
		one_line_error "junk.$kind: byte" 'bytes after the end of the compressed data'
		[ "$(wc -l <"$out")" = 3 ]
	done
	refuses cat-docs -q "$BAD/cut.zst"
	one_line_error 'cut.zst' 'ends too early'
	refuses cat-docs -q "$BAD/junk.zst"
	one_line_error 'junk.zst' 'bytes after the end'
	refuses cat-docs -q "$BAD/cut.xz"
	refuses cat-docs -q "$BAD/cut.bz2"
	# The tar is whole, and what carries it is not.
	head -c -5 "$GOOD/docs.tar.gz" >whole.tar.gz
	try cat-docs -q whole.tar.gz
	one_line_error 'whole.tar.gz: byte' 'ends too early'
	[ "$(wc -l <"$out")" = 3 ]
}

@test 'C08: names of any length, in ustar, GNU and pax archives' {
	local format n name

	for format in ustar gnu pax; do
		docs "$GOOD/names-$format.tar"
		for n in 100 101 155 255 256 512; do
			[ "$format:$n" != ustar:256 ] || break
			name=$(grep "^{\"text\":\"$n" "$out" | sed 's/.*\.tar:\(.*\)"}/\1/')
			[ "${#name}" = "$n" ] || complain "$format, $n: ${#name} bytes: $name"
			[ -z "$(tr -d 'dn/' <<<"$name")" ]
		done
		sed "s/names-$format//" "$out" | head -n 4 >"$format"
	done
	cmp ustar gnu && cmp gnu pax
	docs "$GOOD/pax-size.tar"
	has "$out" '{"text":"all of it\n","source":' ':the/right/name"}'
}

@test 'C10: samples, their keys, and what is none' {
	local key

	key=$(printf 'k%.0s' {1..200})
	try cat-docs --group "$GOOD/samples.tar"
	[ "$status" = 0 ]
	has "$err" 'skipped: members of no sample 2, samples without text 1, members that are not text 1'
	sed 's|"source":"[^"]*/samples.tar|"source":"samples.tar|' "$out" >short
	diff short - >&2 <<-END
		{"text":"text a","source":"samples.tar:s/a","__key__":"s/a","cls":"7","json":{"w": 1,  "h": 2}}
		{"text":"text k","source":"samples.tar:s/$key","__key__":"s/$key"}
		{"text":"text c","source":"samples.tar:s/c","__key__":"s/c"}
	END
}

@test 'C10: members of a sample that do not stand together' {
	refuses cat-docs -q --group "$BAD/samples-apart.tar"
	one_line_error 'samples-apart.tar:a.txt: the members of this sample do not stand together'
}

@test 'C11: a shuffled stream has each document once, in an order of its seed' {
	seq 1 1000 >n
	docs -s line n
	cp "$out" straight
	for buffer in 1 10 999 1000 5000; do
		docs -s line --shuffle-buffer "$buffer" --seed 7 n
		sort "$out" | cmp - <(sort straight) >&2
		! cmp -s "$out" straight || [ "$buffer" = 1 ] || complain "a buffer of $buffer shuffles nothing"
		cp "$out" seven
		docs -s line --shuffle-buffer "$buffer" --seed 7 n
		same_bytes seven "$out"
		docs -s line --shuffle-buffer "$buffer" --seed 8 n
		! cmp -s seven "$out" || [ "$buffer" = 1 ] || complain 'another seed, the same order'
	done
	docs -s line --shuffle-buffer 1000 -n 10 n
	[ "$(sort -t: -k3 -n "$out" | wc -l)" = 10 ]
	sort "$out" | cmp - <(head straight | sort) >&2
}

@test 'every damaged file is refused in one line that names it' {
	local file

	for file in "$BAD"/*; do
		refuses cat-docs -q "$file" || complain "$file"
		has "$err" "${file##*/}"
	done
	refuses cat-docs -q "$BAD/cut-member.tar"
	one_line_error 'cut-member.tar:docs/more/b.txt: byte 2: '
	refuses cat-docs -q "$BAD/no-end.tar"
	one_line_error 'ends without its end marker'
	refuses cat-docs -q "$BAD/checksum.zip"
	one_line_error 'checksum.zip:a.txt: byte 27: ' CRC
	refuses cat-docs -q "$BAD/checksum.gz"
	one_line_error 'checksum.gz: byte 43: incorrect data check'
	refuses cat-docs -q "$BAD/no-text.jsonl"
	one_line_error 'no-text.jsonl:3: byte 14 of the line: has no field text'
	refuses cat-docs -q "$BAD/nested.gz"
	one_line_error 'more than 8 inputs in each other'
	refuses cat-docs -q "$BAD/nested.tar.gz"
	one_line_error 'more than 8 inputs in each other'
}

@test 'trouble: what is not there, what cannot be read' {
	refuses cat-docs -q none
	one_line_error 'none: No such file or directory'
	try cat-docs -q "$GOOD/docs/a.txt" none
	one_line_error 'none: No such file'
	[ "$(wc -l <"$out")" = 1 ]
	try cat-docs --split word
	one_usage_line
	try cat-docs --shuffle-buffer 0
	one_usage_line
}

@test 'a full disk, a closed stdout, a reader that left' {
	on_full_disk cat-docs -q "$GOOD/docs.tar"
	closed_stdout cat-docs -q "$GOOD/docs.tar"
	broken_pipe cat-docs -q "$GOOD/docs.tar"
	seq 1 1000000 >n
	on_full_disk cat-docs -q -s line n
	broken_pipe cat-docs -q -s line n
}

@test 'faults: reads and memory' {
	local file

	cp "$GOOD/docs.tar.gz" "$GOOD/a.txt.zst" "$GOOD/docs.zip" "$GOOD/records.jsonl" .
	for file in docs.tar.gz a.txt.zst docs.zip records.jsonl; do
		each_fault read EIO cat-docs -q -f body "$file"
		each_fault open EACCES cat-docs -q -f body "$file"
		each_fault read short1 cat-docs -q -f body "$file"
	done
	each_fault malloc ENOMEM cat-docs -q -f body records.jsonl
	each_fault malloc ENOMEM cat-docs -q -s line --dedup --shuffle-buffer 2 "$GOOD/docs/a.txt"
	printf 'a\xff' >t
	each_fault malloc ENOMEM cat-docs -q --lax t
	each_fault malloc ENOMEM cat-docs -q --invalid keep t
	each_fault malloc ENOMEM cat-docs -q "$GOOD/docs"
	# However little a read gives, what is written is the same.
	cat-docs -q -f body docs.tar.gz docs.zip records.jsonl >whole
	FAULT=read:1+:short7 with_fault read:1+:short7 cat-docs -q -f body docs.tar.gz docs.zip records.jsonl >pieces
	fault_came
	cmp whole pieces >&2
}

@test 'the page: options and examples' {
	cp -R "$GOOD/docs" "$GOOD/docs.tar.gz" "$GOOD/records.jsonl" .
	options_match_man cat-docs
	man_examples cat-docs
}
