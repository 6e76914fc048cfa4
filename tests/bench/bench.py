#!/usr/bin/env python3
"""One table: libtce's times, the peers' where they are installed, the ratio and the target.

    bench.py BENCH [--rounds N] [--strict]

BENCH is the program of bench.c, which measures libtce. Peers are PyPI's mp_pytorch and torch, used as black boxes in double
precision (the network in float). Everything runs in one thread and is measured in processor time, so that other programs on
the machine do not count; both sides take turns within each round, and the table has the medians over the rounds. --strict: exit status 1 when a target is missed.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse
import logging
import statistics
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

E, T, D, B, K = 152, 100, 7, 8, 25
P, J = D * (B + 1), K - 1
ROWS, INPUTS, WIDTH = 15200, 29, 256
DT = 0.02

# multiplications and additions of a network epoch: forward, weight gradients, and input gradients but the first layer's
LAYERS = [INPUTS * WIDTH, WIDTH * WIDTH, WIDTH]
EPOCH_FLOPS = 2.0 * ROWS * (2 * sum(LAYERS) + sum(LAYERS[1:]))
SGEMM_FLOPS = 2.0 * 1024**3

# a projection's limit in symmetric eigensystems of its own size, by LAPACK in the same run, so that it holds on any machine
PROJECTION_EIGEN = 1.0

# numbers that a measurement of activations takes tanh of, and the limit for each with AVX2
ACTIVATIONS = 128 * 256
TANH_SECONDS = 2.5e-9

TURN_SECONDS = 0.05


class Server:
    """The C program, measuring on request."""

    def __init__(self, program: str) -> None:
        self.process = subprocess.Popen([program, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, name: str) -> float:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"bench: {self.process.args[0]} stopped at {name!r}")
        return float(answer)

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def turn(call: Callable[[], object]) -> float:
    """Median time of a call over a moment."""
    samples: List[float] = []
    end = time.process_time() + TURN_SECONDS
    while len(samples) < 3 or time.process_time() < end:
        before = time.process_time()
        call()
        samples.append(time.process_time() - before)
    return statistics.median(samples)


# ---- peers ------------------------------------------------------------------------------------------


def peer_prodmp() -> Any:
    """mp_pytorch's ProDMP."""
    import torch
    from mp_pytorch.mp import MPFactory

    logging.disable(logging.WARNING)
    mp = MPFactory.init_mp(
        mp_type="prodmp", num_dof=D, tau=2.0, learn_tau=False, learn_delay=False, dtype=torch.float64,
        mp_args=dict(
            num_basis=B, basis_bandwidth_factor=3, num_basis_outside=0, alpha=10, alpha_phase=3, dt=DT, weights_scale=0.3,
            goal_scale=0.3, auto_scale_basis=True, relative_goal=False, disable_goal=False))
    logging.disable(logging.NOTSET)
    return mp


def peer_trajectory() -> Callable[[], object]:
    """mp_pytorch's ProDMP: new inputs, then positions and velocities."""
    import torch

    mp = peer_prodmp()
    times = (torch.arange(1, T + 1, dtype=torch.float64) * DT).expand(E, T)
    params, start = torch.randn(E, P, dtype=torch.float64), torch.zeros(E, dtype=torch.float64)
    pos, vel = torch.randn(E, D, dtype=torch.float64), torch.randn(E, D, dtype=torch.float64)

    @torch.no_grad()
    def call() -> None:
        mp.update_inputs(times=times, params=params, init_time=start, init_pos=pos, init_vel=vel)
        mp.get_traj_pos()
        mp.get_traj_vel()

    return call


def segment_inputs():
    """Rows of a smooth basis at both times of each segment, [J, 2D, P], a policy, observed positions and advantages."""
    import torch

    torch.manual_seed(1)
    steps = torch.arange(K, dtype=torch.float64) * (T // K) * DT
    basis = torch.exp(-0.5 * ((steps[:, None] - torch.linspace(0, 2, B + 1, dtype=torch.float64)) / 0.3) ** 2)
    pairs = torch.stack([basis[:-1], basis[1:]], 1)
    rows = torch.stack([torch.kron(torch.eye(D, dtype=torch.float64), pair) for pair in pairs])
    mean = torch.randn(E, P, dtype=torch.float64)
    factor = torch.tril(0.03 * torch.randn(P, P, dtype=torch.float64), -1) + torch.eye(P, dtype=torch.float64)
    values = torch.einsum("jkp,ep->ejk", rows, mean + torch.randn_like(mean))
    return rows, mean.requires_grad_(), factor.requires_grad_(), values, torch.randn(E, J, dtype=torch.float64)


def segment_loss(per_episode: bool) -> Callable[[], object]:
    """The surrogate loss and its gradients to mean and factor, by autograd."""
    import torch

    rows, mean, factor, values, advantages = segment_inputs()
    eye = torch.eye(2 * D, dtype=torch.float64)

    def log_prob():
        # [E, J, 2D, 2D], or [J, 2D, 2D] for those who use that all episodes share one covariance
        if per_episode:
            half = (rows.reshape(-1, P) @ factor.expand(E, P, P)).reshape(E, J, 2 * D, P)
        else:
            half = rows @ factor
        cov = half @ half.transpose(-1, -2)
        cov = cov + 1e-4 * cov.diagonal(dim1=-2, dim2=-1).max().detach() * eye
        centre = torch.einsum("jkp,ep->ejk", rows, mean)
        chol = torch.linalg.cholesky(cov)
        normal = torch.distributions.MultivariateNormal(centre, scale_tril=chol, validate_args=False)
        return normal.log_prob(values)

    with torch.no_grad():
        old = log_prob()

    def call() -> None:
        mean.grad = factor.grad = None
        loss = -(torch.exp(log_prob() - old) * advantages).mean()
        loss.backward()

    return call


def peer_epoch() -> Callable[[], object]:
    """torch's float network: forward, backward and Adam over the whole batch."""
    import torch

    net = torch.nn.Sequential(
        torch.nn.Linear(INPUTS, WIDTH), torch.nn.LeakyReLU(), torch.nn.Linear(WIDTH, WIDTH), torch.nn.LeakyReLU(),
        torch.nn.Linear(WIDTH, 1))
    adam = torch.optim.Adam(net.parameters(), lr=3e-4)
    x, target = torch.randn(ROWS, INPUTS), torch.randn(ROWS, 1)

    def call() -> None:
        adam.zero_grad()
        torch.nn.functional.mse_loss(net(x), target).backward()
        adam.step()

    return call


# ---- from Python --------------------------------------------------------------------------------------

# of a call from Python, beyond what C takes
PYTHON_MICROSECONDS = 10.0


def python_calls() -> Dict[str, Callable[[], object]]:
    """Small calls of the package, which take next to no time in C."""
    import numpy as np
    import tce

    mean, near, chol, wide = np.zeros((1, 3)), 0.1 * np.ones((1, 3)), 0.9 * np.eye(3)[None], np.eye(3)[None].copy()
    projection = tce.Projection("kl", 3, 0.1, 0.1)
    mp = tce.ProDMP(n_dof=2, n_basis=3, dt=0.01)
    params, start = np.zeros(mp.n_params), np.zeros(2)
    policy, obs = tce.Policy(4, 3, "full", [8], random=1), np.zeros((1, 4))
    return {
        "projection of 3 numbers": lambda: projection.project(near, chol, mean, wide),
        "log-likelihood of 3 numbers": lambda: tce.gauss.log_prob(near, mean, wide),
        "single-step query": lambda: mp.query(0.5, params, 0.0, start, start), "policy": lambda: policy.predict(obs)}


def in_c(call: Callable[[], object]) -> float:
    """Seconds that the C functions of a call take: its arguments are kept, and given again without any conversion."""
    import ctypes

    from tce import _library
    from tce._declarations import FUNCTIONS

    lib, raw, seen, plain = _library.lib, ctypes.CDLL(_library.path), [], {}

    def keep(name):
        def recorded(*arguments):
            seen.append((name, arguments))
            return plain[name](*arguments)
        return recorded

    for name in FUNCTIONS:
        plain[name] = getattr(lib, name)
        setattr(lib, name, keep(name))
    call()
    for name, function in plain.items():
        setattr(lib, name, function)

    def converted(value, kind):
        if hasattr(value, "ctypes"):
            return ctypes.c_void_p(value.ctypes.data)
        if hasattr(value, "_obj"):
            return ctypes.c_void_p(ctypes.addressof(value._obj))
        value = getattr(value, "_as_parameter_", value)
        if value is None or isinstance(value, ctypes.c_void_p):
            return ctypes.c_void_p(value.value if value is not None else None)
        return kind(value)

    total = 0.0
    for name, arguments in seen:
        function = getattr(raw, name)
        ready = [converted(value, kind) for value, kind in zip(arguments, FUNCTIONS[name][1])]
        total += of_many(lambda: function(*ready))
    return total


def of_many(call: Callable[[], object], n: int = 1000) -> float:
    """The same as turn for calls that are shorter than the clock's steps: the least mean of n of them."""
    def round_() -> float:
        before = time.process_time()
        for _ in range(n):
            call()
        return (time.process_time() - before) / n

    return min(round_() for _ in range(15))


def python_rows(table: "Table") -> None:
    try:
        calls = python_calls()
    except ImportError as reason:
        print(f"bench: no rows of Python: {reason}", file=sys.stderr)
        return
    for name, call in calls.items():
        whole = of_many(call)
        beyond = whole - in_c(call)
        table.add(f"Python beyond C: {name}", duration(beyond), target=f"< {PYTHON_MICROSECONDS:g} us", met=beyond < 1e-6 * PYTHON_MICROSECONDS)


# ---- from torch ---------------------------------------------------------------------------------------


def torch_trajectory() -> Tuple[Callable[[], object], Callable[[], object]]:
    """Paths and the gradient to their parameters: tce.torch, and mp_pytorch by autograd."""
    import torch

    import tce.torch

    mp, times = peer_prodmp(), DT * torch.arange(1, T + 1, dtype=torch.float64)
    own = tce.ProDMP(
        n_dof=D, n_basis=B, tau=2.0, dt=DT, alpha=10, alpha_phase=3, basis_bandwidth_factor=3, weights_scale=0.3, goal_scale=0.3)
    params, start = torch.randn(E, P, dtype=torch.float64, requires_grad=True), torch.zeros(E, dtype=torch.float64)
    pos, vel = torch.randn(E, D, dtype=torch.float64), torch.randn(E, D, dtype=torch.float64)
    d_pos, d_vel = torch.randn(E, T, D, dtype=torch.float64), torch.randn(E, T, D, dtype=torch.float64)

    def backward(paths: Sequence[Any]) -> List[Any]:
        params.grad = None
        torch.autograd.backward(paths, [d_pos, d_vel])
        return [*(path.detach() for path in paths), params.grad]

    def ours() -> List[Any]:
        return backward(tce.torch.trajectory(own, params, times, 0.0, pos, vel))

    def theirs() -> List[Any]:
        mp.update_inputs(times=times.expand(E, T), params=params, init_time=start, init_pos=pos, init_vel=vel)
        return backward([mp.get_traj_pos(), mp.get_traj_vel()])

    for mine, other in zip(ours(), theirs()):
        torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-5 * float(other.abs().max()))
    return ours, theirs


def torch_segment() -> Tuple[Callable[[], object], Callable[[], object]]:
    """Likelihoods of segments and the gradients of their sum: tce.torch, and torch's Gaussians with mp_pytorch's covariances."""
    import torch

    import tce.torch

    mp = tce.ProDMP(n_dof=D, n_basis=B, tau=2.0, dt=DT, alpha=10, weights_scale=0.3, goal_scale=0.3)
    steps = [(T // K) * k for k in range(K)]
    pairs = list(zip(steps[:-1], steps[1:]))
    times = DT * torch.arange(1, T + 1, dtype=torch.float64)
    objective = tce.SegmentObjective(mp, times.numpy(), pairs, reg=1e-4)
    _, mean, factor, _, _ = segment_inputs()
    positions, _ = tce.torch.trajectory(mp, mean.detach() + torch.randn(E, P, dtype=torch.float64), times)
    basis = torch.from_numpy(mp.basis(times.numpy()))
    rows = torch.stack([torch.kron(torch.eye(D, dtype=torch.float64), basis[list(pair)]) for pair in pairs])
    values = torch.stack([positions[:, list(pair)].transpose(1, 2).reshape(E, 2 * D) for pair in pairs], 1)
    eye = torch.eye(2 * D, dtype=torch.float64)

    def gradients(log_prob: Any) -> List[Any]:
        mean.grad = factor.grad = None
        log_prob.sum().backward()
        return [log_prob.detach(), mean.grad, torch.tril(factor.grad)]

    def ours() -> List[Any]:
        return gradients(tce.torch.segment_log_prob(objective, positions, mean, factor))

    def theirs() -> List[Any]:
        half = (rows.reshape(-1, P) @ factor.expand(E, P, P)).reshape(E, J, 2 * D, P)
        cov = half @ half.transpose(-1, -2)
        cov = cov + 1e-4 * cov.diagonal(dim1=-2, dim2=-1).max().detach() * eye
        centre = torch.einsum("jkp,ep->ejk", rows, mean)
        normal = torch.distributions.MultivariateNormal(centre, scale_tril=torch.linalg.cholesky(cov), validate_args=False)
        return gradients(normal.log_prob(values))

    for mine, other in zip(ours(), theirs()):
        torch.testing.assert_close(mine, other, rtol=1e-7, atol=1e-7 * float(other.abs().max()))
    return ours, theirs


def torch_rows(table: "Table", rounds: int) -> None:
    """Calls of tce.torch beside those that they replace, whose numbers they have."""
    for label, maker in (
            (f"tce.torch: trajectory + gradient, {E} x {T} x {D} (mp_pytorch)", torch_trajectory),
            (f"tce.torch: segment likelihood + gradients, {E} x {J} x {2 * D} (torch)", torch_segment)):
        try:
            calls = maker()
        except ImportError as reason:
            print(f"bench: no row {label!r}: {reason}", file=sys.stderr)
            continue
        both = [[turn(call) for call in calls] for _ in range(rounds)]
        table.against(label, *(statistics.median(times) for times in zip(*both)), None)


def find_peers() -> Dict[str, Callable[[], object]]:
    """What is installed here; empty without torch."""
    try:
        import torch
    except ImportError:
        return {}
    torch.set_num_threads(1)
    makers: Dict[str, Callable[[], Callable[[], object]]] = {
        "segment": lambda: segment_loss(True), "segment, shared": lambda: segment_loss(False), "epoch": peer_epoch,
        "trajectory": peer_trajectory}
    peers = {}
    for name, maker in makers.items():
        try:
            peers[name] = maker()
        except ImportError as reason:
            print(f"bench: no peer for {name}: {reason}", file=sys.stderr)
    return peers


# ---- the table ----------------------------------------------------------------------------------------


def duration(seconds: Optional[float]) -> str:
    if seconds is None:
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


class Table:
    """Rows of text, and whether every target was met."""

    def __init__(self) -> None:
        self.rows = [["", "libtce", "peer", "ratio", "target", ""]]
        self.met = True

    def add(self, what: str, ours: str, peer: str = "-", ratio: str = "-", target: str = "", met: Optional[bool] = None) -> None:
        self.rows.append([what, ours, peer, ratio, target, {None: "", True: "met", False: "MISSED"}[met]])
        self.met = self.met and met is not False

    def against(self, what: str, ours: float, peer: Optional[float], least: Optional[float]) -> None:
        """A row for a peer; least: how many times as fast libtce has to be."""
        ratio = None if peer is None else peer / ours
        met = None if ratio is None or least is None else ratio >= least
        self.add(
            what, duration(ours), duration(peer), "-" if ratio is None else f"{ratio:.1f} x",
            "" if least is None else f">= {least:g} x", met)

    def show(self) -> None:
        widths = [max(len(row[i]) for row in self.rows) for i in range(6)]
        for row in self.rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()

    peers = find_peers()
    server = Server(options.program)
    names = ["trajectory", "query", "segment", "projection", "projection_batch", "eigen", "epoch", "pass_relu", "pass_tanh", "activations_linear",
             "activations_tanh", "sgemm"]
    samples: Dict[str, List[float]] = {name: [] for name in names}
    peer_samples: Dict[str, List[float]] = {name: [] for name in peers}
    for call in peers.values():
        call()
    for _ in range(options.rounds):
        for name in names:
            samples[name].append(server(name))
            for peer in peers:
                if peer.split(",")[0] == name:
                    peer_samples[peer].append(turn(peers[peer]))
    server.close()

    ours = {name: statistics.median(values) for name, values in samples.items()}
    theirs = {name: statistics.median(values) for name, values in peer_samples.items()}
    rate = statistics.median(
        (EPOCH_FLOPS / e) / (SGEMM_FLOPS / s) for e, s in zip(samples["epoch"], samples["sgemm"]))

    table = Table()
    table.against(f"trajectory {E} x {T} x {D} (mp_pytorch)", ours["trajectory"], theirs.get("trajectory"), 30)
    table.add(f"single-step query, {D} joints", duration(ours["query"]), target="< 1 us", met=ours["query"] < 1e-6)
    table.against(
        f"segment likelihood + gradients, {E} x {J} x {2 * D} (torch)", ours["segment"], theirs.get("segment"), 150)
    table.against("  torch with one covariance for all episodes", ours["segment"], theirs.get("segment, shared"), None)
    for name, means in (("projection", "1 mean"), ("projection_batch", f"{E} means")):
        ratio = statistics.median(a / b for a, b in zip(samples[name], samples["eigen"]))
        table.add(
            f"KL projection + gradient, n = {P}, {means} (dsyevd)", duration(ours[name]), duration(ours["eigen"]),
            f"{ratio:.2f} dsyevd", f"<= {PROJECTION_EIGEN:g} dsyevd", ratio <= PROJECTION_EIGEN)
    table.against(f"network epoch {ROWS} x {INPUTS}-{WIDTH}-{WIDTH}-1, float (torch)", ours["epoch"], theirs.get("epoch"), 1)
    table.add("  share of this machine's sgemm rate", f"{100 * rate:.0f} %", target=">= 70 %", met=rate >= 0.7)
    table.add("  sgemm 1024 x 1024 x 1024", f"{SGEMM_FLOPS / ours['sgemm'] / 1e9:.0f} GFLOP/s")
    number = statistics.median(
        (t - r) / ACTIVATIONS for t, r in zip(samples["activations_tanh"], samples["activations_linear"]))
    table.add("tanh of a number, float", duration(number), target="< 2.5 ns", met=number < TANH_SECONDS)
    ratio = statistics.median(t / r for t, r in zip(samples["pass_tanh"], samples["pass_relu"]))
    table.add("pass 128 x 3-64-64-1, tanh (relu)", duration(ours["pass_tanh"]), duration(ours["pass_relu"]), f"{ratio:.2f} of relu")
    python_rows(table)
    if peers:
        torch_rows(table, options.rounds)
    table.show()
    if not peers:
        print("(no peers installed: make deps-peers)")
    return 1 if options.strict and not table.met else 0


if __name__ == "__main__":
    sys.exit(main())
