/*
 * scripts/png-colors.c - the size of a picture and its most frequent colors
 *
 *	png-colors FILE.png [N]
 *
 * prints `WIDTH HEIGHT COLORS`, then N lines (16) of `rrggbb PIXELS`. For scripts/check-html, which has no other
 * way to see what a browser drew. Reads what browsers write: 8 bits, RGB or RGBA, not interlaced (PNG specification, third
 * edition, sections 5, 7 and 9).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define SIDE_MAX 16384u

struct color {
	uint32_t rgb, pixels;
};

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "png-colors: %s\n", what);
	exit(2);
}

static void *need(size_t n)
{
	void *p = calloc(n, 1);

	if (!p)
		fail("out of memory");
	return p;
}

static uint32_t be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static unsigned char *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	unsigned char *data = need((size_t)64 << 20);

	if (!f)
		fail("cannot open the file");
	*size = fread(data, 1, (size_t)64 << 20, f);
	fclose(f);
	return data;
}

/* The bytes of all IDAT chunks, joined at the start of DATA. */
static size_t join_chunks(unsigned char *data, size_t size)
{
	size_t joined = 0;

	for (size_t at = 8; size - at >= 12;) {
		size_t n = be32(data + at);
		int is_data = memcmp(data + at + 4, "IDAT", 4) == 0;

		if (n > size - at - 12)
			fail("a chunk is cut");
		if (is_data) {
			memmove(data + joined, data + at + 8, n);
			joined += n;
		}
		at += n + 12;
	}
	return joined;
}

static int paeth(int a, int b, int c)
{
	int pa = abs(b - c), pb = abs(a - c), pc = abs(a + b - 2 * c);

	return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

/* Undoes the filter of one row; ABOVE is the row before it. */
static void unfilter(unsigned char *row, const unsigned char *above, size_t n, size_t pixel,
		     int filter)
{
	for (size_t i = 0; i < n; i++) {
		int a = i >= pixel ? row[i - pixel] : 0, b = above[i];
		int c = i >= pixel ? above[i - pixel] : 0;
		int add = filter == 1	? a
			  : filter == 2 ? b
			  : filter == 3 ? (a + b) / 2
			  : filter == 4 ? paeth(a, b, c)
					: 0;

		row[i] = (unsigned char)(row[i] + add);
	}
}

static int by_rgb(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int by_pixels(const void *a, const void *b)
{
	const struct color *x = a, *y = b;

	return x->pixels < y->pixels ? 1 : x->pixels > y->pixels ? -1 : by_rgb(&x->rgb, &y->rgb);
}

static void print_colors(uint32_t *pixels, size_t n, uint32_t width, uint32_t height, size_t most)
{
	struct color *colors = need(n * sizeof(*colors));
	size_t n_colors = 0;

	qsort(pixels, n, sizeof(*pixels), by_rgb);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || pixels[i] != pixels[i - 1])
			colors[n_colors++].rgb = pixels[i];
		colors[n_colors - 1].pixels++;
	}
	qsort(colors, n_colors, sizeof(*colors), by_pixels);
	printf("%u %u %zu\n", width, height, n_colors);
	for (size_t i = 0; i < n_colors && i < most; i++)
		printf("%06x %u\n", colors[i].rgb, colors[i].pixels);
	free(colors);
}

int main(int argc, char **argv)
{
	size_t size, n = 0, row, pixel;
	unsigned char *file, *raw, *above;
	uint32_t width, height, *pixels;
	uLongf raw_size;

	if (argc < 2)
		fail("usage: png-colors FILE.png [N]");
	file = read_file(argv[1], &size);
	if (size < 33 || memcmp(file, "\211PNG\r\n\032\n", 8) != 0)
		fail("not a PNG file");
	width = be32(file + 16);
	height = be32(file + 20);
	pixel = file[25] == 6 ? 4 : 3;
	if (width == 0 || height == 0 || width > SIDE_MAX || height > SIDE_MAX || file[24] != 8 ||
	    (file[25] != 2 && file[25] != 6) || file[28] != 0)
		fail("a kind of PNG that is not read here");
	row = width * pixel + 1;
	raw_size = (uLongf)(row * height);
	raw = need(raw_size);
	above = need(row);
	pixels = need((size_t)width * height * sizeof(*pixels));
	size = join_chunks(file, size);
	if (uncompress(raw, &raw_size, file, (uLong)size) != Z_OK || raw_size != row * height)
		fail("the pixels are damaged");
	for (uint32_t y = 0; y < height; y++) {
		unsigned char *p = raw + y * row + 1;

		unfilter(p, y ? p - row : above, row - 1, pixel, p[-1]);
		for (uint32_t x = 0; x < width; x++, p += pixel)
			pixels[n++] = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
	}
	print_colors(pixels, n, width, height, argc > 2 ? strtoul(argv[2], NULL, 10) : 16);
	free(pixels);
	free(above);
	free(raw);
	free(file);
	return 0;
}
