"""wheel_numbers.py OUT.npz: what the functions in double precision give for fixed inputs, to compare two builds of libtce.

wheel_numbers.py A.npz B.npz: the largest difference between two such files, and where; status 1 when any is above 1e-12, relative to the
largest number of its array where that is above 1.
"""

import sys
from typing import Dict

import numpy as np

TOLERANCE = 1e-12
D, B, E, T, DT = 7, 5, 152, 100, 0.02


def compute() -> "Dict[str, np.ndarray]":
    import tce

    draw = np.random.RandomState(7)
    mp = tce.ProDMP(n_dof=D, n_basis=B, tau=T * DT, dt=DT)
    P = mp.n_params
    times = DT * np.arange(1, T + 1)
    pos, vel = draw.normal(size=(E, D)), draw.normal(size=(E, D))

    def factor(scale: float) -> "np.ndarray":
        noise = np.tril(draw.normal(size=(P, P)), -1)
        return scale * (0.05 * noise + np.diag(draw.uniform(0.7, 1.3, P)))

    chol, old_chol = factor(0.5), factor(0.4)
    mean, old_mean = draw.normal(size=(E, P)), draw.normal(size=(E, P))
    params = mean + draw.normal(size=(E, P)) @ chol.T
    found: "Dict[str, np.ndarray]" = {}
    paths, speeds = mp.trajectory(params, times, 0.0, pos, vel)
    found["trajectory"], found["velocity"] = paths, speeds
    found["covariance"] = mp.covariance(times[::10], chol)[0]
    found["fit"] = mp.fit(times, paths[0])
    found["log_prob"] = tce.gauss.log_prob(params, mean, chol)
    found["entropy"] = tce.gauss.entropy(chol)
    for i, part in enumerate(tce.gauss.kl(mean, chol, old_mean, old_chol)):
        found[f"kl {i}"] = np.asarray(part)
    for kind in ("kl", "w2", "frobenius"):
        projection = tce.Projection(kind, P, mean_bound=0.05, cov_bound=0.01)
        projected = projection.project(mean, chol[None], old_mean, old_chol[None])
        found[f"{kind} projection, mean"], found[f"{kind} projection, chol"] = projected
        gradient = projection.backward(np.ones((E, P)), np.tril(np.ones((1, P, P))))
        found[f"{kind} projection, gradient"] = gradient[0]
    pairs = [(10 * i, 10 * i + 9) for i in range(9)]
    segment = tce.SegmentObjective(mp, times, pairs)
    found["segment likelihood"] = segment.log_prob(paths, mean, chol, pos, vel)
    advantages = draw.normal(size=found["segment likelihood"].shape)
    surrogate = segment.surrogate(paths, mean, chol, pos, vel, found["segment likelihood"] + 0.01 * advantages, advantages)
    found["segment surrogate, gradient"] = surrogate.d_mean
    rewards, values = draw.normal(size=(E, T)), draw.normal(size=(E, T + 1))
    ends = np.zeros((E, T), bool)
    ends[:, -1] = True
    found["advantages"], found["returns"] = tce.returns.gae(rewards, values, ends, gamma=0.99, lam=0.95)
    return found


def main() -> int:
    if len(sys.argv) == 2:
        np.savez(sys.argv[1], **compute())
        return 0
    one, other = np.load(sys.argv[1]), np.load(sys.argv[2])
    assert sorted(one.files) == sorted(other.files)
    differences = {name: float(np.max(np.abs(one[name] - other[name])) / max(1.0, float(np.max(np.abs(one[name]))))) for name in one.files}
    worst = max(differences, key=lambda name: differences[name])
    print(f"{len(differences)} results in double precision differ by at most {differences[worst]:.1e} ({worst})")
    return int(not differences[worst] <= TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
