/*
 * Pictures without a display: through EGL, or OSMesa when there is no EGL.
 *
 * A picture has a model and data of its own: marks stand in that model, since the environments
 * share theirs, and drawing leaves the episode as it was.
 */
#ifndef TASKS_PICTURE_H
#define TASKS_PICTURE_H

#include <mujoco/mujoco.h>
#include <tce/status.h>

/* From where a picture is taken. */
typedef struct picture_view {
    const char *camera;       /* of the model; NULL: the rest says where it is */
    double center[3];         /* in the middle, m */
    double extent;            /* m; the camera is 1.5 times that away */
    float azimuth, elevation; /* where it looks, degrees */
    const char *mark;         /* body that is drawn larger; NULL: none */
    double mark_scale;        /* how much larger */
    /* m; not 0: a light floor without mirror images that fades into the sky, shadows that far */
    double light_ground;
} picture_view;

typedef struct picture picture;

/* `view` must stay. */
tce_status picture_open(const mjModel *model, const picture_view *view, picture **out);
void picture_free(picture *p); /* NULL is fine */

/* Its own model, and how a body is put elsewhere in it; quaternion NULL: as it is. */
mjModel *picture_model(picture *p);
void picture_place(mjModel *model, const char *body, const double *position,
                   const double *quaternion);

/*
 * The positions of data: rgb [height, width, 3], top row first. TCE_E_NOT_FOUND:
 * neither EGL nor OSMesa, the message names the Debian package.
 */
tce_status picture_draw(picture *p, const mjData *data, int32_t width, int32_t height,
                        uint8_t *rgb);

#endif
