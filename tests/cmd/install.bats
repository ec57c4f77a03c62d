#!/usr/bin/env bats
# make install puts tools, pages and completion in place, and make uninstall takes them away.

load lib

setup()
{
	scratch
	mapfile -t tools < <(cd "$BIN" && ls)
}

# `all` counts as made: nothing is built here.
install_to_here()
{
	make -s -C "$ROOT" -o all BUILD="$BUILD" DESTDIR="$PWD/root" PREFIX=/usr "$@"
}

@test 'install and uninstall' {
	install_to_here install
	[ "$(ls root/usr/bin)" = "$(ls "$BIN")" ]
	for tool in "${tools[@]}"; do
		[ "$("root/usr/bin/$tool" --version)" = "$("$tool" --version)" ]
	done
	(cd "$ROOT/man" && find . -type f | sort) >want
	(cd root/usr/share/man && find . -type f | sort) >got
	diff want got
	same_bytes "$ROOT/scripts/pretrain.mk" root/usr/share/nnutils/pretrain.mk
	for tool in "${tools[@]}"; do
		bash -c '. "$1"; complete -p "$2"' - "root/usr/share/bash-completion/completions/$tool" "$tool"
	done
	install_to_here uninstall
	[ -z "$(find root ! -type d)" ] || complain "left: $(find root ! -type d)"
}
