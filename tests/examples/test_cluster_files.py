"""The files for other people's clusters: what can be known of them without a cluster."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from ludarium.cli import command_line

ROOT = Path(__file__).parents[2]
FILES = ROOT / "examples" / "cluster"


def of(name: str) -> list[str]:
    """The arguments of an instruction of the Dockerfile, wherever it is given."""
    text = re.sub(r"^\s*#.*\n", "", (FILES / "Dockerfile").read_text(), flags=re.MULTILINE)
    return re.findall(rf"^{name} +(.+)$", text.replace("\\\n", " "), re.MULTILINE)


def check(command: str) -> None:
    """Let ludarium read a command line, which is not run."""
    program, *arguments = shlex.split(command)
    assert program == "ludarium"
    command_line(arguments[:1]).parse_args(arguments)


def test_what_the_dockerfile_copies_is_there_and_its_commands_are_ours():
    assert of("USER")[-1] not in ("0", "root")
    for copied in of("COPY"):
        for source in copied.split()[:-1]:
            assert (ROOT / source).exists()
    for run in of("RUN"):
        if run.startswith("ludarium"):
            check(run)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_shell_commands_are_whole():
    scripts = [*of("RUN"), (FILES / "slurm.sh").read_text()]
    for script in scripts:
        done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr


def test_volumes_claims_images_and_version_of_the_manifest_fit_together():
    cluster, claim = yaml.safe_load_all((FILES / "kuberay.yaml").read_text())
    assert (cluster["apiVersion"], cluster["kind"]) == ("ray.io/v1", "RayCluster")
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    assert f"ray=={cluster['spec']['rayVersion']}" in pins
    head = cluster["spec"]["headGroupSpec"]["template"]["spec"]
    assert head["securityContext"] == {"fsGroup": 1000}
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
    check(command.replace("$HOME", "/home/me"))


def test_the_commands_of_the_page_are_ours():
    page = (ROOT / "docs" / "guide" / "cluster.md").read_text()
    commands = re.findall(r"(ludarium train [^\n#`]*)", page.replace("GAME", "corso"))
    commands = [command for command in commands if "ADDRESS" not in command]
    assert len(commands) >= 4
    for command in commands:
        check(command)
