"""TCE and BBRL in numpy, for one iteration of `tce train` after the other.

Written from the mathematics alone: of libtce it takes the tasks' simulation, the random streams and the reading of checkpoints. Gradients come
from autograd, so that nothing is derived by hand twice. The paths that are simulated are libtce's, since contacts magnify a last bit a millionfold;
those of the formulas must be the same.

Shapes as everywhere: E episodes, T steps, D degrees of freedom, P parameters, J segments. A policy has one factor L [P, P] for all episodes, or one
for each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Tuple, Union

import autograd.numpy as anp
import numpy as np
from autograd import grad, value_and_grad
from autograd.tracer import getval

import tce as library

# purposes of the trainer's random streams
TRAIN_ENV, PARAMETERS, TIME_POINTS, MINIBATCH = 3, 5, 6, 7

# of the largest entry: rounding of sums in another order
PATH_TOLERANCE = 1e-12

Settings = Dict[str, Dict[str, Any]]


def value_of(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
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


def near(what: str, got: Any, want: Any, tolerance: float, least: float = 1e-300) -> None:
    """Within a tolerance of the largest entry that is wanted, or of `least` where all are smaller."""
    got, want = np.asarray(got, float), np.asarray(want, float)
    worst = float(np.abs(got - want).max()) / max(least, float(np.abs(want).max()))
    assert worst <= tolerance, f"{what}: {worst:.1e} of its largest entry"


# ---- ProDMP [algorithm 1] ------------------------------------------------------------------------


class ProDMP:
    """Rows of the linear map from start and parameters to positions and velocities, from the published table."""

    def __init__(self, s: Dict[str, Any]) -> None:
        self.tau, self.delay, self.dt, self.relative = s["tau"], s["delay"], s["dt"], s["relative_goal"]
        alpha, B = s["alpha"], s["n_basis"]
        n = math.floor(self.tau / self.dt + 0.5)
        u = np.arange(s["table_length"] * n + 1) / n

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


@dataclass
class Adam:
    theta: np.ndarray
    moment: np.ndarray
    square: np.ndarray
    steps: int

    @classmethod
    def load(cls, store: Any, name: str, theta: np.ndarray) -> "Adam":
        return cls(theta, store[f"{name}.adam.moment"].copy(), store[f"{name}.adam.square"].copy(), int(store[f"{name}.adam.steps"][0]))

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
        parts: List[np.ndarray] = []
        while (layer := f"{name}.layers.{len(self.shapes)}") + ".weight" in store:
            self.shapes.append(store[f"{layer}.weight"].shape)
            parts += [store[f"{layer}.weight"].ravel(), store[f"{layer}.bias"]]
        self.adam = Adam.load(store, name, np.concatenate(parts))

    def __call__(self, theta: Any, x: Any) -> Any:
        at = 0
        for layer, (out, inputs) in enumerate(self.shapes):
            end = at + out * inputs
            x = anp.dot(x, anp.reshape(theta[at:end], (out, inputs)).T) + theta[end:end + out]
            at = end + out
            if layer + 1 < len(self.shapes):
                x = activate(self.activation, x)
        return x


class Raw:
    """Instead of a network, for a covariance that is the same in all contexts: the parameters themselves."""

    def __init__(self, store: Any, name: str) -> None:
        self.adam = Adam.load(store, name, store[f"{name}.raw"].copy())

    def __call__(self, theta: Any, x: Any) -> Any:
        return [theta]


# ---- Gaussians [algorithm 2] ---------------------------------------------------------------------------


def factor(raw: Any, P: int, min_std: float) -> Any:
    """L [P, P]: softplus of the first P plus min_std on the diagonal, then the strict lower triangle row by row, if there is one."""
    L = anp.diag(anp.logaddexp(raw[:P], 0.0) + min_std)
    if len(raw) == P:
        return L
    below = np.zeros((P * P, P * (P - 1) // 2))
    below[[i * P + j for i in range(P) for j in range(i)], np.arange(P * (P - 1) // 2)] = 1
    return L + anp.reshape(anp.dot(below, raw[P:]), (P, P))


def entropy(L: Any) -> Any:
    return L.shape[0] / 2 * math.log(2 * math.pi * math.e) + anp.sum(anp.log(anp.diag(L)))


def log_det(S: Any) -> Any:
    return anp.linalg.slogdet(S)[1]


def squared_distances(d: Any, S: Any) -> Any:
    """d' S^-1 d of rows d [n, P]."""
    return anp.sum(d * anp.linalg.solve(S, d.T).T, axis=1)


def log_density(d: Any, S: Any) -> Any:
    """Of rows d [n, P] under N(0, S)."""
    return -0.5 * squared_distances(d, S) - 0.5 * log_det(S) - d.shape[1] / 2 * math.log(2 * math.pi)


def divergence(S: Any, S_old: np.ndarray) -> Any:
    """KL of two Gaussians with equal means."""
    return 0.5 * (anp.trace(anp.linalg.solve(S_old, S)) - len(S_old) + log_det(S_old) - log_det(S))


def root(S: Any) -> Any:
    """The symmetric square root, by Denman and Beavers' iteration."""
    Y, Z = S, np.eye(len(getval(S)))
    for _ in range(30):
        Y, Z = 0.5 * (Y + anp.linalg.inv(Z)), 0.5 * (Z + anp.linalg.inv(Y))
    return Y


# ---- trust regions [algorithm 4] -------------------------------------------------------------------------


def shorten(distance: Any, bound: float, new: Any, old: np.ndarray) -> Any:
    """On the line between new and old, so that the squared distance falls to the bound; as it is within."""
    omega = anp.where(distance > bound, anp.sqrt(anp.where(distance > bound, distance, bound) / bound) - 1, 0.0)
    return (new + omega * old) / (1 + omega)


class KL:
    half = 0.5

    @staticmethod
    def project(L: Any, L_old: np.ndarray, bound: float) -> Any:
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

    @staticmethod
    def apart(L: Any, L_to: np.ndarray) -> Any:
        return divergence(anp.dot(L, L.T), L_to @ L_to.T)


class W2:
    half = 1.0

    @staticmethod
    def distance(S: Any, S_to: np.ndarray) -> Any:
        return anp.sum(anp.linalg.solve(S_to, S - S_to) ** 2)

    @staticmethod
    def project(L: Any, L_old: np.ndarray, bound: float) -> Any:
        S, S_old = root(anp.dot(L, L.T)), root(L_old @ L_old.T)
        distance = W2.distance(S, S_old)
        if getval(distance) <= bound:
            return L
        S_in = shorten(distance, bound, S, S_old)
        return anp.linalg.cholesky(anp.dot(S_in, S_in))

    @staticmethod
    def apart(L: Any, L_to: np.ndarray) -> Any:
        return W2.distance(root(anp.dot(L, L.T)), root(L_to @ L_to.T))


class Frobenius:
    half = 1.0

    @staticmethod
    def project(L: Any, L_old: np.ndarray, bound: float) -> Any:
        S, S_old = anp.dot(L, L.T), L_old @ L_old.T
        distance = anp.sum((S - S_old) ** 2)
        return L if getval(distance) <= bound else anp.linalg.cholesky(shorten(distance, bound, S, S_old))

    @staticmethod
    def apart(L: Any, L_to: np.ndarray) -> Any:
        return anp.sum((L - L_to) ** 2)


KINDS = {"kl": KL, "w2": W2, "frobenius": Frobenius}


def control_entropy(L: Any, bound: float, always: bool) -> Any:
    missing = bound - entropy(L)
    return L * anp.exp(missing / L.shape[0]) if always or getval(missing) > 0 else L


def normalised(x: np.ndarray) -> np.ndarray:
    return (x - x.mean()) / (x.std(ddof=1) + 1e-8)


# ---- one iteration [algorithm 3] ----------------------------------------------------------------------


class Replica:
    """What the methods have in common: episodes, and the updates of critic and policy. A method says what an episode or its parts were worth, and how
    likely the policy finds them."""

    def __init__(self, folder: Path, checkpoint: Path) -> None:
        self.s = read_settings(folder / "config.yaml")
        store = library.Store.load(checkpoint)
        self.iteration = int(store["run.iteration"])
        activation = self.s["policy"]["activation"]
        self.contextual = self.s["policy"]["covariance"] == "contextual"
        self.policy = Network(store, "policy.mean", activation)
        self.covariance: Union[Network, Raw] = (
            Network(store, "policy.covariance", activation) if self.contextual else Raw(store, "policy.covariance"))
        self.critic = Network(store, "critic.net", self.s["critic"]["activation"])
        self.mean, self.variance, self.count = store["critic.mean"].copy(), store["critic.variance"].copy(), float(store["critic.count"][0])
        self.initial_entropy = float(store["trainer.initial_entropy"])
        self.mp = ProDMP(self.s["mp"])
        self.simulated = library.Policy.from_store(store, "policy"), library.MovementPrimitive.from_store(
            library.Store.load(folder / "policy.safetensors"), "mp")
        self.task_states = store["train.states"] if "train.states" in store else None
        self.P = self.policy.shapes[-1][0]
        self.report: Dict[str, float] = {}

    def factors(self, theta: Any, inputs: np.ndarray) -> List[Any]:
        """One for all rows of the inputs, or one for each."""
        return [factor(raw, self.P, self.s["policy"]["min_std"]) for raw in self.covariance(theta, inputs)]

    def rows_of(self, k: int) -> Any:
        """The episodes that have factor k."""
        return slice(k, k + 1) if self.contextual else slice(None)

    # episodes

    def inputs_of(self, spec: Any, obs: np.ndarray, times: np.ndarray) -> np.ndarray:
        """What the networks see of observations [..., O] at times that fit their shape."""
        s = self.s["collect"]
        if s["mask_context"]:
            return obs[..., list(spec.context)]
        return np.concatenate([obs, np.broadcast_to(times[..., None], obs.shape[:-1] + (1,))], axis=-1) if s["time_input"] else obs

    def observe(self, x: np.ndarray) -> None:
        """The running statistics take new states in [tasks 1.6]."""
        N, delta = len(x), x.mean(axis=0) - self.mean
        total = self.count + N
        self.mean = self.mean + delta * N / total
        self.variance = (self.variance * self.count + x.var(axis=0, ddof=1) * N + delta**2 * self.count * N / total) / total
        self.count = total

    def collect(self, i: int) -> None:
        """Episodes in rounds of all environments; states are normalised by the statistics that their own round has entered."""
        s, seed = self.s["collect"], self.s["run"]["seed"]
        E, N = s["episodes"], s["environments"]
        task = library.TaskLibrary()[self.s["task"]["name"]]
        rollout = library.Rollout(task, N, settings=self.s["task"]["options"], seed=seed, purpose=TRAIN_ENV)
        if self.task_states is not None:
            rollout.set_states(self.task_states)
        T = rollout.spec.n_steps
        self.times = rollout.spec.dt * np.arange(1, T + 1)
        self.pos_row, vel_row = self.mp.rows(self.times)
        rounds = -(-E // N)
        parts: List[List[np.ndarray]] = []
        self.L: List[np.ndarray] = []
        for k in range(rounds):
            n = min(N, E - k * N)
            obs, pos_b, vel_b = rollout.reset(i * rounds + k, n)
            inputs = self.inputs_of(rollout.spec, obs, np.zeros(n))
            mu, L = self.policy(self.policy.adam.theta, inputs), self.factors(self.covariance.adam.theta, inputs)
            self.L = self.L + L if self.contextual else L
            streams = [library.Random(seed, PARAMETERS, i, k * N + e) for e in range(n)]
            params = np.array([mu[e] + L[e if self.contextual else 0] @ streams[e].copy().normals(self.P) for e in range(n)])
            pos, vel = self.simulated_path(inputs, streams, pos_b, vel_b)
            near("desired position", self.mp.path(self.pos_row, params, pos_b, vel_b), pos, PATH_TOLERANCE)
            near("desired velocity", self.mp.path(vel_row, params, pos_b, vel_b), vel, PATH_TOLERANCE)
            paths = rollout.run(pos, vel)
            assert np.all(paths.lengths == T)
            states = self.inputs_of(rollout.spec, paths.obs, np.append(0.0, self.times)[None])
            if self.s["critic"]["normalise"]:
                self.observe(states.reshape(-1, states.shape[2]))
                states = (states - self.mean) / np.sqrt(self.variance + 1e-8)
            parts.append([inputs, mu, params, pos, pos_b, vel_b, states, paths.rewards, paths.events])
        whole = [np.concatenate(part) for part in zip(*parts)]
        self.inputs, self.mu, self.params, self.pos, self.pos_b, self.vel_b, self.states, self.rewards, events = whole
        self.report["return"] = float(self.rewards.sum(axis=1).mean())
        if s.get("reward_to_event"):
            for r, flags in zip(self.rewards, events):
                first = int(np.argmax(flags)) if flags.any() else 0
                if first > 0:
                    r[first], r[first + 1:] = r[first:].sum(), 0.0

    def simulated_path(self, inputs: np.ndarray, streams: Sequence[Any], pos_b: np.ndarray, vel_b: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
        """The trainer's own path, to the last bit."""
        policy, mp = self.simulated
        mean, scale = policy.predict(inputs)
        name = "std" if self.s["policy"]["covariance"] == "diagonal" else "chol"
        params = [library.gauss.sample(mean[e:e + 1], random=stream, **{name: scale[e if self.contextual else 0]})
                  for e, stream in enumerate(streams)]
        return mp.trajectory(np.concatenate(params), self.times, 0.0, pos_b, vel_b)

    # updates

    def rate(self, part: str, i: int) -> float:
        N = self.s["schedule"]["learning_rate_iterations"]
        return float(self.s[part]["learning_rate"] * (1 - 0.99 * min(i - 1, N) / N if N else 1))

    def clipped(self, part: str, gradient: np.ndarray) -> np.ndarray:
        bound = self.s[part]["clip_norm"]
        return gradient * min(1.0, bound / (np.linalg.norm(gradient) + 1e-6)) if bound > 0 else gradient

    def train_critic(self, i: int, x: np.ndarray, y: np.ndarray) -> None:
        s, n = self.s["critic"], len(y)
        stream, M = library.Random(self.s["run"]["seed"], MINIBATCH, i, 0), s["minibatches"]
        losses = []
        for _ in range(s["epochs"]):
            order = stream.permutation(n) if M > 1 else np.arange(n)
            total = 0.0
            # the first parts are one longer where the number does not divide
            for part in np.array_split(order, M):
                loss = value_and_grad(lambda theta: anp.mean((self.critic(theta, x[part])[:, 0] - y[part]) ** 2))
                value, gradient = loss(self.critic.adam.theta)
                total += value * len(part) / n
                self.critic.adam.step(self.clipped("critic", gradient), self.rate("critic", i), s["l2"])
            losses.append(total)
        self.report["critic_loss"] = float(np.mean(losses))

    def entropy_bound(self, i: int) -> float:
        s, first, share = self.s["projection"], self.initial_entropy, i / self.s["run"]["iterations"]
        if s["entropy_schedule"] == "linear":
            return float(first + (s["entropy_target"] - first) * share)
        target = self.P * s["entropy_target"]
        return float(target + (first - target) * s["entropy_temperature"] ** (10 * share))

    def project(self, i: int, mu: Any, L: List[Any]) -> Tuple[Any, List[Any]]:
        s = self.s["projection"]
        if s["ratio_clip"] > 0:
            return mu, L
        kind = KINDS[s["kind"]]

        def control(one: Any) -> Any:
            if s["entropy"] == "none" or s["entropy_schedule"] == "none":
                return one
            return control_entropy(one, self.entropy_bound(i), s["entropy"] == "equal")

        means, factors = [], []
        for k, (new, old) in enumerate(zip(L, self.L)):
            rows = self.rows_of(k)
            distances = kind.half * squared_distances(mu[rows] - self.mu[rows], old @ old.T)
            means.append(shorten(distances[:, None], s["mean_bound"], mu[rows], self.mu[rows]))
            first = control(new) if s["entropy_first"] else new
            projected = kind.project(first, old, s["cov_bound"])
            factors.append(projected if s["entropy_first"] else control(projected))
        return anp.concatenate(means), factors

    def regression(self, mu: Any, L: List[Any], mu_to: np.ndarray, L_to: List[np.ndarray]) -> Any:
        """How far the network's own Gaussians are from the projected ones, which are constants here."""
        s = self.s["projection"]
        if s["ratio_clip"] > 0:
            return 0.0
        kind = KINDS[s["kind"]]
        total = 0.0
        for k, (own, to) in enumerate(zip(L, L_to)):
            rows = self.rows_of(k)
            total = total + kind.half * anp.mean(squared_distances(mu[rows] - mu_to[rows], to @ to.T)) / len(L)
            if not self.s["policy"]["set_variance"]:
                total = total + kind.apart(own, to) / len(L)
        return s["coefficient"] * total

    def train_policy(self, i: int, log_prob: Callable[[Any, List[Any]], Any], A: np.ndarray) -> None:
        s, clip, n = self.s["policy"], self.s["projection"]["ratio_clip"], len(self.policy.adam.theta)
        old = log_prob(self.mu, self.L)
        seen: List[Tuple[float, float]] = []

        def loss(theta: Any) -> Any:
            mu, L = self.policy(theta[:n], self.inputs), self.factors(theta[n:], self.inputs)
            mu_in, L_in = self.project(i, mu, L)
            gain = anp.exp(log_prob(mu_in, L_in) - old)
            gain = anp.minimum(gain * A, anp.clip(gain, 1 - clip, 1 + clip) * A) if clip > 0 else gain * A
            regression = self.regression(mu, L, getval(mu_in), [getval(one) for one in L_in])
            seen.append((-float(np.mean(getval(gain))), float(getval(regression))))
            return -anp.mean(gain) + regression - s["entropy_coefficient"] * sum(entropy(one) for one in L_in) / len(L_in)

        for _ in range(s["epochs"]):
            gradient = self.clipped("policy", grad(loss)(np.concatenate([self.policy.adam.theta, self.covariance.adam.theta])))
            for adam, g in ((self.policy.adam, gradient[:n]), (self.covariance.adam, gradient[n:])):
                adam.step(g, self.rate("policy", i), s["l2"])
        self.report["policy_loss"], self.report["trust_region_loss"] = np.mean(seen, axis=0)
        L_in = self.project(i, self.policy(self.policy.adam.theta, self.inputs), self.factors(self.covariance.adam.theta, self.inputs))[1]
        self.report["entropy"] = float(np.mean([entropy(one) for one in L_in]))
        if s["set_variance"]:
            diagonal = np.log(np.expm1(np.maximum(np.diag(L_in[0]) - s["min_std"], 1e-12)))
            self.covariance.adam.theta = np.concatenate([diagonal, L_in[0][np.tril_indices(self.P, -1)]])

    def learn(self, i: int) -> None:
        raise NotImplementedError

    def run(self) -> None:
        self.iteration += 1
        self.collect(self.iteration)
        self.learn(self.iteration)


class Tce(Replica):
    def returns(self) -> np.ndarray:
        """Targets of the critic; keeps values and step advantages. Episodes end with their last step."""
        gamma, lam = self.s["objective"]["gamma"], self.s["objective"]["lambda"]
        if self.s["critic"]["target"] == "monte_carlo":
            lam = 1.0
        self.values = self.critic(self.critic.adam.theta, self.states)[:, :, 0]
        T = self.rewards.shape[1]
        self.advantages = np.zeros_like(self.rewards)
        for t in reversed(range(T)):
            goes_on = t < T - 1
            delta = self.rewards[:, t] + gamma * goes_on * self.values[:, t + 1] - self.values[:, t]
            self.advantages[:, t] = delta + (gamma * lam * self.advantages[:, t + 1] if goes_on else 0.0)
        return self.advantages + self.values[:, :T]

    def time_points(self, i: int) -> np.ndarray:
        """[K] of the iteration."""
        s, T = self.s["objective"], self.rewards.shape[1]
        K, stream = s["time_points"], library.Random(self.s["run"]["seed"], TIME_POINTS, i, 0)
        if s["selection"] == "random":
            pairs = library.segment.choose_pairs(T, K, stream, selection="random")
            return np.append(pairs[:, 0], pairs[-1, 1])
        return np.arange(stream.below(T // K + T % K), T, T // K)

    def segment_advantages(self, points: np.ndarray) -> np.ndarray:
        """[E, J] of the segments between neighbouring time points."""
        s, gamma = self.s["objective"], self.s["objective"]["gamma"]
        steps = normalised(self.advantages)
        A = np.zeros((len(self.rewards), len(points) - 1))
        for j, (a, b) in enumerate(zip(points[:-1], points[1:])):
            earned = self.rewards[:, a:b] @ gamma ** np.arange(b - a)
            if s["advantage"] == "value":
                A[:, j] = earned + gamma ** (b - a) * self.values[:, b] - self.values[:, a]
            elif s["advantage"] == "sum":
                A[:, j] = steps[:, a:b + 1].sum(axis=1)
            else:
                A[:, j] = earned - earned.mean()
        return A if s["advantage"] == "reward" else normalised(A)

    def log_prob(self, points: np.ndarray, mu: Any, L: List[Any]) -> Any:
        """[E, J] of the sampled paths at pairs of neighbouring time points."""
        row = tuple(part[points] for part in self.pos_row)
        D = self.pos_b.shape[1]
        away = self.pos[:, points] - self.mp.path(row, mu, self.pos_b, self.vel_b)
        # [K, D, P]: rows of all degrees of freedom at a time point
        H = np.einsum("kc,df->kdfc", row[2], np.eye(D)).reshape(len(points), D, self.P)
        G = [anp.dot(H, one) for one in L]
        reg = self.s["objective"]["regulariser"] * max(float((getval(one) ** 2).sum(axis=2).max()) for one in G)
        found = []
        for k, one in enumerate(G):
            rows, segments = self.rows_of(k), []
            for j in range(len(points) - 1):
                both = anp.concatenate([one[j], one[j + 1]])
                S = anp.dot(both, both.T) + reg * np.eye(2 * D)
                r = anp.concatenate([away[rows, j], away[rows, j + 1]], axis=1)
                segments.append(log_density(r, S))
            found.append(anp.stack(segments, axis=1))
        return anp.concatenate(found)

    def learn(self, i: int) -> None:
        targets, points = self.returns(), self.time_points(i)
        A = self.segment_advantages(points)
        self.train_critic(i, self.states[:, :-1].reshape(-1, self.states.shape[2]), targets.ravel())
        self.train_policy(i, lambda mu, L: self.log_prob(points, mu, L), A)


class Bbrl(Replica):
    """An episode is one action, its parameters, with one reward, its return [algorithm 5]."""

    def log_prob(self, mu: Any, L: List[Any]) -> Any:
        rows = [self.rows_of(k) for k in range(len(L))]
        return anp.concatenate([log_density(self.params[r] - mu[r], anp.dot(one, one.T)) for r, one in zip(rows, L)])

    def learn(self, i: int) -> None:
        returns = self.rewards.sum(axis=1)
        A = normalised(returns - self.critic(self.critic.adam.theta, self.inputs)[:, 0])
        self.train_critic(i, self.inputs, returns)
        self.train_policy(i, self.log_prob, A)


METHODS = {"tce": Tce, "bbrl": Bbrl}


def replica_of(folder: Path, checkpoint: Path) -> Replica:
    """By the method of the run, as the checkpoint left it."""
    return METHODS[read_settings(folder / "config.yaml")["run"]["method"]](folder, checkpoint)
