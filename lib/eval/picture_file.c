/* lib/eval/picture_file.c - what is drawn with cairo becomes a PNG or an SVG */

#include <cairo-svg.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/outfile.h"
#include "lib/eval/picture_parts.h"

static cairo_status_t write_some(void *closure, const unsigned char *data, unsigned n)
{
	return outfile_write(closure, data, n) < 0 ? CAIRO_STATUS_WRITE_ERROR
						   : CAIRO_STATUS_SUCCESS;
}

static bool ends_with(const char *path, const char *end)
{
	size_t n = strlen(path), m = strlen(end);

	return n > m && strcmp(path + n - m, end) == 0;
}

/* The status of what was drawn; of a write that failed the error is set already. */
static int checked(cairo_status_t status, const char *path)
{
	if (status == CAIRO_STATUS_SUCCESS)
		return 0;
	if (status == CAIRO_STATUS_WRITE_ERROR)
		return -1;
	return err_set(ERR_MEMORY, "%s: cairo: %s", path, cairo_status_to_string(status));
}

static void draw_page(cairo_t *c, picture_drawer *draw, const void *arg)
{
	picture_color(c, 0xffffff);
	cairo_paint(c);
	cairo_select_font_face(c, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
	draw(c, arg);
}

static int draw_to(struct outfile *f, cairo_surface_t *s, bool svg, picture_drawer *draw,
		   const void *arg)
{
	cairo_t *c = cairo_create(s);
	cairo_status_t status;

	draw_page(c, draw, arg);
	status = cairo_status(c);
	cairo_destroy(c);
	if (!svg && status == CAIRO_STATUS_SUCCESS)
		status = cairo_surface_write_to_png_stream(s, write_some, f);
	cairo_surface_finish(s);
	if (status == CAIRO_STATUS_SUCCESS)
		status = cairo_surface_status(s);
	cairo_surface_destroy(s);
	return checked(status, outfile_path(f));
}

int picture_write(const char *path, double width, double height, picture_drawer *draw,
		  const void *arg)
{
	bool svg = ends_with(path, ".svg");
	cairo_surface_t *s;
	struct outfile *f;

	if (!svg && !ends_with(path, ".png"))
		return err_set(ERR_ARGUMENT, "%s: a picture's name ends in .png or .svg", path);
	if (outfile_new(&f, path) < 0)
		return -1;
	s = svg ? cairo_svg_surface_create_for_stream(write_some, f, width, height)
		: cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
	if (draw_to(f, s, svg, draw, arg) == 0)
		return outfile_commit(f);
	outfile_discard(f);
	return -1;
}
