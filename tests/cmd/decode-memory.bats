#!/usr/bin/env bats
# decode: what it holds in memory beside the mapped file, and files that are damaged

load lib

setup_file()
{
	load lib
	untrained_lm --layers 2 --heads 4 --kv-heads 2
	init-lm -q -t tok --width 512 --ffn 1536 --layers 8 --heads 8 --kv-heads 4 --context 1024 --seed 1 -o large
	quantize -q --type q8_0 large large.gguf
	quantize -q --type q8_0 model small.gguf
	rm -r large
}

setup()
{
	scratch
	large=$BATS_FILE_TMPDIR/large.gguf
}

# megabytes KEY PID: of smaps_rollup, rounded up
megabytes()
{
	awk -v key="$1:" '$1 == key { print int($2 / 1024) + 1 }' "/proc/$2/smaps_rollup"
}

# started N OPTION...: N of decode --step that have read their prompt and wait for what is chosen; pids has them
started()
{
	local n=$1 i

	shift
	pids=()
	for ((i = 0; i < n; i++)); do
		rm -f "choice$i" && mkfifo "choice$i"
		decode -q -j 1 --step=1 --repack none -p 'the tokens of a text' "$@" "$large" <>"choice$i" >"said$i" 2>"$err" &
		pids+=($!)
	done
	for ((i = 0; i < n; i++)); do
		for _ in {1..400}; do
			[ ! -s "said$i" ] || break
			sleep 0.05
		done
		[ -s "said$i" ] || complain "number $i says nothing"
	done
}

ended()
{
	kill "${pids[@]}"
	wait "${pids[@]}" || true
}

@test 'eight at once share the file' {
	local file pid shared=0 own=0 size

	[ -z "${NNUTILS_SANITIZED-}" ] || skip 'native: a sanitizer holds memory of its own'
	file=$(($(stat -c %s "$large") / 1000000))
	started 8
	for pid in "${pids[@]}"; do
		# All of it is mapped and was read, and no copy was made.
		size=$(megabytes Rss "$pid")
		[ "$size" -ge "$file" ] || complain "$size MB of $file are there"
		shared=$((shared + $(megabytes Pss_File "$pid")))
		own=$((own + $(megabytes Pss_Anon "$pid")))
	done
	ended
	echo "the file has $file MB; eight processes share $shared MB of files, and have $own MB of their own"
	[ "$file" -ge 25 ] || complain 'too small a file'
	[ "$shared" -le $((file + 24)) ] || complain "$shared MB of files"
	[ "$own" -le $((file + 100)) ] || complain "$own MB of their own"
}

@test 'beside the file and the cache: 64 MB at most' {
	local own cache=$((8 * 2 * 4 * 64 * 1024 * 4 / 1000000))

	[ -z "${NNUTILS_SANITIZED-}" ] || skip 'native: a sanitizer holds memory of its own'
	started 1 --ctx 1024 --cache-dtype f32
	own=$(megabytes Pss_Anon "${pids[0]}")
	ended
	echo "$own MB of its own, $cache MB of which are keys and values"
	[ "$own" -le $((cache + 64)) ] || complain 'more than that'
}

@test 'what does not fit is refused before any work, with what would make it fit' {
	refuses decode -q --memory 1M -n 5 -p the "$large"
	has "$err" '1000000 are allowed: without any context it needs'
	refuses decode -q --memory 40M --ctx 4000 --repack none --cache-dtype f32 -n 0 -p the "$large"
	has "$err" 'they are enough for a context of about'
	[ ! -s "$out" ] || complain 'and has begun'
}

# damaged N FILE: bad.gguf, FILE with one place changed: numbers N beyond those tried before give another place
damaged()
{
	local size at n bytes

	RANDOM=$1
	size=$(stat -c %s "$2")
	n=$((1 << RANDOM % 4))
	# Half of them among keys and the list of tensors, which come first.
	at=$(((RANDOM << 15 | RANDOM) % (RANDOM % 2 ? size : 12000)))
	case $((RANDOM % 4)) in
	0) bytes='\xff\xff\xff\xff\xff\xff\xff\x7f' ;;
	1) bytes='\0\0\0\0\0\0\0\0' ;;
	2) bytes="\\x$(printf %02x $((RANDOM % 256)))\\x$(printf %02x $((RANDOM % 256)))\\0\\0\\0\\0\\0\\0" ;;
	3) bytes='\0\0\0\0\1\0\0\0' ;;
	esac
	cp "$2" bad.gguf
	if [ $((RANDOM % 10)) = 0 ]; then
		truncate -s "$at" bad.gguf
	else
		printf %b "$bytes" | head -c "$n" | dd of=bad.gguf bs=1 seek="$at" conv=notrunc status=none
	fi
}

@test 'damaged files: a text or one line of error (DAMAGED=N tries so many)' {
	local i refused=0

	for ((i = 1; i <= ${DAMAGED:-150}; i++)); do
		damaged "$i" "$BATS_FILE_TMPDIR/small.gguf"
		try timeout 200 decode -q -j 1 -n 2 -p the bad.gguf
		tool=decode
		[ "$status" = 0 ] || one_line_error || complain "number $i"
		[ "$status" = 0 ] || refused=$((refused + 1))
	done
	echo "$refused of $((i - 1)) were refused"
	[ "$refused" -gt $((i / 10)) ] || complain 'hardly any was noticed'
}
