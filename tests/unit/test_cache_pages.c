/* tests/unit/test_cache_pages.c - pages: taken, shared, copied before they are written to, given back */

#include "lib/base/err.h"
#include "lib/infer/cache_pages.h"
#include "tests/tap.h"

enum { PAGES = 4, SLOTS = 10 };

static struct cache_pages *pool(void)
{
	struct cache_pages *p = NULL;

	tap_works(cache_pages_new(&p, PAGES, SLOTS), "a pool");
	return p;
}

static void extend(struct cache_pages *p, struct cache_table *t, size_t n, size_t left)
{
	struct cache_copy copy;
	size_t need = cache_table_need(p, t, n), before = cache_pages_left(p);

	tap_works(cache_table_extend(p, t, n, &copy), "%zu more rows", n);
	tap_ok(copy.from < 0, "nothing is copied");
	tap_is_u64(cache_pages_left(p), left, "pages left");
	tap_is_u64(before - left, need, "as many as were said to be needed");
}

static void test_one(void)
{
	struct cache_pages *p = pool();
	struct cache_table t = { 0 };

	extend(p, &t, 1, 3);
	extend(p, &t, 9, 3);
	extend(p, &t, 1, 2);
	extend(p, &t, 0, 2);
	tap_is_u64(t.n, 2, "pages of the table");
	tap_is_i64(cache_table_slot(p, &t, 9), t.pages[0] * SLOTS + 9, "the last row of a page");
	tap_is_i64(cache_table_slot(p, &t, 10), t.pages[1] * SLOTS, "the first of the next");
	tap_ok(t.pages[0] != t.pages[1], "which is another one");
	cache_table_cut(p, &t, 10);
	tap_is_u64(cache_pages_left(p), 3, "cut to a page");
	cache_table_cut(p, &t, 20);
	tap_is_u64(t.length, 10, "nothing to cut");
	cache_table_free(p, &t);
	tap_is_u64(cache_pages_left(p), PAGES, "all are left");
	cache_pages_free(p);
}

static void test_full(void)
{
	struct cache_pages *p = pool();
	struct cache_table t = { 0 };
	struct cache_copy copy;

	extend(p, &t, PAGES * SLOTS, 0);
	tap_fails(cache_table_extend(p, &t, 1, &copy), ERR_LIMIT, "full: 4 pages of 10", "no more");
	tap_is_u64(t.length, PAGES * SLOTS, "nothing changed");
	cache_table_free(p, &t);
	cache_pages_free(p);
}

static void test_shared(void)
{
	struct cache_pages *p = pool();
	struct cache_table a = { 0 }, b = { 0 };
	struct cache_copy copy;
	int32_t second;

	extend(p, &a, 15, 2);
	second = a.pages[1];
	tap_works(cache_table_share(p, &b, &a, 13), "its first 13 rows");
	tap_is_u64(cache_pages_left(p), 2, "no page was taken");
	tap_ok(b.n == 2 && b.pages[0] == a.pages[0] && b.pages[1] == second, "the same pages");
	tap_is_u64(cache_table_need(p, &b, 1), 1, "one row more takes a page");
	tap_works(cache_table_extend(p, &b, 1, &copy), "one row more");
	tap_ok(copy.from == second && copy.to == b.pages[1] && copy.rows == 3,
	       "three rows are copied from %d to %d", copy.from, copy.to);
	tap_ok(a.pages[1] == second && b.pages[1] != second, "the page is its own");
	tap_is_u64(cache_pages_left(p), 1, "a page was taken");
	extend(p, &a, 1, 1);
	cache_table_free(p, &a);
	tap_is_u64(cache_pages_left(p), 2, "what both have stays");
	extend(p, &b, 1, 2);
	cache_table_free(p, &b);
	tap_is_u64(cache_pages_left(p), PAGES, "all are left");
	cache_pages_free(p);
}

int main(void)
{
	tap_run(test_one);
	tap_run(test_full);
	tap_run(test_shared);
	return tap_done();
}
