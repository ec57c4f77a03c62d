#!/usr/bin/env bats
# scripts/lint finds nothing in the tree, and does find what it is meant to.

load lib

# A tree with one file: PATH, and its text on stdin.
tree()
{
	scratch
	mkdir -p scripts man/man1 man/man5 "$(dirname "$1")"
	[ -d .git ] || git init -q
	cp "$ROOT/scripts/lint" scripts/
	cp "$ROOT/.clang-format" .
	cat >"$1"
}

# finds PART TEXT...: this part says so, and exits 1.
finds()
{
	local part=$1

	shift
	try scripts/lint "$part"
	[ "$status" = 1 ] || complain "lint $part: exit status $status, wanted 1"
	has "$out" "$@"
}

clean()
{
	try scripts/lint "$1"
	[ "$status" = 0 ] && [ ! -s "$out" ] && return
	show "$out"
	complain "lint $1: exit status $status, wanted 0"
}

# The part finds nothing in the real tree.
tree_is_clean()
{
	git -C "$ROOT" rev-parse 2>/dev/null || skip 'git: this is not a git work tree'
	try "$ROOT/scripts/lint" "$1"
	[ "$status" = 0 ] && return
	sed 's/^/  | /' "$out" >&2
	complain "lint $1"
}

@test 'the tree is clean: format' {
	tree_is_clean format
}

@test 'the tree is clean: includes' {
	tree_is_clean includes
}

@test 'the tree is clean: banned' {
	tree_is_clean banned
}

@test 'the tree is clean: manual' {
	tree_is_clean manual
}

@test 'the tree is clean: shell' {
	tree_is_clean shell
}

@test 'the tree is clean: text' {
	tree_is_clean text
}

@test 'what is found: format' {
	tree lib/base/a.c <<<$'int f(void)\n{\n    return 1;\n}'
	finds format lib/base/a.c:2
	tree lib/base/a.c <<<$'int f(void)\n{\n\treturn 1;\n}'
	clean format
}

@test 'what is found: includes' {
	tree lib/text/a.c <<<$'#include "lib/base/err.h"\n#include "kernels/k.h"\n#include "formats/f.h"'
	mkdir -p lib/base formats kernels lib/train lib/eval
	touch lib/base/err.h formats/f.h kernels/k.h lib/eval/e.h
	finds includes 'lib/text/a.c:3: includes "formats/f.h": not in a lower layer'
	[ "$(wc -l <"$out")" = 1 ]
	tree lib/text/a.c <<<'#include "err.h"'
	finds includes 'not a path from the root'
	tree lib/text/a.c <<<''
	tree lib/train/t.c <<<'#include "lib/eval/e.h"'
	finds includes 'lib/train/t.c:1'
	tree lib/train/t.c <<<'#include "lib/base/err.h"'
	tree kernels/k.c <<<'#include "lib/base/err.h"'
	finds includes 'kernels/ includes nothing outside itself'
	tree kernels/k.c <<<'#include "kernels/k.h"'
	tree lib/other/k.c <<<'#include "kernels/k.h"'
	finds includes 'this folder is in no layer'
	rm lib/other/k.c
	clean includes
}

@test 'what is found: banned' {
	tree cmd/a.c <<<$'/* atoi(s) */\nint n = atoi (s); // sprintf(x)\nmy_strcpy(a);\nt->gets(1);\nprintf("x");'
	finds banned 'cmd/a.c:2: is banned'
	[ "$(wc -l <"$out")" = 1 ]
	rm cmd/a.c
	tree lib/base/a.c <<<$'/*\nexit(1)\n*/ f(); exit(1);\n\tsnprintf(x);\n\tfree(p);'
	finds banned 'lib/base/a.c:3: the library does not print or exit'
	[ "$(wc -l <"$out")" = 1 ]
	rm lib/base/a.c
	tree kernels/ref/a.c <<<$'\tp = malloc(3);'
	finds banned 'kernels/ref/a.c:1: kernels do not allocate'
}

@test 'what is found: manual' {
	tree man/man1/a.1 <<<$'.Dd January 1, 2026\n.Dt A 1\n.Os\n.Sh NAME\n.Nm a\n.Nd be\n.Sh SEE ALSO\n.Xr b 5'
	finds manual 'man/man1/a.1:8: there is no page b(5)'
	touch man/man5/b.5
	rm man/man1/a.1
	tree man/man1/a.1 <<<$'.Dd January 1, 2026\n.Dt A 1\n.Os\n.Sh NAME\n.Nm a\n.Nd be\n.Sh DESCRIPTION\n.Nosuch'
	rm man/man5/b.5
	finds manual 'a.1:8' Nosuch
}

@test 'what is found: shell' {
	tree scripts/x <<<$'#!/bin/sh\nrm $1'
	finds shell 'scripts/x:2'
	tree scripts/x <<<$'#!/bin/sh\nrm "$1"'
	clean shell
	tree a.bats <<<$'@test "x" {\n\trm $1\n}'
	finds shell 'a.bats:2'
}

@test 'what is found: text' {
	tree a.md <<<$'one\ntwo '
	finds text 'a.md:2' 'space at the end'
	tree a.md <<<"see /${place:=home}/me/x"
	finds text 'a.md:1' 'a path of one machine'
	printf 'x' | tree a.md
	finds text 'a.md: no line break'
	tree a.md <<<'see ~/work/x and build/work/x'
	clean text
}

@test 'misuse' {
	scratch
	try "$ROOT/scripts/lint" nothing
	[ "$status" = 2 ]
}
