"""Pictures of the CSV files that ``tce plot`` and ``tce train`` write: ``python -m tce.plot FOLDER``.

Draws whatever is in the folder: curve.csv (one run), curves.csv (interquartile mean with its band), profile.csv
(performance profile), both once more over all tasks (aggregate_*.csv), summary.csv (a table, where there are several
tasks), correlation_*.csv (correlation of actions); over.csv has published points that go over the curves. Everything is
computed before; here it is only drawn.
The file needs matplotlib and nothing else of this package, so it also runs alone.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import sys
import textwrap
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

# what the exit status says when matplotlib is missing
NO_MATPLOTLIB = 3

# Okabe and Ito's colours, which the colour-blind can tell apart; the yellow, too pale for lines, is left out
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
DASHES: List[Any] = ["-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (5, 1.5, 1.5, 1.5))]

STYLE: Any = {  # the keys are Literals of matplotlib
    "font.family": "DejaVu Sans", "font.size": 8, "axes.labelsize": 8, "axes.titlesize": 8, "xtick.labelsize": 7,
    "ytick.labelsize": 7, "legend.fontsize": 7.5, "axes.linewidth": 0.6, "axes.spines.top": False,
    "axes.spines.right": False, "axes.edgecolor": "#444444", "axes.labelcolor": "#222222", "xtick.color": "#444444",
    "ytick.color": "#444444", "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.major.size": 2.5,
    "ytick.major.size": 2.5, "axes.grid": True, "grid.color": "#E4E4E4", "grid.linewidth": 0.5, "axes.axisbelow": True,
    "legend.frameon": False, "lines.linewidth": 1.4, "lines.solid_capstyle": "round", "savefig.dpi": 300,
    "figure.constrained_layout.use": True}

WIDTH = 3.4  # inches: one column of a paper
MAX_TITLE = 27  # letters above one of several panels
FEW = 4  # scores of which an interquartile mean drops none: it is their mean
LEAST_PROFILE = 5  # scores below which a profile is a staircase that tells nothing

NAMES = {
    "env_steps": "environment steps", "iteration": "iteration",
    "success": "success rate", "return": "return", "length": "episode length", "max_height": "maximum height (m)",
    "goal_dist": "distance to goal (m)", "box_goal_pos_dist": "distance of the box to its goal (m)",
    "box_goal_rot_dist": "rotation of the box to its goal (rad)", "episode_energy": "energy of an episode",
    "land_dist_error": "miss of the ball (m)", "num_steps": "steps of an episode", "hit_ball": "rate of hits",
    "ball_returned_success": "rate of returned balls", "has_left_floor": "rate of jumps"}

# numbers of the update, not of episodes
OF_THE_UPDATE = {
    "entropy", "kl_mean", "kl_cov", "critic_loss", "policy_loss", "trust_region_loss", "policy_gradient_norm", "ratio_max",
    "approx_kl", "fraction_clipped", "value_loss", "ratio_clip", "explained_variance", "std", "updates", "alpha_loss", "alpha", "value",
    "dropped"}

RATES = {"success", "hit_ball", "ball_returned_success", "has_left_floor"}

# what the name of a smoothed column begins with
SMOOTHED = "smoothed_"

# published points: one shape a source
MARKERS = ["o", "s", "^", "D", "v", "P"]

Row = Dict[str, str]
Group = Tuple[str, str]


def words(column: str) -> str:
    """What an axis calls a column, whether measured in training or evaluated."""
    plain = column.removeprefix("eval_")
    return NAMES.get(plain, plain.replace("_", " "))


def words_of_metric(column: str) -> str:
    """The same, where it matters that the numbers are those of exploring episodes, or smoothed."""
    measured = column.removeprefix(SMOOTHED)
    exploring = not measured.startswith("eval_") and measured not in OF_THE_UPDATE
    return words(measured) + (", exploring" if exploring else "") + (", smoothed" if measured != column else "")


def number(text: str) -> float:
    return float(text) if text else math.nan


def read(path: Path) -> Tuple[List[str], List[Row]]:
    with open(path, newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        rows = list(reader)
    return list(reader.fieldnames or []), rows


def scale_of(largest: float) -> Tuple[float, str]:
    """A power of ten that leaves handy numbers on an axis, and how the axis says it."""
    for power in (9, 6, 3):
        if largest >= 2 * 10**power:
            return 10.0**power, f" ($10^{power}$)"
    return 1.0, ""


def n_scores(row: Row) -> int:
    """Numbers behind a row: its runs, of each of its tasks."""
    tasks, _, all_of_them = row["task"].partition(" ")
    return int(row["runs"]) * (int(tasks) if all_of_them == "tasks" and tasks.isdigit() else 1)


def middle_of(rows: Sequence[Row]) -> str:
    """What a line shows of its runs, without claiming more than they support."""
    most = max(n_scores(row) for row in rows)
    return "one run" if most == 1 else "mean" if most < FEW else "IQM"


def is_rate(column: str) -> bool:
    return column.removeprefix(SMOOTHED).removeprefix("eval_") in RATES


def show_rate(axis: Any) -> None:
    """A rate is shown from 0 to 1, whatever was reached."""
    axis.set_view_interval(-0.02, 1.02, ignore=True)
    axis.set_ticks([0, 0.25, 0.5, 0.75, 1], labels=["0", "0.25", "0.5", "0.75", "1"])


def colours_of(methods: Sequence[str]) -> Dict[str, Dict[str, Any]]:
    """One look a method, the same in every picture; dashes help where colours run out."""
    return {
        method: {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[(i // len(COLOURS)) % len(DASHES)]}
        for i, method in enumerate(methods)}


def groups_of(rows: Sequence[Row]) -> Dict[Group, List[Row]]:
    found: Dict[Group, List[Row]] = {}
    for row in rows:
        found.setdefault((row["task"], row["method"]), []).append(row)
    return found


def panels(plt: Any, n: int, height: float) -> Tuple[Any, List[Any]]:
    """n axes in rows of four at most, all as full as they can be, room for a legend above."""
    lines = -(-n // 4)
    columns = -(-n // lines)
    width = WIDTH if n == 1 else 2.3 * columns
    figure, grid = plt.subplots(lines, columns, figsize=(width, height * lines), squeeze=False)
    flat = [axes for line in grid for axes in line]
    for axes in flat[n:]:
        axes.remove()
    return figure, flat[:n]


def titles(tasks: Sequence[str]) -> List[str]:
    """Of panels: the names, without options that all share, and without what they begin with in common where they would not fit."""
    options = {task.partition(" ")[2] for task in tasks}
    if len(tasks) > 1 and len(options) == 1:
        tasks = [task.partition(" ")[0] for task in tasks]
    if len(tasks) == 1 or max(map(len, tasks)) <= MAX_TITLE:
        return list(tasks)
    common = os.path.commonprefix(list(tasks))
    return [task[common.rfind("_") + 1:] for task in tasks]


def put_legend(figure: Any, axes: Sequence[Any], methods: Sequence[str], columns: int) -> None:
    """Above the panels, where it covers nothing; the order is that of the methods."""
    lines = {line.get_label(): line for panel in axes for line in panel.get_lines()}
    handles = [lines[method] for method in methods if method in lines]
    if handles:
        figure.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), columns),
                      columnspacing=1.2, handlelength=1.5, handletextpad=0.5, borderpad=0.1, borderaxespad=0.5)


def same_name(a: str, b: str) -> bool:
    """TCE-Std is TCE Std."""
    return a.replace("-", " ").lower() == b.replace("-", " ").lower()


def draw_points(figure: Any, panel: Any, rows: Sequence[Row], columns: Tuple[str, str], unit: float,
                looks: Dict[str, Dict[str, Any]]) -> List[str]:
    """Published points as markers in the colours of their methods, with their sources below. Returns methods that have only points."""
    from matplotlib.lines import Line2D

    point: Dict[str, Any] = {"linestyle": "none", "markersize": 3.2, "markerfacecolor": "white", "markeredgewidth": 0.9, "zorder": 4}
    x_name, y_name = columns
    found: Dict[Group, List[Row]] = {}
    for row in rows:
        found.setdefault((row["source"], row["method"]), []).append(row)
    sources = list(dict.fromkeys(source for source, _ in found))
    alone: List[str] = []
    colours: Dict[str, str] = {}
    for _, method in found:
        known = next((name for name in looks if same_name(name, method)), None)
        if known is None and method not in alone:
            alone.append(method)
        colours[method] = looks[known]["color"] if known else COLOURS[(len(looks) + alone.index(method)) % len(COLOURS)]
    for (source, method), points in found.items():
        label = method if method in alone else "_" + method
        panel.plot([number(row[x_name]) / unit for row in points], [number(row[y_name]) for row in points], label=label,
                   color=colours[method], marker=MARKERS[sources.index(source) % len(MARKERS)], **point)
    handles = [Line2D([], [], color="#444444", marker=MARKERS[i % len(MARKERS)], label="\n".join(textwrap.wrap(source, 60)), **point)
               for i, source in enumerate(sources)]
    figure.legend(handles=handles, loc="outside lower center", ncols=1, handletextpad=0.2, borderpad=0.1, borderaxespad=0.5)
    return alone


def draw_bands(plt: Any, rows: Sequence[Row], columns: Tuple[str, str], finish: Callable[[Any, float], None],
               step: bool, over: Sequence[Row] = ()) -> Any:
    """One panel per task, one line with its band per method. columns: what x and y are. step: a staircase. over: published points."""
    found = groups_of(rows)
    tasks = list(dict.fromkeys(task for task, _ in found))
    methods = list(dict.fromkeys(method for _, method in found))
    looks = colours_of(methods)
    # points bring a legend below and a longer one above
    figure, axes = panels(plt, len(tasks), 2.8 if over else 2.3)
    x_name, y_name = columns
    largest = max(abs(number(row[x_name])) for row in [*rows, *over])
    unit = 1.0 if step else scale_of(largest)[0]
    for (task, method), points in found.items():
        panel = axes[tasks.index(task)]
        x = [number(row[x_name]) / unit for row in points]
        y, low, high = ([number(row[name]) for row in points] for name in (y_name, "low", "high"))
        # a measurement alone is a point
        marker = "o" if len(x) == 1 else None
        # the first method, most often the reader's own, lies on top
        front = 3 - methods.index(method) / len(methods)
        panel.fill_between(x, low, high, color=looks[method]["color"], alpha=0.18, linewidth=0, zorder=front - 1,
                           step="post" if step else None)
        panel.plot(x, y, label=method, marker=marker, markersize=3, drawstyle="steps-post" if step else "default",
                   zorder=front, **looks[method])
    if over:
        methods += draw_points(figure, axes[0], over, columns, unit, looks)
    for panel, title in zip(axes, titles(tasks)):
        panel.margins(x=0.01)
        finish(panel, largest)
        panel.set_title(title, loc="left", color="#222222")
    columns_of_panels = -(-len(axes) // -(-len(axes) // 4))
    for i, panel in enumerate(axes):
        if i % columns_of_panels != 0:
            panel.set_ylabel("")
        if i + columns_of_panels < len(axes):
            panel.set_xlabel("")
    put_legend(figure, axes, methods, 4 if len(axes) == 1 else 6)
    return figure


def overlay(path: Path) -> List[Row]:
    """Published points for this picture: they go over the aggregate where there is one, else over the only panel."""
    points = path.with_name("over.csv")
    of_all = path.with_name("aggregate_curves.csv")
    return read(points)[1] if points.exists() and (path == of_all or not of_all.exists()) else []


def draw_curves(plt: Any, path: Path) -> Any:
    columns, rows = read(path)
    x_name, y_name = columns[3], columns[4]

    def finish(axes: Any, largest: float) -> None:
        axes.set_xlabel(words(x_name) + scale_of(largest)[1])
        axes.set_ylabel(f"{words_of_metric(y_name)}, {middle_of(rows)}")
        axes.set_xlim(left=0)
        axes.locator_params(axis="x", nbins=6, steps=[1, 2, 5, 10])
        if is_rate(y_name):
            show_rate(axes.yaxis)

    return draw_bands(plt, rows, (x_name, y_name), finish, step=False, over=overlay(path))


def draw_profile(plt: Any, path: Path) -> Optional[Any]:
    """None where there are too few scores for the fraction above a threshold to mean anything."""
    columns, rows = read(path)
    rows = [row for row in rows if n_scores(row) >= LEAST_PROFILE]
    if not rows:
        return None
    score = columns[3]

    def finish(axes: Any, largest: float) -> None:
        axes.set_xlabel(f"{words_of_metric(score)} at the end, $\\tau$")
        axes.set_ylabel("fraction of runs above $\\tau$")
        show_rate(axes.yaxis)
        if is_rate(score) and largest <= 1:
            show_rate(axes.xaxis)

    return draw_bands(plt, rows, (score, "fraction"), finish, step=True)


def draw_summary(plt: Any, path: Path) -> Optional[Any]:
    """The table by task: IQM of the last measurements with its interval, the best method of a task in bold. None with one task."""
    columns, rows = read(path)
    score = columns[4]
    found = {(row["task"], row["method"]): row for row in rows}
    tasks = list(dict.fromkeys(task for task, _ in found))
    methods = list(dict.fromkeys(method for _, method in found))
    # rows over all tasks come last; there are none without a second task
    single = [task for task in tasks if not (task.endswith(" tasks") and task.removesuffix(" tasks").isdigit())]
    together = tasks[len(single):]
    if not together:
        return None

    # two blocks side by side where a page would be too short
    n_blocks = 1 if len(single) <= 30 else 2
    per_block = -(-len(single) // n_blocks)
    blocks = [single[i * per_block:(i + 1) * per_block] for i in range(n_blocks)]
    blocks[-1] = blocks[-1] + together
    height, cell = 0.155, 1.15
    name = 0.2 + 0.058 * max(len(task) for task in tasks)
    width = name + cell * len(methods)
    lines = max(len(block) for block in blocks) + 2.6
    figure = plt.figure(figsize=(n_blocks * width + 0.3 * (n_blocks - 1), height * lines), layout="none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, n_blocks * width + 0.3 * (n_blocks - 1))
    axes.set_ylim(height * lines, 0)
    axes.axis("off")

    def shown(row: Row, key: str) -> str:
        return f"{number(row[key]):.2f}" if is_rate(score) else f"{number(row[key]):.3g}"

    def put(row: Row, x: float, y: float, strong: bool) -> None:
        axes.text(x + 0.42, y, shown(row, score), ha="right", va="center", fontweight="bold" if strong else "normal")
        if int(row["runs"]) > 1:
            axes.text(x + 0.46, y, f"[{shown(row, 'low')}, {shown(row, 'high')}]", ha="left", va="center", fontsize=6, color="#777777")

    def rule(x: float, y: float, thick: float) -> None:
        axes.plot([x + 0.04, x + width - 0.04], [y, y], color="#222222", linewidth=thick, solid_capstyle="butt")

    for i, block in enumerate(blocks):
        left = i * (width + 0.3)
        rule(left, 0.6 * height, 0.9)
        axes.text(left + 0.08, 1.25 * height, f"{words_of_metric(score)}, {middle_of(rows)}", va="center", color="#222222")
        for k, method in enumerate(methods):
            axes.text(left + name + k * cell + 0.42, 1.25 * height, method, ha="right", va="center", color="#222222")
        rule(left, 1.9 * height, 0.5)
        for j, task in enumerate(block):
            y = (j + 2.5) * height
            if together and task == together[0]:
                rule(left, y - 0.55 * height, 0.5)
            there = [(k, found[(task, method)]) for k, method in enumerate(methods) if (task, method) in found]
            best = shown(max((row for _, row in there), key=lambda row: number(row[score])), score)
            axes.text(left + 0.08, y, task, va="center")
            for k, row in there:
                put(row, left + name + k * cell, y, len(there) > 1 and is_rate(score) and shown(row, score) == best)
        rule(left, (len(block) + 2.1) * height, 0.9)
    return figure


def draw_curve(plt: Any, path: Path) -> Any:
    """One run: success and return, in training (thin) and evaluated (strong)."""
    columns, rows = read(path)
    shown = [name for name in ("success", "return") if name in columns or f"eval_{name}" in columns]
    figure, grid = plt.subplots(len(shown), 1, figsize=(WIDTH, 1.55 * len(shown) + 0.4), sharex=True, squeeze=False)
    axes = [line[0] for line in grid]
    x_name = "env_steps" if "env_steps" in columns else "iteration"
    steps = [number(row[x_name]) for row in rows]
    unit, unit_text = scale_of(max(steps, default=0.0))
    for panel, name in zip(axes, shown):
        if name in columns:
            points = [(x / unit, number(row[name])) for x, row in zip(steps, rows) if row[name]]
            if points:
                panel.plot(*zip(*points), color=COLOURS[5], linewidth=0.8, label="training, exploring")
        if f"eval_{name}" in columns:
            points = [(x / unit, number(row[f"eval_{name}"])) for x, row in zip(steps, rows) if row[f"eval_{name}"]]
            marker = "o" if len(points) <= 40 else None
            if points:
                panel.plot(*zip(*points), color=COLOURS[0], marker=marker, markersize=2.5, label="evaluation, mean policy")
        panel.set_ylabel(words(name))
        panel.margins(x=0.01)
        panel.set_xlim(left=0)
        if is_rate(name):
            show_rate(panel.yaxis)
    axes[-1].set_xlabel(words(x_name) + unit_text)
    # runs/<task>__<method>__<seed>__<time>
    parts = path.resolve().parent.name.split("__")
    if len(parts) == 4:
        axes[0].set_title(f"{parts[0]}, {parts[1].upper()}, seed {parts[2]}", loc="left", color="#222222")
    figure.align_ylabels(axes)
    put_legend(figure, axes, ["evaluation, mean policy", "training, exploring"], 2)
    return figure


def draw_correlation(plt: Any, path: Path) -> Any:
    """The matrix with a tile for each pair of degrees of freedom; -1 blue, 0 white, 1 red."""
    import numpy as np

    with open(path, encoding="utf-8") as stream:
        about = stream.readline().lstrip("# ").rstrip("\n")
        matrix = np.loadtxt(stream, delimiter=",", ndmin=2)
    method = about.partition("method=")[2]
    fields = dict(field.split("=", 1) for field in about.partition(" method=")[0].split(" ") if "=" in field)
    dof, steps = int(fields["dof"]), int(fields["steps"])
    size = dof * steps
    figure, axes = plt.subplots(figsize=(WIDTH, 0.86 * WIDTH))
    image = axes.imshow(matrix, cmap="bwr", vmin=-1, vmax=1, interpolation="nearest" if size < 900 else "antialiased",
                        extent=(0, size, size, 0))
    for edge in range(1, dof):
        axes.axhline(edge * steps, color="#333333", linewidth=0.4)
        axes.axvline(edge * steps, color="#333333", linewidth=0.4)
    # below and on the left the time within each tile, above and on the right which one it is
    dt = float(fields["dt"])
    parts = 4 if dof <= 3 else 2 if dof <= 10 else 1
    inside = [(d + k / parts) * steps for d in range(dof) for k in range(1, parts)]
    ticks = [0.0, *inside, float(size)]
    times = ["0", *[f"{place % steps * dt:g}" for place in inside], f"{steps * dt:g}"]
    axes.set_xticks(ticks, times)
    axes.set_yticks(ticks, times)
    axes.tick_params(labelsize=5.5, length=1.5)
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(True)
    what = "action" if fields.get("of") == "actions" else "joint"
    middles = [(d + 0.5) * steps for d in range(dof)]
    names = [f"{what} {d + 1}" if dof <= 4 else str(d + 1) for d in range(dof)]
    above, right = axes.secondary_xaxis("top"), axes.secondary_yaxis("right")
    above.set_xticks(middles, names)
    right.set_yticks(middles, names, rotation=90 if dof <= 4 else 0, va="center")
    for other in (above, right):
        other.tick_params(length=0, pad=1.5, labelsize=6.5)
        other.spines[:].set_visible(False)
    if dof > 4:
        above.set_xlabel(what, fontsize=6.5, labelpad=2)
    axes.set_xlabel("time in each tile (s)")
    axes.set_ylabel("time in each tile (s)")
    axes.set_title(f"{fields['task']}, {method}", loc="left", color="#222222")
    bar = figure.colorbar(image, ax=axes, ticks=[-1, -0.5, 0, 0.5, 1], fraction=0.05, pad=0.03, aspect=28)
    bar.set_label("correlation")
    bar.outline.set_linewidth(0.5)
    bar.ax.tick_params(length=2, width=0.5)
    return figure


PICTURES = [
    ("curve.csv", draw_curve), ("curves.csv", draw_curves), ("profile.csv", draw_profile),
    ("aggregate_curves.csv", draw_curves), ("aggregate_profile.csv", draw_profile), ("summary.csv", draw_summary),
    ("correlation_*.csv", draw_correlation)]


def draw(folder: Path) -> List[Path]:
    """Draws every CSV file of the folder that there is a picture for; returns the pictures."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    drawn = []
    with plt.rc_context(STYLE):
        for pattern, function in PICTURES:
            for source in sorted(folder.glob(pattern)):
                figure = function(plt, source)
                if figure is None:
                    continue
                target = source.with_suffix(".png")
                figure.savefig(target)
                plt.close(figure)
                drawn.append(target)
    return drawn


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(
        prog="tce.plot", description="draws the CSV files that `tce plot` and `tce train` left in a folder")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quiet", action="store_true", help="do not list the pictures")
    chosen = parser.parse_args(arguments)
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        print(f"tce.plot: {error}; pip install matplotlib", file=sys.stderr)
        return NO_MATPLOTLIB
    for picture in draw(chosen.folder):
        if not chosen.quiet:
            print(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
