/*
 * Pictures without a display. OpenGL comes from EGL without a surface (Mesa's llvmpipe on a machine
 * without a graphics card), else from OSMesa; both are looked for when the first picture is asked
 * for, so that training needs neither.
 *
 * An OpenGL context belongs to one thread at a time: it is made current for a picture and given
 * back afterwards.
 */
#include "picture.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "model.h"

#define MAX_GEOMS 1000
/* light grounds: of 255 */
#define FLOOR 175.0
#define FLOOR_CONTRAST 9.0
#define SKY 228.0
#define LAMP_HEIGHT 3.0 /* m */

/* ---- EGL: the few declarations that are used here, so that no header has to be installed ----- */

typedef void *egl_handle;

enum {
    EGL_NONE = 0x3038,
    EGL_SURFACE_TYPE = 0x3033,
    EGL_PBUFFER_BIT = 0x0001,
    EGL_RENDERABLE_TYPE = 0x3040,
    EGL_OPENGL_BIT = 0x0008,
    EGL_DEPTH_SIZE = 0x3025,
    EGL_OPENGL_API = 0x30A2,
    EGL_PLATFORM_SURFACELESS = 0x31DD,
    EGL_PLATFORM_DEVICE = 0x313F
};

enum { OSMESA_RGBA = 0x1908, GL_UNSIGNED_BYTE = 0x1401 };

typedef struct egl_functions {
    egl_handle (*get_display)(void *native);
    egl_handle (*get_platform_display)(unsigned platform, void *native, const intptr_t *attributes);
    unsigned (*initialize)(egl_handle display, int32_t *major, int32_t *minor);
    unsigned (*bind_api)(unsigned api);
    unsigned (*choose_config)(egl_handle display, const int32_t *attributes, egl_handle *configs,
                              int32_t size, int32_t *n);
    egl_handle (*create_context)(egl_handle display, egl_handle config, egl_handle share,
                                 const int32_t *attributes);
    unsigned (*make_current)(egl_handle display, egl_handle draw, egl_handle read,
                             egl_handle context);
    unsigned (*destroy_context)(egl_handle display, egl_handle context);
} egl_functions;

typedef struct osmesa_functions {
    void *(*create)(unsigned format, int depth_bits, int stencil_bits, int accumulation_bits,
                    void *share);
    unsigned char (*make_current)(void *context, void *buffer, unsigned type, int width,
                                  int height);
    void (*destroy)(void *context);
} osmesa_functions;

typedef struct mujoco_renderer {
    const mjModel *model;
    egl_functions egl;
    egl_handle display, context; /* EGL's, or context alone: OSMesa's */
    osmesa_functions osmesa;
    /* what OSMesa takes for its screen; pictures are drawn into MuJoCo's own buffer */
    uint8_t pixel[4];
    int32_t width, height;
    int has_scene, has_gl;
    mjvScene scene;
    mjvOption option;
    mjvCamera camera;
    mjrContext gl;
} mujoco_renderer;

/*
 * ISO C has no cast from a data pointer to a function pointer; POSIX says that their bytes are the
 * same.
 */
static int find_function(void *library, const char *name, void *function)
{
    void *const symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static int load_egl(egl_functions *egl)
{
    /* MuJoCo looks for eglGetProcAddress among the global symbols */
    void *library = dlopen("libEGL.so.1", RTLD_LAZY | RTLD_GLOBAL);
    return library && find_function(library, "eglGetDisplay", &egl->get_display) &&
           find_function(library, "eglGetPlatformDisplay", &egl->get_platform_display) &&
           find_function(library, "eglInitialize", &egl->initialize) &&
           find_function(library, "eglBindAPI", &egl->bind_api) &&
           find_function(library, "eglChooseConfig", &egl->choose_config) &&
           find_function(library, "eglCreateContext", &egl->create_context) &&
           find_function(library, "eglMakeCurrent", &egl->make_current) &&
           find_function(library, "eglDestroyContext", &egl->destroy_context);
}

/*
 * A context on the first display that has one: no surface at all (Mesa), a device (vendors'
 * drivers), whatever is the default.
 */
static int open_egl(mujoco_renderer *r)
{
    static const int32_t WANT[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
                                    EGL_OPENGL_BIT,   EGL_DEPTH_SIZE,  24,
                                    EGL_NONE };
    static const unsigned PLATFORMS[] = { EGL_PLATFORM_SURFACELESS, EGL_PLATFORM_DEVICE, 0 };
    if (!load_egl(&r->egl))
        return 0;
    for (size_t i = 0; i < sizeof PLATFORMS / sizeof PLATFORMS[0]; i++) {
        egl_handle config;
        int32_t n = 0;
        r->display = PLATFORMS[i] ? r->egl.get_platform_display(PLATFORMS[i], NULL, NULL)
                                  : r->egl.get_display(NULL);
        if (!r->display || !r->egl.initialize(r->display, NULL, NULL) ||
            !r->egl.bind_api(EGL_OPENGL_API))
            continue;
        if (!r->egl.choose_config(r->display, WANT, &config, 1, &n) || n < 1)
            continue;
        r->context = r->egl.create_context(r->display, config, NULL, NULL);
        if (r->context)
            return 1;
    }
    r->display = NULL;
    return 0;
}

static int open_osmesa(mujoco_renderer *r)
{
    static const char *const NAMES[] = { "libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so" };
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof NAMES / sizeof NAMES[0]; i++)
        library = dlopen(NAMES[i], RTLD_LAZY | RTLD_GLOBAL);
    if (!library || !find_function(library, "OSMesaCreateContextExt", &r->osmesa.create) ||
        !find_function(library, "OSMesaMakeCurrent", &r->osmesa.make_current) ||
        !find_function(library, "OSMesaDestroyContext", &r->osmesa.destroy))
        return 0;
    r->context = r->osmesa.create(OSMESA_RGBA, 24, 8, 0, NULL);
    return r->context != NULL;
}

static tce_status enter(mujoco_renderer *r)
{
    const int fine = r->display ? r->egl.make_current(r->display, NULL, NULL, r->context) != 0
                                : r->osmesa.make_current(r->context, r->pixel, GL_UNSIGNED_BYTE, 1,
                                                         1) != 0;
    return fine ? TCE_OK : tce_fail(TCE_E_ENV, "OpenGL cannot be used in this thread");
}

static void leave(mujoco_renderer *r)
{
    if (r->display)
        r->egl.make_current(r->display, NULL, NULL, NULL);
    else
        r->osmesa.make_current(NULL, NULL, 0, 0, 0);
}

/* Scene and OpenGL objects of the model; the context is current. */
static void make_scene(void *context)
{
    mujoco_renderer *r = context;
    mjv_defaultScene(&r->scene);
    mjv_makeScene(r->model, &r->scene, MAX_GEOMS);
    r->has_scene = 1;
    mjv_defaultOption(&r->option);
    mjr_defaultContext(&r->gl);
    mjr_makeContext(r->model, &r->gl, mjFONTSCALE_100);
    r->has_gl = 1;
}

static void free_renderer(mujoco_renderer *r)
{
    if (!r)
        return;
    if (r->has_gl && enter(r) == TCE_OK) {
        mjr_freeContext(&r->gl);
        leave(r);
    }
    if (r->has_scene)
        mjv_freeScene(&r->scene);
    if (r->context && r->display)
        r->egl.destroy_context(r->display, r->context);
    else if (r->context)
        r->osmesa.destroy(r->context);
    free(r);
}

static tce_status create_renderer(const mjModel *model, const picture_view *view,
                                  mujoco_renderer **out)
{
    const char *camera = view->camera;
    mujoco_renderer *r = calloc(1, sizeof *r);
    if (!r)
        return tce_fail(TCE_E_NOMEM, "no memory for pictures");
    r->model = model;
    tce_status status = TCE_OK;
    mjv_defaultFreeCamera(model, &r->camera);
    if (camera) {
        r->camera.type = mjCAMERA_FIXED;
        status = model_find(model, mjOBJ_CAMERA, camera, &r->camera.fixedcamid);
    }
    if (status == TCE_OK && !open_egl(r) && !open_osmesa(r))
        status = tce_fail(
            TCE_E_NOT_FOUND,
            "pictures need OpenGL without a display, and there is none: install the Debian "
            "packages libegl1 and libgl1-mesa-dri (or libosmesa6)");
    if (status == TCE_OK)
        status = enter(r);
    if (status == TCE_OK) {
        status = mujoco_try(make_scene, r);
        r->scene.flags[mjRND_FOG] = view->light_ground > 0.0;
        leave(r);
    }
    if (status != TCE_OK) {
        free_renderer(r);
        return status;
    }
    *out = r;
    return TCE_OK;
}

typedef struct draw_job {
    mujoco_renderer *renderer;
    mjData *data;
    int32_t width, height;
    uint8_t *rgb;
} draw_job;

static void draw(void *context)
{
    const draw_job *job = context;
    mujoco_renderer *r = job->renderer;
    if (r->width != job->width || r->height != job->height) {
        mjr_resizeOffscreen(job->width, job->height, &r->gl);
        r->width = job->width;
        r->height = job->height;
    }
    /* what a step leaves to be derived */
    mj_kinematics(r->model, job->data);
    mj_comPos(r->model, job->data);
    mj_camlight(r->model, job->data);

    const mjrRect whole = { 0, 0, job->width, job->height };
    mjr_setBuffer(mjFB_OFFSCREEN, &r->gl);
    mjv_updateScene(r->model, job->data, &r->option, NULL, &r->camera, mjCAT_ALL, &r->scene);
    mjr_render(whole, &r->scene, &r->gl);
    mjr_readPixels(job->rgb, NULL, whole, &r->gl);
}

/* OpenGL's first row is the lowest. */
static void flip(int32_t width, int32_t height, uint8_t *rgb)
{
    const size_t row = (size_t)width * 3;
    for (int32_t y = 0; y < height / 2; y++) {
        uint8_t *a = rgb + (size_t)y * row;
        uint8_t *b = rgb + (size_t)(height - 1 - y) * row;
        for (size_t i = 0; i < row; i++) {
            const uint8_t keep = a[i];
            a[i] = b[i];
            b[i] = keep;
        }
    }
}

/* A picture of the data; the renderer is made for the first. */
static tce_status render(mujoco_renderer **renderer, const mjModel *model, mjData *data,
                         const picture_view *view, int32_t width, int32_t height, uint8_t *rgb)
{
    tce_status status = TCE_OK;
    if (!*renderer)
        status = create_renderer(model, view, renderer);
    if (status == TCE_OK)
        status = enter(*renderer);
    if (status != TCE_OK)
        return status;
    draw_job job = { *renderer, data, width, height, rgb };
    status = mujoco_try(draw, &job);
    leave(*renderer);
    flip(width, height, rgb);
    return status;
}

/* ---- pictures of tasks ----------------------------------------------------------------------- */

struct picture {
    const mjModel *source;
    const picture_view *view;
    mjModel *model; /* a copy */
    mjData *data;
    mujoco_renderer *renderer;
};

/* A texture becomes light grey and keeps its pattern, faintly. */
static void lighten(mjModel *model, int texture, double light, double contrast)
{
    const size_t n = (size_t)model->tex_height[texture] * (size_t)model->tex_width[texture] *
                     (size_t)model->tex_nchannel[texture];
    mjtByte *data = model->tex_data + model->tex_adr[texture];
    double mean = 0.0, most = 1.0;
    for (size_t i = 0; i < n; i++)
        mean += data[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        most = mju_max(most, fabs(data[i] - mean));
    for (size_t i = 0; i < n; i++)
        data[i] = (mjtByte)(light + contrast * (data[i] - mean) / most);
}

/* A floor without end, of light squares of half a metre. */
static void lighten_floor(mjModel *model, int geom)
{
    const int material = model->geom_matid[geom];
    const int texture = material < 0 ? -1 : model->mat_texid[mjNTEXROLE * material + mjTEXROLE_RGB];
    if (texture < 0)
        return;
    lighten(model, texture, FLOOR, FLOOR_CONTRAST);
    model->mat_texuniform[material] = 1;
    model->mat_texrepeat[2 * material] = model->mat_texrepeat[2 * material + 1] = 1.0F;
    model->geom_size[3 * geom] = model->geom_size[3 * geom + 1] = 0.0;
    for (int k = 0; k < 3; k++)
        model->geom_rgba[4 * geom + k] = model->mat_rgba[4 * material + k] = 1.0F;
}

/*
 * For models that show mirror images and fine black squares up to the horizon. Their lamps are so
 * low that parts of an arm are above them, and light only the middle; both leaves specks.
 */
static void lighten_ground(mjModel *model, double shadows)
{
    for (int i = 0; i < model->ntex; i++)
        if (model->tex_type[i] == mjTEXTURE_SKYBOX)
            lighten(model, i, SKY, 0.0);
    for (int i = 0; i < model->nmat; i++)
        model->mat_reflectance[i] = 0.0F;
    for (int i = 0; i < model->ngeom; i++)
        if (model->geom_type[i] == mjGEOM_PLANE)
            lighten_floor(model, i);
    for (int i = 0; i < model->nlight; i++)
        model->light_pos[3 * i + 2] = mju_max(model->light_pos[3 * i + 2], LAMP_HEIGHT);
    model->vis.map.shadowclip = (float)(shadows / model->stat.extent);
    for (int k = 0; k < 3; k++)
        model->vis.rgba.fog[k] = (float)(SKY / 255.0);
    model->vis.map.fogstart = 3.0F;
    model->vis.map.fogend = 8.0F;
}

/* Where the camera is, and the mark's size. */
static void arrange(mjModel *model, const picture_view *view)
{
    const int mark = view->mark ? mj_name2id(model, mjOBJ_BODY, view->mark) : -1;
    if (!view->camera) {
        mju_copy3(model->stat.center, view->center);
        model->stat.extent = view->extent;
        model->vis.global.azimuth = view->azimuth;
        model->vis.global.elevation = view->elevation;
    }
    if (view->light_ground > 0.0)
        lighten_ground(model, view->light_ground);
    for (int i = 0; i < model->nsite; i++)
        if (model->site_bodyid[i] == mark)
            mju_scl3(model->site_size + 3 * i, model->site_size + 3 * i, view->mark_scale);
    for (int i = 0; i < model->ngeom; i++)
        if (model->geom_bodyid[i] == mark)
            mju_scl3(model->geom_size + 3 * i, model->geom_size + 3 * i, view->mark_scale);
}

static void build(void *context)
{
    picture *p = context;
    p->model = mj_copyModel(NULL, p->source);
    if (!p->model)
        return;
    arrange(p->model, p->view);
    p->data = mj_makeData(p->model);
}

tce_status picture_open(const mjModel *model, const picture_view *view, picture **out)
{
    picture *p = calloc(1, sizeof *p);
    if (!p)
        return tce_fail(TCE_E_NOMEM, "no memory for a picture");
    p->source = model;
    p->view = view;
    tce_status status = mujoco_try(build, p);
    if (status == TCE_OK && !p->data)
        status = tce_fail(TCE_E_NOMEM, "no memory for the model of a picture");
    if (status == TCE_OK)
        *out = p;
    else
        picture_free(p);
    return status;
}

mjModel *picture_model(picture *p)
{
    return p->model;
}

void picture_place(mjModel *model, const char *body, const double *position,
                   const double *quaternion)
{
    const int i = mj_name2id(model, mjOBJ_BODY, body);
    if (i < 0)
        return;
    mju_copy3(model->body_pos + 3 * i, position);
    if (quaternion)
        mju_copy4(model->body_quat + 4 * i, quaternion);
}

tce_status picture_draw(picture *p, const mjData *data, int32_t width, int32_t height, uint8_t *rgb)
{
    if (width < 1 || height < 1)
        return tce_fail(TCE_E_VALUE, "a picture of %d x %d pixels", (int)width, (int)height);
    mju_copy(p->data->qpos, data->qpos, p->model->nq);
    mju_copy(p->data->mocap_pos, data->mocap_pos, 3 * p->model->nmocap);
    mju_copy(p->data->mocap_quat, data->mocap_quat, 4 * p->model->nmocap);
    return render(&p->renderer, p->model, p->data, p->view, width, height, rgb);
}

void picture_free(picture *p)
{
    if (!p)
        return;
    free_renderer(p->renderer);
    mj_deleteData(p->data);
    mj_deleteModel(p->model);
    free(p);
}
