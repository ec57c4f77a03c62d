/*
 * lib/text/chat_jinja.c - the templates as Jinja, for tokenizer_config.json
 *
 * Written for this: of plain messages (a role and a text) they render what chat_render does, and refuse what it
 * refuses. Tools and their calls are not in them.
 */
#include "lib/text/chat.h"

#define IM_MESSAGES                                                      \
 "{%- for m in messages -%}"                                             \
 "{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' -}}" \
 "{%- endfor -%}"
#define IM_PROMPT "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}"
#define IM_DEFAULT(text)                                \
 "{%- if messages[0].role != 'system' -%}"              \
 "{{- '<|im_start|>system\\n" text "<|im_end|>\\n' -}}" \
 "{%- endif -%}"

/* clang-format off */
static const char *const templates[CHAT_COUNT] = {
	[CHAT_NONE] = "",
	[CHAT_CHATML] = IM_MESSAGES IM_PROMPT,
	[CHAT_SMOLLM2] =
		IM_DEFAULT("You are a helpful AI assistant named SmolLM, trained by Hugging Face")
		IM_MESSAGES IM_PROMPT,
	[CHAT_LLAMA3] =
		"{{- bos_token -}}"
		"{%- for m in messages -%}"
		"{{- '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' -}}"
		"{{- m.content | trim + '<|eot_id|>' -}}"
		"{%- endfor -%}"
		"{%- if add_generation_prompt -%}"
		"{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}"
		"{%- endif -%}",
	[CHAT_GEMMA] =
		"{%- set turns = messages[1:] if messages[0].role == 'system' else messages -%}"
		"{%- if not turns -%}"
		"{{- raise_exception('a system message needs a message that it goes with') -}}"
		"{%- endif -%}"
		"{{- bos_token -}}"
		"{%- for m in turns -%}"
		"{%- if (m.role == 'user') != (loop.index0 % 2 == 0) -%}"
		"{{- raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') -}}"
		"{%- endif -%}"
		"{{- '<start_of_turn>' + ('model' if m.role == 'assistant' else m.role) + '\\n' -}}"
		"{%- if loop.first and messages[0].role == 'system' -%}"
		"{{- messages[0].content + '\\n\\n' -}}"
		"{%- endif -%}"
		"{{- m.content | trim + '<end_of_turn>\\n' -}}"
		"{%- endfor -%}"
		"{%- if add_generation_prompt -%}{{- '<start_of_turn>model\\n' -}}{%- endif -%}",
	[CHAT_MISTRAL] =
		"{%- set system = messages | selectattr('role', 'equalto', 'system')"
		" | map(attribute='content') | join('\\n\\n') -%}"
		"{%- set turns = messages | rejectattr('role', 'equalto', 'system') | list -%}"
		"{%- if not turns -%}"
		"{{- raise_exception('Conversation must start with a user message.') -}}"
		"{%- endif -%}"
		"{%- set at = namespace(before='', last=0, said='') -%}"
		"{%- for m in turns -%}"
		"{%- if loop.first and m.role != 'user' -%}"
		"{{- raise_exception('Conversation must start with a user message, got ' + m.role + '.') -}}"
		"{%- elif m.role == 'tool' and at.before == 'user' -%}"
		"{{- raise_exception(\"Unexpected role 'tool' after role 'user'\") -}}"
		"{%- endif -%}"
		"{%- if m.role == 'user' and at.before != 'user' -%}{%- set at.last = loop.index0 -%}{%- endif -%}"
		"{%- set at.before = m.role -%}"
		"{%- endfor -%}"
		"{{- bos_token -}}"
		"{%- for m in turns -%}"
		"{%- if m.role == 'tool' -%}"
		"{{- raise_exception('Tool message must have a call_id or tool_call_id of 9 characters or numbers.') -}}"
		"{%- elif loop.previtem is defined and loop.previtem.role == m.role -%}"
		"{%- set at.said = at.said + '\\n\\n' + m.content -%}"
		"{%- else -%}"
		"{%- set at.said = m.content -%}"
		"{%- if m.role == 'user' -%}{{- '[INST] ' -}}{%- else -%}{{- ' ' -}}{%- endif -%}"
		"{%- if loop.index0 == at.last and system -%}{{- system + '\\n\\n' -}}{%- endif -%}"
		"{%- endif -%}"
		"{%- if loop.nextitem is not defined or loop.nextitem.role != m.role -%}"
		"{%- if m.role == 'user' -%}"
		"{{- at.said + '[/INST]' -}}"
		"{%- elif at.said -%}"
		"{{- at.said + eos_token -}}"
		"{%- else -%}"
		"{{- raise_exception('Assistant message must have a string or a list of chunks in content or a list of tool calls.') -}}"
		"{%- endif -%}"
		"{%- endif -%}"
		"{%- endfor -%}",
	[CHAT_QWEN] =
		IM_DEFAULT("You are Qwen, created by Alibaba Cloud. You are a helpful assistant.")
		"{%- for m in messages -%}"
		"{%- if m.role != 'tool' -%}"
		"{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' -}}"
		"{%- else -%}"
		"{%- if loop.first or loop.previtem.role != 'tool' -%}{{- '<|im_start|>user' -}}{%- endif -%}"
		"{{- '\\n<tool_response>\\n' + m.content + '\\n</tool_response>' -}}"
		"{%- if loop.last or loop.nextitem.role != 'tool' -%}{{- '<|im_end|>\\n' -}}{%- endif -%}"
		"{%- endif -%}"
		"{%- endfor -%}"
		IM_PROMPT,
};
/* clang-format on */

struct bytes chat_jinja(enum chat c)
{
	return bytes_of(templates[c]);
}
