"""The program `tce` from outside: help, versions, settings, tasks, completion, its messages, and an environment of one's own."""

from __future__ import annotations

import csv
import errno
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest
from running import PROGRAM, ROOT, compile_tasks, environment, folder_of_libtce, tce

COMMANDS = ["init", "train", "fit", "eval", "plot", "export", "bench", "tasks", "config"]

# what the help of a command has to name
OPTIONS = {
    "init": ["LIBRARY", "TASK", "--method"],
    "train": ["CONFIG", "--task", "--seed", "--seeds", "--jobs", "--out", "--threads", "--resume", "--restart", "--steps", "--init-from", "--quiet",
              "--grid", "--extend", "--log-json", "--task-library", "--array"],
    "fit": ["DEMOS", "CONFIG", "--out", "--task-library"],
    "eval": ["RUN", "--episodes", "--video", "--paths", "--csv", "--json", "--task-library"],
    "plot": ["RUN", "--task-library"],
    "export": ["RUN"],
    "bench": ["CONFIG", "--task-library"],
    "tasks": ["--task-library", "--check", "--limit"],
    "config": ["CONFIG", "--diff", "--markdown"],
}

CART = """
run: {method: bbrl, iterations: 60, threads: 1}
task: {name: cart}
collect: {episodes: 32, environments: 32, mask_context: true, time_input: false}
evaluate: {every: 0, episodes: 100}
mp: {n_basis: 3, tau: 1.0, goal_scale: 0.5, weights_scale: 0.5}
policy: {hidden: [32, 32], learning_rate: 3e-3, epochs: 20, set_variance: true}
critic: {hidden: [32, 32], learning_rate: 3e-3, epochs: 20, normalise: false}
projection: {mean_bound: 0.1, cov_bound: 0.02, coefficient: 10, entropy: none}
schedule: {learning_rate_iterations: 0}
"""


def fine(*arguments: Any, **options: Any) -> str:
    result = tce(*arguments, **options)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def refused(*arguments: Any, status: int = 1, **options: Any) -> str:
    """The message of a command that has to fail, in one piece and on stderr."""
    result = tce(*arguments, **options)
    assert result.returncode == status, (result.stdout, result.stderr)
    assert result.stderr.startswith("tce")
    return result.stderr


def values(yaml: str) -> Dict[str, str]:
    """section.key -> text of what `tce config` prints."""
    found, section = {}, ""
    for line in yaml.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        key, _, value = line.partition("  # ")[0].partition(":")
        if not line.startswith(" "):
            section = key
        else:
            found[f"{section}.{key.strip()}"] = value.strip()
    return found


def kernels(**env: str) -> List[str]:
    """What OpenBLAS says that it computes with, each time it is loaded."""
    result = tce("config", "reacher5/tce", env={**env, "OPENBLAS_VERBOSE": "2"})
    assert result.returncode == 0, result.stderr
    return [line.split()[1] for line in result.stderr.splitlines() if line.startswith("Core:")]


def test_kernels_suit_the_processor_and_those_asked_for_are_kept() -> None:
    flags = Path("/proc/cpuinfo").read_text().split() if platform.machine() == "x86_64" else []
    found = kernels()
    if not found:
        pytest.skip("this BLAS does not tell")
    if "avx2" in flags:
        assert found[-1] not in ("Prescott", "Core2", "Penryn", "Nehalem", "Sandybridge")
        assert kernels(OPENBLAS_CORETYPE="Nehalem") == ["Nehalem"]


@pytest.fixture(scope="session")
def cart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example of an own environment, compiled as its first lines say."""
    library = tmp_path_factory.mktemp("cart") / "cart.so"
    cc = next((c for c in (os.environ.get("CC", ""), "cc", "gcc", "clang") if c and shutil.which(c.split()[0])), None)
    if cc is None:
        pytest.skip("no compiler")
    subprocess.run(
        [*cc.split(), "-shared", "-fPIC", f"-I{ROOT / 'include'}", "-o", str(library),
         str(ROOT / "examples" / "03_custom_env.c")], check=True)
    return library


# ---- help ------------------------------------------------------------------------------------------


def test_help_lists_every_command() -> None:
    for arguments in (["--help"], ["-h"], ["help"]):
        text = fine(*arguments)
        assert all(f"\n  {command} " in text for command in [*COMMANDS, "completion"])


def test_without_a_command_the_overview_is_an_error() -> None:
    result = tce()
    assert result.returncode == 2 and result.stdout == "" and "train" in result.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_names_its_arguments(command: str) -> None:
    text = fine(command, "--help")
    assert text.startswith(f"usage: tce {command} ")
    assert all(option in text for option in OPTIONS[command]), text
    assert fine("help", command) == text


@pytest.mark.parametrize("command", ["train", "config"])
def test_help_has_every_setting_with_its_default(command: str) -> None:
    text = fine(command, "--help")
    for key, value in values(fine("config")).items():
        # methods may mean different things by a key: the default method's line comes first
        line = next(line for line in text.splitlines() if line.startswith(f"  {key} "))
        assert "[" in line and "]" in line
        if key in ("run.seed", "policy.epochs", "projection.kind", "mp.n_basis"):
            assert f"[{value}]" in line
        if key == "policy.hidden":
            assert "[by the task; ppo: [128, 128]" in line and "; sac_mp: [256, 256]]" in line


def test_version() -> None:
    header = (ROOT / "include" / "tce" / "version.h").read_text()
    numbers = [line.split()[2] for line in header.splitlines() if line.startswith("#define TCE_VERSION_M")
               or line.startswith("#define TCE_VERSION_PATCH")]
    assert fine("--version") == f"tce {'.'.join(numbers[:3])}\n"


def test_an_unknown_command_gets_the_nearest_one() -> None:
    assert "did you mean train" in refused("trian", status=2)
    assert "--help" in refused("zzzzzzzz", status=2)


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option_is_wrong_usage(command: str) -> None:
    result = tce(command, "--no-such-option")
    assert result.returncode == 2 and "no-such-option" in result.stderr


@pytest.mark.parametrize("words, says", [
    (["train", "reacher5/tce", "--iterations", "3"], "--iterations is a setting, not an option: write run.iterations=3\n"),
    (["train", "--iterations=3", "reacher5/tce"], "write run.iterations=3\n"),
    (["train", "reacher5/tce", "--iterations"], "write run.iterations=...\n"),
    (["train", "reacher5/tce", "--iterations", "many"], "write run.iterations=...\n"),
    (["train", "--run.iterations", "3", "reacher5/tce"], "write run.iterations=3\n"),
    (["train", "reacher5/tce", "--learning-rate=0.1"], "write policy.learning_rate=0.1 or critic.learning_rate=0.1\n"),
    (["bench", "--episodes", "8"], "write collect.episodes=8 or evaluate.episodes=8\n"),
    (["config", "--n_basis", "8"], "write mp.n_basis=8\n"),
    (["train", "reacher5/tce", "--sed", "3"], "--sed: no such option, did you mean --seed?\n"),
    (["eval", "run", "--iterations", "3"], "--iterations: no such option\n"),
    (["plot", "run", "--epsodes", "3"], "did you mean --episodes?\n"),
    (["train", "reacher5/tce", "--out"], "--out needs a value\n"),
    (["train", "reacher5/tce", "--quiet=3"], "--quiet takes no value\n"),
    (["train", "reacher5/tce", "-x"], "-x: no such option"),
    (["train", "reacher5/tce", "-o"], "-o: no such option, or its value is missing\n"),
])
def test_an_option_that_is_a_setting_is_spelt_out(words, says) -> None:
    message = refused(*words, status=2)
    assert says in message and f"tce {words[0]} --help" in message
    assert message.count("\n") == 2


def test_train_without_settings_says_what_to_name() -> None:
    assert "reacher5/tce" in refused("train", status=2)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["config"], ["config", "--markdown"], ["config", "--help"], ["tasks"],
                                       ["completion", "bash"], ["help", "train"]])
def test_output_that_does_not_arrive_is_a_failure(arguments: List[str]) -> None:
    with open("/dev/full", "wb") as full:
        result = subprocess.run([str(PROGRAM), *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, env=environment())
    assert result.returncode == 1
    assert "not everything could be written to standard output" in result.stderr


# ---- settings --------------------------------------------------------------------------------------


def test_settings_survive_a_file(tmp_path) -> None:
    changed = ["run.seed=7", "run.method=bbrl", "policy.hidden=[32, 16]", "mp.weights_scale=[1, 2.5, 0.1]",
               "mp.n_basis=3", "task.options=tolerance=0.2", "projection.cov_bound=1.25e-7", "critic.normalise=false"]
    first = fine("config", *changed)
    (tmp_path / "a.yaml").write_text(first)
    assert fine("config", tmp_path / "a.yaml") == first
    assert values(first)["run.seed"] == "7" and values(first)["run.method"] == "bbrl"
    assert float(values(first)["projection.cov_bound"]) == 1.25e-7


def test_the_command_line_goes_over_the_file(tmp_path) -> None:
    (tmp_path / "a.yaml").write_text("run: {seed: 3, iterations: 5}\n")
    got = values(fine("config", tmp_path / "a.yaml", "run.seed=4"))
    assert (got["run.seed"], got["run.iterations"]) == ("4", "5")


def test_a_checkouts_settings_are_found_from_any_directory(tmp_path) -> None:
    place = "build/bin"
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / "examples/configs/mine").mkdir(parents=True)
    (tmp_path / "examples/configs/mine/tce.yaml").write_text("run: {seed: 98}\n")
    shutil.copy(PROGRAM, tmp_path / place / "tce")
    result = subprocess.run([tmp_path / place / "tce", "config", "mine/tce"], cwd="/", capture_output=True, text=True,
                            env={**environment(), "LD_LIBRARY_PATH": str(folder_of_libtce())})
    assert result.returncode == 0 and values(result.stdout)["run.seed"] == "98", result.stderr


def test_settings_are_found_by_task_and_method(tmp_path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "tce.yaml").write_text("run: {seed: 99}\n")
    got = values(fine("config", "mine/tce", env={"TCE_CONFIGS": str(tmp_path)}))
    assert got["run.seed"] == "99"
    message = refused("config", "mine/other", env={"TCE_CONFIGS": str(tmp_path)})
    assert "mine/other" in message and "mine/tce" in message
    assert "TCE_CONFIGS" in refused("config", "other/tce", env={"TCE_CONFIGS": str(tmp_path)})


def test_a_settings_file_that_is_not_there_says_which_are(tmp_path) -> None:
    message = refused("train", "point_via/ppo")
    assert "Settings files in point_via: point_via/bbrl, point_via/tce." in message and "run.method: tce, bbrl, ppo" in message
    assert "box_pushing_dense/bbrl_cov, box_pushing_dense/bbrl_std, " in refused("train", "box_pushing_dense/bbrl")
    # one's own folder, with its own places; a folder without tce.yaml
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "bbrl.yaml").write_text("run: {seed: 99}\n")
    for asked in ("mine", "mine/", "mine/tce"):
        assert "Settings files in mine: mine/bbrl." in refused("train", asked, env={"TCE_CONFIGS": str(tmp_path)})
        assert "Settings files in mine: mine/bbrl." in refused("train", asked, cwd=tmp_path)
    # a link that leads to itself is not missing
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    assert "cannot read loop.yaml: " + os.strerror(errno.ELOOP) in refused("train", "loop.yaml", cwd=tmp_path)
    # no such folder: the nearest, or none, and all there are
    message = refused("train", "pint_via/tce")
    assert "did you mean point_via?" in message and "table_tennis" in message
    message = refused("train", "zzzz/tce")
    assert "did you mean" not in message and "There are settings for box_pushing_dense, " in message


@pytest.mark.parametrize("text, line, words", [
    ("run:\n  seed: 3\n  itertions: 5\n", 3, ["run.itertions", "run.iterations"]),
    ("run:\n  seed: 3\npolcy: {epochs: 5}\n", 3, ["polcy", "policy"]),
    ("run:\n  seed: 3\n\n  seed: 4\n", 4, ["seed"]),
    ("policy:\n  epochs: -1\n", 2, ["policy.epochs", "-1"]),
    ("policy:\n  epochs: many\n", 2, ["policy.epochs", "many"]),
    ("projection:\n  kind: k1\n", 2, ["projection.kind", "k1", "kl"]),
    ("run:\n  seed: 3\n---\nrun:\n  seed: 4\n", 3, ["second document"]),
    ("---\nrun: {seed: 3}\n...\n---\n", 4, ["second document"]),
    ("run:\n  seed: 18446744073709551616\n", 2, ["run.seed", "18446744073709551615"]),
])
def test_a_wrong_line_is_named_with_its_number_and_remedy(tmp_path, text, line, words) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(text)
    message = refused("config", file)
    assert f"wrong.yaml:{line}:" in message
    assert all(word in message for word in words), message
    # every command that takes settings refuses them, before it does anything
    assert refused("train", file, "--out", tmp_path / "run") == message
    assert not (tmp_path / "run").exists()


def test_a_pipe_that_nobody_writes_is_not_waited_for(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    assert "it is not a regular file" in refused("config", tmp_path / "pipe.yaml")
    # a pipe that the caller writes is read
    done = tce("config", "/dev/stdin", input="run: {seed: 77}\n")
    assert done.returncode == 0 and "  seed: 77 " in done.stdout, done.stderr


def test_a_file_that_is_no_yaml_is_refused(tmp_path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text("run: {seed: 3\n")
    assert "wrong.yaml" in refused("config", file)


@pytest.mark.parametrize("override, words", [
    ("run.sed=3", ["run.sed", "run.seed"]),
    ("run.iterations=0", ["run.iterations", "0", "1"]),
    ("projection.kind=none", ["projection.kind", "projection.ratio_clip"]),
    ("iterations=3", ["write run.iterations=3"]),
    ("episodes=3", ["write collect.episodes=3 or evaluate.episodes=3"]),
])
def test_a_wrong_override_is_named(override, words) -> None:
    message = refused("config", override)
    assert all(word in message for word in words), message


def differences(*arguments: Any) -> Dict[str, Tuple[str, str]]:
    """key -> the two values that `tce config --diff` prints, under their names."""
    table = [line.split() for line in fine("config", "--diff", *arguments).splitlines()]
    return {"": (table[0][0], table[0][1]), **{line[0]: (line[1], " ".join(line[2:])) for line in table[1:]}}


def test_differences_are_the_keys_that_two_settings_do_not_share(tmp_path: Path) -> None:
    found = differences("reacher5/tce", "reacher5/bbrl", "policy.epochs=7")
    assert found[""] == ("reacher5/tce", "reacher5/bbrl") and found["run.method"] == ("tce", "bbrl")
    assert found["policy.epochs"][1] == "7" and found["objective.gamma"][1] == "-" and "task.name" not in found
    first, second = values(fine("config", "reacher5/tce")), values(fine("config", "reacher5/bbrl"))
    expected = {key for key in {**first, **second} if first.get(key) != second.get(key)}
    assert set(found) == {"", "policy.epochs", *expected}

    # one CONFIG alone, beside the defaults for its task
    bare = tmp_path / "bare.yaml"
    bare.write_text("task: {name: reacher5}\npolicy: {epochs: 7}\n")
    assert differences(bare) == {"": ("default", str(bare)), "policy.epochs": (differences(bare)["policy.epochs"][0], "7")}
    assert fine("config", "--diff", "reacher5/tce", "reacher5/tce") == "reacher5/tce and reacher5/tce have the same settings\n"

    # a run folder has its settings in it
    assert tce("train", bare, "run.iterations=1", "critic.epochs=1", "--quiet", "--out", tmp_path / "run").returncode == 0
    assert set(differences(bare, tmp_path / "run")) == {"", "run.iterations", "critic.epochs"}
    assert "--diff compares" in refused("config", "--diff", "run.seed=3", status=2)


def test_the_page_of_settings_is_the_table() -> None:
    assert (ROOT / "docs" / "settings.md").read_text() == fine("config", "--markdown"), "make it again: tce config --markdown >docs/settings.md"


def test_every_settings_file_that_is_shipped_loads() -> None:
    for file in sorted((ROOT / "examples" / "configs").glob("**/*.yaml")):
        fine("config", file)


# ---- tasks and completion --------------------------------------------------------------------------


def test_a_settings_file_that_is_shipped_leaves_nothing_to_its_task() -> None:
    """What it trains is the same whatever later versions suggest; a task that is not there cannot be asked."""
    for path in sorted((ROOT / "examples" / "configs").glob("*/*.yaml")):
        done = tce("config", path, "task.name=nowhere")
        assert done.returncode == 0 and not done.stderr, f"{path}: {done.stderr}"


# ---- settings for a task of one's own -----------------------------------------------------------------


def test_a_toy_is_learnt_with_the_settings_that_init_prints(tmp_path) -> None:
    library, config = tmp_path / "good.so", tmp_path / "mine.yaml"
    compile_tasks(library, first=ROOT / "tests" / "toys" / "good.c")
    said = tce("init", library, "point")
    assert said.returncode == 0, said.stderr
    assert "# point: episodes of 20 steps of 0.05 s" in said.stdout and "tau: 1  # the whole episode" in said.stdout
    config.write_text(said.stdout, encoding="utf-8")
    done = tce("train", config, "run.stop_success=0.95", "run.threads=1", "--quiet", "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    table = list(csv.DictReader(open(tmp_path / "run" / "progress.csv", encoding="utf-8")))
    assert float(table[-1]["eval_success"]) >= 0.95 and len(table) <= 41
    # a file with the names alone means the same
    bare = tmp_path / "bare.yaml"
    bare.write_text(f"task: {{name: point, library: {library}}}\n", encoding="utf-8")
    without = [line.partition(" #")[0] for line in tce("config", config).stdout.splitlines()]
    assert [line.partition(" #")[0] for line in tce("config", bare).stdout.splitlines()] == without


def test_init_says_what_is_missing(tmp_path) -> None:
    for words, says in ((["init"], "name a task"), (["init", "point_vai"], "point_via"), (["init", tmp_path / "no.so", "a"], "no.so"),
                        (["init", "point_via", "--method", "tec"], "must be one of tce")):
        done = tce(*words)
        assert done.returncode != 0 and says in done.stderr, done.stderr


def test_each_task_of_a_queue_has_what_suits_it(tmp_path) -> None:
    config = tmp_path / "bare.yaml"
    config.write_text("run: {iterations: 1, threads: 1}\ncollect: {episodes: 2}\npolicy: {epochs: 1}\ncritic: {epochs: 1}\n"
                      "evaluate: {episodes: 1}\n", encoding="utf-8")
    done = tce("train", config, "--task", "point_via,swing", "--jobs", 2, "--quiet", "--out", tmp_path / "queue")
    assert done.returncode == 0, done.stderr
    assert "# tau: by the task" in (tmp_path / "queue" / "queue.yaml").read_text(encoding="utf-8")
    found = {path.parent.name.partition("__")[0]: path.read_text(encoding="utf-8") for path in (tmp_path / "queue").glob("*/config.yaml")}
    assert "tau: 1 " in found["point_via"] and "tau: 2 " in found["swing"]


def test_tasks_are_listed_with_their_sizes() -> None:
    lines = fine("tasks").splitlines()
    found = {line.split()[0]: line.split()[1:6] for line in lines if line and not line.startswith(" ")}
    assert found["task"] == ["obs", "dof", "action", "steps", "dt"]
    assert found["point_via"] == ["8", "2", "2", "50", "0.02"]
    assert found["reacher5"][1] == "5"
    assert sum("metrics: success" in line for line in lines) >= 2


@pytest.fixture(scope="session")
def broken(tmp_path_factory) -> Path:
    library = tmp_path_factory.mktemp("broken") / "broken.so"
    compile_tasks(library, first=ROOT / "tests" / "toys" / "broken.c")
    return library


def test_tasks_that_keep_the_contract_pass_the_check(broken) -> None:
    assert fine("tasks", "--check", ":point_via") == "point_via\n  fine\n"
    assert fine("tasks", "--check", f"{broken}:sound").splitlines() == ["sound", "  fine"]
    assert fine("tasks", "--check", "--task-library", broken, ":sound").splitlines() == ["sound", "  fine"]
    # a remark is not a fault
    assert fine("tasks", "--check", f"{broken}:one_start").splitlines()[1].startswith("  remark: all episodes start alike")


@pytest.mark.parametrize("task, words", [
    ("no_steps", "n_steps = 0, must be in 1"),
    ("same_names", "give each metric a name of its own"),
    ("reserved_name", "rename the metric in the task"),
    ("latin_1_name", "is not a printable UTF-8 text"),
    ("writes_beyond", "give the right n_obs in spec, or write fewer"),
    ("writes_before", "begin at index 0"),
    ("keeps_its_observation", "do not keep pointers to arguments"),
    ("changes_its_spec", "let it depend on the settings alone"),
    ("dt_is_nan", "have spec set it"),
    ("does_not_write", "write all n_obs = 2 numbers in every call"),
    ("draws_elsewhere", "no rand(), no clock, no static variable that is written"),
    ("leaves_something", "have reset set all that an episode changes"),
    ("shares_memory", "keep all that is written in the instance"),
    ("draws_in_a_step", "draw all that the episode needs in reset"),
    ("infinite_reward", "the reward of step 20 is -inf: it has to be finite"),
    ("forgets_its_event", "once set it stays set until the next reset"),
    ("steps_after_the_end", "after the end of the episode: return tce_fail(TCE_E_STATE, ...)"),
    ("steps_before_a_reset", "before the first reset: return tce_fail(TCE_E_STATE, ...)"),
    ("starts_elsewhere", "have reset give the position and velocity that the environment is in"),
    ("metric_is_nan", "give a number for every episode"),
    ("state_lacks_something", "put all that a step and metrics read into the state"),
])
def test_a_broken_task_fails_the_check_with_the_remedy(broken, task, words) -> None:
    done = tce("tasks", "--check", f"{broken}:{task}")
    assert done.returncode == 1 and done.stderr == ""
    name, finding = done.stdout.splitlines()
    assert name == task and finding.startswith("  fault: ") and words in finding


def test_the_check_of_a_whole_library_goes_through_all_its_tasks(broken) -> None:
    done = tce("tasks", "--check", broken)
    assert done.returncode == 1
    names = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert len(names) == 38 and names[0] == "sound" and names[-1] == "carries_state"


def test_a_task_that_does_not_come_back_is_a_finding_that_names_the_call(tmp_path) -> None:
    library = tmp_path / "crashing.so"
    compile_tasks(library, first=ROOT / "tests" / "toys" / "crashing.c")
    done = tce("tasks", "--check", "--limit", "1", library)
    assert done.returncode == 1 and done.stderr == ""
    said = done.stdout.splitlines()
    assert said[0::2] == ["exits_in_reset", "exits_in_destroy", "aborts_in_a_step", "hangs_in_spec", "hangs_in_reset", "hangs_in_a_step", "sound"]
    for finding, words in zip(said[1::2], [
            "fault: the process exited by itself with status 0 in reset: return tce_fail(TCE_E_ENV, ...)",
            "fault: the process exited by itself with status 3 in destroy: ",
            "fault: signal 6 (Aborted) ended the process in step 5: find the place with `gdb",
            "fault: stopped after 1 s, in spec: have every call return",
            "fault: stopped after 1 s, in reset: ",
            "fault: stopped after 1 s, in step 17: ",
            "fine"]):
        assert finding.strip().startswith(words)
    for limit in ["0", "x", "1.5", "86401"]:
        assert "--limit" in refused("tasks", "--check", "--limit", limit, status=2)


def test_the_check_takes_a_pattern_of_tasks(broken) -> None:
    done = tce("tasks", "--check", f"{broken}:keeps_*")
    names = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert done.returncode == 1 and names == ["keeps_its_observation", "keeps_its_position", "keeps_the_last_step"]
    said = fine("tasks", "--check", ":metaworld_drawer_*", "task.options=profile=2")
    assert said.splitlines() == ["metaworld_drawer_close", "  fine", "metaworld_drawer_open", "  fine"]
    assert "no task matches" in refused("tasks", "--check", ":metaword_*")


def test_the_check_takes_options_of_a_task() -> None:
    done = tce("tasks", "--check", ":reacher5", "task.options=goal_near=2")
    assert done.returncode == 1 and "goal_near" in done.stdout
    fine("tasks", "--check", ":reacher5", "task.options=goal_near=0.5 goal_far=0.6")
    assert "no task" in refused("tasks", "--check", ":reacher")
    assert "no task library" in refused("tasks", "--check", "/nowhere/tasks.so:point")
    assert "--check" in refused("tasks", "reacher5", status=2)


def test_completion_is_a_script_that_knows_commands_and_settings(tmp_path) -> None:
    script = tmp_path / "completion"
    script.write_text(fine("completion", "bash"))
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash")
    subprocess.run([bash, "-n", str(script)], check=True)

    def complete(*words: str) -> list:
        line = " ".join(f"'{word}'" for word in words)
        code = f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _tce 2>/dev/null; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        return subprocess.run([bash, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path).stdout.split()

    assert complete("tce", "tr") == ["train"]
    assert complete("tce", "train", "policy.ep") == ["policy.epochs="]
    assert "name a shell" in refused("completion", "fish", status=2)


def test_completion_for_zsh_is_a_function_file(tmp_path) -> None:
    script = tmp_path / "_tce"
    script.write_text(fine("completion", "zsh"))
    text = script.read_text()
    assert text.startswith("#compdef tce\n") and " policy.epochs=" in text and "compadd -- init train fit " in text
    zsh = shutil.which("zsh")
    if zsh is None:
        pytest.skip("no zsh")
    subprocess.run([zsh, "-n", str(script)], check=True)


# ---- what is missing -------------------------------------------------------------------------------


def test_a_missing_task_library_is_named(tmp_path) -> None:
    for message in (refused("tasks", "--task-library", tmp_path / "none.so"),
                    refused("train", f"task.library={tmp_path}/none.so", "--out", tmp_path / "run")):
        assert f"{tmp_path}/none.so" in message and "build it" in message
    assert not (tmp_path / "run").exists()


def test_a_library_that_is_none_is_refused(tmp_path) -> None:
    (tmp_path / "tasks.so").write_text("not a library")
    assert "tasks.so" in refused("tasks", "--task-library", tmp_path / "tasks.so")


def test_a_missing_task_gets_the_names_that_are_like_it(tmp_path) -> None:
    for arguments in (["train", "--out", tmp_path / "run", "task.name="], ["bench", "--task", ""], ["bench", "--tasks", "--task", ""]):
        def asked(name: str) -> str:
            return refused(*arguments[:-1], f"{arguments[-1]}{name}")

        message = asked("point_vi")
        assert '"point_vi"' in message and '"point_via"' in message and "`tce tasks` lists them" in message
        # at most three of the dozens, best first
        message = asked("metaworld_drawer")
        assert message.count("metaworld_") == 1 + 3 and '"metaworld_drawer_open"' in message and "reacher5" not in message
        # like none: none is named
        message = asked("nope")
        assert "nearest" not in message and "`tce tasks` lists them" in message
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", ["eval", "export", "plot"])
def test_a_missing_run_is_named(command, tmp_path) -> None:
    assert str(tmp_path / "none") in refused(command, tmp_path / "none")
    # a folder that is not a run
    assert str(tmp_path) in refused(command, tmp_path)


@pytest.mark.parametrize("command", ["eval", "export", "plot"])
def test_a_run_has_to_be_named(command) -> None:
    refused(command, status=2)


# ---- an environment of one's own -------------------------------------------------------------------


def test_an_own_environment_is_learnt(cart, tmp_path) -> None:
    assert "cart" in fine("tasks", "--task-library", cart)
    assert fine("tasks", "--check", cart) == "cart\n  fine\n"
    (tmp_path / "cart.yaml").write_text(CART)
    result = tce("train", tmp_path / "cart.yaml", f"task.library={cart}", "--out", tmp_path / "run")
    assert result.returncode == 0, result.stderr
    with open(tmp_path / "run" / "progress.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert float(rows[0]["eval_success"]) < 0.2
    assert float(rows[-1]["eval_success"]) > 0.8
    assert float(rows[-1]["return"]) > 0.2 * float(rows[1]["return"])
