/*
 * The settings, one row a key. Defaults are those of Box Pushing in the paper's runs, the presets in examples/configs say what differs.
 */
#include "settings.h"

#define AT(field) offsetof(settings, field)
#define ANY 1e300

const setting_row SETTING_ROWS[] = {
    /* section, key, type, place, default, least, most, choices, help */
    { "run", "method", SETTING_CHOICE, AT(run.method), "tce", 0, 0, "tce|bbrl", "training method" },
    { "run", "seed", SETTING_UINT64, AT(run.seed), "1", 0, 1.8e19, NULL, "seed of every random stream" },
    { "run", "iterations", SETTING_INT64, AT(run.iterations), "7500", 1, 1e12, NULL, "iterations of the whole run" },
    { "run", "steps", SETTING_INT64, AT(run.steps), "0", 0, 1e15, NULL, "environment steps after which the run ends; 0: iterations alone decide" },
    { "run", "threads", SETTING_INT, AT(run.threads), "0", 0, 1024, NULL, "threads; 0: as many as there are cores" },
    { "run", "stop_success", SETTING_REAL, AT(run.stop_success), "0", 0, 1, NULL, "end the run when an evaluation reaches this success rate; 0: never" },
    { "run", "checkpoint_every", SETTING_INT, AT(run.checkpoint_every), "10", 1, 1e9, NULL, "iterations between checkpoints" },
    { "run", "checkpoint_keep", SETTING_INT, AT(run.checkpoint_keep), "2", 2, 1000, NULL, "checkpoints kept" },

    { "task", "name", SETTING_TEXT, AT(task.name), "reacher5", 0, 0, NULL, "task, as `tce tasks` lists it" },
    { "task", "library", SETTING_TEXT, AT(task.library), "", 0, 0, NULL, "library of your own tasks; empty: libtce_tasks.so beside the program. What a run folder names is not loaded, see --task-library" },
    { "task", "options", SETTING_TEXT, AT(task.options), "", 0, 0, NULL, "the task's own options, \"key=value key=value\"" },

    { "collect", "episodes", SETTING_INT, AT(collect.episodes), "152", 1, 1e6, NULL, "episodes an iteration" },
    { "collect", "environments", SETTING_INT, AT(collect.environments), "38", 1, 1e5, NULL, "environments; episodes run in rounds of these" },
    { "collect", "on_fault", SETTING_CHOICE, AT(collect.on_fault), "fail", 0, 0, "fail|drop", "an environment that fails ends the run, or its episode is dropped and counted" },
    { "collect", "reward_to_event", SETTING_BOOL, AT(collect.reward_to_event), "false", 0, 1, NULL, "move rewards to the deciding event" },
    { "collect", "time_input", SETTING_BOOL, AT(collect.time_input), "true", 0, 1, NULL, "append the time to the observation" },
    { "collect", "mask_context", SETTING_BOOL, AT(collect.mask_context), "false", 0, 1, NULL, "networks see the task's context entries only, without time" },

    { "evaluate", "every", SETTING_INT, AT(evaluate.every), "10", 0, 1e9, NULL, "iterations between evaluations of the mean policy; 0: only before the first and after the last" },
    { "evaluate", "episodes", SETTING_INT, AT(evaluate.episodes), "152", 1, 1e6, NULL, "episodes of an evaluation" },

    { "mp", "kind", SETTING_CHOICE, AT(mp.kind), "prodmp", 0, 0, "prodmp|promp|dmp", "movement primitive" },
    { "mp", "num_basis", SETTING_INT, AT(mp.num_basis), "8", 1, TCE_MP_MAX_BASIS, NULL, "basis functions of a degree of freedom; tce_mp_options and Python: 5" },
    { "mp", "num_basis_outside", SETTING_INT, AT(mp.num_basis_outside), "0", 0, TCE_MP_MAX_BASIS, NULL, "centres outside the movement, on each side" },
    { "mp", "tau", SETTING_REAL, AT(mp.tau), "2.0", 0, ANY, NULL, "duration, s; a movement that ends before the episode rests at its goal; tce_mp_options and Python: 1" },
    { "mp", "delay", SETTING_REAL, AT(mp.delay), "0", 0, ANY, NULL, "rest before the movement, s" },
    { "mp", "dt", SETTING_REAL, AT(mp.dt), "0", 0, ANY, NULL, "spacing of the basis table, s; 0: the task's step; tce_mp_options and Python: 0.01" },
    { "mp", "alpha", SETTING_REAL, AT(mp.alpha), "10", 0, ANY, NULL, "stiffness of the attractor; tce_mp_options and Python: 25" },
    { "mp", "alpha_phase", SETTING_REAL, AT(mp.alpha_phase), "3", 0, ANY, NULL, "decay of the phase" },
    { "mp", "basis_bandwidth_factor", SETTING_REAL, AT(mp.basis_bandwidth_factor), "3", 0, ANY, NULL, "width of the basis functions" },
    { "mp", "weights_scale", SETTING_REALS, AT(mp.weights_scale), "0.3", -ANY, ANY, NULL, "scale of the weights; one number, or one a basis function; tce_mp_options and Python: 1" },
    { "mp", "goal_scale", SETTING_REAL, AT(mp.goal_scale), "0.3", -ANY, ANY, NULL, "scale of the goal; tce_mp_options and Python: 1" },
    { "mp", "relative_goal", SETTING_BOOL, AT(mp.relative_goal), "false", 0, 1, NULL, "the goal counts from the start position" },
    { "mp", "auto_scale_basis", SETTING_BOOL, AT(mp.auto_scale_basis), "true", 0, 1, NULL, "each basis function scaled to a maximum of 1" },
    { "mp", "disable_goal", SETTING_BOOL, AT(mp.disable_goal), "false", 0, 1, NULL, "no goal parameters" },
    { "mp", "disable_weights", SETTING_BOOL, AT(mp.disable_weights), "false", 0, 1, NULL, "goal parameters only" },
    { "mp", "learn_tau", SETTING_BOOL, AT(mp.learn_tau), "false", 0, 1, NULL, "the duration is a parameter; not in training yet" },
    { "mp", "learn_delay", SETTING_BOOL, AT(mp.learn_delay), "false", 0, 1, NULL, "the delay is a parameter; not in training yet" },
    { "mp", "phase", SETTING_CHOICE, AT(mp.phase), "natural", 0, 0, "natural|smooth|rhythmic", "basis argument" },
    { "mp", "basis", SETTING_CHOICE, AT(mp.basis), "table", 0, 0, "table|exact", "interpolated as published, or accurate quadrature" },
    { "mp", "table_length", SETTING_INT, AT(mp.table_length), "5", 1, 1000, NULL, "length of the basis table, in tau" },

    { "policy", "covariance", SETTING_CHOICE, AT(policy.covariance), "full", 0, 0, "full|contextual|diagonal", "one covariance for all contexts, one for each, or a diagonal one" },
    { "policy", "hidden", SETTING_INTS, AT(policy.hidden), "[128, 128]", 1, 65536, NULL, "widths of the hidden layers" },
    { "policy", "activation", SETTING_CHOICE, AT(policy.activation), "leaky_relu", 0, 0, "relu|leaky_relu|tanh|linear", "of the hidden layers" },
    { "policy", "precision", SETTING_CHOICE, AT(policy.precision), "float", 0, 0, "float|double", "of both networks" },
    { "policy", "start", SETTING_CHOICE, AT(policy.start), "orthogonal", 0, 0, "orthogonal|fan_in", "first weights of both networks" },
    { "policy", "min_std", SETTING_REAL, AT(policy.min_std), "1e-4", 0, ANY, NULL, "least diagonal entry of the Cholesky factor" },
    { "policy", "initial_std", SETTING_REAL, AT(policy.initial_std), "0.99", 1e-12, ANY, NULL, "its start, without min_std" },
    { "policy", "learning_rate", SETTING_REAL, AT(policy.learning_rate), "3e-4", 0, ANY, NULL, "of Adam" },
    { "policy", "l2", SETTING_REAL, AT(policy.l2), "5e-5", 0, ANY, NULL, "weight decay, added to the gradient" },
    { "policy", "clip_norm", SETTING_REAL, AT(policy.clip_norm), "0", 0, ANY, NULL, "largest gradient norm; 0: no clip" },
    { "policy", "epochs", SETTING_INT, AT(policy.epochs), "50", 0, 1e6, NULL, "updates an iteration, each on the whole batch" },
    { "policy", "entropy_coefficient", SETTING_REAL, AT(policy.entropy_coefficient), "0", 0, ANY, NULL, "bonus on the entropy of the projected policy" },
    { "policy", "set_variance", SETTING_BOOL, AT(policy.set_variance), "false", 0, 1, NULL, "overwrite the covariance by the projected one after the last epoch" },

    { "critic", "hidden", SETTING_INTS, AT(critic.hidden), "[256, 256]", 1, 65536, NULL, "widths of the hidden layers" },
    { "critic", "activation", SETTING_CHOICE, AT(critic.activation), "leaky_relu", 0, 0, "relu|leaky_relu|tanh|linear", "of the hidden layers" },
    { "critic", "learning_rate", SETTING_REAL, AT(critic.learning_rate), "1e-3", 0, ANY, NULL, "of Adam" },
    { "critic", "l2", SETTING_REAL, AT(critic.l2), "5e-5", 0, ANY, NULL, "weight decay, added to the gradient" },
    { "critic", "clip_norm", SETTING_REAL, AT(critic.clip_norm), "0", 0, ANY, NULL, "largest gradient norm; 0: no clip" },
    { "critic", "epochs", SETTING_INT, AT(critic.epochs), "50", 0, 1e6, NULL, "passes over all steps an iteration" },
    { "critic", "minibatches", SETTING_INT, AT(critic.minibatches), "1", 1, 1e6, NULL, "Adam steps a pass" },
    { "critic", "normalise", SETTING_BOOL, AT(critic.normalise), "true", 0, 1, NULL, "running mean and variance of its observations" },
    { "critic", "target", SETTING_CHOICE, AT(critic.target), "gae", 0, 0, "gae|monte_carlo", "what it learns" },

    { "projection", "kind", SETTING_CHOICE, AT(projection.kind), "kl", 0, 0, "kl|w2|frobenius|none", "trust region" },
    { "projection", "mean_bound", SETTING_REAL, AT(projection.mean_bound), "0.05", 0, ANY, NULL, "of the mean" },
    { "projection", "cov_bound", SETTING_REAL, AT(projection.cov_bound), "0.0005", 0, ANY, NULL, "of the covariance" },
    { "projection", "coefficient", SETTING_REAL, AT(projection.coefficient), "1", 0, ANY, NULL, "of the trust-region regression loss" },
    { "projection", "ratio_clip", SETTING_REAL, AT(projection.ratio_clip), "0", 0, 1, NULL, "PPO-style clipping of the ratio, with kind none; 0: none" },
    { "projection", "entropy", SETTING_CHOICE, AT(projection.entropy), "at_least", 0, 0, "none|at_least|equal", "entropy control" },
    { "projection", "entropy_first", SETTING_BOOL, AT(projection.entropy_first), "false", 0, 1, NULL, "before the trust region instead of after it" },
    { "projection", "entropy_schedule", SETTING_CHOICE, AT(projection.entropy_schedule), "linear", 0, 0, "none|linear|exponential", "of the entropy bound over the run" },
    { "projection", "entropy_target", SETTING_REAL, AT(projection.entropy_target), "0", -ANY, ANY, NULL, "where it ends: a total (linear), an entropy a dimension (exponential)" },
    { "projection", "entropy_temperature", SETTING_REAL, AT(projection.entropy_temperature), "0.7", 0, 1, NULL, "of the exponential schedule" },

    { "objective", "gamma", SETTING_REAL, AT(objective.gamma), "1", 0, 1, NULL, "discount" },
    { "objective", "lambda", SETTING_REAL, AT(objective.lambda), "0.95", 0, 1, NULL, "of generalised advantage estimation" },
    { "objective", "time_points", SETTING_INT, AT(objective.time_points), "25", 2, 1e6, NULL, "time points of an episode; segments lie between them" },
    { "objective", "selection", SETTING_CHOICE, AT(objective.selection), "interval", 0, 0, "interval|random", "how they are chosen" },
    { "objective", "advantage", SETTING_CHOICE, AT(objective.advantage), "value", 0, 0, "value|sum|reward", "of a segment: by values at its ends, by summed step advantages, by its rewards" },
    { "objective", "regulariser", SETTING_REAL, AT(objective.regulariser), "1e-4", 0, 1, NULL, "of the segment covariance, times its largest diagonal entry" },

    { "schedule", "learning_rate_iterations", SETTING_INT64, AT(schedule.learning_rate_iterations), "10000", 0, 1e12, NULL, "learning rates fall to 1 % over these; 0: constant" },
    { "schedule", "entropy_iterations", SETTING_INT64, AT(schedule.entropy_iterations), "0", 0, 1e12, NULL, "length of projection.entropy_schedule, kept when a run goes on; 0: run.iterations of its beginning" },
};

const size_t N_SETTING_ROWS = sizeof SETTING_ROWS / sizeof SETTING_ROWS[0];
