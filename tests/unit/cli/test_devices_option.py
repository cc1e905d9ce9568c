"""Files for --devices."""

from pathlib import Path

import pytest

from moorage.cli.shared import read_devices


@pytest.mark.parametrize("text", ["", "\n", "[]\n"])
def test_a_file_without_devices_is_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "devices.yaml"
    file.write_text(text, encoding="utf-8")
    assert read_devices((str(file), "gpu.example.com=2"))[0].count == 2
    assert capsys.readouterr().err == f"moorage: --devices: {file} names no devices\n"
