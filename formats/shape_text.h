/* formats/shape_text.h - a tensor's shape for people: `49152x576`, `scalar` */
#ifndef FORMATS_SHAPE_TEXT_H
#define FORMATS_SHAPE_TEXT_H

#include "formats/tensor_info.h"

#define SHAPE_TEXT (TENSOR_DIMS_MAX * 21 + 8)

/* Returns OUT. */
char *shape_text(const struct tensor_info *t, char out[SHAPE_TEXT]);

#endif
