/* lib/model/gguf_import_parts.h - what the files of gguf_import share */
#ifndef LIB_MODEL_GGUF_IMPORT_PARTS_H
#define LIB_MODEL_GGUF_IMPORT_PARTS_H

#include "lib/base/outfile.h"
#include "lib/model/gguf_import.h"
#include "lib/model/rebind.h"

struct gguf_import {
	struct model *model;
	const struct hf_config *config;
	struct gguf_import_options options;
	struct rebind *rebind;
	struct buffer notes;
	struct gguf_import_report report;
	struct narrow narrow;
};

/* gguf_import.c: the type that most values of matrices are written in. */
enum dtype gguf_import_dtype(const struct gguf_import *i);
/* config.json and generation_config.json. */
int gguf_import_config(struct gguf_import *i, struct outdir *d);
/* tokenizer.json and what goes beside it. */
int gguf_import_tokenizer(struct gguf_import *i, struct outdir *d);
/* The text of the file NAME, if the GGUF keeps it: 1, 0, or -1. */
int gguf_import_kept(const struct gguf_import *i, const char *name, struct bytes *out);

#endif
