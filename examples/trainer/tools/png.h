/*
 * Pictures from rgb [height, width, 3].
 */
#ifndef TRAINER_PNG_H
#define TRAINER_PNG_H

#include <tce/tce.h>

/* A PNG file. TCE_E_IO, TCE_E_NOMEM. */
tce_status png_write(const char *path, int32_t width, int32_t height, const uint8_t *rgb);

#endif
