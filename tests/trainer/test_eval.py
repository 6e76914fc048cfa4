"""`tce eval` as a program: numbers, pictures, videos, messages."""

from __future__ import annotations

import csv
import json
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Dict, Tuple

import pytest
from running import PROGRAM, ROOT, environment, on_a_terminal, tce

TINY = """
run: {{method: tce, iterations: 2, threads: 1}}
task: {{name: {task}}}
collect: {{episodes: 4, environments: 4}}
evaluate: {{every: 0, episodes: 4}}
mp: {{n_basis: 2, tau: 1.0, relative_goal: true}}
policy: {{hidden: [8], epochs: 2}}
critic: {{hidden: [8], epochs: 2}}
objective: {{time_points: 5}}
"""


@pytest.fixture(scope="module", params=["point_via", "reacher5"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    config = folder / "tiny.yaml"
    config.write_text(TINY.format(task=request.param))
    done = tce("train", config, "--quiet", "--out", folder / "run")
    assert done.returncode == 0, done.stderr
    return folder / "run"


def numbers(text: str) -> Dict[str, float]:
    """Names and means of the first table."""
    found = re.findall(r"^  (\w+) +(\S+) \+- \S+$", text.split("smoothness")[0], re.MULTILINE)
    return {name: float(value) for name, value in found}


@pytest.mark.parametrize("folder", [pytest.param(path.parent, id="/".join(path.parts[-3:-1])) for path in sorted(ROOT.glob("docs/runs/*/*/config.yaml"))])
def test_the_runs_behind_the_results_can_be_evaluated(folder: Path) -> None:
    done = tce("eval", folder, "--episodes", 2)
    assert done.returncode == 0, done.stderr
    found = numbers(done.stdout)
    assert 0.0 <= found.get("success", 0.0) <= 1.0 and "return" in found
    # measured where observations show the joints' velocities; those who choose an action per step have no joints
    task = "metaworld" if folder.parent.name.startswith("metaworld_") else folder.parent.name
    kinds = {"hopper_jump": ["desired"], "metaworld": ["desired"], "pendulum": [], "context": []}.get(task, ["measured", "desired"])
    assert re.findall(r"^smoothness, (\w+) velocities$", done.stdout, re.MULTILINE) == kinds


def test_a_trained_policy_is_named_by_task_and_run_in_any_folder(tmp_path: Path) -> None:
    here = tce("eval", ROOT / "docs" / "runs" / "point_via" / "tce-1", "--episodes", 4)
    named = tce("eval", "point_via/tce-1", "--episodes", 4, cwd=tmp_path)
    assert named.returncode == 0 and named.stdout == here.stdout
    # what lies in the working directory comes first
    (tmp_path / "point_via" / "tce-1").mkdir(parents=True)
    assert "not a run folder" in tce("eval", "point_via/tce-1", cwd=tmp_path).stderr
    done = tce("eval", "point_via/tce-99", cwd=tmp_path)
    assert done.returncode == 1 and "trained policies that come with tce" in done.stderr
    done = tce("export", "pendulum/ppo-1", "--c", "swing_up", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "export" / "swing_up.c").exists() and not (ROOT / "docs" / "runs" / "pendulum" / "ppo-1" / "export").exists()


def test_evaluations_may_have_task_options_of_their_own(tmp_path: Path) -> None:
    """They come after task.options, in training and afterwards, and may change when a run is resumed."""
    (tmp_path / "tiny.yaml").write_text(TINY.format(task="point_via"))
    arguments = ["task.options=tolerance=1e-5", "evaluate.options=tolerance=10"]
    done = tce("train", tmp_path / "tiny.yaml", *arguments, "--quiet", "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "run" / "progress.csv", newline="") as file:
        last = list(csv.DictReader(file))[-1]
    assert float(last["success"]) == 0.0 and float(last["eval_success"]) == 1.0
    assert numbers(tce("eval", tmp_path / "run", "--episodes", 8).stdout)["success"] == 1.0
    done = tce("train", "--resume", tmp_path / "run", "run.iterations=3", "evaluate.options=tolerance=1e-5", "--quiet")
    assert done.returncode == 0, done.stderr
    assert numbers(tce("eval", tmp_path / "run", "--episodes", 8).stdout)["success"] == 0.0


def test_episodes_are_written_as_csv_and_as_json(run: Path, tmp_path: Path) -> None:
    """A row per episode, whose means the report prints."""
    table, document = tmp_path / "episodes.csv", tmp_path / "episodes.json"
    done = tce("eval", run, "--episodes", 20, "--seed", 7, "--csv", table, "--json", document)
    assert done.returncode == 0, done.stderr
    found = numbers(done.stdout)
    with open(table, newline="", encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    assert [int(line["episode"]) for line in lines] == list(range(20))
    assert {(line["run"], line["method"], line["seed"], line["reset_seed"]) for line in lines} == {(str(run), "tce", "1", "7")}
    described, = json.loads(document.read_text(encoding="utf-8"))
    assert described["task"] == lines[0]["task"] and described["mean"]["episodes"] == 20 and described["mean"]["dropped"] == 0
    for name, value in found.items():
        values = [float(line[name]) for line in lines]
        assert sum(values) / 20 == pytest.approx(value, rel=1e-4) and described["mean"][name] == pytest.approx(sum(values) / 20)
        assert [episode[name] for episode in described["episodes"]] == values
    # on stdout it stands alone
    alone = tce("eval", run, "--episodes", 20, "--seed", 7, "--csv", "-")
    assert alone.stdout == table.read_text(encoding="utf-8")
    done = tce("eval", run, "--episodes", 2, "--json", tmp_path / "missing" / "x")
    assert done.returncode == 1 and "cannot write" in done.stderr and "missing" in done.stderr


def test_a_queue_is_evaluated_run_by_run(tmp_path: Path) -> None:
    """Runs of tasks with other metrics share a table: what one does not have is empty."""
    config, folder, table = tmp_path / "tiny.yaml", tmp_path / "queue", tmp_path / "episodes.csv"
    config.write_text(TINY.format(task="point_via"))
    assert tce("train", config, "--task", "point_via,reacher5", "--seeds", "1-2", "--quiet", "--out", folder).returncode == 0
    done = tce("eval", folder, "--episodes", 3, "--csv", table)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 4 and "return" in done.stdout, done.stderr
    with open(table, newline="", encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    assert [(line["task"], line["seed"], line["episode"]) for line in lines] == [
        (task, seed, str(e)) for seed in "12" for task in ("point_via", "reacher5") for e in range(3)]
    assert all((line["via_distance"] == "") == (line["task"] == "reacher5") for line in lines)
    one = tce("eval", lines[0]["run"], "--episodes", 3, "--csv", "-")
    assert one.stdout.splitlines()[1].split(",")[5:9] == [lines[0][name] for name in ("episode", "steps", "return", "success")]
    assert "are for one of its runs" in tce("eval", folder, "--picture", tmp_path / "x.png").stderr
    shutil.rmtree(lines[0]["run"])
    done = tce("eval", folder, "--episodes", 3)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 3 and "left out" in done.stderr


def draws(run: Path, tmp_path: Path) -> bool:
    """Whether the task can be drawn here; says so when it cannot."""
    done = tce("eval", run, "--episodes", 1, "--picture", tmp_path / "try.png")
    if done.returncode != 0:
        assert "libegl1" in done.stderr
    return done.returncode == 0


def test_prints_return_metrics_and_smoothness(run: Path) -> None:
    done = tce("eval", run, "--episodes", 20)
    assert done.returncode == 0, done.stderr
    found = numbers(done.stdout)
    assert "return" in found and 0.0 <= found["success"] <= 1.0
    assert "20 episodes" in done.stdout
    assert "smoothness, measured velocities" in done.stdout and "smoothness, desired velocities" in done.stdout
    assert "nan" not in done.stdout


def test_one_episode_has_no_standard_error(run: Path) -> None:
    done = tce("eval", run, "--episodes", 1)
    assert done.returncode == 0 and "1 episode\n" in done.stdout
    assert "nan" not in done.stdout and "+-" not in done.stdout


def test_counts_on_a_terminal_and_leaves_nothing_there() -> None:
    run = ROOT / "docs" / "runs" / "box_pushing_dense" / "tce-1"
    shown = on_a_terminal("eval", run, "--episodes", 76, errors=True)
    assert re.search(r"\rplaying: \d+ of 76 episodes\x1b\[K", shown) and shown.endswith("\r\x1b[K")
    assert tce("eval", run, "--episodes", 76).stderr == ""


def test_same_seed_same_text_for_any_threads(run: Path) -> None:
    first = tce("eval", run, "--episodes", 20, "--threads", 1).stdout
    assert tce("eval", run, "--episodes", 20, "--threads", 2).stdout == first
    assert numbers(tce("eval", run, "--episodes", 20, "--seed", 5).stdout) != numbers(first)


def test_every_64_bit_seed_is_taken_as_it_is(run: Path) -> None:
    seeds = ["9223372036854775807", "9223372036854775808", "18446744073709551615"]
    texts = [tce("eval", run, "--episodes", 20, "--seed", seed) for seed in seeds]
    assert all(f"seed {seed}:" in done.stdout for seed, done in zip(seeds, texts))
    assert len({numbers(done.stdout)["return"] for done in texts}) == 3


def test_picture_is_a_png_of_the_size(run: Path, tmp_path: Path) -> None:
    if not draws(run, tmp_path):
        pytest.skip("no OpenGL on this machine: install libegl1 and libgl1-mesa-dri")
    picture = tmp_path / "p.png"
    done = tce("eval", run, "--episodes", 2, "--picture", picture, "--size", "64x48")
    assert done.returncode == 0, done.stderr
    data = picture.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", data[16:24]) == (64, 48)


def pixels(data: bytes) -> Tuple[int, int, bytes]:
    """Width, height and rgb of a PNG file as `tce eval` writes it: every byte of a row less its neighbour to the left."""
    width, height = struct.unpack(">II", data[16:24])
    packed = b""
    at = 8
    while at < len(data):
        (size,) = struct.unpack(">I", data[at:at + 4])
        packed += data[at + 8:at + 8 + size] if data[at + 4:at + 8] == b"IDAT" else b""
        at += 12 + size
    raw = zlib.decompress(packed)
    rows = []
    for y in range(height):
        row = bytearray(raw[y * (3 * width + 1) + 1:(y + 1) * (3 * width + 1)])
        for i in range(3, len(row)):
            row[i] = (row[i] + row[i - 3]) % 256
        rows.append(bytes(row))
    return width, height, b"".join(rows)


def test_moments_of_an_episode_are_one_picture(run: Path, tmp_path: Path) -> None:
    if not draws(run, tmp_path):
        pytest.skip("no OpenGL on this machine: install libegl1 and libgl1-mesa-dri")
    pictures = []
    for name, more in (("last", ()), ("all", ("--moments", 6))):
        done = tce("eval", run, "--episodes", 1, "--picture", tmp_path / name, "--size", "192x144", *more)
        assert done.returncode == 0, done.stderr
        pictures.append(pixels((tmp_path / name).read_bytes()))
    (width, height, last), (also_width, also_height, moments) = pictures
    assert (width, height) == (also_width, also_height) == (192, 144)
    changed = sum(last[i:i + 3] != moments[i:i + 3] for i in range(0, len(last), 3))
    # what moved is seen where it was before, and the ground is as it was
    assert 10 < changed < 0.5 * 192 * 144, changed


def test_a_gif_has_the_size_and_fewer_frames(run: Path, tmp_path: Path) -> None:
    if not draws(run, tmp_path):
        pytest.skip("no OpenGL on this machine: install libegl1 and libgl1-mesa-dri")
    if not shutil.which("ffmpeg"):
        pytest.skip("no ffmpeg on this machine: install the Debian package ffmpeg")
    film = tmp_path / "film.gif"
    done = tce("eval", run, "--episodes", 1, "--video", film, "--video-episodes", 1, "--size", "64x48")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(film)
    data = film.read_bytes()
    assert data[:6] == b"GIF89a" and struct.unpack("<HH", data[6:10]) == (64, 48) and b"NETSCAPE2.0" in data  # repeats


def test_video_has_all_frames(run: Path, tmp_path: Path) -> None:
    if not draws(run, tmp_path):
        pytest.skip("no OpenGL on this machine: install libegl1 and libgl1-mesa-dri")
    if not shutil.which("ffmpeg") or not shutil.which("ffprobe"):
        pytest.skip("no ffmpeg on this machine: install the Debian package ffmpeg")
    video = tmp_path / "v.mp4"
    done = tce("eval", run, "--episodes", 2, "--video", video, "--video-episodes", 2, "--size", "64x48")
    assert done.returncode == 0, done.stderr
    probe = subprocess.run(["ffprobe", "-v", "error", "-count_frames", "-select_streams", "v:0", "-show_entries",
                            "stream=width,height,nb_read_frames,avg_frame_rate", "-of", "default=noprint_wrappers=1", str(video)],
                           capture_output=True, text=True, check=True).stdout
    steps = 50 if "point_via" in str(run) else 100
    # the first state, every step but the last, and the last for half a second at 50 frames per second
    assert f"nb_read_frames={2 * (1 + steps - 1 + 25)}" in probe and "width=64" in probe and "avg_frame_rate=50/1" in probe


def test_a_missing_ffmpeg_is_the_last_word_and_all_else_is_made(run: Path, tmp_path: Path) -> None:
    if not draws(run, tmp_path):
        pytest.skip("no OpenGL on this machine: install libegl1 and libgl1-mesa-dri")
    arguments = ["eval", run, "--episodes", 2, "--video", tmp_path / "v.mp4", "--picture", tmp_path / "p.png", "--size", "64x48"]
    done = tce(*arguments, env={"PATH": str(tmp_path)})
    assert done.returncode == 1
    assert done.stderr == (f"tce: {tmp_path}/v.mp4 was not made: videos need the program ffmpeg, which is not installed; "
                           "install it with:  sudo apt-get install -y ffmpeg\n")
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG" and "return" in numbers(done.stdout)

    # behind the numbers, also where both go into one file
    together = subprocess.run([str(PROGRAM), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
                              env={**environment(), "PATH": str(tmp_path)})
    assert together.stdout == done.stdout + done.stderr


@pytest.mark.parametrize("arguments, code, part", [
    ([], 2, "one run folder"),
    (["a", "b"], 2, "2 are given"),
    (["/nowhere"], 1, "not a run folder"),
    (["x", "--episodes", "0"], 2, "not a number of episodes"),
    (["x", "--episodes", "18446744073709551617"], 2, "not a number of episodes"),
    (["x", "--size", "10"], 2, "WxH"),
    (["x", "--moments", "2"], 2, "must be 3 to 32"),
    (["x", "--seed", "18446744073709551616"], 2, "from 0 to 18446744073709551615"),
    (["x", "--seed", "99999999999999999999999"], 2, "from 0 to 18446744073709551615"),
    (["x", "--seed", "-1"], 2, "from 0 to 18446744073709551615"),
    (["x", "--seed", "1.5"], 2, "--seed"),
    (["x", "--wrong"], 2, "--help"),
])
def test_wrong_use(arguments: list, code: int, part: str) -> None:
    done = tce("eval", *arguments)
    assert done.returncode == code and part in done.stderr


def test_a_run_without_a_policy_says_how_to_go_on(run: Path, tmp_path: Path) -> None:
    shutil.copy(run / "config.yaml", tmp_path)
    done = tce("eval", tmp_path)
    assert done.returncode == 1 and f"tce train --resume {tmp_path}" in done.stderr


def test_a_damaged_policy_is_refused(run: Path, tmp_path: Path) -> None:
    shutil.copy(run / "config.yaml", tmp_path)
    data = bytearray((run / "policy.safetensors").read_bytes())
    data[-5] ^= 1
    (tmp_path / "policy.safetensors").write_bytes(data)
    done = tce("eval", tmp_path)
    assert done.returncode == 1 and "checksum" in done.stderr
