"""``tce models``: which wheels are fetched, and what of them is kept."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tce import _models


def test_versions_are_those_of_the_setup_scripts() -> None:
    versions = _models.read_versions()
    for name in _models.FOLDERS:
        version, hashes = versions[name]
        assert version[0].isdigit() and len(hashes) == 1 and len(hashes[0]) == 64


def test_tasks_look_where_the_models_go(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert _models.default_folder() == tmp_path / "tce" / "models"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert _models.default_folder() == tmp_path / ".local" / "share" / "tce" / "models"


def test_only_models_and_the_licence_are_unpacked(tmp_path) -> None:
    wheel = tmp_path / "metaworld-1.2.3-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("metaworld/assets/sawyer_xyz/a.xml", "metaworld/__init__.py", "metaworld/assets/../../outside",
                     "/metaworld/assets/absolute", "metaworld-1.2.3.dist-info/licenses/LICENSE", "metaworld-1.2.3.dist-info/RECORD"):
            archive.writestr(name, name)
    _models.unpack(wheel, "metaworld", "1.2.3", tmp_path / "out")
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert files == [wheel.name, "out/LICENSE", "out/assets/sawyer_xyz/a.xml", "out/version"]
    assert (tmp_path / "out" / "assets" / "sawyer_xyz" / "a.xml").read_text() == "metaworld/assets/sawyer_xyz/a.xml"


def test_models_that_are_there_are_not_fetched_again(tmp_path, capsys, monkeypatch) -> None:
    for name in _models.FOLDERS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "version").write_text(_models.read_versions()[name][0] + "\n")
    monkeypatch.setattr(_models.subprocess, "run", lambda *_, **__: pytest.fail("something was fetched"))
    assert _models.main(["--to", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("is there") == len(_models.FOLDERS)


def test_a_failed_download_names_the_remedy_and_leaves_nothing(tmp_path, monkeypatch) -> None:
    class Failed:
        returncode = 1

    monkeypatch.setattr(_models.subprocess, "run", lambda *_, **__: Failed())
    with pytest.raises(SystemExit, match="TCE_MODELS"):
        _models.main(["--to", str(tmp_path)])
    assert list(Path(tmp_path).iterdir()) == []
