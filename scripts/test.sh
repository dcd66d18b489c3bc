#!/usr/bin/env bash
# Create a virtual environment and run every check in it: ruff, mypy --strict, the documentation, and the tests on the simulator,
# once under the portable and once under the native mechanism for device strings.
#
#   scripts/test.sh [pytest options]
#   scripts/test.sh --quick           lint, types, and the tests marked `core`, under one mechanism
#
# VENV names the environment's folder (default .venv); TORCHADA_NATIVE=0 or 1 runs the tests under that mechanism only.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=${VENV:-.venv}
python3 -m venv "$venv"
export PATH="$(cd "$venv" && pwd)/bin:$PATH"
python -m pip install --quiet --disable-pip-version-check --editable '.[test,dev]'

log=$(mktemp)
trap 'rm -f "$log"; kill $(jobs -p) 2>/dev/null || true' EXIT

tests() { # MECHANISM [pytest options]
    echo "== tests with TORCHADA_NATIVE=$1"
    TORCHADA_NATIVE=$1 python -m pytest -n 2 --dist worksteal --durations 30 "${@:2}" | tee -a "$log"
}

ruff check .
ruff format --check .
python -m musasim build & # which leaves a processor idle most of the time, as mypy does
build=$!
mypy src scripts/build_backend benchmarks
wait "$build"

if [[ ${1:-} == --quick ]]; then
    tests "${TORCHADA_NATIVE:-1}" -m "core and not slow" "${@:2}"
elif [[ $# -gt 0 || -n ${TORCHADA_NATIVE:-} ]]; then
    for native in ${TORCHADA_NATIVE:-0 1}; do
        tests "$native" "$@"
    done
else
    scripts/docs.sh
    tests 0 -m "not slow and not once"
    tests 1
fi
echo "== all checks passed"
grep -E '[0-9]+ (passed|failed).* in [0-9.]+s' "$log"
