#!/usr/bin/env bash
# Compiles the simulator, unless the cache had it, and exports what later steps need.
set -euo pipefail

[[ $DEVICES =~ ^[1-9][0-9]*$ ]] || { echo "::error::devices: $DEVICES: expected a number of GPUs above 0"; exit 1; }
[[ $MEMCHECK == true || $MEMCHECK == false ]] || { echo "::error::memcheck: $MEMCHECK: expected true or false"; exit 1; }

python -m musasim build
{
    echo "TORCHADA_SIMULATE=1"
    echo "TORCHADA_SIMULATE_REQUIRED=1" # a simulator that cannot start ends a program: nothing runs on the CPU by mistake
    echo "MUSASIM_DEVICE_COUNT=$DEVICES"
    if [[ $MEMCHECK == true ]]; then echo "MUSASIM_MEMCHECK=1"; fi
} >> "$GITHUB_ENV"
