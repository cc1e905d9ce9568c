"""`moorage demo`: every story comes out; a step that does not is named; nothing is left behind."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from tests.e2e.kubectl import BRIEF, Kubectl, kubectl_program

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
STORIES = sorted(file.parent.name for file in EXAMPLES.glob("*/story.md"))
SECONDS = 120


def environment(directory: Path, **more: str) -> dict[str, str]:
    """What is left behind would be found in the directory."""
    return {**os.environ, **BRIEF, "KUBECTL": kubectl_program(), "TMPDIR": str(directory), **more}


def demo(directory: Path, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "moorage", "demo", *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=environment(directory, **more),
        stdin=subprocess.DEVNULL,
    )


def nothing_is_left_in(directory: Path) -> bool:
    return not list(directory.glob("moorage-demo-*"))


@pytest.mark.parametrize("story", STORIES)
def test_a_story_comes_out(story: str, tmp_path: Path) -> None:
    played = demo(tmp_path, story)
    assert played.returncode == 0, played.stdout + played.stderr
    assert "\x1b" not in played.stdout
    assert re.search(r"\nAll \d+ steps came out as they should\.\n$", played.stdout)
    assert played.stderr == ""
    assert nothing_is_left_in(tmp_path)


def test_a_story_needs_kubectl(tmp_path: Path) -> None:
    refused = demo(tmp_path, "gpu-tiers", KUBECTL="no-such-kubectl")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (
        "moorage: there is no no-such-kubectl: install kubectl 1.27 or newer, or name one in $KUBECTL\n"
    )
    assert nothing_is_left_in(tmp_path)


def changed(tmp_path: Path, old: str, new: str) -> str:
    """A copy of a story in which something is different."""
    folder = tmp_path / "story"
    shutil.copytree(EXAMPLES / "gpu-tiers", folder)
    text = (folder / "story.md").read_text()
    assert old in text
    (folder / "story.md").write_text(text.replace(old, new, 1))
    return str(folder)


def test_a_story_that_does_not_come_out_fails_with_the_step(tmp_path: Path) -> None:
    old = "- shows `^model-training .* Running .* gpu-node-a100 `"
    folder = changed(tmp_path, old, "- shows `^model-training .* Running .* gpu-node-t4 `\n- within 1 s")
    played = demo(tmp_path, folder)
    assert played.returncode == 1
    shown = played.stdout.rpartition("[3/")[2]
    assert shown.splitlines()[0].endswith("] $ kubectl get pods -o wide")
    assert re.search(r"^model-training .* gpu-node-a100 ", shown, re.MULTILINE)
    wanted = "model-training runs on gpu-node-t4, but no lines matched `^model-training .* Running .* gpu-node-t4 `"
    assert f"✗ {wanted}\n" in shown
    assert re.search(r"\nStep 3 \(line \d+ of the story\) did not come out within 1 s\.\n$", shown)
    assert played.stderr == ""
    assert nothing_is_left_in(tmp_path)


def test_a_command_that_fails_ends_the_story(tmp_path: Path) -> None:
    played = demo(tmp_path, changed(tmp_path, "apply -f models.yaml", "apply -f nowhere.yaml"))
    assert played.returncode == 1
    assert 'the path "nowhere.yaml" does not exist' in played.stdout
    assert "✗ the command succeeds, but its exit status is 1\nStep 2 (" in played.stdout
    assert nothing_is_left_in(tmp_path)


def test_a_text_that_is_no_story(tmp_path: Path) -> None:
    refused = demo(tmp_path, changed(tmp_path, "$ kubectl", "$ rm"))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.endswith("only kubectl is run, and programs beside it: `$ kubectl …`, `$ python FILE &`\n")
    assert refused.stderr.count("\n") == 1


def test_the_stories_are_listed(tmp_path: Path) -> None:
    listed = demo(tmp_path)
    assert (listed.returncode, listed.stderr) == (0, "")
    lines = [line.split(maxsplit=1) for line in listed.stdout.splitlines()]
    assert [name for name, _ in lines] == STORIES
    assert dict(lines)["spot-nodes-by-sla"].split("  ")[0] == "Spot nodes for those who ask"
    assert dict(lines)["spot-nodes-by-sla"].endswith("  KEP-5471, story 1")


def test_a_story_that_is_not_there(tmp_path: Path) -> None:
    refused = demo(tmp_path, "gpu-tears")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("moorage: there is no story 'gpu-tears'. Did you mean 'gpu-tiers'")


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = demo(tmp_path, "gpu-tiers", "--port", str(port))
    assert refused.returncode == 2
    assert refused.stderr.startswith("moorage: the cluster has ended: ")
    assert str(port) in refused.stderr
    assert "Traceback" not in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert nothing_is_left_in(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_interrupts_leaves_nothing_behind(number: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "moorage", "demo", "gpu-tiers", "--pause"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(tmp_path, PYTHONUNBUFFERED="1"),
    ) as playing:
        assert playing.stdout is not None
        assert playing.stderr is not None
        for line in playing.stdout:
            if "$ kubectl apply" in line:
                break
        [directory] = tmp_path.glob("moorage-demo-*")
        server = port_of(directory / "kubeconfig")
        playing.send_signal(number)
        assert playing.wait(SECONDS) == 130
        assert playing.stderr.read() == ""
    assert nothing_is_left_in(tmp_path)
    assert not listens(server)


def test_pauses_wait_for_enter(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "moorage", "demo", "gpu-claims-by-node-sla", "--pause"]
    played = subprocess.run(
        command, input="\n\n", capture_output=True, text=True, timeout=SECONDS, env=environment(tmp_path)
    )
    # After two of them the input ends, and the rest is played without.
    assert played.returncode == 0, played.stdout + played.stderr
    assert played.stdout.count("Enter runs it, Ctrl-C ends the story ") == 13
    assert "Feature gates: TaintTolerationComparisonOperators=true." in played.stdout
    assert "  expect: dra-workload runs on gpu-node-01\n" in played.stdout


def test_a_cluster_that_is_kept(tmp_path: Path) -> None:
    played = demo(tmp_path, "gpu-tiers", "--keep", "--no-color")
    assert played.returncode == 0, played.stdout + played.stderr
    [kubeconfig] = re.findall(r"export KUBECONFIG=(\S+)", played.stdout)
    [pid] = re.findall(r"^kill (\d+) stops it", played.stdout, re.MULTILINE)
    server = port_of(Path(kubeconfig))
    try:
        assert len(Kubectl(Path(kubeconfig), tmp_path)("get nodes").rows) == 2
    finally:
        os.kill(int(pid), signal.SIGTERM)
    deadline = time.monotonic() + SECONDS
    while listens(server):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def port_of(kubeconfig: Path) -> int:
    [port] = re.findall(r"server: [\"']?https://127\.0\.0\.1:(\d+)", kubeconfig.read_text())
    return int(port)


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=60).close()
    except OSError:
        return False
    return True


def test_an_installed_moorage_has_the_stories_and_the_pages_of_rules(tmp_path: Path) -> None:
    """What is in the wheel, and that it is found there."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    for file in EXAMPLES.rglob("*"):
        if file.is_file():
            assert (installed / "moorage" / "examples" / file.relative_to(EXAMPLES)).read_bytes() == file.read_bytes()
    listed = demo(tmp_path, PYTHONPATH=str(installed))
    assert [line.split()[0] for line in listed.stdout.splitlines()] == STORIES
    played = demo(tmp_path, "gpu-claims-by-node-sla", PYTHONPATH=str(installed))
    assert played.returncode == 0, played.stdout + played.stderr
    assert f"Commands are typed in {installed / 'moorage' / 'examples'}" in played.stdout
    explain = [sys.executable, "-m", "moorage", "lint", "--explain", "cel-constant"]
    told = subprocess.run(explain, env={"PYTHONPATH": str(installed)}, cwd=tmp_path, capture_output=True, check=True)
    assert told.stdout == (ROOT / "docs" / "findings" / "cel-constant.md").read_bytes()
