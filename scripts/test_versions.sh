#!/usr/bin/env bash
# Run the tests with another torch than the one that scripts/test.sh installs, under both mechanisms.
#
#   scripts/test_versions.sh REQUIREMENT [pytest options]        for example torch==2.7.1, or torch for the newest
#
# PYTHON names the interpreter (default python3), VENV the environment's folder (default .venv-versions).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

requirement=${1:?name a torch, such as torch==2.7.1}
shift
venv=${VENV:-.venv-versions}
"${PYTHON:-python3}" -m venv "$venv"
export PATH="$(cd "$venv" && pwd)/bin:$PATH"
python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
# The extra pins the torch that is tested with every change, so pip warns about another one.
python -m pip install --quiet --disable-pip-version-check --upgrade "$requirement"
python -c 'import torch; print("torch", torch.__version__)'
python -m musasim build
for native in 0 1; do
    echo "== tests with TORCHADA_NATIVE=$native"
    TORCHADA_NATIVE=$native python -m pytest -n 2 "$@"
done
