#!/bin/bash
# `ludarium train --cluster` on Slurm, see docs/guide/cluster.md:  sbatch examples/cluster/slurm.sh
#SBATCH --job-name=ludarium
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --time=12:00:00
set -euo pipefail

source "$HOME/ludarium/.venv/bin/activate" # the same environment on all nodes, on a shared disk

head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head --lines=1)

# Starts Ray on all nodes, then the command on the first one; Ray ends with it. A job that ran out
# of time, submitted again, goes on after the last complete iteration.
srun ray symmetric-run --address "$head:6379" --min-nodes "$SLURM_NNODES" \
    --num-cpus "$SLURM_CPUS_PER_TASK" -- \
    ludarium train onyx --folder "$HOME/runs/onyx" --cluster auto
