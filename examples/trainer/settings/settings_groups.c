/*
 * Groups of settings that methods share, one row per key. Defaults suit small tasks, and some wait
 * for the task (suggest.c); the presets in examples/configs set all that the paper's tasks need.
 */
#include "settings/settings.h"

#define AT(field) offsetof(settings, field)
#define ANY SETTING_ANY

/* ---- choices --------------------------------------------------------------------------------- */

static const setting_choice ON_FAULT[] = { { "fail", TCE_ROLLOUT_FAIL },
                                           { "drop", TCE_ROLLOUT_DROP },
                                           { NULL, 0 } };
static const setting_choice PRIMITIVES[] = {
    { "prodmp", TCE_MP_PRODMP }, { "promp", TCE_MP_PROMP }, { "dmp", TCE_MP_DMP }, { NULL, 0 }
};
static const setting_choice PHASES[] = { { "natural", TCE_MP_PHASE_NATURAL },
                                         { "smooth", TCE_MP_PHASE_SMOOTH },
                                         { "rhythmic", TCE_MP_PHASE_RHYTHMIC },
                                         { NULL, 0 } };
static const setting_choice BASES[] = { { "table", TCE_MP_BASIS_TABLE },
                                        { "exact", TCE_MP_BASIS_EXACT },
                                        { NULL, 0 } };
static const setting_choice COVARIANCES[] = { { "full", TCE_POLICY_FULL_SHARED },
                                              { "contextual", TCE_POLICY_FULL_CONTEXTUAL },
                                              { "diagonal", TCE_POLICY_DIAGONAL_SHARED },
                                              { NULL, 0 } };
static const setting_choice ACTIVATIONS[] = { { "relu", TCE_NET_RELU },
                                              { "leaky_relu", TCE_NET_LEAKY_RELU },
                                              { "tanh", TCE_NET_TANH },
                                              { "linear", TCE_NET_LINEAR },
                                              { NULL, 0 } };
static const setting_choice PRECISIONS[] = { { "float", TCE_NET_FLOAT },
                                             { "double", TCE_NET_DOUBLE },
                                             { NULL, 0 } };
static const setting_choice STARTS[] = { { "orthogonal", TCE_NET_ORTHOGONAL },
                                         { "fan_in", TCE_NET_FAN_IN },
                                         { NULL, 0 } };
static const setting_choice TARGETS[] = { { "gae", CRITIC_GAE },
                                          { "monte_carlo", CRITIC_MONTE_CARLO },
                                          { NULL, 0 } };
static const setting_choice PROJECTIONS[] = { { "kl", TCE_TRPL_KL },
                                              { "w2", TCE_TRPL_W2 },
                                              { "frobenius", TCE_TRPL_FROBENIUS },
                                              { "none", TCE_TRPL_IDENTITY },
                                              { NULL, 0 } };
static const setting_choice ENTROPIES[] = { { "none", TCE_TRPL_ENTROPY_NONE },
                                            { "at_least", TCE_TRPL_ENTROPY_AT_LEAST },
                                            { "equal", TCE_TRPL_ENTROPY_EQUAL },
                                            { NULL, 0 } };
static const setting_choice SCHEDULES[] = { { "none", ENTROPY_NONE },
                                            { "linear", ENTROPY_LINEAR },
                                            { "exponential", ENTROPY_EXPONENTIAL },
                                            { NULL, 0 } };
static const setting_choice SELECTIONS[] = { { "interval", TCE_SEGMENT_POINTS_INTERVAL },
                                             { "random", TCE_SEGMENT_POINTS_RANDOM },
                                             { NULL, 0 } };
static const setting_choice ADVANTAGES[] = { { "value", TCE_SEGMENT_VALUE },
                                             { "sum", TCE_SEGMENT_SUM },
                                             { "reward", TCE_SEGMENT_REWARD },
                                             { NULL, 0 } };

/* ---- rows ------------------------------------------------------------------------------------ */

/* section, key, type, place, default, least, most, choices, flags, help */

static const setting_row RUN_ROWS[] = {
    { "run", "method", SETTING_METHOD, 0, "", 0, 0, NULL, SETTING_CADENCE, "training method" },
    { "run", "seed", SETTING_UINT64, AT(run.seed), "1", 0, 1.8e19, NULL, SETTING_CADENCE,
      "seed of every random stream" },
    { "run", "iterations", SETTING_INT64, AT(run.iterations), "400", 1, 1e12, NULL,
      SETTING_FREE | SETTING_CADENCE, "iterations of the whole run" },
    { "run", "steps", SETTING_INT64, AT(run.steps), "0", 0, 1e15, NULL,
      SETTING_FREE | SETTING_CADENCE,
      "environment steps after which the run ends; 0: iterations alone decide" },
    { "run", "threads", SETTING_INT, AT(run.threads), "0", 0, 1024, NULL,
      SETTING_FREE | SETTING_CADENCE, "number of threads; 0: one per core" },
    { "run", "stop_success", SETTING_REAL, AT(run.stop_success), "0", 0, 1, NULL,
      SETTING_FREE | SETTING_CADENCE,
      "end the run when an evaluation reaches this success rate; 0: never" },
    { "run", "checkpoint_every", SETTING_INT, AT(run.checkpoint_every), "10", 1, 1e9, NULL,
      SETTING_FREE | SETTING_CADENCE, "iterations between checkpoints" },
    { "run", "checkpoint_keep", SETTING_INT, AT(run.checkpoint_keep), "2", 2, 1000, NULL,
      SETTING_FREE | SETTING_CADENCE, "number of checkpoints that are kept" },
    { "run", "init_from", SETTING_TEXT, AT(run.init_from), "", 0, 0, NULL, SETTING_FREE,
      "run folder or policy file whose policy and normaliser the run starts from; empty: new "
      "weights" },
};

static const setting_row TASK_ROWS[] = {
    { "task", "name", SETTING_TEXT, AT(task.name), "reacher5", 0, 0, NULL, SETTING_CADENCE,
      "task, as `tce tasks` lists it" },
    { "task", "library", SETTING_TEXT, AT(task.library), "", 0, 0, NULL,
      SETTING_FREE | SETTING_CADENCE | SETTING_PLACE,
      "library of your own tasks; empty: libtce_tasks.so beside the program. A library that only a "
      "run folder names is not loaded, see --task-library" },
    { "task", "python", SETTING_TEXT, AT(task.python), "", 0, 0, NULL,
      SETTING_FREE | SETTING_CADENCE,
      "the Python environment that is the task, module:name; only a record, which is never "
      "imported: see --python" },
    { "task", "options", SETTING_TEXT, AT(task.options), "", 0, 0, NULL, SETTING_CADENCE,
      "the task's own options, \"key=value key=value\"" },
};

static const setting_row COLLECT_ROWS[] = {
    { "collect", "episodes", SETTING_INT, AT(collect.episodes), "64", 1, 1e6, NULL, 0,
      "episodes per iteration" },
    { "collect", "environments", SETTING_INT, AT(collect.environments), "32", 1, 1e5, NULL, 0,
      "number of environments; episodes run in rounds of this size" },
    { "collect", "on_fault", SETTING_CHOICE, AT(collect.on_fault), "fail", 0, 0, ON_FAULT,
      SETTING_FREE,
      "an environment that fails ends the run, or its episode is dropped and counted" },
    { "collect", "time_input", SETTING_BOOL, AT(collect.time_input), "true", 0, 1, NULL, 0,
      "append the time to the observation" },
    { "collect", "mask_context", SETTING_BOOL, AT(collect.mask_context), "false", 0, 1, NULL, 0,
      "networks see the task's context entries only, without time" },
};

static const setting_row REWARD_TO_EVENT_ROWS[] = {
    { "collect", "reward_to_event", SETTING_BOOL, AT(collect.reward_to_event), "false", 0, 1, NULL,
      0, "move rewards to the deciding event" },
};

static const setting_row EVALUATE_ROWS[] = {
    { "evaluate", "every", SETTING_INT, AT(evaluate.every), "10", 0, 1e9, NULL,
      SETTING_FREE | SETTING_CADENCE,
      "iterations between evaluations of the mean policy; 0: only before the first and after the "
      "last" },
    { "evaluate", "episodes", SETTING_INT, AT(evaluate.episodes), "100", 1, 1e6, NULL,
      SETTING_FREE | SETTING_CADENCE, "episodes per evaluation" },
    { "evaluate", "options", SETTING_TEXT, AT(evaluate.options), "", 0, 0, NULL, SETTING_FREE,
      "options of the task for evaluations only, added after task.options" },
};

static const setting_row MP_ROWS[] = {
    { "mp", "kind", SETTING_CHOICE, AT(mp.kind), "prodmp", 0, 0, PRIMITIVES, 0,
      "movement primitive" },
    { "mp", "n_basis", SETTING_INT, AT(mp.n_basis), "5", 1, TCE_MP_MAX_BASIS, NULL, 0,
      "basis functions per degree of freedom" },
    { "mp", "n_basis_outside", SETTING_INT, AT(mp.n_basis_outside), "0", 0, TCE_MP_MAX_BASIS, NULL,
      0, "centres outside the movement, on each side" },
    { "mp", "tau", SETTING_REAL, AT(mp.tau), "1", SETTING_POSITIVE, ANY, NULL, 0,
      "duration, s; a movement that ends before the episode rests at its goal; tce_mp_options and "
      "Python: 1" },
    { "mp", "delay", SETTING_REAL, AT(mp.delay), "0", 0, ANY, NULL, 0,
      "rest before the movement, s" },
    { "mp", "dt", SETTING_REAL, AT(mp.dt), "0", 0, ANY, NULL, 0,
      "spacing of the basis table, s; 0: the task's step; tce_mp_options and Python: 0.01" },
    { "mp", "alpha", SETTING_REAL, AT(mp.alpha), "10", 0, ANY, NULL, 0,
      "stiffness of the attractor; tce_mp_options and Python: 25" },
    { "mp", "alpha_phase", SETTING_REAL, AT(mp.alpha_phase), "3", 0, ANY, NULL, 0,
      "decay of the phase" },
    { "mp", "basis_bandwidth_factor", SETTING_REAL, AT(mp.basis_bandwidth_factor), "3", 0, ANY,
      NULL, 0, "width of the basis functions" },
    { "mp", "weights_scale", SETTING_REALS, AT(mp_weights_scale), "0.5", -ANY, ANY, NULL, 0,
      "scale of the weights; one number, or one per basis function; tce_mp_options and Python: 1" },
    { "mp", "goal_scale", SETTING_REAL, AT(mp.goal_scale), "0.5", -ANY, ANY, NULL, 0,
      "scale of the goal; tce_mp_options and Python: 1" },
    { "mp", "relative_goal", SETTING_BOOL, AT(mp.relative_goal), "true", 0, 1, NULL, 0,
      "the goal is relative to the start position; tce_mp_options and Python: false" },
    { "mp", "auto_scale_basis", SETTING_BOOL, AT(mp.auto_scale_basis), "true", 0, 1, NULL, 0,
      "scale each basis function to a maximum of 1" },
    { "mp", "disable_goal", SETTING_BOOL, AT(mp.disable_goal), "false", 0, 1, NULL, 0,
      "no goal parameters" },
    { "mp", "disable_weights", SETTING_BOOL, AT(mp.disable_weights), "false", 0, 1, NULL, 0,
      "no weights, only goal parameters" },
    { "mp", "learn_tau", SETTING_BOOL, AT(mp.learn_tau), "false", 0, 1, NULL, 0,
      "the duration is a parameter; not supported in training yet" },
    { "mp", "learn_delay", SETTING_BOOL, AT(mp.learn_delay), "false", 0, 1, NULL, 0,
      "the delay is a parameter; not supported in training yet" },
    { "mp", "phase", SETTING_CHOICE, AT(mp.phase), "natural", 0, 0, PHASES, 0,
      "argument of the basis functions" },
    { "mp", "basis", SETTING_CHOICE, AT(mp.basis), "table", 0, 0, BASES, 0,
      "a ProDMP's basis: interpolated as published, or by accurate quadrature" },
    { "mp", "table_length", SETTING_INT, AT(mp.table_length), "5", 1, 1000, NULL, 0,
      "length of the basis table, in units of tau" },
};

static const setting_row POLICY_ROWS[] = {
    { "policy", "covariance", SETTING_CHOICE, AT(policy.options.form), "full", 0, 0, COVARIANCES, 0,
      "one covariance for all contexts, one per context, or a diagonal one for all contexts" },
    { "policy", "hidden", SETTING_INTS, AT(policy.hidden), "[64, 64]", 1, 65536, NULL, 0,
      "widths of the hidden layers" },
    { "policy", "activation", SETTING_CHOICE, AT(policy.options.activation), "leaky_relu", 0, 0,
      ACTIVATIONS, 0, "activation of the hidden layers" },
    { "policy", "precision", SETTING_CHOICE, AT(policy.options.precision), "float", 0, 0,
      PRECISIONS, 0, "precision of both networks" },
    { "policy", "start", SETTING_CHOICE, AT(policy.options.start), "orthogonal", 0, 0, STARTS, 0,
      "initial weights of both networks" },
    { "policy", "min_std", SETTING_REAL, AT(policy.options.min_std), "1e-4", 0, ANY, NULL, 0,
      "smallest diagonal entry of the Cholesky factor" },
    { "policy", "initial_std", SETTING_REAL, AT(policy.options.initial_std), "0.99", 1e-12, ANY,
      NULL, 0, "initial diagonal entry of the Cholesky factor, without min_std" },
    { "policy", "learning_rate", SETTING_REAL, AT(policy.adam.learning_rate), "1e-3", 0, ANY, NULL,
      0, "learning rate of Adam" },
    { "policy", "l2", SETTING_REAL, AT(policy.adam.l2), "5e-5", 0, ANY, NULL, 0,
      "weight decay, added to the gradient" },
    { "policy", "clip_norm", SETTING_REAL, AT(policy.clip_norm), "0", 0, ANY, NULL, 0,
      "largest gradient norm; 0: no clipping" },
    { "policy", "epochs", SETTING_INT, AT(policy.epochs), "30", 0, 1e6, NULL, 0,
      "updates per iteration, each on the whole batch" },
    { "policy", "entropy_coefficient", SETTING_REAL, AT(policy.entropy_coefficient), "0", 0, ANY,
      NULL, 0, "weight of the bonus on the entropy of the projected policy" },
    { "policy", "set_variance", SETTING_BOOL, AT(policy.set_variance), "false", 0, 1, NULL, 0,
      "overwrite the covariance by the projected one after the last epoch" },
};

static const setting_row CRITIC_ROWS[] = {
    { "critic", "hidden", SETTING_INTS, AT(critic.hidden), "[64, 64]", 1, 65536, NULL, 0,
      "widths of the hidden layers" },
    { "critic", "activation", SETTING_CHOICE, AT(critic.activation), "leaky_relu", 0, 0,
      ACTIVATIONS, 0, "activation of the hidden layers" },
    { "critic", "learning_rate", SETTING_REAL, AT(critic.adam.learning_rate), "1e-3", 0, ANY, NULL,
      0, "learning rate of Adam" },
    { "critic", "l2", SETTING_REAL, AT(critic.adam.l2), "5e-5", 0, ANY, NULL, 0,
      "weight decay, added to the gradient" },
    { "critic", "clip_norm", SETTING_REAL, AT(critic.clip_norm), "0", 0, ANY, NULL, 0,
      "largest gradient norm; 0: no clipping" },
    { "critic", "epochs", SETTING_INT, AT(critic.epochs), "10", 0, 1e6, NULL, 0,
      "passes over all steps per iteration" },
    { "critic", "minibatches", SETTING_INT, AT(critic.minibatches), "1", 1, 1e6, NULL, 0,
      "Adam steps per pass" },
    { "critic", "normalise", SETTING_BOOL, AT(critic.normalise), "true", 0, 1, NULL, 0,
      "normalise its observations by their running mean and variance" },
    { "critic", "value_clip", SETTING_REAL, AT(critic.value_clip), "0", 0, ANY, NULL, 0,
      "values are clipped to this width around those before the update; 0: no clipping" },
};

static const setting_row CRITIC_TARGET_ROWS[] = {
    { "critic", "target", SETTING_CHOICE, AT(critic.target), "gae", 0, 0, TARGETS, 0,
      "the values that the critic is trained towards" },
};

static const setting_row PROJECTION_ROWS[] = {
    { "projection", "kind", SETTING_CHOICE, AT(projection.options.kind), "kl", 0, 0, PROJECTIONS, 0,
      "trust region" },
    { "projection", "mean_bound", SETTING_REAL, AT(projection.bounds.mean), "0.05", 0, ANY, NULL, 0,
      "bound on the mean" },
    { "projection", "cov_bound", SETTING_REAL, AT(projection.bounds.cov), "0.005", 0, ANY, NULL, 0,
      "bound on the covariance" },
    { "projection", "coefficient", SETTING_REAL, AT(projection.coefficient), "1", 0, ANY, NULL, 0,
      "coefficient of the trust-region regression loss" },
    { "projection", "ratio_clip", SETTING_REAL, AT(projection.ratio_clip), "0", 0, 1, NULL, 0,
      "PPO-style clipping of the ratio, with kind none; 0: no clipping" },
    { "projection", "entropy", SETTING_CHOICE, AT(projection.options.entropy), "none", 0, 0,
      ENTROPIES, 0, "entropy control" },
    { "projection", "entropy_first", SETTING_BOOL, AT(projection.options.entropy_first), "false", 0,
      1, NULL, 0, "control the entropy before the trust region instead of after it" },
    { "projection", "entropy_schedule", SETTING_CHOICE, AT(projection.entropy_schedule), "none", 0,
      0, SCHEDULES, 0, "schedule of the entropy bound over the run" },
    { "projection", "entropy_target", SETTING_REAL, AT(projection.entropy_target), "0", -ANY, ANY,
      NULL, 0, "value at the end of the schedule: total (linear), or per dimension (exponential)" },
    { "projection", "entropy_temperature", SETTING_REAL, AT(projection.entropy_temperature), "0.7",
      0, 1, NULL, 0, "temperature of the exponential schedule" },
};

static const setting_row RETURNS_ROWS[] = {
    { "objective", "gamma", SETTING_REAL, AT(objective.gamma), "1", 0, 1, NULL, 0, "discount" },
    { "objective", "lambda", SETTING_REAL, AT(objective.lambda), "0.95", 0, 1, NULL, 0,
      "lambda of generalised advantage estimation" },
};

static const setting_row SEGMENTS_ROWS[] = {
    { "objective", "time_points", SETTING_INT, AT(objective.time_points), "10", 2, 1e6, NULL, 0,
      "time points of an episode; segments lie between them" },
    { "objective", "selection", SETTING_CHOICE, AT(objective.selection), "interval", 0, 0,
      SELECTIONS, 0, "how time points are chosen" },
    { "objective", "advantage", SETTING_CHOICE, AT(objective.advantage), "value", 0, 0, ADVANTAGES,
      0,
      "advantage of a segment: from values at its ends, from summed step advantages, or from its "
      "rewards" },
    { "objective", "regulariser", SETTING_REAL, AT(objective.regulariser), "1e-4", 0, 1, NULL, 0,
      "regulariser of the segments' covariances, times their largest diagonal entry" },
};

static const setting_row SCHEDULE_ROWS[] = {
    { "schedule", "learning_rate_iterations", SETTING_INT64, AT(schedule.learning_rate_iterations),
      "0", 0, 1e12, NULL, 0, "iterations over which learning rates fall; 0: constant" },
    { "schedule", "learning_rate_last", SETTING_REAL, AT(schedule.learning_rate_last), "0.01", 0, 1,
      NULL, 0, "fraction of the learning rates that is left after these iterations" },
    { "schedule", "entropy_iterations", SETTING_INT64, AT(schedule.entropy_iterations), "0", 0,
      1e12, NULL, 0,
      "length of projection.entropy_schedule, kept when a run is resumed; 0: run.iterations as the "
      "run began" },
};

/* ---- combinations ---------------------------------------------------------------------------- */

static tce_status check_mp(const settings *s)
{
    if (s->mp.learn_tau || s->mp.learn_delay)
        return tce_fail(TCE_E_UNSUPPORTED,
                        "mp.learn_tau and mp.learn_delay need limits for what is drawn, which "
                        "training does not have yet: "
                        "set mp.tau and mp.delay (the library's tce_mp does learn them)");
    if (s->mp.disable_goal && s->mp.disable_weights)
        return tce_fail(TCE_E_UNSUPPORTED,
                        "mp.disable_goal and mp.disable_weights together leave no parameter");
    return TCE_OK;
}

static tce_status check_policy(const settings *s)
{
    if (s->policy.set_variance && s->policy.options.form == TCE_POLICY_FULL_CONTEXTUAL)
        return tce_fail(TCE_E_UNSUPPORTED, "policy.set_variance needs one covariance for all "
                                           "contexts: policy.covariance full or diagonal");
    return TCE_OK;
}

static tce_status check_projection(const settings *s)
{
    const int projected = s->projection.options.kind != TCE_TRPL_IDENTITY;
    const int clipped = s->projection.ratio_clip > 0.0;
    if (clipped && projected)
        return tce_fail(
            TCE_E_UNSUPPORTED,
            "projection.ratio_clip takes the place of the projection: set projection.kind none");
    if (!clipped && !projected)
        return tce_fail(TCE_E_UNSUPPORTED, "projection.kind none leaves the update unbounded: set "
                                           "projection.ratio_clip, for instance 0.2");
    if (projected && !(s->projection.bounds.mean > 0.0 && s->projection.bounds.cov > 0.0))
        return tce_fail(TCE_E_VALUE,
                        "projection.mean_bound = %g and cov_bound = %g, both must be > 0",
                        s->projection.bounds.mean, s->projection.bounds.cov);
    if (s->projection.options.entropy == TCE_TRPL_ENTROPY_EQUAL &&
        s->projection.entropy_schedule == ENTROPY_NONE)
        return tce_fail(TCE_E_UNSUPPORTED,
                        "projection.entropy equal needs a projection.entropy_schedule");
    if (s->policy.set_variance && clipped)
        return tce_fail(
            TCE_E_UNSUPPORTED,
            "policy.set_variance needs a projection: it does not work with projection.ratio_clip");
    return TCE_OK;
}

/* ---- groups ---------------------------------------------------------------------------------- */

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])

const settings_group SETTINGS_RUN = { COUNT(RUN_ROWS), RUN_ROWS, NULL };
const settings_group SETTINGS_TASK = { COUNT(TASK_ROWS), TASK_ROWS, NULL };
const settings_group SETTINGS_COLLECT = { COUNT(COLLECT_ROWS), COLLECT_ROWS, NULL };
/* of these the environments and their faults; of the policy and the critic what networks are */
const settings_group SETTINGS_ENVIRONMENTS = { 2, COLLECT_ROWS + 1, NULL };
const settings_group SETTINGS_REWARD_TO_EVENT = { COUNT(REWARD_TO_EVENT_ROWS), REWARD_TO_EVENT_ROWS,
                                                  NULL };
const settings_group SETTINGS_EVALUATE = { COUNT(EVALUATE_ROWS), EVALUATE_ROWS, NULL };
const settings_group SETTINGS_MP = { COUNT(MP_ROWS), MP_ROWS, check_mp };
const settings_group SETTINGS_POLICY = { COUNT(POLICY_ROWS), POLICY_ROWS, check_policy };
const settings_group SETTINGS_POLICY_NETWORK = { 4, POLICY_ROWS + 1, NULL };
const settings_group SETTINGS_CRITIC_NETWORK = { 2, CRITIC_ROWS, NULL };
const settings_group SETTINGS_CRITIC = { COUNT(CRITIC_ROWS), CRITIC_ROWS, NULL };
const settings_group SETTINGS_CRITIC_TARGET = { COUNT(CRITIC_TARGET_ROWS), CRITIC_TARGET_ROWS,
                                                NULL };
const settings_group SETTINGS_PROJECTION = { COUNT(PROJECTION_ROWS), PROJECTION_ROWS,
                                             check_projection };
const settings_group SETTINGS_RETURNS = { COUNT(RETURNS_ROWS), RETURNS_ROWS, NULL };
const settings_group SETTINGS_SEGMENTS = { COUNT(SEGMENTS_ROWS), SEGMENTS_ROWS, NULL };
const settings_group SETTINGS_SCHEDULE = { COUNT(SCHEDULE_ROWS), SCHEDULE_ROWS, NULL };
