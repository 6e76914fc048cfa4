"""The trainer's library in ctypes: constants, structs, callbacks, functions. Made by declare.py: do not edit."""

from ctypes import CFUNCTYPE, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, Dict, List, Tuple

from ._pointers import Data, Float64, Int32, Pointer, Status, Struct

TCE_TRAIN_ASK_CREATE = 1
TCE_TRAIN_ASK_DESTROY = 2
TCE_TRAIN_ASK_RESET = 3
TCE_TRAIN_ASK_STEP = 4
TCE_TRAIN_ASK_ACTION = 5
TCE_TRAIN_ASK_METRICS = 6
TCE_TRAIN_ASK_GET_STATE = 7
TCE_TRAIN_ASK_SET_STATE = 8
TCE_TRAIN_NEW = 0
TCE_TRAIN_RESUME = 1
TCE_TRAIN_RESTART = 2
TCE_TRAIN_GO_ON = 0
TCE_TRAIN_STOP = 1
TCE_TRAIN_ABANDON = 2


class TrainTask(Struct):
    """tce_train_task"""

    _name_ = "tce_train_task"
    _fields_ = [
        ("struct_size", c_size_t), ("vtable", c_void_p), ("user", c_void_p), ("pool", c_void_p),
        ("one_thread", c_int32), ("reserved", c_int32), ("begin_path", c_void_p)]


class TrainLayout(Struct):
    """tce_train_layout"""

    _name_ = "tce_train_layout"
    _fields_ = [
        ("struct_size", c_size_t), ("random", c_size_t), ("pos", c_size_t), ("vel", c_size_t), ("action", c_size_t),
        ("obs", c_size_t), ("results", c_size_t), ("metrics", c_size_t), ("state", c_size_t), ("size", c_size_t)]


class TrainWorkersOptions(Struct):
    """tce_train_workers_options"""

    _name_ = "tce_train_workers_options"
    _fields_ = [
        ("struct_size", c_size_t), ("name", c_char_p), ("spec", c_void_p), ("n_workers", c_size_t),
        ("sockets", c_void_p), ("processes", c_void_p), ("n_state", c_size_t)]
    _arrays_ = {
        "sockets": Int32, "processes": Int32}


class TrainStanding(Struct):
    """tce_train_standing"""

    _name_ = "tce_train_standing"
    _fields_ = [
        ("struct_size", c_size_t), ("iteration", c_int64), ("iterations", c_int64), ("env_steps", c_int64),
        ("steps_limit", c_int64), ("dropped", c_int64), ("evaluated", c_int32), ("last", c_int32),
        ("n_values", c_size_t), ("names", c_void_p), ("values", c_void_p), ("n_phases", c_size_t),
        ("phases", c_void_p), ("seconds", c_void_p)]
    _arrays_ = {
        "values": Float64, "seconds": Float64}


class TrainOptions(Struct):
    """tce_train_options"""

    _name_ = "tce_train_options"
    _fields_ = [
        ("struct_size", c_size_t), ("task", c_void_p), ("folder", c_char_p), ("start", c_int32),
        ("has_config", c_int32), ("path", c_char_p), ("n_words", c_size_t), ("words", c_void_p), ("spec", c_void_p),
        ("context", c_void_p), ("note", c_void_p), ("warn", c_void_p), ("advance", c_void_p)]


class TrainResult(Struct):
    """tce_train_result"""

    _name_ = "tce_train_result"
    _fields_ = [
        ("struct_size", c_size_t), ("iteration", c_int64), ("env_steps", c_int64), ("saved", c_int64),
        ("seconds", c_double), ("eval_success", c_double), ("eval_return", c_double), ("interrupted", c_int32),
        ("reserved", c_int32)]


class TrainDemos(Struct):
    """tce_train_demos"""

    _name_ = "tce_train_demos"
    _fields_ = [
        ("struct_size", c_size_t), ("n", c_size_t), ("T", c_size_t), ("D", c_size_t), ("O", c_size_t),
        ("n_rows", c_void_p), ("times", c_void_p), ("pos", c_void_p), ("obs", c_void_p)]
    _arrays_ = {
        "n_rows": Int32, "times": Float64, "pos": Float64, "obs": Float64}


class TrainImitation(Struct):
    """tce_train_imitation"""

    _name_ = "tce_train_imitation"
    _fields_ = [
        ("struct_size", c_size_t), ("path_error", c_double), ("parameter_error", c_double), ("std", c_double)]


class TrainSizes(Struct):
    """tce_train_sizes"""

    _name_ = "tce_train_sizes"
    _fields_ = [
        ("struct_size", c_size_t), ("n_obs", c_int32), ("n_context", c_int32), ("n_dof", c_int32),
        ("n_params", c_int32), ("n_steps", c_int32), ("acts", c_int32), ("dt", c_double), ("context", c_void_p),
        ("task", c_char_p), ("mp", c_void_p)]
    _arrays_ = {
        "context": Int32}


class TrainParts(Struct):
    """tce_train_parts"""

    _name_ = "tce_train_parts"
    _fields_ = [
        ("struct_size", c_size_t), ("policy", c_void_p), ("mp", c_void_p), ("n_obs", c_int32), ("n_context", c_int32),
        ("context", c_void_p), ("n_steps", c_int32), ("reserved", c_int32), ("dt", c_double), ("task", c_char_p)]
    _arrays_ = {
        "context": Int32}


class TrainPlayerOptions(Struct):
    """tce_train_player_options"""

    _name_ = "tce_train_player_options"
    _fields_ = [
        ("struct_size", c_size_t), ("task", c_void_p), ("folder", c_char_p), ("n_episodes", c_int32),
        ("n_threads", c_int32), ("seed", c_uint64), ("has_seed", c_int32), ("reserved", c_int32)]


# callbacks that are passed as arguments

# functions that are fields of tce_train_task: as callbacks, and as what is called
TrainTaskCallbacks: Dict[str, Any] = {
    "begin_path": CFUNCTYPE(None, c_void_p, c_size_t, c_void_p, c_void_p),
}
TrainTaskFunctions: Dict[str, Tuple[Any, List[Any]]] = {
    "begin_path": (None, [Data, c_size_t, Float64, Float64]),
}

# functions that are fields of tce_train_options: as callbacks, and as what is called
TrainOptionsCallbacks: Dict[str, Any] = {
    "note": CFUNCTYPE(None, c_void_p, c_char_p),
    "warn": CFUNCTYPE(None, c_void_p, c_char_p),
    "advance": CFUNCTYPE(None, c_void_p, c_void_p),
}
TrainOptionsFunctions: Dict[str, Tuple[Any, List[Any]]] = {
    "note": (None, [Data, c_char_p]),
    "warn": (None, [Data, c_char_p]),
    "advance": (None, [Data, Pointer]),
}

# every function: its result and its arguments
FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "tce_train_layout_of": (None, [Pointer, c_size_t, Pointer]),
    "tce_train_workers_create": (Status, [Pointer, Pointer]),
    "tce_train_workers_free": (None, [Pointer]),
    "tce_train_workers_task": (None, [Pointer, Pointer]),
    "tce_train_workers_traceback": (c_char_p, [Pointer]),
    "tce_train_plans": (Status, [Pointer, Int32]),
    "tce_train_create": (Status, [Pointer, Pointer]),
    "tce_train_free": (None, [Pointer]),
    "tce_train_folder": (c_char_p, [Pointer]),
    "tce_train_settings": (c_char_p, [Pointer]),
    "tce_train_run": (Status, [Pointer, Pointer, Pointer]),
    "tce_train_stop": (None, [Pointer, c_int32]),
    "tce_train_imitate": (Status, [Pointer, Pointer, Pointer]),
    "tce_train_curve": (Status, [c_char_p]),
    "tce_train_agent_open": (Status, [c_char_p, c_int32, Pointer]),
    "tce_train_agent_free": (None, [Pointer]),
    "tce_train_agent_sizes": (None, [Pointer, Pointer]),
    "tce_train_agent_act": (Status, [Pointer, c_size_t, Float64, c_double, Float64]),
    "tce_train_agent_save": (Status, [Pointer, c_char_p]),
    "tce_train_agent_write": (Status, [Pointer, c_char_p]),
    "tce_train_player_create": (Status, [Pointer, Pointer]),
    "tce_train_player_free": (None, [Pointer]),
    "tce_train_player_n_metrics": (c_size_t, [Pointer]),
    "tce_train_player_metric": (c_char_p, [Pointer, c_size_t]),
    "tce_train_player_run": (Status, [Pointer, Float64, Int32, Float64]),
}
