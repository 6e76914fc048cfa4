"""Ranks: one run as several processes over MPI has the bytes of one process, however its processes end."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import pytest
from running import LONG, PATIENCE, PROGRAM, checkpoints, compile_tasks, content, environment, rows, tce, wait_until

MPI = Path(os.environ.get("TCE_MPI", PROGRAM.with_name("tce-mpi")))
MPIRUN = os.environ.get("TCE_MPIRUN", "mpirun")

# seconds that a run may take, and that a job may take to end after a fault
LIMIT = 120 * PATIENCE
FAULT = 60 * PATIENCE
# mpirun of Open MPI asks ranks to end, and kills them these seconds later; its own second is too short on a busy machine
SLOW_TO_KILL = {"OMPI_MCA_odls_base_sigkill_timeout": "5"}
# seconds that mpirun may stay when all ranks have ended
ALONE = 20 * PATIENCE


def open_mpi() -> bool:
    return "Open MPI" in subprocess.run([MPIRUN, "--version"], capture_output=True, text=True).stdout


def launcher(n: int) -> List[str]:
    """mpirun with n ranks, of which there may be more than cores."""
    return [MPIRUN, *(["--oversubscribe", "--bind-to", "none"] if open_mpi() else []), "-n", str(n)]


def surroundings() -> Dict[str, str]:
    return {**environment(), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def start(n: int, *words: Any, **more: str) -> "subprocess.Popen[str]":
    """`more` goes into the environment."""
    return subprocess.Popen([*launcher(n), str(MPI), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**surroundings(), **more})


def ended(job: "subprocess.Popen[str]", ranks: Callable[[], List[int]]) -> Tuple[str, str]:
    """What a job has said of whose ranks one was killed. All of them must end, and mpirun too; only that of Open MPI 4.1 now and
    then waits for itself (in PMIx_server_finalize) for ever when they have ended, and is killed."""
    alone = ALONE if open_mpi() else LIMIT
    began = last = time.monotonic()
    while time.monotonic() - last < alone:
        try:
            return job.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            if ranks():
                last = time.monotonic()
        assert time.monotonic() - began < FAULT, "a killed rank does not end the job"
    job.kill()
    return job.communicate(timeout=LIMIT)


def ranks_of(job: "subprocess.Popen[str]") -> List[int]:
    """Processes of the program that this mpirun, or one that it has started, has started."""
    def parent(folder: Path) -> int:
        return int((folder / "stat").read_text().rpartition(")")[2].split()[1])

    parents, found = {job.pid}, []
    for folder in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            if parent(folder) in parents:
                parents.add(int(folder.name))
                if os.path.realpath(folder / "exe") == str(MPI.resolve()):
                    found.append(int(folder.name))
        except OSError:
            pass  # it has ended meanwhile
    return found


def run(n: int, *words: Any, program: Path = MPI) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*launcher(n), str(program), *map(str, words)], capture_output=True, text=True, env=surroundings(), timeout=LIMIT)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_ranks_gather_agree_broadcast_and_talk(n: int) -> None:
    done = run(n, n, program=MPI.with_name(MPI.name + "-test"))
    assert done.returncode == 0 and done.stdout == "fine\n", done.stderr


# The critic of TCE has 24 x 101 rows and more than a thousand weights: its passes are split among ranks, and so are those of PPO's update
# and BBRL's policy. SAC's batches are small: every rank repeats them.
EPISODES = """
run: {method: %s, iterations: 6, checkpoint_every: 2}
task: {name: point_via}
collect: {episodes: 22, environments: 5%s}
evaluate: {every: 2, episodes: 7}
mp: {n_basis: 2, tau: 1.0}
policy: {hidden: [16], epochs: 3}
critic: {hidden: [128, 64], epochs: 2, minibatches: 1}
"""
STEPS = """
run: {method: %s, iterations: 6, checkpoint_every: 2}
task: {name: pendulum}
collect: {environments: %s}
evaluate: {every: 2, episodes: 7}
policy: {hidden: [%s]}
critic: {hidden: [%s]}
%s
"""
MINIBATCHES = "update: {batch_size: 600}"
OFF_POLICY = "update: {gradient_steps: 2, batch_size: 16, replay_size: 300}"
SETTINGS = {
    "tce": EPISODES % ("tce", "") + "objective: {time_points: 5, selection: random}",
    # one covariance per context: likelihood and projection by episode
    "bbrl": EPISODES % ("bbrl", ", mask_context: true, time_input: false") + "projection: {coefficient: 10}",
    "ppo": STEPS % ("ppo", "5, steps: 240", "128, 64", "128, 64", MINIBATCHES),
    "gsde": STEPS % ("gsde", "5, steps: 240", "128, 64", "128, 64", MINIBATCHES),
    "trpl": STEPS % ("trpl", "5, steps: 240", "128, 64", "128, 64", ""),
    "sac": STEPS % ("sac", "4, number_samples: 12, rounds: 5, learning_starts: 60", "8, 8", "8", OFF_POLICY),
    "pink": STEPS % ("pink", "4, number_samples: 12, rounds: 5, learning_starts: 60", "8, 8", "8", OFF_POLICY + "\nnoise: {chunk: 70, max_period: 50}"),
    "sac_mp": EPISODES.replace("episodes: 22, environments: 5", "episodes: 12, environments: 4, rounds: 2, learning_starts: 40").split("policy:")[0]
    % ("sac_mp", "") + "policy: {hidden: [8, 8]}\ncritic: {hidden: [8]}\n" + OFF_POLICY,
}


def settings_of(method: str, folder: Path) -> Path:
    path = folder / f"{method}.yaml"
    path.write_text(SETTINGS[method], encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Tuple[Path, Dict[str, bytes]]]:
    """Settings of a method, and what one process leaves of their run."""
    kept: Dict[str, Tuple[Path, Dict[str, bytes]]] = {}

    def train(method: str) -> Tuple[Path, Dict[str, bytes]]:
        if method not in kept:
            folder = tmp_path_factory.mktemp(method)
            config = settings_of(method, folder)
            done = tce("train", config, "--quiet", "--threads", 1, "--out", folder / "run")
            assert done.returncode == 0, done.stderr
            kept[method] = config, content(folder / "run")
        return kept[method]
    return train


def test_tce_itself_is_without_mpi() -> None:
    linked = {program: subprocess.run(["ldd", str(program)], capture_output=True, text=True).stdout for program in (PROGRAM, MPI)}
    assert "libmpi" not in linked[PROGRAM] and "libmpi" in linked[MPI]


MATRIX = [(method, n, threads) for method in SETTINGS for n in (1, 2, 3, 4) for threads in (1, 2)]
QUICK = [("tce", 2, 2), ("tce", 3, 1), ("ppo", 2, 1), ("ppo", 3, 1)]


@pytest.mark.parametrize("method, n, threads", MATRIX if LONG else QUICK)
def test_any_number_of_ranks_and_threads_has_the_bytes_of_one_process(alone: Callable[[str], Tuple[Path, Dict[str, bytes]]], tmp_path: Path,
                                                                      method: str, n: int, threads: int) -> None:
    config, want = alone(method)
    done = run(n, "train", config, "--quiet", "--threads", threads, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "run") == want


class Killed:
    """Kills of a random rank; each time, the run continues on another number of ranks."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.n_killed = 0
        self.said = ""

    def go_on(self, config: Path, folder: Path, kill: bool) -> bool:
        """Whether the run has come to its end."""
        job = start(self.draw.randint(2, 4), "train", config, "--quiet", "--threads", self.draw.randint(1, 2), "--resume", folder)
        found: List[int] = []
        if kill:
            time.sleep(self.draw.uniform(0.3, 1.5))
            found = ranks_of(job)
            if found:
                os.kill(self.draw.choice(found), signal.SIGKILL)
                self.n_killed += 1
        _, self.said = ended(job, lambda: ranks_of(job)) if found else job.communicate(timeout=LIMIT)
        assert found or job.returncode == 0, self.said
        return job.returncode == 0


@pytest.mark.parametrize("method", ["tce", "ppo", "sac", "bbrl", "sac_mp"] if LONG else ["tce"])
def test_kills_of_a_rank_lose_nothing(tmp_path: Path, method: str) -> None:
    n_kills = 5 if LONG else 3
    config = tmp_path / "config.yaml"
    config.write_text(SETTINGS[method].replace("iterations: 6, checkpoint_every: 2", "iterations: 40, checkpoint_every: 1")
                      .replace("every: 2,", "every: 40,"), encoding="utf-8")
    assert tce("train", config, "--quiet", "--out", tmp_path / "alone").returncode == 0
    want = content(tmp_path / "alone")
    killed = Killed(3)
    n_runs = 0
    while killed.n_killed < n_kills:
        folder = tmp_path / f"run{n_runs}"
        n_runs += 1
        while not killed.go_on(config, folder, killed.n_killed < n_kills):
            pass
        assert content(folder) == want
        assert not list(folder.rglob("*.tmp"))


def test_a_rank_that_dies_ends_the_job_with_a_word_on_what_to_do(alone: Callable[[str], Tuple[Path, Dict[str, bytes]]], tmp_path: Path) -> None:
    config, _ = alone("tce")
    job = start(3, "train", config, "run.iterations=100000", "--out", tmp_path / "run", **SLOW_TO_KILL)
    wait_until(lambda: checkpoints(tmp_path / "run"))
    found = ranks_of(job)
    assert len(found) == 3
    os.kill(found[1], signal.SIGKILL)
    shown, said = ended(job, lambda: ranks_of(job))
    assert job.returncode != 0
    assert f"--resume {tmp_path / 'run'}" in shown
    # MPICH names the process, and kills the others before they can say a word
    if open_mpi():
        assert "rank 1" in said and "--resume" in said


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGTERM, signal.SIGINT] if LONG else [signal.SIGUSR1, signal.SIGTERM])
def test_a_signal_to_mpirun_saves_and_ends_the_job(alone: Callable[[str], Tuple[Path, Dict[str, bytes]]], tmp_path: Path, number: int) -> None:
    config, want = alone("tce")
    folder = tmp_path / "run"
    job = start(2, "train", config, "run.iterations=100000", "run.checkpoint_every=100000", "--quiet", "--out", folder,
                **SLOW_TO_KILL)
    wait_until(lambda: (folder / "progress.csv").exists() and len(rows(folder)) > 2)
    job.send_signal(number)
    _, said = job.communicate(timeout=LIMIT)
    assert job.returncode != 0 and "stopped and saved after iteration" in said, said
    assert len(checkpoints(folder)) == 1


def test_a_run_of_ranks_goes_on_as_one_process_and_the_other_way_round(alone: Callable[[str], Tuple[Path, Dict[str, bytes]]],
                                                                       tmp_path: Path) -> None:
    config, want = alone("tce")
    first, second = tmp_path / "first", tmp_path / "second"
    short = ["run.iterations=4", "schedule.entropy_iterations=6", "--quiet"]
    assert run(3, "train", config, *short, "--out", first).returncode == 0
    assert tce("train", "--resume", first, "run.iterations=6", "--quiet").returncode == 0
    assert tce("train", config, *short, "--out", second).returncode == 0
    assert run(2, "train", "--resume", second, "run.iterations=6", "--quiet").returncode == 0
    assert content(first) == want and content(second) == want


@pytest.fixture(scope="session")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("toys") / "toys.so"
    compile_tasks(library)
    return library


@pytest.mark.parametrize("raw", [False, True])
def test_a_failing_environment_is_named_by_its_number_and_its_rank(tmp_path: Path, toys: Path, raw: bool) -> None:
    """Environment 3 of 5 fails in its episode 8, which is one of the last rank's."""
    config = settings_of("ppo" if raw else "tce", tmp_path)
    words = ["train", config, f"task.library={toys}", "task.name=fails", f"task.options=at=3 raw={int(raw)} from=8", "--quiet"]
    alone, folder = tmp_path / "alone", tmp_path / "run"
    want = tce(*words, "--out", alone)
    done = run(3, *words, "--out", folder)
    assert want.returncode == 1 and done.returncode == 1
    message = want.stderr.splitlines()[0]
    assert "environment 3" in message
    assert message.replace("tce: ", "tce: rank 2: ") in done.stderr.replace("iteration 1: rank 2: ", "rank 2: iteration 1: "), done.stderr
    assert done.stderr.count("environment 3") == 1 and "on_fault=drop" in done.stderr
    assert (folder / "progress.csv").read_bytes() == (alone / "progress.csv").read_bytes()


@pytest.mark.parametrize("options", ["fault=carries_state", "at=3 from=2 fault=fails", "at=1 from=1 fault=gives_nan"])
def test_states_between_episodes_and_lost_episodes_are_the_same_on_ranks(tmp_path: Path, toys: Path, options: str) -> None:
    config = settings_of("tce", tmp_path)
    words = [config, f"task.library={toys}", "task.name=family_one", f"task.options={options}", "collect.on_fault=drop",
             "schedule.entropy_iterations=6", "--quiet"]
    assert tce("train", *words, "--out", tmp_path / "alone").returncode == 0
    want = content(tmp_path / "alone")
    if "fault=carries_state" not in options:
        assert any(int(row["dropped"] or 0) for row in rows(tmp_path / "alone")[1:])
    done = run(3, "train", *words, "run.iterations=4", "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    done = run(2, "train", "--resume", tmp_path / "run", "--task-library", toys, "run.iterations=6", "--quiet")
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "run") == want


def apart(*parts: List[str]) -> "subprocess.CompletedProcess[str]":
    """A job of parts with words of their own."""
    words = launcher(1)[:-2]
    for i, part in enumerate(parts):
        words += [*([":"] if i else []), "-n", "1", *part]
    return subprocess.run(words, capture_output=True, text=True, env=surroundings(), timeout=LIMIT)


def test_ranks_that_were_started_differently_are_refused(alone: Callable[[str], Tuple[Path, Dict[str, bytes]]], tmp_path: Path) -> None:
    config, _ = alone("tce")
    words = [str(MPI), "train", str(config), "--out", str(tmp_path / "run")]
    done = apart([*words, "run.seed=1"], [*words, "run.seed=1"], [*words, "run.seed=2"])
    assert done.returncode != 0 and "rank 2" in done.stderr and "run.seed=1\"" in done.stderr and "run.seed=2\"" in done.stderr, done.stderr
    done = apart(["env", "OPENBLAS_CORETYPE=Nehalem", *words], ["env", "OPENBLAS_CORETYPE=Prescott", *words])
    assert done.returncode != 0 and "rank 1" in done.stderr and "Nehalem" in done.stderr and "OPENBLAS_CORETYPE" in done.stderr, done.stderr
    assert not (tmp_path / "run").exists()


def test_what_fails_on_the_first_rank_ends_all(alone: Callable[[str], Tuple[Path, Dict[str, bytes]]], tmp_path: Path) -> None:
    config, _ = alone("tce")
    for words in [["train", config, "run.nothing=1"], ["train"], ["train", "--resume", tmp_path / "nothing"], ["train", config, "task.name=none"],
                  ["train", config, "--out", "/proc/run"], ["train", config, "mp.weights_scale=[1,2,3]", "--out", tmp_path / "run"],
                  ["train", config, "run.init_from=/nothing", "--out", tmp_path / "run2"]]:
        want = tce(*words)
        done = run(2, *words)
        assert want.returncode in (1, 2) and done.returncode == want.returncode, words
        assert want.stderr.splitlines()[0] in done.stderr.replace("rank 0: ", "").splitlines(), (want.stderr, done.stderr)


def test_bench_says_what_ranks_share(alone: Callable[[str], Tuple[Path, Dict[str, bytes]]]) -> None:
    config, _ = alone("tce")
    done = run(2, "bench", config, "--iterations", 2, "--threads", 1)
    assert done.returncode == 0, done.stderr
    assert "2 ranks of 1 threads" in done.stdout and "split by episode" in done.stdout and "split by row" in done.stdout
    small, _ = alone("sac")
    done = run(2, "bench", small, "--iterations", 2, "--threads", 1)
    assert done.returncode == 0, done.stderr
    assert "split by environment" in done.stdout and "too few rows" in done.stdout
