#!/usr/bin/env bats
# Every tool: --help, --version and the manual page, which say the same.

load lib

setup()
{
	scratch
	mapfile -t tools < <(cd "$BIN" && ls)
}

@test 'there are tools' {
	[ "${#tools[@]}" -gt 0 ]
}

@test '--help goes to stdout and exits 0' {
	for tool in "${tools[@]}"; do
		works "$tool" --help
		[ "$(head -n1 "$out" | cut -d' ' -f1-2)" = "usage: $tool" ] || complain "$tool: $(head -n1 "$out")"
	done
}

@test '--version goes to stdout, exits 0, and names the commit' {
	for tool in "${tools[@]}"; do
		works "$tool" --version
		grep -qE "^$tool \(nnutils\) [0-9]+\.[0-9]+\.[0-9]+ \(([0-9a-f]{7,40}|unknown)\+?\)\$" "$out" ||
			complain "$tool --version: $(cat "$out")"
	done
}

@test '--help and --version win over what stands after them' {
	for tool in "${tools[@]}"; do
		works "$tool" --help --no-such-option
		works "$tool" --version --no-such-option
	done
}

@test 'each tool has a page, whose one-line description is that of --help' {
	for tool in "${tools[@]}"; do
		[ -s "$MAN/$tool.1" ] || complain "man/man1/$tool.1 is not there"
		[ "$(sed -n 's/^\.Nd //p' "$MAN/$tool.1")" = "$("$tool" --help | sed -n 2p)" ] ||
			complain "$tool: man: $(sed -n 's/^\.Nd //p' "$MAN/$tool.1"); --help: $("$tool" --help | sed -n 2p)"
	done
}

@test 'each page has a tool' {
	for page in "$MAN"/*.1; do
		page=${page##*/}
		[ -x "$BIN/${page%.1}" ] || complain "man/man1/$page: there is no such tool"
	done
}

@test 'the options of --help are those of the page' {
	for tool in "${tools[@]}"; do
		options_match_man "$tool"
	done
}

@test 'the overview, nnutils(7), lists every tool' {
	for tool in "${tools[@]}"; do
		grep -qx "\.It Xr $tool 1" "$ROOT/man/man7/nnutils.7" || complain "$tool is not in nnutils(7)"
	done
}
