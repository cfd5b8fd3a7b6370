"""The files for other people's clusters: what can be known of them without a cluster."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from ludarium.cli import bench, train
from ludarium.cli.arguments import add_command

ROOT = Path(__file__).parents[2]
FILES = ROOT / "examples" / "cluster"


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, each with its arguments in one line."""
    lines = (FILES / "Dockerfile").read_text().splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    joined = text.replace("\\\n", " ").splitlines()
    parts = (line.split(maxsplit=1) for line in joined if line.strip())
    return [(name, " ".join(rest.split())) for name, rest in parts]


def of(name: str) -> list[str]:
    return [rest for each, rest in instructions() if each == name]


def pinned(name: str) -> str:
    found = re.search(rf"^{name}==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert found
    return found[1]


def accepts(command: str) -> bool:
    """Whether ludarium takes this command line; it is not run."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    for each in (train, bench):
        add_command(commands, each.__name__.rpartition(".")[2], each)
    program, *arguments = shlex.split(command)
    assert program == "ludarium"
    try:
        parser.parse_args(arguments)
    except SystemExit:
        return False
    return True


def test_what_the_dockerfile_copies_is_there_and_its_commands_are_ours():
    assert of("USER")[-1] not in ("0", "root")
    for copied in of("COPY"):
        for source in copied.split()[:-1]:
            assert (ROOT / source).exists()
    for run in of("RUN"):
        if run.startswith("ludarium"):
            assert accepts(run)
    assert accepts("ludarium bench --seconds 0.1")
    assert not accepts("ludarium bench --secnods 0.1")


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_shell_commands_are_whole():
    scripts = [*of("RUN"), (FILES / "slurm.sh").read_text()]
    for script in scripts:
        done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr


def test_volumes_claims_images_and_version_of_the_manifest_fit_together():
    cluster, claim = yaml.safe_load_all((FILES / "kuberay.yaml").read_text())
    assert (cluster["apiVersion"], cluster["kind"]) == ("ray.io/v1", "RayCluster")
    assert cluster["spec"]["rayVersion"] == pinned("ray")
    groups = [cluster["spec"]["headGroupSpec"], *cluster["spec"]["workerGroupSpecs"]]
    images = set()
    for group in groups:
        pod = group["template"]["spec"]
        volumes = {volume["name"] for volume in pod["volumes"]}
        for container in pod["containers"]:
            images.add(container["image"].partition(":")[0])
            assert {mount["name"] for mount in container["volumeMounts"]} == volumes
            # Ray counts cores and memory by the limits, Kubernetes places by the requests.
            assert container["resources"]["requests"] == container["resources"]["limits"]
        for volume in pod["volumes"]:
            if "persistentVolumeClaim" in volume:
                name = volume["persistentVolumeClaim"]["claimName"]
                assert name == claim["metadata"]["name"]
    assert images == set(re.findall(r"--tag (\S+)", (FILES / "Dockerfile").read_text()))
    workers = groups[1]
    assert workers["minReplicas"] <= workers["replicas"] <= workers["maxReplicas"]
    # The driver's node has no room for actors, which Ray is told as a text.
    assert groups[0]["rayStartParams"]["num-cpus"] == "0"


def test_the_slurm_job_starts_one_ray_on_each_node_and_a_run_that_can_be_resumed():
    text = (FILES / "slurm.sh").read_text()
    assert text.startswith("#!/bin/bash\n")
    directives = dict(re.findall(r"^#SBATCH --([a-z-]+)=(\S+)$", text, re.MULTILINE))
    assert directives["ntasks-per-node"] == "1"
    assert {"nodes", "cpus-per-task", "time"} <= directives.keys()
    command = text.replace("\\\n", " ").partition(" -- ")[2].strip()
    assert command.startswith("ludarium train")
    assert "--folder" in command
    assert accepts(command.replace("$HOME", "/home/me"))


def test_the_commands_of_the_page_are_ours():
    page = (ROOT / "docs" / "guide" / "cluster.md").read_text()
    commands = re.findall(r"(ludarium train [^\n#`]*)", page.replace("GAME", "corso"))
    commands = [command for command in commands if "ADDRESS" not in command]
    assert len(commands) >= 4
    assert all(accepts(command.strip()) for command in commands)
