/* formats/token_stream_parts.h - what reader and writer of token streams share */
#ifndef FORMATS_TOKEN_STREAM_PARTS_H
#define FORMATS_TOKEN_STREAM_PARTS_H

enum token_record {
	RECORD_IDS = 1,
	RECORD_RUNS = 2,
	RECORD_DOCUMENT_END = 3,
	RECORD_END = 4,
};

#define RECORD_HEADER_SIZE 8
#define END_RECORD_SIZE	   32

#endif
