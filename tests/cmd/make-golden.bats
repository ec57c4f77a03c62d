#!/usr/bin/env bats
# make-golden: names that are hashes of what decides the logits, files that are found again, trouble

load lib

setup_file()
{
	load lib
	untrained_lm --layers 1 --heads 2 --kv-heads 1
	copy-model -q --dtype bf16 model half
}

setup()
{
	scratch
	for f in model half tok text; do ln -s "$BATS_FILE_TMPDIR/$f" .; done
}

golden() { make-golden -q --raw -d text -n 100 -c 50 -O golden "$@"; }

@test 'what was asked before is found, not computed' {
	works golden model
	file=$(cat "$out")
	[ -f "$file" ]
	cp "$file" before
	try make-golden --raw -d text -n 100 -c 50 -O golden model
	[ "$status" = 0 ]
	has "$err" 'is there already'
	[ "$(cat "$out")" = "$file" ]
	# a broken file is no answer
	head -c 1000 before >"$file"
	works golden model
	same_bytes before "$file"
	works golden --force -j 1 model
	same_bytes before "$file"
}

@test 'another model, text, window or setting has another name; another path of the same has not' {
	golden model >/dev/null
	golden -n 101 model >/dev/null
	golden -c 25 model >/dev/null
	golden --compute bf16 model >/dev/null
	golden --cache-dtype f16 model >/dev/null
	golden --dtype f16 model >/dev/null
	golden --device ref model >/dev/null
	golden half >/dev/null
	[ "$(find golden -name '*.safetensors' | wc -l)" = 8 ]
	cp -rL model copied
	golden copied >/dev/null
	golden -j 1 model >/dev/null
	[ "$(find golden -name '*.safetensors' | wc -l)" = 8 ]
}

@test 'the file says what it is of' {
	make-golden -q --raw -d text -n 100 -c 40 -o a.safetensors model
	works show-model --metadata a.safetensors
	for key in nnutils-logits model_name weights tokenizer compute kernels; do
		has "$out" "$key"
	done
	works get-tensor --format text a.safetensors starts
	[ "$(tr -s ' \t\n' ' ' <"$out")" = '0 40 80 100 ' ]
}

@test 'rows are the logits that decode has' {
	head -c 30 text >short
	make-golden -q --raw -d short -o a.safetensors model
	n=$(tokenize -q -t tok --raw --ids short | wc -w)
	works decode -q -f short -n 1 --logprobs 3 model
	best=$(head -n 1 "$out" | cut -f 2)
	get-tensor --format text -s "$((n - 1))" a.safetensors logits | tr -s ' \t' '\n' >row
	[ "$(awk 'NF { if (!n || $1 > best) { best = $1; at = n } n++ } END { print at }' row)" = "$best" ]
}

@test 'trouble' {
	make-golden -q --raw -d text -n 60 -o a.safetensors model
	refuses make-golden -q --raw -d text -o x.safetensors a.safetensors
	has "$err" 'not a model'
	refuses make-golden -q --raw -d text -o x.safetensors missing
	refuses make-golden -q -d text -o x.safetensors model
	has "$err" 'text needs --raw or --docs'
	misused make-golden -q --raw -d text model
	misused make-golden -q --raw -d text -o x -O y model
	misused make-golden -q --raw --docs -d text -o x model
	refuses make-golden -q --raw -d text -n 60 -o /dev/full model
	refuses make-golden -q --raw -d text -n 60 -O text model
	[ ! -e x.safetensors ]
}

@test 'examples of the page' {
	man_examples make-golden
}
