/*
 * lib/text/trie.h - byte strings in a tree, walked a byte at a time
 *
 * A double array over XOR: the child of a node by byte C is the cell `base ^ C`, if that cell is taken and says C. No
 * two nodes have one base, so a cell need not name its parent and is 8 bytes. (J. Aoe 1989, "An efficient digital
 * search algorithm by using a double-array structure"; the XOR form and the unique bases are those of S. Yata's
 * Darts-clone.) Built once, never changed; any number of threads may read.
 */
#ifndef LIB_TEXT_TRIE_H
#define LIB_TEXT_TRIE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"

#define TRIE_NONE      UINT32_MAX
#define TRIE_VALUE_MAX ((UINT32_C(1) << 23) - 2) /* the largest value of a key */

struct trie_key {
	struct bytes text;
	uint32_t value;
};

struct trie_cell {
	uint32_t base; /* of the children; 0: there are none */
	uint32_t word; /* value + 1 (0: not a key) << 9 | taken << 8 | the byte that leads here */
};

struct trie {
	struct trie_cell *cells; /* owned */
	uint32_t root;		 /* the root's base */
};

/*
 * Of two keys with one text the later counts; an empty text is left out. The texts are not needed afterwards. 0, or -1
 * with the error set: memory, or a value past TRIE_VALUE_MAX, or more than 2^32 cells (ERR_LIMIT).
 */
int trie_init(struct trie *t, const struct trie_key *keys, size_t n);
void trie_clear(struct trie *t); /* a zeroed one too */

/*
 * From the node with base *NODE (at first t->root) by byte C. False when nothing goes on there; else *NODE is the
 * child's base and *VALUE its key's value or TRIE_NONE.
 */
static inline bool trie_step(const struct trie *t, uint32_t *node, unsigned char c, uint32_t *value)
{
	struct trie_cell cell = t->cells[*node ^ c];

	if ((cell.word & 0x1ff) != (0x100u | c))
		return false;
	*node = cell.base;
	*value = (cell.word >> 9) - 1;
	return true;
}

#endif
