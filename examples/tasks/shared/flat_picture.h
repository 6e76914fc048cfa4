/*
 * Pictures of tasks in the plane: discs and bars on a light ground, edges blended over a pixel.
 */
#ifndef TASKS_FLAT_PICTURE_H
#define TASKS_FLAT_PICTURE_H

#include <stddef.h>
#include <stdint.h>

/* All points within `radius` of the segment from `from` to `to`: a disc where both are the same. */
typedef struct flat_shape {
    double from[2], to[2];
    double radius;
    double rgb[3]; /* 0 … 1 */
    double alpha;  /* 1: opaque */
} flat_shape;

/*
 * Shapes [n], later ones on top, into rgb [height, width, 3]. The origin is in the middle, y points
 * up, and `view` is half the extent of the shorter side.
 */
void flat_picture_draw(size_t n, const flat_shape *shapes, double view, int32_t width,
                       int32_t height, uint8_t *rgb);

#endif
