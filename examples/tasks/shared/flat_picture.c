/*
 * Each pixel takes the ground's colour, then of each shape the share that covers it.
 */
#include "flat_picture.h"

#include <math.h>

static const double GROUND[3] = { 0.95, 0.955, 0.965 };

/* Distance of a point from the segment of a shape. */
static double distance(const flat_shape *s, double x, double y)
{
    const double dx = s->to[0] - s->from[0], dy = s->to[1] - s->from[1];
    const double length2 = dx * dx + dy * dy;
    const double along = (x - s->from[0]) * dx + (y - s->from[1]) * dy;
    const double share = length2 > 0.0 ? fmin(fmax(along / length2, 0.0), 1.0) : 0.0;
    return hypot(x - s->from[0] - share * dx, y - s->from[1] - share * dy);
}

void flat_picture_draw(size_t n, const flat_shape *shapes, double view, int32_t width,
                       int32_t height, uint8_t *rgb)
{
    const double pixel = 2.0 * view / (width < height ? width : height);
    for (int32_t row = 0; row < height; row++)
        for (int32_t column = 0; column < width; column++, rgb += 3) {
            const double x = (column + 0.5 - 0.5 * width) * pixel;
            const double y = (0.5 * height - row - 0.5) * pixel;
            double colour[3] = { GROUND[0], GROUND[1], GROUND[2] };
            for (size_t i = 0; i < n; i++) {
                const flat_shape *s = &shapes[i];
                const double inside = (s->radius - distance(s, x, y)) / pixel + 0.5;
                const double share = s->alpha * fmin(fmax(inside, 0.0), 1.0);
                for (int k = 0; k < 3; k++)
                    colour[k] += share * (s->rgb[k] - colour[k]);
            }
            for (int k = 0; k < 3; k++)
                rgb[k] = (uint8_t)(255.0 * colour[k] + 0.5);
        }
}
