"""Choices by name: what C calls by number, for the fields of options and for arguments."""

from __future__ import annotations

from typing import Any, Dict, Literal, Mapping, Tuple, Type

from . import _declarations as c
from ._pointers import Struct

# what a type checker knows of them, in signatures
Activation = Literal["relu", "leaky_relu", "tanh", "linear"]
Precision = Literal["float", "double"]
FirstWeights = Literal["orthogonal", "fan_in"]
PolicyForm = Literal["full", "contextual", "diagonal", "diagonal_contextual"]
Spread = Literal["softplus", "exp", "exp_clipped"]
Divisor = Literal["rows", "rows_less_one"]
Phase = Literal["natural", "smooth", "rhythmic"]
Basis = Literal["table", "exact"]
ProjectionKind = Literal["kl", "w2", "frobenius", "identity"]
EntropyControl = Literal["none", "at_least", "equal"]
SegmentKind = Literal["value", "sum", "reward"]
PairSelection = Literal["interval", "random"]
OnFault = Literal["fail", "drop"]
Method = Literal["tce", "bbrl", "ppo", "gsde", "trpl", "sac", "pink", "sac_mp"]

_ACTIVATIONS = {
    "relu": c.TCE_NET_RELU, "leaky_relu": c.TCE_NET_LEAKY_RELU, "tanh": c.TCE_NET_TANH, "linear": c.TCE_NET_LINEAR}
_NETWORK = {
    "activation": _ACTIVATIONS,
    "precision": {"float": c.TCE_NET_FLOAT, "double": c.TCE_NET_DOUBLE},
    "start": {"orthogonal": c.TCE_NET_ORTHOGONAL, "fan_in": c.TCE_NET_FAN_IN}}

# of options and descriptions, by field
FIELDS: Dict[Type[Struct], Dict[str, Dict[str, int]]] = {
    c.Gauss: {"form": {"full": c.TCE_GAUSS_FULL, "diagonal": c.TCE_GAUSS_DIAGONAL}},
    c.MpOptions: {
        "kind": {"prodmp": c.TCE_MP_PRODMP, "promp": c.TCE_MP_PROMP, "dmp": c.TCE_MP_DMP},
        "phase": {
            "natural": c.TCE_MP_PHASE_NATURAL, "smooth": c.TCE_MP_PHASE_SMOOTH, "rhythmic": c.TCE_MP_PHASE_RHYTHMIC},
        "basis": {"table": c.TCE_MP_BASIS_TABLE, "exact": c.TCE_MP_BASIS_EXACT}},
    c.TrplOptions: {
        "kind": {
            "kl": c.TCE_TRPL_KL, "w2": c.TCE_TRPL_W2, "frobenius": c.TCE_TRPL_FROBENIUS, "identity": c.TCE_TRPL_IDENTITY},
        "entropy": {
            "none": c.TCE_TRPL_ENTROPY_NONE, "at_least": c.TCE_TRPL_ENTROPY_AT_LEAST, "equal": c.TCE_TRPL_ENTROPY_EQUAL}},
    c.SegmentSteps: {
        "kind": {"value": c.TCE_SEGMENT_VALUE, "sum": c.TCE_SEGMENT_SUM, "reward": c.TCE_SEGMENT_REWARD}},
    c.NetOptions: _NETWORK,
    c.PolicyOptions: {
        **_NETWORK, "cov_activation": _ACTIVATIONS,
        "form": {
            "full": c.TCE_POLICY_FULL_SHARED, "contextual": c.TCE_POLICY_FULL_CONTEXTUAL,
            "diagonal": c.TCE_POLICY_DIAGONAL_SHARED, "diagonal_contextual": c.TCE_POLICY_DIAGONAL_CONTEXTUAL},
        "spread": {
            "softplus": c.TCE_POLICY_SOFTPLUS, "exp": c.TCE_POLICY_EXP, "exp_clipped": c.TCE_POLICY_EXP_CLIPPED}},
    c.NormaliserOptions: {
        "divisor": {"rows": c.TCE_NORMALISER_ROWS, "rows_less_one": c.TCE_NORMALISER_ROWS_LESS_ONE}},
    c.RolloutOptions: {"on_fault": {"fail": c.TCE_ROLLOUT_FAIL, "drop": c.TCE_ROLLOUT_DROP}}}

# of functions, by argument
ARGUMENTS: Dict[Tuple[str, str], Dict[str, int]] = {
    ("tce_segment_choose_pairs", "selection"): {
        "interval": c.TCE_SEGMENT_POINTS_INTERVAL, "random": c.TCE_SEGMENT_POINTS_RANDOM},
    ("tce_store_put", "type"): {
        "float64": c.TCE_STORE_F64, "float32": c.TCE_STORE_F32, "int64": c.TCE_STORE_I64, "uint64": c.TCE_STORE_U64, "int32": c.TCE_STORE_I32,
        "uint8": c.TCE_STORE_U8}}


def choice(name: str, value: Any, choices: Mapping[str, int]) -> int:
    """The number of a named choice."""
    if isinstance(value, str) and value in choices:
        return choices[value]
    raise ValueError(f"{name}: {value!r}, expected one of {', '.join(map(repr, choices))}")


def argument(function: str, name: str, value: Any) -> int:
    """The number of a named choice for an argument of a C function."""
    return choice(name, value, ARGUMENTS[function, name])
