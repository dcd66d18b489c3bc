#!/usr/bin/env bash
# torch, unless $TORCH is empty, and the torchada of this revision with what its simulator is compiled by.
set -euo pipefail

if [[ -n ${TORCH:-} ]]; then
    python -m pip install --index-url "$TORCH_INDEX" "torch==$TORCH"
fi
python -m pip install "$(cd "$GITHUB_ACTION_PATH/../../.." && pwd)" ninja numpy setuptools pytest
