"""Trains TCE on an environment of one's own; started again after a kill, it continues.   Run: python train_slider.py runs/slider 0"""
import sys

import tce.gym
from slider import Slider

run = tce.train(
    Slider, n_steps=20, metrics=["success"], controller=tce.gym.Controller(position=0, velocity=1, command="velocity"),
    out=sys.argv[1], workers=int(sys.argv[2]), resume=True, config={
        "run.iterations": 60, "collect": {"episodes": 32, "environments": 16}, "evaluate": {"every": 20, "episodes": 50},
        "mp": {"n_basis": 2, "goal_scale": 0.5, "weights_scale": 0.1}, "policy": {"hidden": [32], "learning_rate": 3e-3, "epochs": 30},
        "critic": {"hidden": [32], "epochs": 10, "minibatches": 4}, "objective.time_points": 5, "schedule.learning_rate_iterations": 0,
        "projection": {"mean_bound": 0.2, "cov_bound": 0.05, "entropy": "none", "entropy_schedule": "none"}})
print(run, run.agent().evaluate(200))
