#!/usr/bin/env bats
# scripts/run-tests counts what programs print, and lets none of them fail in silence.
# shellcheck disable=SC2154

load lib

setup()
{
	scratch
	mkdir -p scripts tests/unit tests/cmd b/tests/unit
	cp "$ROOT/scripts/run-tests" scripts/
	printf '@test "a bats test" { true; }\n' >tests/cmd/x.bats
	unset NNUTILS_REQUIRE
}

# program NAME COMMANDS: a test program that is a shell script.
program()
{
	touch "tests/unit/$1.c"
	printf '#!/bin/sh\n%s\n' "$2" >"b/tests/unit/$1"
	chmod +x "b/tests/unit/$1"
}

# ends STATUS LINE: how run-tests on these programs ends.
ends()
{
	try scripts/run-tests fast b
	[ "$status" = "$1" ] && [ "$(tail -n1 "$out")" = "$2" ] && return
	show "$out"
	complain "exit status $status; wanted $1 and '$2'"
}

@test 'all pass: exit 0 and the sums as the last line' {
	program a 'echo ok 1 - x; echo ok 2 - y; echo 1..2'
	ends 0 '3 passed, 0 failed, 0 skipped'
}

@test 'a failed check counts, and is shown with its remarks' {
	program a 'echo ok 1 - x; echo not ok 2 - why; echo "#   got 3"; echo 1..2; exit 1'
	ends 1 '2 passed, 1 failed, 0 skipped'
	has "$out" 'a: not ok 2 - why' 'got 3'
}

@test 'a failed bats test counts' {
	printf '@test "no" { false; }\n' >tests/cmd/y.bats
	ends 1 '1 passed, 1 failed, 0 skipped'
	has "$out" 'not ok 1 no'
}

@test 'a program that dies before its plan is a failed check' {
	program a 'echo ok 1 - x; echo so it went >&2; kill -SEGV $$'
	ends 1 '2 passed, 1 failed, 0 skipped'
	has "$out" 'printed no plan' 'so it went'
}

@test 'fewer checks than planned are a failed check' {
	program a 'echo 1..3; echo ok 1 - x; echo ok 2 - y'
	ends 1 '3 passed, 1 failed, 0 skipped'
	has "$out" 'planned 3 checks and printed 2'
}

@test 'a bad exit status after good checks is a failed check' {
	program a 'echo 1..1; echo ok 1 - x; exit 3'
	ends 1 '2 passed, 1 failed, 0 skipped'
}

@test 'a program that is not there is a failed check' {
	touch tests/unit/a.c
	ends 1 '1 passed, 1 failed, 0 skipped'
}

@test 'a program that takes too long is a failed check' {
	program a 'echo ok 1 - x; exec sleep 60'
	export TEST_SECONDS=1
	ends 1 '2 passed, 1 failed, 0 skipped'
}

@test 'skips are counted and grouped by reason' {
	program a 'echo 1..3; echo "ok 1 - x # SKIP peer: no gguf"; echo "ok 2 - y # SKIP peer: no gguf"; echo ok 3'
	program c 'echo "1..0 # SKIP gpu: none"'
	printf '@test "s" { skip "slow: later"; }\n' >tests/cmd/y.bats
	ends 0 '2 passed, 0 failed, 4 skipped'
	has "$out" '2 peer: no gguf' '1 gpu: none' '1 slow: later'
}

@test 'NNUTILS_REQUIRE turns the skips that it names into failures' {
	program a 'echo 1..2; echo "ok 1 - x # SKIP peer: no gguf"; echo "ok 2 - y # SKIP peers no"'
	export NNUTILS_REQUIRE=gpu,peer
	ends 1 '1 passed, 1 failed, 1 skipped'
	has "$out" 'required by NNUTILS_REQUIRE'
}

@test 'no test at all is a failure' {
	rm tests/cmd/x.bats
	try scripts/run-tests fast b
	[ "$status" = 1 ]
	program a 'echo "1..0 # SKIP gpu: none"'
	rm -f tests/cmd/*.bats
	try scripts/run-tests fast b
	[ "$status" = 1 ]
}

@test 'misuse' {
	try scripts/run-tests quick
	[ "$status" = 2 ]
}
