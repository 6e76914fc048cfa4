"""Whole iterations of `tce train` beside the formulas of TCE and BBRL in numpy.

Written from the mathematics alone: of libtce it takes the tasks' simulation, the random streams and the reading of checkpoints. Gradients come
from autograd, so that nothing is derived by hand twice. From the checkpoint of one iteration the next one is computed, and everything the trainer
keeps must come out: weights, covariance, Adam's moments, statistics of the normaliser, and the numbers of progress.csv. The paths that are simulated
are libtce's, since contacts magnify a last bit a millionfold; those of the formulas must be the same.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Tuple

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad, value_and_grad
from autograd.tracer import getval
from running import checkpoints, rows, tce

import tce as library

# purposes of the trainer's random streams
TRAIN_ENV, PARAMETERS, TIME_POINTS = 3, 5, 6

# of the largest entry: rounding of sums in another order, and what six updates make of it
PATH_TOLERANCE, TOLERANCE = 1e-12, 1e-8

Settings = Dict[str, Dict[str, Any]]
Layers = List[Tuple[Any, Any]]


def value_of(text: str) -> Any:
    if text.startswith("["):
        return [float(part) for part in text.strip("[]").split(",")]
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text)
    except ValueError:
        return text.strip("'")


def read_settings(path: Path) -> Settings:
    """The effective settings of a run: sections with lines `key: value  # help`."""
    found: Settings = {}
    section = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        key, _, text = line.partition("#")[0].partition(":")
        if key and not key.startswith(" "):
            section = key
            found[section] = {}
        elif key.strip():
            found[section][key.strip()] = value_of(text.strip())
    return found


def near(what: str, got: Any, want: Any, tolerance: float) -> None:
    got, want = np.asarray(got, float), np.asarray(want, float)
    worst = float(np.abs(got - want).max()) / max(1e-300, float(np.abs(want).max()))
    assert worst <= tolerance, f"{what}: {worst:.1e} of its largest entry"


# ---- ProDMP [algorithm 1] ------------------------------------------------------------------------


class ProDMP:
    """Rows of the linear map from start and parameters to positions and velocities, from the published table."""

    def __init__(self, s: Dict[str, Any]) -> None:
        self.tau, self.delay, self.dt, self.relative = s["tau"], s["delay"], s["dt"], s["relative_goal"]
        alpha, B = s["alpha"], int(s["num_basis"])
        n = math.floor(self.tau / self.dt + 0.5)
        u = np.arange(int(s["table_length"]) * n + 1) / n

        # normalised radial basis functions of the phase
        spacing = self.tau / (B - 1)
        centres = np.exp(-s["alpha_phase"] * np.arange(B + 1) * spacing / self.tau)
        widths = s["basis_bandwidth_factor"] / np.diff(centres) ** 2
        phase = np.exp(-s["alpha_phase"] * u)
        phi = np.exp(-0.5 * widths * (phase[:, None] - centres[:B]) ** 2)
        phi /= phi.sum(axis=1, keepdims=True)

        # the attractor's solutions, and the integrals of the forcing by the trapezoid rule
        y1 = np.exp(-alpha * u / 2)
        y2 = u * y1
        dy1, dy2 = -alpha / 2 * y1, -alpha / 2 * y2 + y1
        force = np.exp(alpha * u / 2)[:, None] * phase[:, None] * phi

        def integral(f: np.ndarray) -> np.ndarray:
            return np.concatenate([np.zeros((1, B)), np.cumsum((f[1:] + f[:-1]) / (2 * n), axis=0)])

        p1, p2 = integral(u[:, None] * force), integral(force)
        q1, q2 = (alpha * u / 2 - 1) * np.exp(alpha * u / 2) + 1, alpha / 2 * (np.exp(alpha * u / 2) - 1)
        p1, p2 = np.column_stack([p1, q1]), np.column_stack([p2, q2])
        self.plain = p2 * y2[:, None] - p1 * y1[:, None], p2 * dy2[:, None] - p1 * dy1[:, None]
        self.solutions = y1, y2, dy1, dy2
        scale = 1 / self.plain[0].max(axis=0) if s["auto_scale_basis"] else np.ones(B + 1)
        self.scale = scale * np.append(np.full(B, s["weights_scale"]), s["goal_scale"])

    def rows(self, times: np.ndarray) -> List[Tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """For position and velocity: factors of y_b and tau v_b [T], scaled basis [T, B+1], unscaled goal column [T]; start at time 0."""

        def at(table: np.ndarray, t: np.ndarray) -> np.ndarray:
            r = np.maximum((t - self.delay) / self.tau, 0.0) * self.tau / self.dt
            k = np.minimum(r.astype(int), len(table) - 2)
            weight = (r - k).reshape((-1,) + (1,) * (table.ndim - 1))
            return (1 - weight) * table[k] + weight * table[k + 1]

        start = np.zeros(1)
        b1, b2, db1, db2 = (at(f, start)[0] for f in self.solutions)
        pos_b, vel_b = (at(f, start)[0] for f in self.plain)
        det = b1 * db2 - b2 * db1
        y1, y2, dy1, dy2 = (at(f, times) for f in self.solutions)
        result = []
        for a1, a2, basis, factor in ((y1, y2, at(self.plain[0], times), 1.0), (dy1, dy2, at(self.plain[1], times), 1.0 / self.tau)):
            from_pos, from_vel = (db2 * a1 - db1 * a2) / det, (b1 * a2 - b2 * a1) / det
            basis = basis - from_pos[:, None] * pos_b - from_vel[:, None] * vel_b
            result.append((factor * from_pos, factor * from_vel, factor * basis * self.scale, factor * basis[:, -1]))
        return result

    def path(self, row: Tuple[np.ndarray, ...], params: Any, pos_b: np.ndarray, vel_b: np.ndarray) -> Any:
        """[E, T, D] of params [E, P] from starts [E, D]."""
        from_pos, from_vel, basis, goal = row
        E, D = pos_b.shape
        w = anp.reshape(params, (E, D, basis.shape[1]))
        fixed = from_pos[None, :, None] * pos_b[:, None] + from_vel[None, :, None] * self.tau * vel_b[:, None]
        if self.relative:
            fixed = fixed + goal[None, :, None] * pos_b[:, None]
        return fixed + anp.einsum("tc,edc->etd", basis, w)


# ---- networks and Adam [algorithm 2, 3.7] ----------------------------------------------------------


def activate(kind: str, z: Any) -> Any:
    return anp.tanh(z) if kind == "tanh" else anp.where(z > 0, z, (0.01 if kind == "leaky_relu" else 0.0) * z)


def forward(kind: str, layers: Layers, x: Any) -> Any:
    for weight, bias in layers[:-1]:
        x = activate(kind, anp.dot(x, weight.T) + bias)
    return anp.dot(x, layers[-1][0].T) + layers[-1][1]


def flatten(layers: Layers) -> np.ndarray:
    return np.concatenate([part.ravel() for layer in layers for part in layer])


@dataclass
class Adam:
    theta: np.ndarray
    moment: np.ndarray
    square: np.ndarray
    steps: int

    def step(self, gradient: np.ndarray, rate: float, l2: float) -> None:
        g = gradient + l2 * self.theta
        self.steps += 1
        self.moment = 0.9 * self.moment + 0.1 * g
        self.square = 0.999 * self.square + 0.001 * g * g
        m, v = self.moment / (1 - 0.9**self.steps), self.square / (1 - 0.999**self.steps)
        self.theta = self.theta - rate * m / (np.sqrt(v) + 1e-8)


class Network:
    def __init__(self, store: Any, name: str, activation: str) -> None:
        self.activation = activation
        self.shapes: List[Tuple[int, int]] = []
        layers: Layers = []
        while f"{name}.layers.{len(layers)}.weight" in store:
            at = f"{name}.layers.{len(layers)}"
            layers.append((store[f"{at}.weight"], store[f"{at}.bias"]))
            self.shapes.append(layers[-1][0].shape)
        self.adam = Adam(flatten(layers), store[f"{name}.adam.moment"].copy(), store[f"{name}.adam.square"].copy(),
                         int(store[f"{name}.adam.steps"][0]))

    def layers(self, theta: Any) -> Layers:
        found, at = [], 0
        for out, inputs in self.shapes:
            weight = anp.reshape(theta[at:at + out * inputs], (out, inputs))
            found.append((weight, theta[at + out * inputs:at + out * inputs + out]))
            at += out * inputs + out
        return found

    def __call__(self, theta: Any, x: Any) -> Any:
        return forward(self.activation, self.layers(theta), x)


# ---- Gaussians and trust region [algorithm 2, 4] -----------------------------------------------------


def factor(raw: Any, P: int, min_std: float) -> Any:
    """L [P, P]: softplus of the first P plus min_std on the diagonal, then the strict lower triangle row by row."""
    below = np.zeros((P * P, P * (P - 1) // 2))
    below[[i * P + j for i in range(P) for j in range(i)], np.arange(P * (P - 1) // 2)] = 1
    return anp.diag(anp.logaddexp(raw[:P], 0.0) + min_std) + anp.reshape(anp.dot(below, raw[P:]), (P, P))


def entropy(L: Any) -> Any:
    return L.shape[0] / 2 * math.log(2 * math.pi * math.e) + anp.sum(anp.log(anp.diag(L)))


def log_det(S: Any) -> Any:
    return anp.linalg.slogdet(S)[1]


def divergence(S: Any, S_old: np.ndarray) -> Any:
    """KL of two Gaussians with equal means."""
    return 0.5 * (anp.trace(anp.linalg.solve(S_old, S)) - len(S_old) + log_det(S_old) - log_det(S))


def project_mean(mean: Any, old: np.ndarray, S_old: np.ndarray, bound: float) -> Any:
    d = mean - old
    m = 0.5 * anp.sum(d * anp.linalg.solve(S_old, d.T).T, axis=1)
    omega = anp.where(m > bound, anp.sqrt(anp.where(m > bound, m, bound) / bound) - 1, 0.0)[:, None]
    return (mean + omega * old) / (1 + omega)


def project_factor(L: Any, L_old: np.ndarray, bound: float) -> Any:
    S, S_old = anp.dot(L, L.T), L_old @ L_old.T
    if divergence(getval(S), S_old) <= bound:
        return L
    inverse, inverse_old = anp.linalg.inv(S), np.linalg.inv(S_old)

    def between(eta: Any, precision: Any) -> Any:
        return anp.linalg.inv((precision + eta * inverse_old) / (1 + eta))

    def excess(eta: float) -> float:
        return float(divergence(between(eta, getval(inverse)), S_old)) - bound

    low, high = 0.0, 1.0
    while excess(high) > 0:
        high *= 2
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    # one step of Newton from the root leaves it where it is and gives it the derivative of the implicit function
    slope = grad(lambda eta: divergence(between(eta, getval(inverse)), S_old))(high)
    eta = high - (divergence(between(high, inverse), S_old) - bound) / slope
    return anp.linalg.cholesky(between(eta, inverse))


def raise_entropy(L: Any, bound: float) -> Any:
    missing = bound - entropy(L)
    return L * anp.exp(missing / L.shape[0]) if getval(missing) > 0 else L


# ---- one iteration [algorithm 3] ----------------------------------------------------------------------


class Replica:
    """What the methods have in common: episodes, and the updates of critic and policy. A method says what the networks see, what an episode or its
    parts were worth, and how likely the policy finds them."""

    def __init__(self, folder: Path, checkpoint: Path) -> None:
        self.s = read_settings(folder / "config.yaml")
        store = library.Store.load(checkpoint)
        self.iteration = int(store["run.iteration"])
        self.policy = Network(store, "policy.mean", self.s["policy"]["activation"])
        self.covariance = Adam(store["policy.covariance.raw"].copy(), store["policy.covariance.adam.moment"].copy(),
                               store["policy.covariance.adam.square"].copy(), int(store["policy.covariance.adam.steps"][0]))
        self.critic = Network(store, "critic.net", self.s["critic"]["activation"])
        self.mean, self.variance, self.count = store["critic.mean"].copy(), store["critic.variance"].copy(), float(store["critic.count"][0])
        self.initial_entropy = float(store["trainer.initial_entropy"])
        self.mp = ProDMP(self.s["mp"])
        self.simulated = library.Policy.from_store(store, "policy"), library.MovementPrimitive.from_store(
            library.Store.load(folder / "policy.safetensors"), "mp")
        self.task_states = store["train.states"] if "train.states" in store else None
        self.P = self.policy.shapes[-1][0]
        self.report: Dict[str, float] = {}

    def observe(self, x: np.ndarray) -> None:
        """The running statistics take new states in [tasks 1.6]."""
        N, delta = len(x), x.mean(axis=0) - self.mean
        total = self.count + N
        self.mean = self.mean + delta * N / total
        self.variance = (self.variance * self.count + x.var(axis=0, ddof=1) * N + delta**2 * self.count * N / total) / total
        self.count = total

    def collect(self, i: int) -> None:
        """Episodes in rounds of all environments; states are normalised by the statistics that their own round has entered."""
        s, seed = self.s["collect"], int(self.s["run"]["seed"])
        E, N = int(s["episodes"]), int(s["environments"])
        task = library.TaskLibrary()[self.s["task"]["name"]]
        rollout = library.Rollout(task, N, settings=str(self.s["task"]["options"]), seed=seed, purpose=TRAIN_ENV)
        if self.task_states is not None:
            rollout.set_states(self.task_states)
        T, dt = rollout.spec.n_steps, rollout.spec.dt
        self.times = dt * np.arange(1, T + 1)
        L = factor(self.covariance.theta, self.P, self.s["policy"]["min_std"])
        rounds = -(-E // N)
        parts: List[List[np.ndarray]] = []
        for k in range(rounds):
            n = min(N, E - k * N)
            obs, pos_b, vel_b = rollout.reset(i * rounds + k, n)
            inputs = self.context(rollout.spec, obs)
            mu = self.policy(self.policy.adam.theta, inputs)
            params = mu + np.array([library.Random(seed, PARAMETERS, i, k * N + e).normals(self.P) for e in range(n)]) @ L.T
            pos, vel = self.simulate_path(inputs, [library.Random(seed, PARAMETERS, i, k * N + e) for e in range(n)], pos_b, vel_b)
            for name, row, used in zip(("position", "velocity"), self.mp.rows(self.times), (pos, vel)):
                near(f"desired {name}", self.mp.path(row, params, pos_b, vel_b), used, PATH_TOLERANCE)
            paths = rollout.run(pos, vel)
            assert np.all(paths.lengths == T)
            states = np.concatenate([paths.obs, np.broadcast_to(np.append(0.0, self.times)[None, :, None], (n, T + 1, 1))], axis=2)
            if self.s["critic"]["normalise"]:
                self.observe(states.reshape(-1, states.shape[2]))
                states = (states - self.mean) / np.sqrt(self.variance + 1e-8)
            parts.append([inputs, mu, params, pos, pos_b, vel_b, states, paths.rewards, paths.events])
        whole = [np.concatenate(part) for part in zip(*parts)]
        self.inputs, self.mu, self.params, self.pos, self.pos_b, self.vel_b, self.states, self.rewards, events = whole
        self.L = L
        self.report["return"] = float(self.rewards.sum(axis=1).mean())
        if s["reward_to_event"]:
            for r, flags in zip(self.rewards, events):
                first = int(np.argmax(flags)) if flags.any() else 0
                if first > 0:
                    r[first], r[first + 1:] = r[first:].sum(), 0.0

    def simulate_path(self, inputs: np.ndarray, streams: Sequence[Any], pos_b: np.ndarray, vel_b: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
        """The trainer's own path, to the last bit."""
        policy, mp = self.simulated
        mean, chol = policy.predict(inputs)
        params = np.concatenate([library.gauss.sample(m[None], chol[0], stream) for m, stream in zip(mean, streams)])
        return mp.trajectory(params, self.times, 0.0, pos_b, vel_b)

    def rate(self, part: str, i: int) -> float:
        N = self.s["schedule"]["learning_rate_iterations"]
        return float(self.s[part]["learning_rate"] * (1 - 0.99 * min(i - 1, N) / N if N else 1))

    def train_critic(self, i: int, x: np.ndarray, y: np.ndarray) -> None:
        loss = value_and_grad(lambda theta: anp.mean((self.critic(theta, x)[:, 0] - y) ** 2))
        losses = []
        for _ in range(int(self.s["critic"]["epochs"])):
            value, gradient = loss(self.critic.adam.theta)
            losses.append(value)
            self.critic.adam.step(gradient, self.rate("critic", i), self.s["critic"]["l2"])
        self.report["critic_loss"] = float(np.mean(losses))

    def entropy_bound(self, i: int) -> float:
        s = self.s["projection"]
        if s["entropy_schedule"] == "none":
            return -math.inf
        assert s["entropy_schedule"] == "linear"
        return float(self.initial_entropy + (s["entropy_target"] - self.initial_entropy) * i / self.s["run"]["iterations"])

    def project(self, i: int, mu: Any, L: Any) -> Tuple[Any, Any]:
        s = self.s["projection"]
        S_old = self.L @ self.L.T
        return project_mean(mu, self.mu, S_old, s["mean_bound"]), raise_entropy(project_factor(L, self.L, s["cov_bound"]), self.entropy_bound(i))

    def train_policy(self, i: int, log_prob: Callable[[Any, Any], Any], A: np.ndarray) -> None:
        s, n = self.s["policy"], len(self.policy.adam.theta)
        old = log_prob(self.mu, self.L)
        seen: List[Tuple[float, float]] = []

        def loss(theta: Any) -> Any:
            mu, L = self.policy(theta[:n], self.inputs), factor(theta[n:], self.P, s["min_std"])
            mu_in, L_in = self.project(i, mu, L)
            surrogate = -anp.mean(anp.exp(log_prob(mu_in, L_in) - old) * A)
            # to the projected policy, which is a constant here
            mu_to, S_to = getval(mu_in), getval(L_in) @ getval(L_in).T
            d = mu - mu_to
            apart = 0.5 * anp.mean(anp.sum(d * anp.linalg.solve(S_to, d.T).T, axis=1))
            if not s["set_variance"]:
                apart = apart + divergence(anp.dot(L, L.T), S_to)
            regression = self.s["projection"]["coefficient"] * apart
            seen.append((float(getval(surrogate)), float(getval(regression))))
            return surrogate + regression

        for _ in range(int(s["epochs"])):
            gradient = grad(loss)(np.concatenate([self.policy.adam.theta, self.covariance.theta]))
            for adam, g in ((self.policy.adam, gradient[:n]), (self.covariance, gradient[n:])):
                adam.step(g, self.rate("policy", i), s["l2"])
        self.report["policy_loss"], self.report["trust_region_loss"] = np.mean(seen, axis=0)
        mu, L = self.policy(self.policy.adam.theta, self.inputs), factor(self.covariance.theta, self.P, s["min_std"])
        L_in = self.project(i, mu, L)[1]
        self.report["entropy"] = float(entropy(L_in))
        if s["set_variance"]:
            diagonal = np.log(np.expm1(np.maximum(np.diag(L_in) - s["min_std"], 1e-12)))
            self.covariance.theta = np.concatenate([diagonal, L_in[np.tril_indices(self.P, -1)]])

    def run(self) -> None:
        self.iteration += 1
        self.collect(self.iteration)
        self.learn(self.iteration)


class Tce(Replica):
    def context(self, spec: Any, obs: np.ndarray) -> np.ndarray:
        """The first observation with its time."""
        return np.column_stack([obs, np.zeros(len(obs))])

    def returns(self) -> np.ndarray:
        """Targets of the critic by GAE; keeps the values. Episodes end with their last step."""
        gamma, lam = self.s["objective"]["gamma"], self.s["objective"]["lambda"]
        self.values = self.critic(self.critic.adam.theta, self.states)[:, :, 0]
        T = self.rewards.shape[1]
        advantages = np.zeros_like(self.rewards)
        for t in reversed(range(T)):
            goes_on = t < T - 1
            delta = self.rewards[:, t] + gamma * goes_on * self.values[:, t + 1] - self.values[:, t]
            advantages[:, t] = delta + (gamma * lam * advantages[:, t + 1] if goes_on else 0.0)
        return advantages + self.values[:, :T]

    def segments(self, i: int) -> Tuple[np.ndarray, np.ndarray]:
        """Time points [K] of the iteration and normalised advantages [E, K - 1] of the segments between them."""
        gamma, K, T = self.s["objective"]["gamma"], int(self.s["objective"]["time_points"]), self.rewards.shape[1]
        first = library.Random(int(self.s["run"]["seed"]), TIME_POINTS, i, 0).below(T // K + T % K)
        points = np.arange(first, T, T // K)
        A = np.zeros((len(self.rewards), len(points) - 1))
        for j, (a, b) in enumerate(zip(points[:-1], points[1:])):
            earned = self.rewards[:, a:b] @ gamma ** np.arange(b - a)
            A[:, j] = earned + gamma ** (b - a) * self.values[:, b] - self.values[:, a]
        return points, (A - A.mean()) / (A.std(ddof=1) + 1e-8)

    def log_prob(self, points: np.ndarray, mu: Any, L: Any) -> Any:
        """[E, J] of the sampled paths at pairs of neighbouring time points."""
        row = self.mp.rows(self.times)[0]
        D = self.pos_b.shape[1]
        away = self.pos[:, points] - self.mp.path(tuple(part[points] for part in row), mu, self.pos_b, self.vel_b)
        # [K, D, P]: rows of all degrees of freedom at a time point
        H = np.einsum("kc,df->kdfc", row[2][points], np.eye(D)).reshape(len(points), D, self.P)
        G = anp.dot(H, L)
        reg = self.s["objective"]["regulariser"] * float((getval(G) ** 2).sum(axis=2).max())
        found = []
        for j in range(len(points) - 1):
            both = anp.concatenate([G[j], G[j + 1]])
            S = anp.dot(both, both.T) + reg * np.eye(2 * D)
            r = anp.concatenate([away[:, j], away[:, j + 1]], axis=1)
            found.append(-0.5 * anp.sum(r * anp.linalg.solve(S, r.T).T, axis=1) - 0.5 * log_det(S) - D * math.log(2 * math.pi))
        return anp.stack(found, axis=1)

    def learn(self, i: int) -> None:
        targets = self.returns()
        points, A = self.segments(i)
        self.train_critic(i, self.states[:, :-1].reshape(-1, self.states.shape[2]), targets.ravel())
        self.train_policy(i, lambda mu, L: self.log_prob(points, mu, L), A)


class Bbrl(Replica):
    """An episode is one action, its parameters, with one reward, its return [algorithm 5]."""

    def context(self, spec: Any, obs: np.ndarray) -> np.ndarray:
        return obs[:, list(spec.context)]

    def log_prob(self, mu: Any, L: Any) -> Any:
        d = self.params - mu
        S = anp.dot(L, L.T)
        return -0.5 * anp.sum(d * anp.linalg.solve(S, d.T).T, axis=1) - 0.5 * log_det(S) - self.P / 2 * math.log(2 * math.pi)

    def learn(self, i: int) -> None:
        returns = self.rewards.sum(axis=1)
        A = returns - self.critic(self.critic.adam.theta, self.inputs)[:, 0]
        self.train_critic(i, self.inputs, returns)
        self.train_policy(i, self.log_prob, (A - A.mean()) / (A.std(ddof=1) + 1e-8))


# ---- beside the trainer -------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def same_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program computes with the kernels of OpenBLAS that libtce has here: where they are old, it would choose others, which round differently."""
    blas = ctypes.CDLL("libopenblas.so.0")
    blas.openblas_get_corename.restype = ctypes.c_char_p
    monkeypatch.setenv("OPENBLAS_CORETYPE", blas.openblas_get_corename().decode())


def train(folder: Path, preset: str, iterations: int, *words: str) -> List[Path]:
    """Checkpoints of all iterations of a run in double."""
    done = tce("train", preset, "--seed", 5, "--threads", 2, "--out", folder, "policy.precision=double", "run.checkpoint_every=1",
               "run.checkpoint_keep=100", "evaluate.every=0", "evaluate.episodes=1", *words)
    assert done.returncode == 0, done.stderr
    found = checkpoints(folder)
    assert len(found) >= iterations
    return found


def compare(replica: Replica, checkpoint: Path, row: Dict[str, str]) -> None:
    store = library.Store.load(checkpoint)
    assert replica.iteration == int(store["run.iteration"]) == int(row["iteration"])
    for name, value in replica.report.items():
        near(name, value, float(row[name]), TOLERANCE)
    for name, adam in (("policy.mean", replica.policy.adam), ("critic.net", replica.critic.adam)):
        near(name, adam.theta, Network(store, name, "").adam.theta, TOLERANCE)
        near(f"{name} moment", adam.moment, store[f"{name}.adam.moment"], TOLERANCE)
        near(f"{name} square", adam.square, store[f"{name}.adam.square"], TOLERANCE)
    near("covariance", replica.covariance.theta, store["policy.covariance.raw"], TOLERANCE)
    near("covariance moment", replica.covariance.moment, store["policy.covariance.adam.moment"], TOLERANCE)
    for name, value in (("mean", replica.mean), ("variance", replica.variance), ("count", replica.count)):
        near(f"critic.{name}", value, store[f"critic.{name}"], TOLERANCE)


# what the presets differ in: moved rewards, entropy schedule, relative goal, delay, tanh, states that tasks carry on, rounds of unequal size
@pytest.mark.parametrize("preset,steps,words", [
    ("hopper_jump/tce", 250, ("collect.episodes=7", "collect.environments=4")),
    ("box_pushing_dense/tce", 100, ("collect.episodes=6", "collect.environments=4")),
    ("table_tennis/tce", 300, ("collect.episodes=6", "collect.environments=3")),
    ("metaworld/tce", 500, ("collect.episodes=4", "collect.environments=4", "task.name=metaworld_reach")),
    ("box_pushing_dense/bbrl_cov", 100, ("collect.episodes=12", "collect.environments=5")),
    ("hopper_jump/bbrl_cov", 250, ("collect.episodes=9", "collect.environments=4")),
])
def test_iterations_are_the_formulas(preset: str, steps: int, words: Sequence[str], tmp_path: Path) -> None:
    iterations = 3
    episodes = int(words[0].partition("=")[2])
    # so fast that the trust region is reached within the few epochs
    found = train(tmp_path / "run", preset, iterations, *words, f"run.steps={iterations * steps * episodes}", "policy.epochs=6", "critic.epochs=4",
                  "policy.hidden=16,8", "critic.hidden=16,16", "policy.learning_rate=0.02")
    by_iteration = {int(row["iteration"]): row for row in rows(tmp_path / "run")}
    method = Tce if preset.endswith("/tce") else Bbrl
    for before, after in zip(found[:-1], found[1:]):
        replica = method(tmp_path / "run", before)
        replica.run()
        row = by_iteration[replica.iteration]
        assert float(row["trust_region_loss"]) > 1e-6, "the trust region was not reached"
        compare(replica, after, row)
