"""The C library: where it is found, its structs and its functions, declared as in include/tce.

``lib`` has one attribute a public function. Functions that return tce_status raise the exception of
``tce.errors`` when they fail, with the message that the library left for this thread.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from ctypes import c_char_p, c_double, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Dict, List, Tuple, Type

from .errors import error

SONAME = "libtce.so.0"

# The library that these declarations were written for: major * 1000000 + minor * 1000 + patch.
VERSION_NEEDED = 1000


class Struct(ctypes.Structure):
    """A C struct that prints its fields."""

    def __repr__(self) -> str:
        fields = ", ".join(f"{field[0]}={getattr(self, field[0])!r}" for field in self._fields_)
        return f"{type(self).__name__}({fields})"


def _struct(name: str, *fields: Tuple[str, str]) -> Type[Struct]:
    """A struct class from (letters, names) rows: each letter is the type of all names in its row."""
    rows = [(field, _TYPES[kind]) for kind, names in fields for field in names.split()]
    return type(name, (Struct,), {"_fields_": rows})


_TYPES: Dict[str, Any] = {
    "n": c_size_t,
    "i": c_int32,
    "u": c_uint64,
    "w": c_uint32,
    "d": c_double,
    "p": c_void_p,
    "s": c_char_p,
    "u2": c_uint64 * 2,
    "u4": c_uint64 * 4,
    "n4": c_size_t * 4,
    "v": None,
}

RandomState = _struct(
    "RandomState", ("u2", "key"), ("u4", "counter block"), ("w", "used has_spare"), ("d", "spare"))
PoolOptions = _struct("PoolOptions", ("n", "struct_size"), ("i", "n_threads reserved"))
StoreArray = _struct(
    "StoreArray", ("n", "struct_size"), ("s", "name"), ("p", "data"), ("n4", "shape"), ("i", "rank type"))
MpOptions = _struct(
    "MpOptions",
    ("n", "struct_size"),
    ("i", "kind phase basis num_dof num_basis num_basis_outside table_length relative_goal"),
    ("i", "auto_scale_basis disable_goal disable_weights learn_tau learn_delay reserved"),
    ("d", "tau delay dt alpha alpha_phase basis_bandwidth_factor weights_scale goal_scale"),
    ("p", "weights_scales"))
MpGrid = _struct(
    "MpGrid", ("n", "struct_size E T n_time_rows n_init_times"), ("p", "times init_time init_pos init_vel"))
MpVia = _struct("MpVia", ("d", "time value tolerance"), ("i", "dof order"))
MpPlan = _struct(
    "MpPlan", ("n", "struct_size"), ("p", "mp params init_pos init_vel"), ("d", "init_time"))
TrplOptions = _struct(
    "TrplOptions",
    ("n", "struct_size"),
    ("i", "kind dim max_batch shared_cov diagonal entropy entropy_first reserved"),
    ("d", "mean_bound cov_bound"),
    ("p", "pool"))
SegmentOptions = _struct(
    "SegmentOptions",
    ("n", "struct_size"),
    ("p", "mp"),
    ("i", "max_episodes max_steps max_pairs shared_cov max_grids reserved"),
    ("d", "reg"),
    ("p", "pool"))
SegmentStats = _struct(
    "SegmentStats", ("n", "struct_size"), ("d", "loss ratio_mean ratio_max fraction_clipped approx_kl"))
NetOptions = _struct(
    "NetOptions",
    ("n", "struct_size"),
    ("i", "n_in n_out n_hidden activation precision start max_batch reserved"),
    ("p", "hidden"),
    ("d", "gain_hidden gain_out"),
    ("p", "pool"))
AdamOptions = _struct(
    "AdamOptions", ("n", "struct_size"), ("d", "learning_rate l2 beta1 beta2 epsilon"))
PolicyOptions = _struct(
    "PolicyOptions",
    ("n", "struct_size"),
    ("i", "n_obs n_params form n_hidden activation precision start max_batch"),
    ("i", "n_cov_hidden cov_activation"),
    ("p", "hidden cov_hidden"),
    ("d", "min_std initial_std"),
    ("p", "pool"))
CriticOptions = _struct(
    "CriticOptions",
    ("n", "struct_size"),
    ("i", "n_obs n_hidden activation precision start max_batch normalise reserved"),
    ("p", "hidden pool"))
EnvSpecStruct = _struct(
    "EnvSpecStruct",
    ("n", "struct_size"),
    ("i", "n_obs n_dof n_action n_steps n_metrics n_context"),
    ("d", "dt"),
    ("p", "metric_names context action_low action_high"),
    ("i", "carries_state reserved"))
EnvResult = _struct("EnvResult", ("d", "reward"), ("i", "terminated truncated event reserved"))
EnvVtable = _struct(
    "EnvVtable",
    ("n", "struct_size"),
    ("i", "abi reserved"),
    ("s", "name description"),
    ("p", "create destroy spec reset step step_action metrics n_state get_state set_state render"))
RolloutOptions = _struct(
    "RolloutOptions",
    ("n", "struct_size"),
    ("p", "vtable user"),
    ("s", "settings"),
    ("u", "seed purpose"),
    ("i", "n_envs on_fault"),
    ("p", "pool"))
RolloutPaths = _struct(
    "RolloutPaths", ("n", "struct_size"), ("p", "obs rewards dones events lengths metrics"))

# TCE_ENV_ABI of include/tce/env.h.
ENV_ABI = 1

POOL_WORK = ctypes.CFUNCTYPE(c_int32, c_void_p, c_size_t, c_size_t, c_size_t, c_int32)
NET_LOSS = ctypes.CFUNCTYPE(c_int32, c_void_p, c_size_t, c_size_t, c_void_p, c_void_p, c_void_p)

# The functions of a tce_env_vtable, by entry.
ENV_FUNCTIONS: Dict[str, Any] = {
    "create": ctypes.CFUNCTYPE(c_int32, c_void_p, c_char_p, c_void_p),
    "destroy": ctypes.CFUNCTYPE(None, c_void_p),
    "spec": ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p),
    "reset": ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p),
    "step": ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p),
    "step_action": ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_void_p),
    "metrics": ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p),
    "n_state": ctypes.CFUNCTYPE(c_size_t, c_void_p),
    "get_state": ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p),
    "set_state": ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p),
    "render": ctypes.CFUNCTYPE(c_int32, c_void_p, c_int32, c_int32, c_void_p),
}

# Every public function: result, then arguments. x: tce_status (raises), v: void, p: pointer, s: text,
# n: size_t, i: int32_t, u: uint64_t, d: double.
FUNCTIONS: Dict[str, str] = {
    # version, base
    "tce_version": "i",
    "tce_version_string": "s",
    "tce_status_name": "s i",
    "tce_status_text": "s i",
    "tce_error_message": "s",
    "tce_hooks_init": "v pn",
    "tce_random_start": "v puuuu",
    "tce_random_bits": "u p",
    "tce_random_uniform": "d p",
    "tce_random_normal": "d p",
    "tce_random_normals": "v pnp",
    "tce_random_below": "u pu",
    "tce_random_permutation": "v pnp",
    "tce_pool_options_init": "v pn",
    "tce_pool_create": "x ppp",
    "tce_pool_free": "v p",
    "tce_pool_threads": "i p",
    "tce_pool_run": "x pnnpp",
    "tce_blas_set_threads": "v i",
    "tce_blas_threads": "i",
    "tce_blas_better_kernels": "s",
    # store
    "tce_store_array_init": "v pn",
    "tce_store_create": "x pp",
    "tce_store_free": "v p",
    "tce_store_put": "x psiipp",
    "tce_store_put_text": "x pss",
    "tce_store_get": "x psp",
    "tce_store_get_text": "s ps",
    "tce_store_read": "x psinp",
    "tce_store_count": "n p",
    "tce_store_at": "x pnp",
    "tce_store_save": "x ps",
    "tce_store_load": "x spp",
    "tce_store_parse": "x pnpp",
    # mp
    "tce_mp_options_init": "v pn",
    "tce_mp_create": "x ppp",
    "tce_mp_free": "v p",
    "tce_mp_num_params": "n p",
    "tce_mp_num_dof": "n p",
    "tce_mp_num_columns": "n p",
    "tce_mp_phase": "x pnpp",
    "tce_mp_grid_init": "v pn",
    "tce_mp_trajectory": "x pppppp",
    "tce_mp_trajectory_backward": "x pppppp",
    "tce_mp_query": "x pdpdppppp",
    "tce_mp_basis": "x pnpdppp",
    "tce_mp_covariance": "x pnpdpdipp",
    "tce_mp_sample": "x pppppppp",
    "tce_mp_fit": "x pnppdp",
    "tce_mp_condition": "x pnpdpppppp",
    "tce_mp_plan_init": "v pn",
    "tce_mp_blend": "x ppddnpppp",
    "tce_mp_save": "x pps",
    "tce_mp_create_from": "x pspp",
    # gauss
    "tce_gauss_work": "n nn",
    "tce_gauss_log_prob": "x nnnppppp",
    "tce_gauss_log_prob_backward": "x nnnpppppppp",
    "tce_gauss_entropy": "x nnpp",
    "tce_gauss_entropy_backward": "x nnppp",
    "tce_gauss_kl": "x nnnppnppppp",
    "tce_gauss_kl_backward": "x nnnppnppppppp",
    "tce_gauss_sample": "x nnnppppp",
    # trpl
    "tce_trpl_options_init": "v pn",
    "tce_trpl_create": "x ppp",
    "tce_trpl_free": "v p",
    "tce_trpl_set_bounds": "x pdd",
    "tce_trpl_project": "x pnppppdpp",
    "tce_trpl_backward": "x pnpppp",
    "tce_trpl_regression": "x pnppdippp",
    "tce_trpl_distances": "x pnppp",
    "tce_trpl_entropy_control": "x nnpdip",
    "tce_trpl_entropy_control_backward": "x nnpdipp",
    "tce_trpl_entropy_bound": "x inddduup",
    # segment
    "tce_gae": "x nnpppddpp",
    "tce_monte_carlo": "x nnpppdpp",
    "tce_time_pairs_max": "n nn",
    "tce_time_pairs": "x innppp",
    "tce_time_pairs_from": "x nnnpp",
    "tce_segment_advantage": "x innnpppppdipp",
    "tce_normalise": "v npp",
    "tce_segment_options_init": "v pn",
    "tce_segment_create": "x ppp",
    "tce_segment_free": "v p",
    "tce_segment_set_pairs": "x pnnppnp",
    "tce_segment_log_prob": "x pnpppppp",
    "tce_segment_stats_init": "v pn",
    "tce_segment_surrogate": "x pnppppppppdpppp",
    "tce_surrogate": "x nppppdpp",
    # net
    "tce_net_options_init": "v pn",
    "tce_adam_options_init": "v pn",
    "tce_net_create": "x ppp",
    "tce_net_free": "v p",
    "tce_net_start": "x pp",
    "tce_net_forward": "x pnpp",
    "tce_net_backward": "x pnpp",
    "tce_net_pass": "x pnppppp",
    "tce_net_pass_mse": "x pnpppp",
    "tce_net_gradient_norm": "d p",
    "tce_net_scale_gradient": "v pd",
    "tce_net_adam_step": "x ppd",
    "tce_linear_schedule": "d uu",
    "tce_clip_factor": "d dd",
    "tce_net_num_parameters": "n p",
    "tce_net_get_parameters": "v pp",
    "tce_net_set_parameters": "x pp",
    "tce_net_get_gradient": "v pp",
    "tce_net_save": "x pps",
    "tce_net_load": "x pps",
    # policy, critic
    "tce_policy_options_init": "v pn",
    "tce_policy_create": "x ppp",
    "tce_policy_free": "v p",
    "tce_policy_start": "x pp",
    "tce_policy_num_factors": "n pn",
    "tce_policy_num_params": "n p",
    "tce_policy_num_obs": "n p",
    "tce_policy_predict": "x pnppp",
    "tce_policy_backward": "x pnpp",
    "tce_policy_adam_step": "x ppddp",
    "tce_policy_set_covariance": "x pp",
    "tce_policy_num_parameters": "n p",
    "tce_policy_get_parameters": "v pp",
    "tce_policy_set_parameters": "x pp",
    "tce_policy_get_gradient": "v pp",
    "tce_policy_save": "x pps",
    "tce_policy_load": "x pps",
    "tce_policy_create_from": "x psippp",
    "tce_critic_options_init": "v pn",
    "tce_critic_create": "x ppp",
    "tce_critic_free": "v p",
    "tce_critic_start": "x pp",
    "tce_critic_observe": "x pnp",
    "tce_critic_normalise": "x pnpp",
    "tce_critic_value": "x pnpp",
    "tce_critic_fit_epoch": "x pnppnppddp",
    "tce_critic_statistics": "v pppp",
    "tce_critic_num_parameters": "n p",
    "tce_critic_get_parameters": "v pp",
    "tce_critic_set_parameters": "x pp",
    "tce_critic_save": "x pps",
    "tce_critic_load": "x pps",
    # env, rollout
    "tce_env_check": "x p",
    "tce_env_library_open": "x spp",
    "tce_env_library_free": "v p",
    "tce_env_library_count": "n p",
    "tce_env_library_at": "p pn",
    "tce_env_library_find": "x psp",
    "tce_rollout_options_init": "v pn",
    "tce_rollout_create": "x ppp",
    "tce_rollout_free": "v p",
    "tce_rollout_num_envs": "n p",
    "tce_rollout_spec": "p p",
    "tce_rollout_status": "i pn",
    "tce_rollout_message": "s pn",
    "tce_rollout_reset": "x pnuppp",
    "tce_rollout_paths_init": "v pn",
    "tce_rollout_run": "x pnnppp",
    "tce_rollout_step": "x pnppp",
    "tce_rollout_reset_one": "x pnuppp",
    "tce_rollout_reset_streams": "x pnppppp",
    "tce_rollout_metrics": "x pnp",
    "tce_rollout_instance": "p pn",
    "tce_rollout_num_state": "n p",
    "tce_rollout_get_states": "x pnp",
    "tce_rollout_set_states": "x pnp",
    "tce_rewards_to_event": "v nnpp",
}


def _candidates() -> List[str]:
    """Names to try, in order: the bundled library, TCE_LIBRARY, the system's loader."""
    names = []
    bundled = Path(__file__).resolve().parent / "lib" / SONAME
    if bundled.exists():
        names.append(str(bundled))
    if os.environ.get("TCE_LIBRARY"):
        names.append(os.path.abspath(os.environ["TCE_LIBRARY"]))
    names.append(SONAME)
    found = ctypes.util.find_library("tce")
    if found and found not in names:
        names.append(found)
    return names


def _load() -> Tuple[ctypes.CDLL, str]:
    """The first candidate that loads; the error of each when none does."""
    reasons = []
    for name in _candidates():
        try:
            return ctypes.CDLL(name), name
        except OSError as reason:
            reasons.append(f"  {name}: {reason}")
    raise ImportError(
        "libtce could not be loaded. Tried:\n" + "\n".join(reasons)
        + "\nInstall the package with `pip install ./bindings/python`, or set TCE_LIBRARY to libtce.so.0.")


def status_error(status: int) -> Exception:
    """The exception for a status that a call in this thread has just returned."""
    name = lib.tce_status_name(status) or b"?"
    message = lib.tce_error_message() or b""
    return error(status, name.decode("utf-8", "replace"), message.decode("utf-8", "replace"))


def _check(status: int, function: Any, arguments: Any) -> int:
    if status != 0:
        raise status_error(status)
    return status


def _declare(library: ctypes.CDLL) -> None:
    """Gives every function its types; one that is missing is named."""
    for name, signature in FUNCTIONS.items():
        result, _, arguments = signature.partition(" ")
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{path} has no {name}: it is not the library of this package") from None
        function.argtypes = [_TYPES[letter] for letter in arguments]
        if result == "x":
            function.restype = c_int32
            function.errcheck = _check
        else:
            function.restype = _TYPES[result]
    # variadic: only the fixed arguments are declared
    library.tce_fail.restype = c_int32
    library.tce_fail.argtypes = [c_int32, c_char_p]


def _check_version(library: ctypes.CDLL) -> None:
    number = library.tce_version()
    if number < VERSION_NEEDED or number // 1000000 != VERSION_NEEDED // 1000000:
        raise ImportError(
            f"{path} is libtce {library.tce_version_string().decode()}; this package needs "
            f"{VERSION_NEEDED // 1000000}.{VERSION_NEEDED // 1000 % 1000}.{VERSION_NEEDED % 1000} or later "
            "with the same major number")


lib, path = _load()
_declare(lib)
_check_version(lib)


def fail(status: int, message: str) -> int:
    """Leaves a message for this thread and returns the status: for callbacks."""
    text = message.replace("\0", " ").encode("utf-8", "replace")
    return int(lib.tce_fail(status, b"%s", c_char_p(text)))
