/*
 * The fifty Metaworld tasks: a Sawyer arm, moved by a mocap body that its hand is welded to, opens,
 * pushes, picks and places. Models of the package metaworld.
 *
 * A task is a row of data with two functions: what its reset does after the hand has been brought
 * to its place, and its reward. list.h says which file has the row of a task; env.c, reset.c and
 * scene.c are the machinery.
 *
 * Letters, here and in the rows: c tool centre, c0 the same when the hand had been reset; h hand, g
 * opening of the gripper, p, q position and quaternion of the object as observed, p2 those of a
 * second one; o0 initial position of the object, T target; v the random vector of the episode.
 */
#ifndef METAWORLD_METAWORLD_H
#define METAWORLD_METAWORLD_H

#include "../shared/task.h"
#include "rewards.h"
#include "state.h"

enum { MW_MAX_PARTS = 6, MW_MAX_RANDOM = 6 };

typedef struct mw_env mw_env;

/* A named thing of the model whose position is looked at; for a joint the coordinate. */
typedef struct mw_part {
    mjtObj type; /* mjOBJ_BODY, mjOBJ_SITE, mjOBJ_GEOM, mjOBJ_JOINT */
    const char *name;
} mw_part;

#define MW_BODY(name)    \
    {                    \
        mjOBJ_BODY, name \
    }
#define MW_SITE(name)    \
    {                    \
        mjOBJ_SITE, name \
    }
#define MW_GEOM(name)    \
    {                    \
        mjOBJ_GEOM, name \
    }
#define MW_JOINT(name)    \
    {                     \
        mjOBJ_JOINT, name \
    }

/* How an observed object's orientation is told. */
typedef enum mw_turn {
    MW_TURN_NONE,  /* zeros */
    MW_TURN_UNIT,  /* 1, 0, 0, 0 */
    MW_TURN_BODY,  /* the body's quaternion, w x y z */
    MW_TURN_MATRIX /* from the rotation matrix, x y z w */
} mw_turn;

/* An object of the observation. */
typedef struct mw_object {
    mw_part at;
    double offset[3];
    mw_turn turn;
    mw_part of; /* whose orientation */
    /* the position, where it is computed in another way */
    void (*locate)(const mw_env *env, double *out_pos);
} mw_object;

typedef enum mw_goal {
    MW_GOAL_MOCAP,  /* the mocap body's box */
    MW_GOAL_SECOND, /* the box of v's second part */
    MW_GOAL_BOX     /* one of its own */
} mw_goal;

/* What the task's fixture is put onto: a part of v, plus an offset. */
typedef enum mw_from { MW_FROM_NOTHING, MW_FROM_FIRST, MW_FROM_SECOND } mw_from;

/* What episodic black-box methods see of the first observation. */
typedef enum mw_context { MW_SEES_OBJECT_GOAL, MW_SEES_GOAL, MW_SEES_HAND_GOAL } mw_context;

/* The outcome of a step. */
typedef struct mw_result {
    double reward;
    int success;
    double distance;
} mw_result;

/*
 * Numbers with an f, 0.6f, are single precision in the original too: written as 0.6 they would
 * differ in the eighth digit.
 */
typedef struct mw_task {
    const char *xml;
    double hand[3];      /* H0: where a reset brings the mocap body */
    double mocap_low[3]; /* lower corner of the mocap body's box; zeros: the usual one */
    int n_random;        /* numbers in v: 3 or 6 */
    double low[MW_MAX_RANDOM], high[MW_MAX_RANDOM];
    /* v is drawn again while its two parts are nearer than this in the plane */
    double apart;
    const double *apart_from;         /* this point instead of the second part */
    mw_goal goal;                     /* what the observed goal is clipped to */
    double goal_low[3], goal_high[3]; /* for MW_GOAL_BOX */
    mw_object objects[2];
    /* further things that reset and reward look at: part(env, i) */
    mw_part parts[MW_MAX_PARTS];
    const char *fixture; /* body that a reset puts elsewhere in the model; NULL: none */
    mw_from fixture_from;
    double fixture_offset[3];
    int n_extra;    /* numbers of env->extra that the task uses */
    int v2_forward; /* profile 2 has one more mj_forward before the first observation */
    mw_cage_numbers cage;
    mw_context context;
    void (*reset)(mw_env *env, const double *v);
    void (*reward)(mw_env *env, const mw_scene *s, mw_result *out);
} mw_task;

struct mw_env {
    mujoco_env base;
    const mw_task *task;
    mjModel model; /* the shared one with body_pos and eq_data of its own */
    double *body_pos, *eq_data;
    mjData *data;

    double profile; /* options: 2 or 3 */
    int hidden_goal;

    const double *mocap_low, *mocap_high, *goal_low, *goal_high;
    const double *part[MW_MAX_PARTS]; /* positions in data */
    const double *object_at[2];       /* NULL: none, or computed */
    const double *object_turn[2];     /* quaternion or matrix */
    const double *hand, *claw[2], *pad[2], *tool[2], *finger;
    int fixture;    /* body, or -1 */
    int mocap_body; /* 0: step_after_forward may not be used */

    /* of the episode */
    /* everything in data belongs to the present state: the last call was mj_forward */
    int forwarded;
    double v[MW_MAX_RANDOM];
    mw_state s;
    double *T, *c0, *o0, *extra; /* in s */
};

enum { MW_N_SUB = 5 }; /* physics steps of a control step */

/* ---- the machinery --------------------------------------------------------------------------- */

/* env.c: the description of them all; a table's variant is the row of its task */
extern const mujoco_task METAWORLD;

/*
 * scene.c: the frame as the simulation stands; the observation of a reset, and that of a step,
 * which is clipped; reward, success and distance of the present state after s.action
 */
void mw_read_frame(const mw_env *env, double *out);
void mw_observe(const void *instance, double *out);
void mw_judge(mw_env *env);
void mw_tool_centre(const mw_env *env, double *out);

/* reset.c */
void mw_reset(void *instance, tce_random *random);
void mw_put_mocap(mw_env *env, const double *position);

/* ---- what resets are made of: called by a task's reset, in the order that its description has  */

/* Position of part i; the coordinate of a joint. */
static inline const double *part(const mw_env *env, int i)
{
    return env->part[i];
}

/* The observed position of the first object, as it stands in the simulation. */
void mw_locate(const mw_env *env, double *out);
/* Puts the fixture where this episode wants it. Takes effect at the next forward. */
void mw_put_fixture(mw_env *env);
void mw_forward(mw_env *env);
/* Five physics steps. */
void mw_settle(mw_env *env);
/*
 * qpos[at] ... := x [n], `m` velocities from qvel[still] on := 0, forward. In all models but the
 * coffee machine's the arm and the fingers come first: MW_FIRST is the first coordinate of the
 * task's own things, there with the same number in qvel.
 */
enum { MW_FIRST = 9, MW_N_FREE = 6 /* velocities of a free object */ };
void mw_place(mw_env *env, int at, int n, const double *x, int still, int m);
/* The task's own joint to x, at rest. */
static inline void mw_set_joint(mw_env *env, double x)
{
    mw_place(env, MW_FIRST, 1, &x, MW_FIRST, 1);
}
/* A free object to x, its orientation as it is. */
static inline void mw_place_free(mw_env *env, const double *x)
{
    mw_place(env, MW_FIRST, 3, x, MW_FIRST, MW_N_FREE);
}

/* buttons.c: the reward of a button that is pressed into what it sits in. */
void mw_reward_button_press(mw_env *env, const mw_scene *s, mw_result *out);

/* Whether both pads press against a geom. */
int mw_both_pads_press(const mw_env *env, const char *geom);

static inline void mw_point(double *out, double x, double y, double z)
{
    out[0] = x;
    out[1] = y;
    out[2] = z;
}

/* out = a + (x, y, z) */
static inline void mw_offset(double *out, const double *a, double x, double y, double z)
{
    mw_point(out, a[0] + x, a[1] + y, a[2] + z);
}

static inline void mw_copy(double *out, const double *a)
{
    mw_offset(out, a, 0.0, 0.0, 0.0);
}

#endif
