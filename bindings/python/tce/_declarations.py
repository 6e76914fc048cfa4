"""The public headers in ctypes: constants, structs, callbacks, functions. Made by declare.py: do not edit."""

from ctypes import CFUNCTYPE, c_char_p, c_double, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, List, Tuple

from ._pointers import Data, Float64, Int32, Pointer, Size, Status, Struct, Uint8, Uint32

TCE_ENV_ABI = 1
TCE_MP_MAX_BASIS = 256
TCE_MP_MAX_STEPS = 1000000
TCE_STORE_MAX_RANK = 4
TCE_VERSION_MAJOR = 0
TCE_VERSION_MINOR = 2
TCE_VERSION_PATCH = 0
TCE_ENV_REMARK = 0
TCE_ENV_FAULT = 1
TCE_GAUSS_FULL = 0
TCE_GAUSS_DIAGONAL = 1
TCE_MP_PRODMP = 0
TCE_MP_PROMP = 1
TCE_MP_DMP = 2
TCE_MP_PHASE_NATURAL = 0
TCE_MP_PHASE_SMOOTH = 1
TCE_MP_PHASE_RHYTHMIC = 2
TCE_MP_BASIS_TABLE = 0
TCE_MP_BASIS_EXACT = 1
TCE_NET_RELU = 0
TCE_NET_LEAKY_RELU = 1
TCE_NET_TANH = 2
TCE_NET_LINEAR = 3
TCE_NET_FLOAT = 0
TCE_NET_DOUBLE = 1
TCE_NET_MAX_SUMS = 16
TCE_NET_ORTHOGONAL = 0
TCE_NET_FAN_IN = 1
TCE_NORMALISER_ROWS = 0
TCE_NORMALISER_ROWS_LESS_ONE = 1
TCE_POLICY_FULL_SHARED = 0
TCE_POLICY_FULL_CONTEXTUAL = 1
TCE_POLICY_DIAGONAL_SHARED = 2
TCE_POLICY_DIAGONAL_CONTEXTUAL = 3
TCE_POLICY_SOFTPLUS = 0
TCE_POLICY_EXP = 1
TCE_POLICY_EXP_CLIPPED = 2
TCE_ROLLOUT_FAIL = 0
TCE_ROLLOUT_DROP = 1
TCE_SEGMENT_POINTS_INTERVAL = 0
TCE_SEGMENT_POINTS_RANDOM = 1
TCE_SEGMENT_VALUE = 0
TCE_SEGMENT_SUM = 1
TCE_SEGMENT_REWARD = 2
TCE_OK = 0
TCE_E_ARGUMENT = -1
TCE_E_SHAPE = -2
TCE_E_VALUE = -3
TCE_E_VERSION = -4
TCE_E_STATE = -5
TCE_E_UNSUPPORTED = -6
TCE_E_NOMEM = -10
TCE_E_IO = -11
TCE_E_CORRUPT = -12
TCE_E_NOT_FOUND = -13
TCE_E_THREAD = -14
TCE_E_NOT_PD = -20
TCE_E_NO_CONVERGE = -21
TCE_E_NOT_FINITE = -22
TCE_E_SINGULAR = -23
TCE_E_ENV = -30
TCE_E_ENV_NAN = -31
TCE_E_LIBRARY = -32
TCE_STORE_F64 = 0
TCE_STORE_F32 = 1
TCE_STORE_I64 = 2
TCE_STORE_U64 = 3
TCE_STORE_I32 = 4
TCE_STORE_U8 = 5
TCE_TRPL_KL = 0
TCE_TRPL_W2 = 1
TCE_TRPL_FROBENIUS = 2
TCE_TRPL_IDENTITY = 3
TCE_TRPL_ENTROPY_NONE = 0
TCE_TRPL_ENTROPY_AT_LEAST = 1
TCE_TRPL_ENTROPY_EQUAL = 2


class AdamOptions(Struct):
    """tce_adam_options"""

    _name_ = "tce_adam_options"
    _fields_ = [
        ("struct_size", c_size_t), ("learning_rate", c_double), ("l2", c_double), ("beta1", c_double),
        ("beta2", c_double), ("epsilon", c_double)]


class EnvSpec(Struct):
    """tce_env_spec"""

    _name_ = "tce_env_spec"
    _fields_ = [
        ("struct_size", c_size_t), ("n_obs", c_int32), ("n_dof", c_int32), ("n_action", c_int32), ("n_steps", c_int32),
        ("n_metrics", c_int32), ("n_context", c_int32), ("dt", c_double), ("metric_names", c_void_p),
        ("context", c_void_p), ("action_low", c_void_p), ("action_high", c_void_p), ("carries_state", c_int32),
        ("velocity_end", c_int32)]
    _arrays_ = {
        "context": Int32, "action_low": Float64, "action_high": Float64}


class EnvResult(Struct):
    """tce_env_result"""

    _name_ = "tce_env_result"
    _fields_ = [
        ("reward", c_double), ("terminated", c_int32), ("truncated", c_int32), ("event", c_int32),
        ("reserved", c_int32)]


class EnvVtable(Struct):
    """tce_env_vtable"""

    _name_ = "tce_env_vtable"
    _fields_ = [
        ("struct_size", c_size_t), ("abi", c_int32), ("reserved", c_int32), ("name", c_char_p),
        ("description", c_char_p), ("create", c_void_p), ("destroy", c_void_p), ("spec", c_void_p),
        ("reset", c_void_p), ("step", c_void_p), ("step_action", c_void_p), ("metrics", c_void_p),
        ("n_state", c_void_p), ("get_state", c_void_p), ("set_state", c_void_p), ("render", c_void_p)]


class EnvInspectOptions(Struct):
    """tce_env_inspect_options"""

    _name_ = "tce_env_inspect_options"
    _fields_ = [
        ("struct_size", c_size_t), ("vtable", c_void_p), ("user", c_void_p), ("settings", c_char_p),
        ("seed", c_uint64), ("report", c_void_p), ("context", c_void_p), ("trace", c_void_p), ("reserved", c_void_p),
        ("n_reserved", c_size_t)]


class Gauss(Struct):
    """tce_gauss"""

    _name_ = "tce_gauss"
    _fields_ = [
        ("struct_size", c_size_t), ("n", c_size_t), ("dim", c_size_t), ("n_scales", c_size_t), ("form", c_int32),
        ("reserved", c_int32), ("mean", c_void_p), ("scale", c_void_p)]
    _arrays_ = {
        "mean": Float64, "scale": Float64}


class MpOptions(Struct):
    """tce_mp_options"""

    _name_ = "tce_mp_options"
    _fields_ = [
        ("struct_size", c_size_t), ("kind", c_int32), ("phase", c_int32), ("basis", c_int32), ("n_dof", c_int32),
        ("n_basis", c_int32), ("n_basis_outside", c_int32), ("table_length", c_int32), ("relative_goal", c_int32),
        ("auto_scale_basis", c_int32), ("disable_goal", c_int32), ("disable_weights", c_int32), ("learn_tau", c_int32),
        ("learn_delay", c_int32), ("reserved", c_int32), ("tau", c_double), ("delay", c_double), ("dt", c_double),
        ("alpha", c_double), ("alpha_phase", c_double), ("basis_bandwidth_factor", c_double),
        ("weights_scale", c_double), ("goal_scale", c_double), ("weights_scales", c_void_p)]
    _arrays_ = {
        "weights_scales": Float64}


class MpGrid(Struct):
    """tce_mp_grid"""

    _name_ = "tce_mp_grid"
    _fields_ = [
        ("struct_size", c_size_t), ("E", c_size_t), ("T", c_size_t), ("n_time_rows", c_size_t),
        ("n_init_times", c_size_t), ("times", c_void_p), ("init_time", c_void_p), ("init_pos", c_void_p),
        ("init_vel", c_void_p)]
    _arrays_ = {
        "times": Float64, "init_time": Float64, "init_pos": Float64, "init_vel": Float64}


class MpVia(Struct):
    """tce_mp_via"""

    _name_ = "tce_mp_via"
    _fields_ = [
        ("time", c_double), ("value", c_double), ("tolerance", c_double), ("dof", c_int32), ("order", c_int32)]


class MpPlan(Struct):
    """tce_mp_plan"""

    _name_ = "tce_mp_plan"
    _fields_ = [
        ("struct_size", c_size_t), ("mp", c_void_p), ("params", c_void_p), ("init_pos", c_void_p),
        ("init_vel", c_void_p), ("init_time", c_double)]
    _arrays_ = {
        "params": Float64, "init_pos": Float64, "init_vel": Float64}


class NetOptions(Struct):
    """tce_net_options"""

    _name_ = "tce_net_options"
    _fields_ = [
        ("struct_size", c_size_t), ("n_in", c_int32), ("n_out", c_int32), ("n_hidden", c_int32),
        ("activation", c_int32), ("precision", c_int32), ("start", c_int32), ("max_batch", c_int32),
        ("max_pass", c_int32), ("hidden", c_void_p), ("gain_hidden", c_double), ("gain_out", c_double),
        ("pool", c_void_p)]
    _arrays_ = {
        "hidden": Int32}


class NormaliserOptions(Struct):
    """tce_normaliser_options"""

    _name_ = "tce_normaliser_options"
    _fields_ = [
        ("struct_size", c_size_t), ("n_columns", c_int32), ("divisor", c_int32), ("centre", c_int32),
        ("reserved", c_int32), ("epsilon", c_double), ("clip", c_double), ("first_count", c_double)]


class PolicyOptions(Struct):
    """tce_policy_options"""

    _name_ = "tce_policy_options"
    _fields_ = [
        ("struct_size", c_size_t), ("n_obs", c_int32), ("n_dims", c_int32), ("form", c_int32), ("spread", c_int32),
        ("shared_body", c_int32), ("n_hidden", c_int32), ("activation", c_int32), ("precision", c_int32),
        ("start", c_int32), ("max_batch", c_int32), ("n_cov_hidden", c_int32), ("cov_activation", c_int32),
        ("hidden", c_void_p), ("cov_hidden", c_void_p), ("min_std", c_double), ("initial_std", c_double),
        ("log_std_low", c_double), ("log_std_high", c_double), ("gain_out", c_double), ("pool", c_void_p)]
    _arrays_ = {
        "hidden": Int32, "cov_hidden": Int32}


class PoolOptions(Struct):
    """tce_pool_options"""

    _name_ = "tce_pool_options"
    _fields_ = [
        ("struct_size", c_size_t), ("n_threads", c_int32), ("reserved", c_int32), ("rank", c_int32),
        ("n_ranks", c_int32), ("user", c_void_p), ("exchange", c_void_p), ("gather", c_void_p)]


class Random(Struct):
    """tce_random"""

    _name_ = "tce_random"
    _fields_ = [
        ("key", c_uint64 * 2), ("counter", c_uint64 * 4), ("block", c_uint64 * 4), ("used", c_uint32),
        ("has_spare", c_uint32), ("spare", c_double)]


class ReturnsStats(Struct):
    """tce_returns_stats"""

    _name_ = "tce_returns_stats"
    _fields_ = [
        ("struct_size", c_size_t), ("loss", c_double), ("ratio_mean", c_double), ("ratio_max", c_double),
        ("fraction_clipped", c_double), ("approx_kl", c_double)]


class RolloutOptions(Struct):
    """tce_rollout_options"""

    _name_ = "tce_rollout_options"
    _fields_ = [
        ("struct_size", c_size_t), ("vtable", c_void_p), ("user", c_void_p), ("settings", c_char_p),
        ("seed", c_uint64), ("purpose", c_uint64), ("n_envs", c_int32), ("on_fault", c_int32), ("pool", c_void_p),
        ("first_env", c_uint64)]


class RolloutPaths(Struct):
    """tce_rollout_paths"""

    _name_ = "tce_rollout_paths"
    _fields_ = [
        ("struct_size", c_size_t), ("obs", c_void_p), ("rewards", c_void_p), ("terminated", c_void_p),
        ("truncated", c_void_p), ("events", c_void_p), ("lengths", c_void_p), ("metrics", c_void_p)]
    _arrays_ = {
        "obs": Float64, "rewards": Float64, "terminated": Uint8, "truncated": Uint8, "events": Uint8, "lengths": Int32,
        "metrics": Float64}


class SegmentSteps(Struct):
    """tce_segment_steps"""

    _name_ = "tce_segment_steps"
    _fields_ = [
        ("struct_size", c_size_t), ("E", c_size_t), ("T", c_size_t), ("J", c_size_t), ("kind", c_int32),
        ("normalise", c_int32), ("gamma", c_double), ("rewards", c_void_p), ("values", c_void_p),
        ("step_advantages", c_void_p), ("pairs", c_void_p), ("lengths", c_void_p), ("out_advantages", c_void_p),
        ("out_mask", c_void_p)]
    _arrays_ = {
        "rewards": Float64, "values": Float64, "step_advantages": Float64, "pairs": Int32, "lengths": Int32,
        "out_advantages": Float64, "out_mask": Uint8}


class SegmentOptions(Struct):
    """tce_segment_options"""

    _name_ = "tce_segment_options"
    _fields_ = [
        ("struct_size", c_size_t), ("mp", c_void_p), ("max_episodes", c_int32), ("max_steps", c_int32),
        ("max_pairs", c_int32), ("shared_cov", c_int32), ("max_grids", c_int32), ("reserved", c_int32),
        ("reg", c_double), ("pool", c_void_p)]


class SegmentPaths(Struct):
    """tce_segment_paths"""

    _name_ = "tce_segment_paths"
    _fields_ = [
        ("struct_size", c_size_t), ("E", c_size_t), ("clip", c_double), ("positions", c_void_p), ("mean", c_void_p),
        ("L", c_void_p), ("init_pos", c_void_p), ("init_vel", c_void_p), ("log_prob_old", c_void_p),
        ("advantages", c_void_p), ("mask", c_void_p), ("out_log_prob", c_void_p), ("out_d_mean", c_void_p),
        ("out_d_L", c_void_p)]
    _arrays_ = {
        "positions": Float64, "mean": Float64, "L": Float64, "init_pos": Float64, "init_vel": Float64,
        "log_prob_old": Float64, "advantages": Float64, "mask": Uint8, "out_log_prob": Float64, "out_d_mean": Float64,
        "out_d_L": Float64}


class Hooks(Struct):
    """tce_hooks"""

    _name_ = "tce_hooks"
    _fields_ = [
        ("struct_size", c_size_t), ("user", c_void_p), ("allocate", c_void_p), ("release", c_void_p)]


class StoreArray(Struct):
    """tce_store_array"""

    _name_ = "tce_store_array"
    _fields_ = [
        ("struct_size", c_size_t), ("name", c_char_p), ("data", c_void_p), ("shape", c_size_t * 4), ("rank", c_int32),
        ("type", c_int32)]


class TrplOptions(Struct):
    """tce_trpl_options"""

    _name_ = "tce_trpl_options"
    _fields_ = [
        ("struct_size", c_size_t), ("kind", c_int32), ("dim", c_int32), ("max_batch", c_int32),
        ("shared_cov", c_int32), ("diagonal", c_int32), ("entropy", c_int32), ("entropy_first", c_int32),
        ("reserved", c_int32), ("pool", c_void_p)]


class TrplBounds(Struct):
    """tce_trpl_bounds"""

    _name_ = "tce_trpl_bounds"
    _fields_ = [
        ("struct_size", c_size_t), ("mean", c_double), ("cov", c_double), ("entropy", c_double)]


# callbacks that are passed as arguments
EnvReport = CFUNCTYPE(None, c_void_p, c_int32, c_char_p)
EnvTrace = CFUNCTYPE(None, c_void_p, c_char_p, c_int32)
TasksFunction = CFUNCTYPE(c_void_p, c_void_p, c_void_p)
NetLoss = CFUNCTYPE(c_int32, c_void_p, c_size_t, c_size_t, c_void_p, c_void_p, c_void_p)
PoolExchange = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p)
PoolGather = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p)
PoolWork = CFUNCTYPE(c_int32, c_void_p, c_size_t, c_size_t, c_size_t, c_int32)

# functions that are fields of tce_env_vtable: as callbacks, and as what is called
EnvVtableCallbacks: Dict[str, Any] = {
    "create": CFUNCTYPE(c_int32, c_void_p, c_char_p, c_void_p),
    "destroy": CFUNCTYPE(None, c_void_p),
    "spec": CFUNCTYPE(c_int32, c_void_p, c_void_p),
    "reset": CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p),
    "step": CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p),
    "step_action": CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_void_p),
    "metrics": CFUNCTYPE(c_int32, c_void_p, c_void_p),
    "n_state": CFUNCTYPE(c_size_t, c_void_p),
    "get_state": CFUNCTYPE(c_int32, c_void_p, c_void_p),
    "set_state": CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p),
    "render": CFUNCTYPE(c_int32, c_void_p, c_int32, c_int32, c_void_p),
}
EnvVtableFunctions: Dict[str, Tuple[Any, List[Any]]] = {
    "create": (Status, [Data, c_char_p, Pointer]),
    "destroy": (None, [Data]),
    "spec": (Status, [Data, Pointer]),
    "reset": (Status, [Data, Pointer, Float64, Float64, Float64]),
    "step": (Status, [Data, Float64, Float64, Float64, Data]),
    "step_action": (Status, [Data, Float64, Float64, Data]),
    "metrics": (Status, [Data, Float64]),
    "n_state": (c_size_t, [Data]),
    "get_state": (Status, [Data, Float64]),
    "set_state": (Status, [Data, Float64, Float64]),
    "render": (Status, [Data, c_int32, c_int32, Uint8]),
}

# functions that are fields of tce_hooks: as callbacks, and as what is called
HooksCallbacks: Dict[str, Any] = {
    "allocate": CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_size_t),
    "release": CFUNCTYPE(None, c_void_p, c_void_p),
}
HooksFunctions: Dict[str, Tuple[Any, List[Any]]] = {
    "allocate": (c_void_p, [Data, c_size_t, c_size_t]),
    "release": (None, [Data, Data]),
}

# every function: its result and its arguments
FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "tce_adam_options_init": (None, [Pointer, c_size_t]),
    "tce_adam_update": (Status, [Pointer, c_uint64, c_size_t, Float64, Float64, Float64, Float64]),
    "tce_env_check": (Status, [Pointer]),
    "tce_env_inspect_options_init": (None, [Pointer, c_size_t]),
    "tce_env_inspect": (Status, [Pointer, Pointer, Int32]),
    "tce_env_library_open": (Status, [c_char_p, Pointer, Pointer]),
    "tce_env_library_free": (None, [Pointer]),
    "tce_env_library_n_tasks": (c_size_t, [Pointer]),
    "tce_env_library_at": (c_void_p, [Pointer, c_size_t]),
    "tce_env_library_find": (Status, [Pointer, c_char_p, Pointer]),
    "tce_gauss_work_size": (c_size_t, [c_size_t, c_size_t]),
    "tce_gauss_log_prob": (Status, [Pointer, Float64, Float64, Float64]),
    "tce_gauss_log_prob_backward": (Status, [Pointer, Float64, Float64, Float64, Float64, Float64, Float64]),
    "tce_gauss_entropy": (Status, [Pointer, Float64]),
    "tce_gauss_entropy_backward": (Status, [Pointer, Float64, Float64]),
    "tce_gauss_kl": (Status, [Pointer, Pointer, Float64, Float64, Float64]),
    "tce_gauss_kl_backward": (Status, [Pointer, Pointer, Float64, Float64, Float64, Float64, Float64]),
    "tce_gauss_sample": (Status, [Pointer, Float64, Float64]),
    "tce_gauss_squash": (Status, [Pointer, Float64, Float64, Float64]),
    "tce_gauss_squash_backward": (Status, [Pointer, Float64, Float64, Float64, Float64, Float64, Float64]),
    "tce_gauss_squash_log_prob": (Status, [Pointer, Float64, Float64, Float64]),
    "tce_gauss_squash_log_prob_backward": (Status, [Pointer, Float64, Float64, Float64, Float64, Float64]),
    "tce_mp_options_init": (None, [Pointer, c_size_t]),
    "tce_mp_create": (Status, [Pointer, Pointer, Pointer]),
    "tce_mp_free": (None, [Pointer]),
    "tce_mp_n_params": (c_size_t, [Pointer]),
    "tce_mp_n_dof": (c_size_t, [Pointer]),
    "tce_mp_n_columns": (c_size_t, [Pointer]),
    "tce_mp_get_options": (None, [Pointer, Pointer]),
    "tce_mp_trajectory": (Status, [Pointer, Pointer, Float64, Float64, Float64, Float64]),
    "tce_mp_trajectory_backward": (Status, [Pointer, Pointer, Float64, Float64, Float64, Float64]),
    "tce_mp_query": (Status, [Pointer, c_double, Float64, c_double, Float64, Float64, Float64, Float64, Float64]),
    "tce_mp_basis": (Status, [Pointer, c_size_t, Float64, c_double, Float64, Float64, Float64]),
    "tce_mp_covariance": (Status, [Pointer, c_size_t, Float64, c_double, Float64, c_double, c_int32, Float64, Float64]),
    "tce_mp_work_size": (c_size_t, [Pointer]),
    "tce_mp_fit": (Status, [Pointer, c_size_t, Float64, Float64, c_double, Float64, Float64]),
    "tce_mp_condition": (Status, [
        Pointer, c_size_t, Pointer, c_double, Float64, Float64, Float64, Float64, Float64, Float64, Float64]),
    "tce_mp_blend": (Status, [Pointer, Pointer, c_double, c_double, c_size_t, Float64, Float64, Float64, Float64]),
    "tce_mp_save": (Status, [Pointer, Pointer, c_char_p]),
    "tce_mp_create_from": (Status, [Pointer, c_char_p, Pointer, Pointer]),
    "tce_net_options_init": (None, [Pointer, c_size_t]),
    "tce_net_create": (Status, [Pointer, Pointer, Pointer]),
    "tce_net_free": (None, [Pointer]),
    "tce_net_start": (Status, [Pointer, Pointer]),
    "tce_net_evaluate": (Status, [Pointer, c_size_t, Float64, Float64, Float64]),
    "tce_net_work_size": (c_size_t, [Pointer, c_size_t]),
    "tce_net_forward": (Status, [Pointer, c_size_t, Float64, Float64]),
    "tce_net_hidden": (Status, [Pointer, c_size_t, Float64]),
    "tce_net_backward": (Status, [Pointer, c_size_t, Float64, Float64]),
    "tce_net_backward_input": (Status, [Pointer, c_size_t, Float64, Float64]),
    "tce_net_pass": (Status, [Pointer, c_size_t, Float64, Uint32, c_void_p, Data, c_size_t, Float64]),
    "tce_net_pass_mse": (Status, [Pointer, c_size_t, Float64, Float64, Uint32, Float64]),
    "tce_net_gradient_norm": (c_double, [Pointer]),
    "tce_net_scale_gradient": (None, [Pointer, c_double]),
    "tce_net_adam_step": (Status, [Pointer, Pointer]),
    "tce_net_average": (Status, [Pointer, Pointer, c_double]),
    "tce_net_n_weights": (c_size_t, [Pointer]),
    "tce_net_get_weights": (None, [Pointer, Float64]),
    "tce_net_set_weights": (Status, [Pointer, Float64]),
    "tce_net_get_gradient": (None, [Pointer, Float64]),
    "tce_net_save": (Status, [Pointer, Pointer, c_char_p]),
    "tce_net_load": (Status, [Pointer, Pointer, c_char_p]),
    "tce_normaliser_options_init": (None, [Pointer, c_size_t]),
    "tce_normaliser_create": (Status, [Pointer, Pointer, Pointer]),
    "tce_normaliser_free": (None, [Pointer]),
    "tce_normaliser_update": (Status, [Pointer, c_size_t, Float64, Uint8]),
    "tce_normaliser_apply": (Status, [Pointer, c_size_t, Float64, Float64]),
    "tce_normaliser_statistics": (None, [Pointer, Float64, Float64, Float64]),
    "tce_normaliser_save": (Status, [Pointer, Pointer, c_char_p]),
    "tce_normaliser_load": (Status, [Pointer, Pointer, c_char_p]),
    "tce_policy_options_init": (None, [Pointer, c_size_t]),
    "tce_policy_create": (Status, [Pointer, Pointer, Pointer]),
    "tce_policy_free": (None, [Pointer]),
    "tce_policy_start": (Status, [Pointer, Pointer]),
    "tce_policy_n_factors": (c_size_t, [Pointer, c_size_t]),
    "tce_policy_scale_size": (c_size_t, [Pointer]),
    "tce_policy_n_dims": (c_size_t, [Pointer]),
    "tce_policy_n_obs": (c_size_t, [Pointer]),
    "tce_policy_mean": (Status, [Pointer, c_size_t, Float64, Float64, Float64]),
    "tce_policy_work_size": (c_size_t, [Pointer, c_size_t]),
    "tce_policy_predict": (Status, [Pointer, c_size_t, Float64, Float64, Float64]),
    "tce_policy_backward": (Status, [Pointer, c_size_t, Float64, Float64]),
    "tce_policy_hidden": (Status, [Pointer, c_size_t, Float64]),
    "tce_policy_gradient_norm": (c_double, [Pointer]),
    "tce_policy_scale_gradient": (None, [Pointer, c_double]),
    "tce_policy_adam_step": (Status, [Pointer, Pointer]),
    "tce_policy_set_covariance": (Status, [Pointer, Float64]),
    "tce_policy_n_weights": (c_size_t, [Pointer]),
    "tce_policy_get_weights": (None, [Pointer, Float64]),
    "tce_policy_set_weights": (Status, [Pointer, Float64]),
    "tce_policy_get_gradient": (None, [Pointer, Float64]),
    "tce_policy_save": (Status, [Pointer, Pointer, c_char_p]),
    "tce_policy_load": (Status, [Pointer, Pointer, c_char_p]),
    "tce_policy_create_from": (Status, [Pointer, c_char_p, Pointer, Pointer, Pointer]),
    "tce_pool_options_init": (None, [Pointer, c_size_t]),
    "tce_pool_create": (Status, [Pointer, Pointer, Pointer]),
    "tce_pool_free": (None, [Pointer]),
    "tce_pool_n_threads": (c_int32, [Pointer]),
    "tce_pool_run": (Status, [Pointer, c_size_t, c_size_t, c_void_p, Data]),
    "tce_blas_set_threads": (None, [c_int32]),
    "tce_blas_check": (Status, []),
    "tce_random_start": (None, [Pointer, c_uint64, c_uint64, c_uint64, c_uint64]),
    "tce_random_bits": (c_uint64, [Pointer]),
    "tce_random_uniform": (c_double, [Pointer]),
    "tce_random_normals": (None, [Pointer, c_size_t, Float64]),
    "tce_random_below": (c_uint64, [Pointer, c_uint64]),
    "tce_random_permutation": (None, [Pointer, c_size_t, Uint32]),
    "tce_returns_gae": (Status, [c_size_t, c_size_t, Float64, Float64, Uint8, c_double, c_double, Float64, Float64]),
    "tce_returns_monte_carlo": (Status, [c_size_t, c_size_t, Float64, Float64, Uint8, c_double, Float64, Float64]),
    "tce_returns_normalise": (None, [c_size_t, Uint8, Float64]),
    "tce_returns_to_event": (None, [c_size_t, c_size_t, Uint8, Float64]),
    "tce_returns_surrogate": (Status, [c_size_t, Float64, Float64, Float64, Uint8, c_double, Pointer, Float64]),
    "tce_rollout_options_init": (None, [Pointer, c_size_t]),
    "tce_rollout_create": (Status, [Pointer, Pointer, Pointer]),
    "tce_rollout_free": (None, [Pointer]),
    "tce_rollout_spec": (c_void_p, [Pointer]),
    "tce_rollout_status": (c_int32, [Pointer, c_size_t]),
    "tce_rollout_message": (c_char_p, [Pointer, c_size_t]),
    "tce_rollout_reset": (Status, [Pointer, c_size_t, c_uint64, Float64, Float64, Float64]),
    "tce_rollout_reset_where": (Status, [Pointer, c_size_t, Size, Pointer, Float64, Float64, Float64]),
    "tce_rollout_run": (Status, [Pointer, c_size_t, c_size_t, Float64, Float64, Pointer]),
    "tce_rollout_step": (Status, [Pointer, c_size_t, Float64, Float64, Data]),
    "tce_rollout_metrics": (Status, [Pointer, c_size_t, Float64]),
    "tce_rollout_instance": (c_void_p, [Pointer, c_size_t]),
    "tce_rollout_n_state": (c_size_t, [Pointer]),
    "tce_rollout_get_states": (Status, [Pointer, c_size_t, Float64]),
    "tce_rollout_set_states": (Status, [Pointer, c_size_t, Float64, Float64]),
    "tce_segment_max_pairs": (c_size_t, [c_size_t, c_size_t]),
    "tce_segment_choose_pairs": (Status, [c_int32, c_size_t, c_size_t, c_size_t, Pointer, Int32, Size]),
    "tce_segment_advantage": (Status, [Pointer]),
    "tce_segment_options_init": (None, [Pointer, c_size_t]),
    "tce_segment_create": (Status, [Pointer, Pointer, Pointer]),
    "tce_segment_free": (None, [Pointer]),
    "tce_segment_set_pairs": (Status, [Pointer, c_size_t, c_size_t, Float64, Float64, c_size_t, Int32]),
    "tce_segment_log_prob": (Status, [Pointer, Pointer]),
    "tce_segment_surrogate": (Status, [Pointer, Pointer, Pointer]),
    "tce_status_name": (c_char_p, [c_int32]),
    "tce_status_text": (c_char_p, [c_int32]),
    "tce_error_message": (c_char_p, []),
    "tce_fail": (c_int32, [c_int32, c_char_p]),
    "tce_store_create": (Status, [Pointer, Pointer]),
    "tce_store_free": (None, [Pointer]),
    "tce_store_put": (Status, [Pointer, c_char_p, c_int32, c_int32, Size, Data]),
    "tce_store_put_text": (Status, [Pointer, c_char_p, c_char_p]),
    "tce_store_get": (Status, [Pointer, c_char_p, Pointer]),
    "tce_store_get_text": (c_char_p, [Pointer, c_char_p]),
    "tce_store_read": (Status, [Pointer, c_char_p, c_int32, c_size_t, Data]),
    "tce_store_n_arrays": (c_size_t, [Pointer]),
    "tce_store_at": (Status, [Pointer, c_size_t, Pointer]),
    "tce_store_save": (Status, [Pointer, c_char_p]),
    "tce_store_load": (Status, [c_char_p, Pointer, Pointer]),
    "tce_store_parse": (Status, [Data, c_size_t, Pointer, Pointer]),
    "tce_trpl_options_init": (None, [Pointer, c_size_t]),
    "tce_trpl_create": (Status, [Pointer, Pointer, Pointer]),
    "tce_trpl_free": (None, [Pointer]),
    "tce_trpl_project": (Status, [Pointer, c_size_t, Float64, Float64, Float64, Float64, Pointer, Float64, Float64]),
    "tce_trpl_backward": (Status, [Pointer, c_size_t, Float64, Float64, Float64, Float64]),
    "tce_trpl_regression_add": (Status, [
        Pointer, c_size_t, Float64, Float64, c_double, c_int32, Float64, Float64, Float64]),
    "tce_trpl_distances": (Status, [Pointer, c_size_t, Float64, Float64, Float64]),
    "tce_version": (c_int32, []),
    "tce_version_string": (c_char_p, []),
}
