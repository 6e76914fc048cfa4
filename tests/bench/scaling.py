#!/usr/bin/env python3
"""How an iteration scales over ranks: a model of it, made of measured parts, and checked where this machine can check it.

    scaling.py TCE TCE_MPI NETWORK [--check] [--real-time] [--settings box_pushing_dense/tce]

An iteration of a method that trains on whole episodes (TCE, BBRL) on R ranks of t threads each takes

    simulation        its episodes, dealt to R t cores; the slowest rank counts. What episodes cost varies, as measured
    critic, split     the most parts that a rank has, in rounds of t
    critic, repeated  Adam and what else every rank does for itself
    policy            the same on every rank
    network           for each exchange a latency, and (R - 1) times what a message costs; then bytes / bandwidth

of one that trains on steps (PPO)

    simulation        in every step the most environments that a rank has, and one exchange
    acting, update    the same on every rank

Seconds come from `tce bench` on one rank and on two, the cost of a message and the bandwidth from NETWORK (tests/mpi/network.c). How
many bytes are exchanged follows from the sizes, and is compared with what `tce bench` counts.

--check (as root): two ranks in two network namespaces whose link is slowed to 1 Gbit/s and 100 Mbit/s, beside the model. The
namespaces are this program's own and are removed at the end. --real-time (as root): what is timed goes before everything else on
the machine, so that a busy one measures like an idle one; Linux leaves the others 5 % of the time.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

EPISODIC = ("tce", "bbrl")
# rows of a part, at least, and parts, at most (docs/inside and src/base: parts are given by the number of rows)
PART_ROWS, MOST_PARTS = 256, 64
FLOAT = 4


class Network(NamedTuple):
    """What bytes and messages cost."""

    name: str
    bandwidth: float  # bytes per second and direction
    latency: float    # seconds of an exchange, however small
    message: float    # seconds of each further message in it


class Parts(NamedTuple):
    """Seconds of an iteration on one core."""

    simulation: float
    split: float     # of the critic
    repeated: float  # of the critic, on every rank
    policy: float
    variation: float  # of the time of an episode, standard deviation by mean


class Sizes(NamedTuple):
    """What is computed and exchanged in an iteration."""

    episodes: int
    rows: int         # of the critic's batch
    weights: int      # of the critic
    epochs: int       # of the critic
    episode_bytes: int  # of all episodes, in the arrays that ranks gather


# ---- the model ---------------------------------------------------------------------------------------


def parts_of(rows: int) -> int:
    n = 1
    while 2 * n <= MOST_PARTS and rows // (2 * n) >= PART_ROWS:
        n *= 2
    return n


def subtrees(parts: int, rank: int, ranks: int) -> int:
    """How many aligned groups the parts of a rank are added up to."""
    at, end, n = parts * rank // ranks, parts * (rank + 1) // ranks, 0
    while at < end:
        size = 1
        while at % (2 * size) == 0 and at + 2 * size <= end:
            size *= 2
        at += size
        n += 1
    return n


def sum_bytes(sizes: Sizes, ranks: int) -> float:
    """Received by the first rank in an iteration for the sums of gradients: its slice of the groups of others, then their slices."""
    weights = FLOAT * sizes.weights
    groups = sum(subtrees(parts_of(sizes.rows), rank, ranks) for rank in range(1, ranks))
    return sizes.epochs * (groups * weights / ranks + weights * (ranks - 1) / ranks)


def simulation_share(episodes: int, ranks: int, threads: int, variation: float) -> float:
    """The slowest rank's time for its episodes, in means of an episode: the mean of random draws."""
    draw, total, rounds = random.Random(1), 0.0, 300
    for _ in range(rounds):
        slowest = 0.0
        for rank in range(min(ranks, episodes)):
            own = episodes * (rank + 1) // ranks - episodes * rank // ranks if ranks <= episodes else 1
            free = [0.0] * threads
            for _ in range(own):
                first = free.index(min(free))
                free[first] += max(0.0, draw.gauss(1.0, variation))
            slowest = max(slowest, max(free))
        total += slowest
    return total / rounds


def exchange_seconds(n: float, ranks: int, network: Network) -> float:
    return n * (network.latency + (ranks - 2) * network.message) if ranks > 1 else 0.0


def episodic(parts: Parts, sizes: Sizes, ranks: int, threads: int, network: Network) -> Dict[str, float]:
    """Seconds of an iteration."""
    n = parts_of(sizes.rows)
    most = math.ceil(n / ranks)
    received = sum_bytes(sizes, ranks) + sizes.episode_bytes * (ranks - 1) / ranks if ranks > 1 else 0.0
    # two exchanges an epoch with their statuses, and two for the episodes
    exchanges = 4 * sizes.epochs + 4
    out = {
        "simulation": parts.simulation / sizes.episodes * simulation_share(sizes.episodes, ranks, threads, parts.variation),
        "critic": parts.split * math.ceil(most / threads) / n + parts.repeated,
        "policy": parts.policy,
        "network": received / network.bandwidth + exchange_seconds(exchanges, ranks, network),
    }
    out["all"] = sum(out.values())
    out["bytes"] = received
    return out


def stepwise(timed: Dict[str, Any], environments: int, ranks: int, network: Network) -> Dict[str, float]:
    """The same of PPO: `timed` is what `tce bench` says of one core."""
    steps = timed["env_steps"] / environments
    received = timed["run_bytes_of_two"] * 2 * (ranks - 1) / ranks
    out = {
        "simulation": timed["simulation"] * math.ceil(environments / ranks) / environments,
        "acting": timed["acting"],
        "update": timed["update"],
        "network": received / network.bandwidth + exchange_seconds(steps, ranks, network),
    }
    out["all"] = sum(out.values())
    out["bytes"] = received
    return out


# ---- what is measured --------------------------------------------------------------------------------


class Bench:
    """Starts the programs."""

    def __init__(self, tce: str, tce_mpi: str, network: str, real_time: bool) -> None:
        self.tce, self.tce_mpi, self.network = (str(Path(name).resolve()) for name in (tce, tce_mpi, network))
        self.before = ["chrt", "-r", "1"] if real_time else []
        self.env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OPENBLAS_NUM_THREADS": "1",
                    "OMPI_MCA_mpi_yield_when_idle": "1"}

    def out(self, *command: str) -> str:
        done = subprocess.run([*self.before, *command], env=self.env, stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout

    def mpirun(self, n: int, *command: str) -> str:
        return self.out("mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(n), *command)

    def bench_words(self, settings: str, iterations: int, *more: str, threads: int = 1) -> List[str]:
        return ["bench", settings, "--threads", str(threads), "--iterations", str(iterations), "--json", *more]


def variation_of_episodes(bench: Bench, settings: str) -> float:
    """Standard deviation by mean of the seconds of an episode: iterations of one episode each."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["collect.episodes=1", "collect.environments=1", "evaluate.every=0", "critic.epochs=1", "policy.epochs=1",
                 "run.iterations=60", "run.checkpoint_every=60", "policy.learning_rate=1e-9"]
        bench.out(bench.tce, "train", settings, *words, "--threads", "1", "--quiet", "--out", f"{folder}/run")
        with open(f"{folder}/run/timing.csv", newline="", encoding="utf-8") as stream:
            seconds = sorted(float(row["simulation"]) for row in csv.DictReader(stream))[2:-2]
    return statistics.stdev(seconds) / statistics.mean(seconds)


def repeated_seconds(bench: Bench, settings: str) -> float:
    """What the critic costs that does not grow with its rows: from batches of two and four episodes, which are one part each."""
    def critic(episodes: int) -> float:
        words = [f"collect.episodes={episodes}", "collect.environments=1"]
        return float(json.loads(bench.out(bench.tce, *bench.bench_words(settings, 9, *words)))["critic"])
    return max(0.0, 2 * critic(2) - critic(4))


def median(rows: Sequence[Dict[str, Any]], name: str) -> float:
    return float(statistics.median(row[name] for row in rows))


def take_turns(bench: Bench, settings: str, rounds: int, iterations: int) -> Tuple[List[Any], List[Any], List[Any]]:
    """One process of one thread, two ranks of one, one process of two, taking turns."""
    one, ranks, threads = [], [], []
    for _ in range(rounds):
        words = bench.bench_words(settings, iterations)
        one.append(json.loads(bench.out(bench.tce, *words)))
        ranks.append(json.loads(bench.mpirun(2, bench.tce_mpi, *words)))
        threads.append(json.loads(bench.out(bench.tce, *bench.bench_words(settings, iterations, threads=2))))
    return one, ranks, threads


def network_of(name: str, said: str) -> Network:
    """From what NETWORK measured between two ranks."""
    timed = json.loads(said)
    most = str(max(map(int, timed["gather"])))
    small = statistics.mean((timed["gather"]["64"], timed["exchange"]["64"]))
    # of the bytes of all, a rank receives half
    bandwidth = statistics.mean(int(most) / 2 / (timed[kind][most] - timed[kind]["64"]) for kind in ("gather", "exchange"))
    return Network(name, bandwidth, small, small)


# ---- two machines, as network namespaces ---------------------------------------------------------------

NODES = ("tce-node1", "tce-node2")
AGENT = """#!/bin/sh
# as ssh: HOST COMMAND..., in the network namespace HOST with a host name of its own
host=$1
shift
exec {before} ip netns exec "$host" unshare --uts --mount sh -c "hostname $host; mount --bind {hosts} /etc/hosts; $*"
"""


class Link:
    """Two network namespaces and a slow link between them, while the block lasts."""

    def __init__(self, rate: str, before: Sequence[str]) -> None:
        self.rate, self.before = rate, before
        self.folder = tempfile.TemporaryDirectory()

    def __enter__(self) -> "Link":
        hosts, agent = Path(self.folder.name) / "hosts", Path(self.folder.name) / "agent"
        hosts.write_text("127.0.0.1 localhost\n" + "".join(f"10.77.0.{i} {node}\n" for i, node in enumerate(NODES, 1)))
        agent.write_text(AGENT.format(before=" ".join(self.before), hosts=hosts))
        agent.chmod(0o755)
        self.agent = str(agent)
        try:
            for node in NODES:
                self.ip("netns", "add", node)
            self.ip("link", "add", "tcelink", "netns", NODES[0], "type", "veth", "peer", "name", "tcelink", "netns", NODES[1])
            for i, node in enumerate(NODES, 1):
                self.ip("-n", node, "addr", "add", f"10.77.0.{i}/24", "dev", "tcelink")
                self.ip("-n", node, "link", "set", "lo", "up")
                self.ip("-n", node, "link", "set", "tcelink", "up")
                subprocess.run(["ip", "netns", "exec", node, "tc", "qdisc", "add", "dev", "tcelink", "root", "tbf", "rate", self.rate,
                                "burst", "64kb", "latency", "50ms"], check=True)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: Any) -> None:
        for node in NODES:
            subprocess.run(["ip", "netns", "del", node], stderr=subprocess.DEVNULL)
        self.folder.cleanup()

    @staticmethod
    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)

    def run(self, bench: Bench, *command: str) -> str:
        net = "10.77.0.0/24"
        words = ["mpirun", "--host", ",".join(f"{node}:1" for node in NODES), "-n", "2", "--bind-to", "none", "--mca", "plm_rsh_agent",
                 self.agent, "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", net, "--mca", "oob_tcp_if_include", net, *command]
        done = subprocess.run([self.agent, NODES[0], " ".join(words)], env=bench.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True)
        if done.returncode != 0:
            sys.exit(f"scaling.py: {' '.join(command)} between namespaces: {done.stderr}")
        return done.stdout


def check(bench: Bench, settings: str, parts: Parts, sizes: Sizes, iterations: int) -> Iterator[Tuple[Network, float, float]]:
    """Network, seconds of the model, seconds measured."""
    for rate in ("1gbit", "100mbit"):
        with Link(rate, bench.before) as link:
            network = network_of(rate, link.run(bench, bench.network))
            timed = json.loads(link.run(bench, bench.tce_mpi, *bench.bench_words(settings, iterations)))
        yield network, episodic(parts, sizes, 2, 1, network)["all"], timed["seconds"]


# ---- tables ------------------------------------------------------------------------------------------

# one message of 10 Gbit/s Ethernet over a switch, and of InfiniBand; bandwidths as a rank sees them
CLUSTERS = (Network("10 Gbit/s Ethernet", 1.18e9, 30e-6, 8e-6), Network("100 Gbit/s InfiniBand", 11.5e9, 3e-6, 1e-6))
CORES = ((8, 1), (38, 1), (152, 1), (4, 8), (4, 38))


def print_scaling(parts: Parts, sizes: Sizes) -> None:
    one = episodic(parts, sizes, 1, 1, CLUSTERS[0])["all"]
    print("\n| ranks x threads | network | simulation | critic | policy | network | iteration | MB received per rank | efficiency |")
    print("|---|---|---|---|---|---|---|---|---|")
    print(f"| 1 x 1 | – | {parts.simulation:.3f} | {parts.split + parts.repeated:.3f} | {parts.policy:.3f} | – | {one:.3f} s | – | 100 % |")
    for network in CLUSTERS:
        for ranks, threads in CORES:
            row = episodic(parts, sizes, ranks, threads, network)
            print(f"| {ranks} x {threads} | {network.name} | {row['simulation']:.3f} | {row['critic']:.3f} | {row['policy']:.3f} | "
                  f"{row['network']:.3f} | {row['all']:.3f} s | {row['bytes'] / 1e6:.1f} | {100 * one / row['all'] / ranks / threads:.0f} % |")


def print_steps(timed: Dict[str, Any], environments: int) -> None:
    one = timed["simulation"] + timed["acting"] + timed["update"]
    print("\n| ranks | network | simulation | acting | update | network | iteration | MB received per rank | efficiency |")
    print("|---|---|---|---|---|---|---|---|---|")
    print(f"| 1 | – | {timed['simulation']:.2f} | {timed['acting']:.2f} | {timed['update']:.2f} | – | {one:.2f} s | – | 100 % |")
    for network in CLUSTERS:
        for ranks in (8, 38, 152):
            row = stepwise(timed, environments, ranks, network)
            print(f"| {ranks} | {network.name} | {row['simulation']:.2f} | {row['acting']:.2f} | {row['update']:.2f} | {row['network']:.3f} | "
                  f"{row['all']:.2f} s | {row['bytes'] / 1e6:.1f} | {100 * one / row['all'] / ranks:.0f} % |")


def setting(bench: Bench, settings: str, name: str) -> str:
    section, key = name.split(".")
    inside = ""
    for line in bench.out(bench.tce, "config", settings).splitlines():
        if line and not line.startswith((" ", "#")):
            inside = line.split(":")[0]
        elif inside == section and line.strip().startswith(f"{key}:"):
            return line.split(":", 1)[1].split("#")[0].strip()
    raise KeyError(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tce")
    parser.add_argument("tce_mpi")
    parser.add_argument("network")
    parser.add_argument("--settings", default="box_pushing_dense/tce")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--real-time", action="store_true")
    options = parser.parse_args()
    bench = Bench(options.tce, options.tce_mpi, options.network, options.real_time)
    one, two, threads = take_turns(bench, options.settings, options.rounds, options.iterations)
    seconds = [median(rows, "seconds") for rows in (one, two, threads)]
    print(f"{options.settings}, seconds of an iteration, medians of {options.rounds} turns of {options.iterations} iterations: one thread "
          f"{seconds[0]:.3f}, two ranks of one thread {seconds[1]:.3f}, one process of two threads {seconds[2]:.3f}: "
          f"ranks by threads {seconds[1] / seconds[2]:.3f}")
    print(f"two ranks: {two[0]['run_calls'] + two[0]['network_calls']:.0f} exchanges and "
          f"{(two[0]['run_bytes'] + two[0]['network_bytes']) / 1e6:.3f} MB per iteration and rank")

    if one[0]["method"] not in EPISODIC:
        timed = {name: median(one, name) for name in ("simulation", "acting", "update", "env_steps")}
        timed["run_bytes_of_two"] = two[0]["run_bytes"]
        print_steps(timed, int(setting(bench, options.settings, "collect.environments")))
        return

    epochs = int(setting(bench, options.settings, "critic.epochs"))
    rows = int(one[0]["env_steps"])
    # two exchanges of half the weights each in an epoch
    sizes = Sizes(int(one[0]["episodes"]), rows, round(two[0]["network_bytes"] / epochs / FLOAT), epochs, 2 * int(two[0]["run_bytes"]))
    critic, repeated = median(one, "critic"), repeated_seconds(bench, options.settings)
    parts = Parts(median(one, "simulation"), critic - repeated, repeated, median(one, "policy"), variation_of_episodes(bench, options.settings))
    print(f"one core: simulation {parts.simulation:.3f} s ({sizes.episodes} episodes, their times vary by {100 * parts.variation:.0f} %), "
          f"critic {parts.split:.3f} s in {parts_of(rows)} parts and {parts.repeated:.3f} s on every rank, policy {parts.policy:.3f} s")
    if options.check:
        print("\n| link | bandwidth | latency | model | measured | model by measured |\n|---|---|---|---|---|---|")
        for network, expected, found in check(bench, options.settings, parts, sizes, options.iterations):
            print(f"| {network.name} | {network.bandwidth / 1e6:.1f} MB/s | {1e6 * network.latency:.0f} us | {expected:.3f} s | {found:.3f} s | "
                  f"{expected / found:.3f} |", flush=True)
    print_scaling(parts, sizes)


if __name__ == "__main__":
    main()
