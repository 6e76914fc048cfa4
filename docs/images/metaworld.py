"""Six tasks of Metaworld after a reset, as docs/images/metaworld.png: python docs/images/metaworld.py FILE."""

import sys

import matplotlib.image
import numpy as np
import tce

TASKS = ["door_open", "hammer", "peg_insert_side", "coffee_pull", "basketball", "window_open"]
WIDTH, HEIGHT = 400, 300


def picture(name: str) -> np.ndarray:
    """Drawn at three times the size, so that edges and highlights are smooth."""
    rollout = tce.Rollout(tce.TaskLibrary()[f"metaworld_{name}"], n_envs=1)
    rollout.reset()
    large = rollout.render(0, 3 * WIDTH, 3 * HEIGHT).astype(float)
    return large.reshape(HEIGHT, 3, WIDTH, 3, 3).mean(axis=(1, 3))


rows = [np.concatenate([picture(name) for name in TASKS[i:i + 3]], axis=1) for i in (0, 3)]
matplotlib.image.imsave(sys.argv[1], np.concatenate(rows).round().astype(np.uint8))
