"""Trains TCE on Gymnasium's Reacher; started again after a kill, it continues.   Run: python train_reacher.py runs/reacher 0"""
import sys

import tce

# no controller is named: it is found from the actuators of the MuJoCo model
run = tce.train("Reacher-v5", out=sys.argv[1], workers=int(sys.argv[2]), resume=True, config={
    "run.iterations": 20, "collect": {"episodes": 64, "environments": 16}, "evaluate": {"every": 10, "episodes": 50},
    "mp": {"n_basis": 2, "goal_scale": 1.0, "weights_scale": 0.1}, "policy": {"hidden": [64, 64], "learning_rate": 3e-3, "epochs": 30},
    "critic": {"hidden": [64, 64], "epochs": 10, "minibatches": 4}, "objective.time_points": 10, "schedule.learning_rate_iterations": 0,
    "projection": {"mean_bound": 0.5, "cov_bound": 0.02, "entropy": "none", "entropy_schedule": "none"}})
print(run, run.agent().evaluate(200))
