"""``python -m tce models``: fetches the model files of the paper's tasks and of Metaworld.

They come from the PyPI wheels of fancy_gym and metaworld (both MIT), whose checksums the package has. The wheels are only
unpacked: nothing of them is installed, none of their Python runs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import Dict, List, Tuple

# which folders of which wheel hold models
FOLDERS = {
    "fancy_gym": tuple(f"fancy_gym/envs/mujoco/{task}/assets/" for task in ("box_pushing", "hopper_jump", "table_tennis")),
    "metaworld": ("metaworld/assets/",),
}


def default_folder() -> Path:
    """Where the tasks look: $XDG_DATA_HOME/tce/models, by default ~/.local/share/tce/models."""
    data = os.environ.get("XDG_DATA_HOME", "")
    return (Path(data) if data.startswith("/") else Path.home() / ".local" / "share") / "tce" / "models"


def read_versions() -> "Dict[str, Tuple[str, List[str]]]":
    """Version and checksums of each wheel: the first of each name in the file `versions`."""
    package = Path(__file__).resolve().parent
    places = [package / "share" / "tce" / "versions"]
    if len(package.parents) > 2:
        places.append(package.parents[2] / "examples" / "setup" / "versions")
    for place in places:
        if place.is_file():
            break
    else:
        raise SystemExit(f"tce: no list of versions at {', '.join(map(str, places))}: install the package again")
    found: "Dict[str, Tuple[str, List[str]]]" = {}
    hashes: List[str] = []
    for line in place.read_text().splitlines():
        words = line.split()
        if len(words) != 2 or line.startswith("#"):
            continue
        if line[0] == " ":
            hashes.append(words[0])
        else:
            hashes = []
            found.setdefault(words[0], (words[1], hashes))
    return found


def unpack(wheel: Path, name: str, version: str, target: Path) -> None:
    """The models of a wheel, and its licence, as the folder target."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            path = PurePosixPath(member)
            if path.is_absolute() or ".." in path.parts or member.endswith("/"):
                continue
            if member.startswith(FOLDERS[name]):
                to = target.joinpath(*path.parts[1:])
            elif path.parts[0] == f"{name}-{version}.dist-info" and path.name.startswith("LICENSE"):
                to = target / path.name
            else:
                continue
            to.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, open(to, "wb") as out:
                shutil.copyfileobj(source, out)
    (target / "version").write_text(version + "\n")


def fetch(name: str, version: str, hashes: List[str], folder: Path) -> None:
    target = folder / name
    if (target / "version").is_file() and (target / "version").read_text().strip() == version:
        print(f"{target}: {name} {version} is there")
        return
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".part-") as work:
        wanted = Path(work, "wanted.txt")
        wanted.write_text(f"{name}=={version} " + " ".join(f"--hash=sha256:{value}" for value in hashes) + "\n")
        # their models are of use to an older Python than the one that their Python wants
        # models are of use to an older Python than the wheel wants; `pip download` of Debian 11 cannot be told so
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
                   "--ignore-requires-python", "--require-hashes", "-w", work, "-r", str(wanted)]
        if subprocess.run(command).returncode != 0:
            raise SystemExit(f"tce: the wheel {name}=={version} could not be fetched by {sys.executable} -m pip; "
                             "repeat the command, or set TCE_MODELS to a folder that has the models")
        wheel, = Path(work).glob("*.whl")
        unpack(wheel, name, version, Path(work, name))
        if target.exists():
            shutil.rmtree(target)
        Path(work, name).rename(target)
    print(f"{target}: {name} {version}")


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="tce models", description="fetch the model files of the paper's tasks and of Metaworld")
    parser.add_argument("--to", type=Path, metavar="DIR", default=default_folder(),
                        help="default: %(default)s, where the tasks look; others are named in TCE_MODELS")
    folder = parser.parse_args(arguments).to
    versions = read_versions()
    for name in FOLDERS:
        fetch(name, *versions[name], folder=folder)
    return 0
