/* lib/infer/requests_parts.h - what the files of requests.h share; private to lib/infer/requests*.c */
#ifndef LIB_INFER_REQUESTS_PARTS_H
#define LIB_INFER_REQUESTS_PARTS_H

#include "formats/json.h"
#include "lib/infer/requests.h"

/* What a record says, beside its options: one of the two. */
struct request_text {
	bool has_prompt, has_messages;
	struct bytes prompt; /* in the request's arena */
};

/* RECORD's members into R's fields; those of an answer are left out. -1 with the place in the error: not an object. */
int request_read_fields(struct json *j, struct request *r, struct bytes record, const char *name,
			uint64_t line);
/* What is said about how the text goes on, over what R's options are. */
int request_read_options(struct json *j, struct request *r, struct request_text *text,
			 struct bytes record, const char *name, uint64_t line);

#endif
