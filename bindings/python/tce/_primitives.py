"""Movement primitives of the settings in examples/configs, by the folder whose tce.yaml has them in its section mp.

Made by declare.py: do not edit."""

from typing import Any, Dict

PRODMP: Dict[str, Dict[str, Any]] = {
    "box_pushing_dense": {
        "tau": 2.0, "dt": 0.02, "alpha": 10, "weights_scale": 0.3, "goal_scale": 0.3, "relative_goal": False,
        "n_basis": 8, "table_length": 5, "alpha_phase": 3, "basis_bandwidth_factor": 3, "auto_scale_basis": True},
    "box_pushing_sparse": {
        "tau": 2.0, "dt": 0.02, "alpha": 10, "weights_scale": 0.3, "goal_scale": 0.3, "relative_goal": False,
        "n_basis": 8, "table_length": 5, "alpha_phase": 3, "basis_bandwidth_factor": 3, "auto_scale_basis": True},
    "hopper_jump": {
        "tau": 0.8, "dt": 0.008, "alpha": 10, "weights_scale": 1, "goal_scale": 1, "relative_goal": False,
        "n_basis": 3, "table_length": 5, "alpha_phase": 3, "basis_bandwidth_factor": 3, "auto_scale_basis": True},
    "metaworld": {
        "tau": 5.0, "dt": 0.0125, "alpha": 10, "weights_scale": 0.1, "goal_scale": 0.1, "relative_goal": True,
        "n_basis": 8, "table_length": 5, "alpha_phase": 3, "basis_bandwidth_factor": 5, "auto_scale_basis": True},
    "point_via": {
        "tau": 1.0, "alpha": 10, "weights_scale": 0.5, "goal_scale": 0.5, "relative_goal": False, "n_basis": 3},
    "reacher5": {
        "tau": 1.5, "alpha": 10, "weights_scale": 0.5, "goal_scale": 0.5, "relative_goal": True, "n_basis": 3},
    "swing": {
        "tau": 1.5, "alpha": 10, "weights_scale": 0.5, "goal_scale": 0.5, "relative_goal": True, "n_basis": 3},
    "table_tennis": {
        "tau": 0.75, "dt": 0.008, "alpha": 25, "weights_scale": 0.7, "goal_scale": 0.1, "relative_goal": True,
        "n_basis": 3, "delay": 0.3, "table_length": 5, "alpha_phase": 3, "basis_bandwidth_factor": 3,
        "auto_scale_basis": True},
}
