"""learn.py RUNS OUT: pictures of runs that learn and of runs that do not, for docs/does-not-learn.md.

RUNS has the folders of `sh docs/images/learn.sh RUNS`; OUT gets learn-scales.png, learn-bounds.png and learn-rates.png.
"""

import csv
import sys
from pathlib import Path
from typing import Dict, List, Tuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import tce

COLOURS = {"good": "#0072b2", "bad": "#d55e00", "other": "#009e73"}
Line = Tuple[str, str, str]  # folder, what it is called, colour


def column(run: Path, name: str) -> "Tuple[List[int], List[float]]":
    with open(run / "progress.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row[name] != ""]
    return [int(row["iteration"]) for row in rows], [float(row[name]) for row in rows]


def curves(axis, runs: Path, lines: "List[Line]", name: str) -> None:
    for folder, label, colour in lines:
        x, y = column(runs / folder, name)
        axis.plot(x, y, color=colour, label=label, linewidth=1.6)
    if name == "return":
        axis.set_yscale("symlog")
    elif name == "eval_success":
        axis.set_ylim(-0.03, 1.03)
    elif name != "entropy":
        axis.set_yscale("log")
    axis.set_title(name, loc="left", fontsize=10)
    axis.set_xlabel("iteration")
    axis.grid(color="0.9")
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def four(runs: Path, lines: "List[Line]", names: "List[str]", out: Path) -> None:
    figure, axes = plt.subplots(2, 2, figsize=(8.0, 5.4))
    for axis, name in zip(axes.flat, names):
        curves(axis, runs, lines, name)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncol=len(lines), frameon=False)
    figure.tight_layout(rect=(0.0, 0.0, 1.0, 0.95))
    figure.savefig(out, dpi=110)
    plt.close(figure)


def scales(runs: Path, out: Path) -> None:
    """What an untrained policy does with three scales, and what becomes of it."""
    cases: "Dict[str, Tuple[float, str]]" = {
        "scale-small": (0.02, COLOURS["bad"]), "good": (0.5, COLOURS["good"]), "scale-large": (10.0, COLOURS["other"])}
    figure, axes = plt.subplots(2, 2, figsize=(8.0, 7.0))
    axes = axes.flat
    times = 0.02 * np.arange(1, 51)
    for axis, (scale, colour) in zip(axes, cases.values()):
        mp = tce.ProDMP(n_dof=2, n_basis=3, tau=1.0, dt=0.02, goal_scale=scale, weights_scale=scale)
        draws = tce.Random(seed=1).normals(30 * mp.n_params).reshape(30, -1)
        paths = mp.trajectory(draws, times)[0]
        axis.add_patch(plt.Rectangle((-1.0, -1.0), 2.0, 2.0, fill=True, color="0.88"))
        for path in paths:
            axis.plot(path[:, 0], path[:, 1], color=colour, linewidth=0.8)
        axis.set_xlim(-4.0, 4.0)
        axis.set_ylim(-4.0, 4.0)
        axis.set_aspect("equal")
        axis.set_title(f"goal_scale, weights_scale {scale:g}", loc="left", fontsize=10)
        axis.set_xlabel("x (m)")
        axis.set_ylabel("y (m)")
    curves(axes[3], runs, [(name, f"{scale:g}", colour) for name, (scale, colour) in cases.items()], "eval_success")
    axes[3].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(out, dpi=110)
    plt.close(figure)


def main() -> int:
    runs, out = Path(sys.argv[1]), Path(sys.argv[2])
    scales(runs, out / "learn-scales.png")
    good = ("good", "as it should be", COLOURS["good"])
    four(runs, [good, ("bound-small", "bounds 50 times smaller", COLOURS["other"]), ("bound-large", "bounds 60 and 100 times larger", COLOURS["bad"])],
         ["eval_success", "entropy", "kl_mean", "ratio_max"], out / "learn-bounds.png")
    four(runs, [good, ("rate-small", "learning rate 1e-5", COLOURS["other"]), ("rate-large", "learning rate 0.05", COLOURS["bad"])],
         ["eval_success", "return", "kl_mean", "critic_loss"], out / "learn-rates.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
