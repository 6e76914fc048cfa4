"""Two ways for a robot's joint to explore: independent noise at every step, and correlated samples of a movement primitive.

    python examples/python/exploration.py exploration.png

Both panels show eight explorations of the same movement with the same spread at its end. On the left, every step gets a random
disturbance of its own and the joint's motor adds them up; on the right, one draw of the primitive's parameters bends the whole path.
"""
# pyright: reportUnknownMemberType=false
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import tce

EPISODES, STEPS, DT = 8, 200, 0.01
SPREAD = 0.35  # standard deviation of the joint at the end, rad

mp = tce.ProDMP(n_dof=1, n_basis=5, tau=STEPS * DT, dt=DT, alpha=10.0)
times = DT * np.arange(1, STEPS + 1)
random = tce.Random(seed=4)

# the movement that both explore: from 0 to 1 rad, at rest at both ends
mean = np.zeros(mp.n_params)
mean[-1] = 1.0
path = mp.trajectory([mean], times)[0][0, :, 0]

# independent noise: a random walk around the path, as torques that change at every step leave it
steps = random.normals(EPISODES * STEPS).reshape(EPISODES, STEPS)
jagged = path + SPREAD / np.sqrt(STEPS) * np.cumsum(steps, axis=1)

# correlated: one Gaussian draw of all parameters per episode
scale = np.append(np.full(mp.n_params - 1, 0.3), SPREAD)
draws = mean + scale * random.normals(EPISODES * mp.n_params).reshape(EPISODES, mp.n_params)
smooth = mp.trajectory(draws, times)[0][:, :, 0]

figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.2), sharex=True, sharey=True)
for axis, paths, title in ((axes[0], jagged, "independent noise at every step"), (axes[1], smooth, "TCE: correlated samples of a ProDMP")):
    axis.plot(times, paths.T, linewidth=1.0)
    axis.plot(times, path, color="black", linewidth=2.0, label="mean")
    axis.set_title(title)
    axis.set_xlabel("time (s)")
    axis.grid(alpha=0.3)
axes[0].set_ylabel("joint angle (rad)")
axes[1].legend(loc="lower right", frameon=False)
figure.tight_layout()
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "exploration.png", dpi=130)
