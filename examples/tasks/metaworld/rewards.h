/*
 * The formulas that the rewards of the Metaworld tasks are made of, and those that move the hand.
 * Without MuJoCo: tests call them directly.
 *
 * Points are [3], in metres; quaternions are [4]. A call with arguments that make no sense (a
 * negative margin, a factor outside of 0 ... 1) returns NaN, which ends the episode where the
 * reward is looked at.
 */
#ifndef METAWORLD_REWARDS_H
#define METAWORLD_REWARDS_H

/* ---- distances ------------------------------------------------------------------------------- */

double mw_distance(const double *a, const double *b);
double mw_distance_xy(const double *a, const double *b);
double mw_distance_xz(const double *a, const double *b);
/* |s * (a - b)|, element by element. */
double mw_distance_scaled(const double *s, const double *a, const double *b);
double mw_clip(double x, double low, double high);

/* ---- tolerance and its friends --------------------------------------------------------------- */

/* How a tolerance falls from 1 outside of its bounds; it has 0.1 left a margin away from them. */
typedef enum mw_sigmoid {
    MW_LONG_TAIL,
    MW_GAUSSIAN,
    MW_HYPERBOLIC,
    MW_RECIPROCAL,
    MW_COSINE,
    MW_LINEAR,
    MW_QUADRATIC,
    MW_TANH_SQUARED
} mw_sigmoid;

/* 1 for low <= x <= high, outside less and less; with margin 0 nothing. */
double mw_tolerance(mw_sigmoid sigmoid, double x, double low, double high, double margin);
/* The two that the tasks use, for 0 <= x <= high. */
double mw_near(double x, double high, double margin);       /* long tail */
double mw_near_gauss(double x, double high, double margin); /* gaussian */

/* The Hamacher product a b / (a + b - a b) of two numbers in 0 ... 1. */
double mw_hamacher(double a, double b);
/*
 * In the box with the opposite corners zero and one: the product of how far x is from zero to one
 * along each axis. Elsewhere 1.
 */
double mw_prism(const double *x, const double *zero, const double *one);
/* Height of a funnel of radius r: 0 inside of `inner`, beyond it slope ln(r - inner) + height. */
double mw_funnel(double r, double inner, double slope, double height);
/* max(1 - |q - ideal| / width, 0) */
double mw_upright(const double *q, const double *ideal, double width);
/* Quaternion (x, y, z, w) of a rotation matrix [3, 3]; the sign is that of the formula. */
void mw_quaternion_xyzw(const double *matrix, double *out);

/* ---- how well the gripper holds an object ---------------------------------------------------- */

/*
 * What the rewards see of a step. Pointers lead into the observation, as it was clipped, and into
 * the simulation.
 */
typedef struct mw_scene {
    const double *h;            /* hand */
    double g;                   /* opening of the gripper, 0 ... 1 */
    const double *p, *q;        /* first object: position, quaternion */
    const double *p2;           /* second object */
    double grip;                /* the action's gripper command, as it was asked for */
    double c[3];                /* tool centre */
    const double *left, *right; /* pads of the two fingers */
    const double *c0;           /* tool centre when the hand had been reset */
    const double *o0;           /* initial position of the object */
    const double *T;            /* target */
} mw_scene;

/* What comes on top of the product of caging and gripping. */
typedef enum mw_density { MW_PLAIN, MW_MEDIUM, MW_HIGH } mw_density;

typedef struct mw_cage_numbers {
    /* radius of the object; the pads should be nearer than `reach` and not nearer than this */
    double object;
    double reach;
    double near;   /* distance of the tool that counts as being there; for MW_MEDIUM */
    double width;  /* the same in the plane of x and z */
    double effort; /* gripper command that counts as holding */
    mw_density density;
} mw_cage_numbers;

/*
 * Both pads beside the object at P, the tool around it, the gripper closing. base: where the object
 * was at the start.
 */
double mw_cage(const mw_scene *s, const mw_cage_numbers *n, const double *P, const double *base);
/* The forms of pick-place, and of pushing with the pads around the object. */
double mw_cage_pick(const mw_scene *s, const double *P);
double mw_cage_push(const mw_scene *s, const double *P, double object, double slack, double width);

/* ---- the hand -------------------------------------------------------------------------------- */

enum { MW_N_ACTION = 4 };

/*
 * Action that follows a desired position of the hand and gripper command, [4] each, from where the
 * mocap body is.
 */
void mw_follow(const double *desired, const double *mocap, double *out_action);
/* The mocap body after an action, inside of its box. */
void mw_move_mocap(const double *action, const double *low, const double *high, double *mocap);

#endif
