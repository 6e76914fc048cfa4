"""Makes original_hopper_iteration_3.safetensors.gz from the recording of the original's first iterations on Hopper Jump.

    python tests/trainer/golden/original_hopper.py original_hopper_iterations.npz

Kept is what tests/trainer/test_original.c needs of iteration 3, as float64 to the last bit:

    before.NAME    the learner's state after iteration 2, by the names of a checkpoint
    after.NAME     after iteration 3; of Adam's moments every 16th number
    recorded.NAME  what was random or simulated, and losses

Numbers are stored as bytes [8, n], the k-th byte of all of them together, which compresses better. Observations are [8, rows, T + 1]: the bit patterns
of a row as differences from one time to the next.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any, Dict

import numpy as np

import tce

TARGET = Path(__file__).with_name("original_hopper_iteration_3.safetensors.gz")

# observed numbers and time; the other statistics of the original are never used
N_INPUTS = 17
MOMENT_STRIDE = 16
# the desired path is compared at the last of so many steps
PATH_STRIDE = 25


def planes(bits: np.ndarray) -> np.ndarray:
    """[...] of 64 bits -> bytes [8, ...]."""
    return np.moveaxis(np.ascontiguousarray(bits)[..., None].view(np.uint8), -1, 0)


def numbers(x: np.ndarray) -> np.ndarray:
    return planes(np.ascontiguousarray(x, np.float64).ravel().view(np.uint64))


def rows(x: np.ndarray) -> np.ndarray:
    """[..., T + 1], each row as differences; unsigned, so that they wrap around."""
    bits = np.ascontiguousarray(x, np.float64).view(np.uint64).reshape(-1, x.shape[-1])
    return planes(np.concatenate([bits[:, :1], np.diff(bits, axis=1)], axis=1))


def state(npz: Any, prefix: str) -> Dict[str, np.ndarray]:
    """A learner's state by the names of a checkpoint."""
    found: Dict[str, np.ndarray] = {}
    layers = [name + str(k) for k in range(3) for name in "Wb"]
    for theirs, ours in (("policy", "policy.mean"), ("critic", "critic.net")):
        for k in range(3):
            found[f"{ours}.layers.{k}.weight"] = npz[f"{prefix}.{theirs}.W{k}"]
            found[f"{ours}.layers.{k}.bias"] = npz[f"{prefix}.{theirs}.b{k}"]
        for kind, moment in (("m", "moment"), ("v", "square")):
            parts = [npz[f"{prefix}.{theirs}.adam_{kind}.{name}"].ravel() for name in layers]
            found[f"{ours}.adam.{moment}"] = np.concatenate(parts)
        found[f"{ours}.adam.steps"] = npz[f"{prefix}.{theirs}.adam_steps"]
    found["policy.covariance.raw"] = npz[f"{prefix}.policy.cov"]
    found["policy.covariance.adam.moment"] = npz[f"{prefix}.policy.adam_m.cov"]
    found["policy.covariance.adam.square"] = npz[f"{prefix}.policy.adam_v.cov"]
    found["policy.covariance.adam.steps"] = npz[f"{prefix}.policy.adam_steps"]
    found["critic.mean"], found["critic.variance"] = (npz[f"{prefix}.norm.{name}"][:N_INPUTS] for name in ("mean", "var"))
    found["critic.count"] = npz[f"{prefix}.norm.count"]
    return found


def recorded(npz: Any) -> Dict[str, np.ndarray]:
    left = npz["it3.left_floor"]
    T = left.shape[1]
    desired = np.concatenate([npz["it3.desired_pos"], npz["it3.desired_vel"]], axis=2)
    return {
        "times": npz["it1.times"],
        "params": npz["it3.params"],
        "reward": npz["it3.reward_raw"],
        "event_at": np.where(left.any(axis=1), left.argmax(axis=1), T),  # T: never
        "first_time_point": npz["it3.pairs"][0, 0],
        "desired": desired[:, PATH_STRIDE - 1::PATH_STRIDE],
        "bounds": np.array([npz["settings.mean_bound"], npz["settings.cov_bound"]]),
        "losses": np.array([npz[f"it3.{name}"].mean()
                            for name in ("critic_epoch.loss", "policy_epoch.surrogate", "policy_epoch.trust_region")]),
    }


def main() -> None:
    npz = np.load(sys.argv[1])
    store = tce.Store()
    for name, value in state(npz, "after2").items():
        store[f"before.{name}"] = numbers(value)
    for name, value in state(npz, "after3").items():
        moments = name.endswith(("moment", "square"))
        store[f"after.{name}"] = numbers(value.ravel()[::MOMENT_STRIDE] if moments else value)
    for name, value in recorded(npz).items():
        store[f"recorded.{name}"] = numbers(value)
    store["recorded.obs"] = rows(npz["it3.obs"].transpose(0, 2, 1))  # [E, 17, T + 1]
    plain = TARGET.with_suffix("")
    store.save(plain)
    TARGET.write_bytes(gzip.compress(plain.read_bytes(), 9, mtime=0))
    plain.unlink()


if __name__ == "__main__":
    main()
