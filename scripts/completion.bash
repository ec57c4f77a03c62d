# Completion of the tools' options for bash.
#
# Each tool lists its options when it is asked with --complete: name, letter, kind, argument and words,
# with tabs between. So one function serves all of them. It is installed once, with a link for each tool,
# by whose name bash-completion finds it; from the tree: `. scripts/completion.bash show-model …`.
# shellcheck shell=bash

# The kind and the words of OPTION (`--name` or `-x`) in the list on stdin; fails if it is not there.
_nnutils_option()
{
	local name letter kind words

	# read would take two tabs for one.
	while IFS=$'\x1f' read -r name letter kind _ words; do
		if [ "$name" = "$1" ] || { [ -n "$letter" ] && [ "$letter" = "$1" ]; }; then
			printf '%s %s\n' "$kind" "$words"
			return
		fi
	done < <(tr '\t' '\037')
	return 1
}

# Option names that start with CURRENT; those that take an argument get a = and no space.
_nnutils_names()
{
	local current=$1 name letter kind rest

	while IFS=$'\x1f' read -r name letter kind rest; do
		[ "$kind" = flag ] || name+="="
		[[ $name == "$current"* ]] && COMPREPLY+=("$name")
	done < <(tr '\t' '\037')
	# Outside of a completion, as in a test, compopt only complains.
	if [ "${#COMPREPLY[@]}" = 1 ] && [[ ${COMPREPLY[0]} == *= ]]; then
		compopt -o nospace 2>/dev/null || return 0
	fi
}

_nnutils()
{
	local current=$2 before=$3 list option='' kind words i

	COMPREPLY=()
	list=$("$1" --complete 2>/dev/null) || return 0
	# bash breaks --name=value into three words.
	if [ "$current" = = ]; then
		option=$before current=
	elif [ "$before" = = ] && [ "$COMP_CWORD" -ge 2 ]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	elif [[ $before == -* ]]; then
		option=$before
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		# After -- there are operands only.
		if [ "${COMP_WORDS[i]}" = -- ]; then
			mapfile -t COMPREPLY < <(compgen -f -- "$current")
			return 0
		fi
	done
	if [ -n "$option" ] && read -r kind words < <(_nnutils_option "$option" <<<"$list"); then
		case $kind in
		flag) ;;
		path)
			mapfile -t COMPREPLY < <(compgen -f -- "$current")
			return 0
			;;
		enum)
			mapfile -t COMPREPLY < <(compgen -W "${words//,/ }" -- "$current")
			return 0
			;;
		*) return 0 ;;
		esac
	fi
	case $current in
	-*) _nnutils_names "$current" <<<"$list" ;;
	*) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
	esac
}

case ${BASH_SOURCE[0]##*/} in
completion.bash | nnutils)
	[ "$#" = 0 ] || complete -o filenames -F _nnutils "$@"
	;;
*) complete -o filenames -F _nnutils "${BASH_SOURCE[0]##*/}" ;;
esac
