"""A witness of bytes: what three iterations of every preset compute, as sums that are kept per kind of processor.

    witness.py PROGRAM [PRESET ...] [--kept DIR] [--jobs N] [--write]

Each preset of examples/configs is trained for three iterations, with fewer episodes and epochs than it has: once on one thread, and once on two
threads with the last checkpoint taken away and the run resumed from the one before. Both must leave the same sums of

    train       the columns of progress.csv that training writes
    eval        the columns of progress.csv that evaluations write: before the first, after the second and after the last iteration
    policy      the arrays of policy.safetensors
    checkpoint  the arrays of the last checkpoint; where the run stood in its logs is left out

Left out of both are the options of a policy's standard deviations and last layer, which its settings decide and no training changes.

A sum of arrays depends on their types, shapes and values, not on their names or their order, and texts do not count: it moves when a number does.
The sums are compared with those kept for this kind of processor. On a kind that has none, or with --write, they are written there.
"""
import argparse
import concurrent.futures
import csv
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "examples" / "configs"
COLUMNS = ("train", "eval", "policy", "checkpoint")
OPTIONS = (".spread", ".log_std", ".gain")

SMALLER = ["run.iterations=3", "run.checkpoint_every=2", "evaluate.every=2", "evaluate.episodes=20"]
# of episodic methods three rounds of environments, the last one in part
EPISODIC = ["collect.episodes=32", "collect.environments=12", "policy.epochs=10", "critic.epochs=10"]
OFF_POLICY = ["collect.number_samples=8", "collect.rounds=10", "collect.learning_starts=40", "update.gradient_steps=2", "update.batch_size=64",
              "update.replay_size=120"]
# rollouts that stop inside an episode
ON_POLICY = ["collect.environments=5", "collect.steps=130", "update.minibatches=4", "update.batch_size=0", "policy.epochs=3"]
SAC_MP = ["collect.episodes=24", "collect.environments=12", "collect.rounds=1", "collect.learning_starts=30", "update.gradient_steps=3",
          "update.batch_size=32", "update.replay_size=60"]
OF_METHODS = {"sac": OFF_POLICY, "pink": OFF_POLICY, "sac_mp": SAC_MP, "ppo": ON_POLICY, "gsde": ON_POLICY, "trpl": ON_POLICY}


def smaller(config):
    """Settings that make a run of a preset short, by its method."""
    method = next(line.split(":")[1].split("#")[0].strip() for line in pathlib.Path(config).read_text().splitlines() if line.strip().startswith("method:"))
    return SMALLER + OF_METHODS.get(method, EPISODIC)


def processor():
    """Vendor, family and model: kernels of OpenBLAS and libm are chosen by these."""
    fields = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines():
        key, _, value = line.partition(":")
        fields[key.strip()] = value.strip()
    names = ("vendor_id", "cpu family", "model") if "vendor_id" in fields else ("CPU implementer", "CPU part")
    return "-".join(fields.get(name, "unknown") for name in names)


def short(digest):
    return digest.hexdigest()[:16]


def sums_of_progress(path):
    """Of the training columns and of the evaluation columns, rows and names included."""
    training, evaluation = hashlib.sha256(), hashlib.sha256()
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            for name, value in row.items():
                (evaluation if name.startswith("eval_") else training).update(f"{name}={value}\n".encode())
    return short(training), short(evaluation)


def sum_of_arrays(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    arrays = []
    for name, array in header.items():
        if name == "__metadata__" or name.startswith("run.") or name.endswith(OPTIONS):
            continue
        begin, end = array["data_offsets"]
        what = f"{array['dtype']} {array['shape']} ".encode()
        arrays.append(hashlib.sha256(what + data[8 + size + begin:8 + size + end]).digest())
    return short(hashlib.sha256(b"".join(sorted(arrays))))


def train(program, *arguments):
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    done = subprocess.run([program, "train", *arguments, "--quiet"], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise SystemExit(f"tce train {' '.join(arguments)}: exit status {done.returncode}\n{done.stdout}")


def last_checkpoint(folder):
    return max((folder / "checkpoints").glob("ckpt-*.safetensors"))


def sums_of_run(folder):
    return (*sums_of_progress(folder / "progress.csv"), sum_of_arrays(folder / "policy.safetensors"),
            sum_of_arrays(last_checkpoint(folder)))


def sums_of_preset(program, preset):
    """Those of one thread; the ones of two threads and a resume must be the same."""
    with tempfile.TemporaryDirectory(prefix="tce-witness-") as scratch:
        one, two = pathlib.Path(scratch, "one"), pathlib.Path(scratch, "two")
        config = str(CONFIGS / f"{preset}.yaml")
        train(program, config, "--out", str(one), "--threads", "1", *smaller(config))
        train(program, config, "--out", str(two), "--threads", "2", *smaller(config))
        before = sums_of_run(two)
        last_checkpoint(two).unlink()
        train(program, "--resume", str(two), "--threads", "2")
        sums = sums_of_run(one)
        for other, how in ((before, "on two threads"), (sums_of_run(two), "after a resume on two threads")):
            differing = [name for name, a, b in zip(COLUMNS, sums, other) if a != b]
            if differing:
                raise SystemExit(f"{preset}: {', '.join(differing)} differ {how} from those of one thread")
        return sums


def read_kept(path):
    if not path.exists():
        return {}
    lines = [line.split() for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {words[0]: tuple(words[1:]) for words in lines}


def write_kept(path, sums):
    lines = [f"# What `make witness` prints on {path.stem}: preset, {', '.join(COLUMNS)}"]
    lines += [" ".join((preset, *sums[preset])) for preset in sorted(sums)]
    path.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("presets", nargs="*")
    parser.add_argument("--kept", type=pathlib.Path, default=ROOT / "tests" / "witness")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--write", action="store_true", help="keep the sums of this build")
    arguments = parser.parse_args()

    if shutil.which(arguments.program) is None:
        raise SystemExit(f"{arguments.program} is not a program: `make program` builds it")
    all_presets = sorted(str(path.relative_to(CONFIGS).with_suffix("")) for path in CONFIGS.glob("*/*.yaml"))
    unknown = sorted(set(arguments.presets) - set(all_presets))
    if unknown:
        raise SystemExit(f"no preset {', '.join(unknown)}; there are {', '.join(all_presets)}")
    presets = arguments.presets or all_presets
    path = arguments.kept / f"{processor()}.txt"
    kept = read_kept(path)

    moved, sums = [], {}
    width = max(map(len, presets))
    print(f"{'preset':{width}} " + " ".join(f"{name:16}" for name in COLUMNS), flush=True)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for preset, found in zip(presets, pool.map(lambda preset: sums_of_preset(arguments.program, preset), presets)):
            sums[preset] = found
            differing = [name for name, a, b in zip(COLUMNS, found, kept.get(preset, found)) if a != b]
            moved += [f"{preset}: {', '.join(differing)}"] if differing else []
            remark = " moved: " + ", ".join(differing) if differing else "" if preset in kept else " new"
            print(f"{preset:{width}} {' '.join(found)}{remark}", flush=True)

    if arguments.write or not kept:
        write_kept(path, {**kept, **sums} if arguments.presets else sums)
        print(f"written to {path}")
    elif moved:
        print(f"\nsums moved, compared with {path}:", *moved, sep="\n  ")
        print("say under Numerics in CHANGELOG.md which and why, then keep the new ones with `make witness WRITE=1`")
        return 1
    gone = sorted(set(kept) - set(all_presets))
    if gone:
        print("kept, but no longer a preset: " + ", ".join(gone))
    return 0


if __name__ == "__main__":
    sys.exit(main())
