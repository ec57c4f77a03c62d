#!/usr/bin/env bats
# fixtures/MANIFEST is what scripts/gen-manifest writes, and that finds what does not fit.

load lib

setup()
{
	scratch
	mkdir -p scripts fixtures/good
	cp "$ROOT/scripts/gen-manifest" scripts/
	printf '# makes: fixtures/good/*.bin fixtures/good/one\n' >scripts/gen-fixtures-a
	echo x >fixtures/good/x.bin
	echo one >fixtures/good/one
}

@test 'the fixtures are those of the manifest' {
	"$ROOT/scripts/gen-manifest" --check
}

@test 'path, size, hash and script of each file' {
	scripts/gen-manifest
	scripts/gen-manifest --check
	[ "$(wc -l <fixtures/MANIFEST)" = 2 ]
	sum=$(sha256sum <fixtures/good/x.bin | cut -d' ' -f1)
	[ "$(tail -n1 fixtures/MANIFEST)" = "$sum"$'\t2\tfixtures/good/x.bin\tscripts/gen-fixtures-a' ]
}

@test 'a file that changed, is new, or is gone' {
	scripts/gen-manifest
	echo y >fixtures/good/x.bin
	try scripts/gen-manifest --check
	[ "$status" = 1 ]
	has "$out" '-' fixtures/good/x.bin
	echo x >fixtures/good/x.bin
	touch fixtures/good/new.bin
	try scripts/gen-manifest --check
	[ "$status" = 1 ]
	rm fixtures/good/new.bin fixtures/good/one
	try scripts/gen-manifest --check
	[ "$status" = 1 ]
}

@test 'a file that no script makes, or two' {
	touch fixtures/good/stray
	try scripts/gen-manifest
	[ "$status" = 1 ]
	has "$err" 'fixtures/good/stray'
	[ ! -e fixtures/MANIFEST ]
	rm fixtures/good/stray
	printf '# makes: fixtures/good/*\n' >scripts/gen-fixtures-b
	try scripts/gen-manifest
	[ "$status" = 1 ]
	has "$err" 'both scripts/gen-fixtures-a and scripts/gen-fixtures-b'
}
