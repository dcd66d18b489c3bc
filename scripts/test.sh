#!/usr/bin/env bash
# Create a virtual environment and pass every check in it: ruff, mypy --strict, and the tests on the simulator,
# once with the portable and once with the native way of translating device strings.
#
#   scripts/test.sh [pytest options]
#
# VENV names the environment's folder (default .venv); TORCHADA_NATIVE=0 or 1 runs the tests in that way alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=${VENV:-.venv}
python3 -m venv "$venv"
export PATH="$(cd "$venv" && pwd)/bin:$PATH"
python -m pip install --quiet --disable-pip-version-check --editable '.[test,dev]'

ruff check .
ruff format --check .
mypy src build_backend benchmarks
python -m musasim build

# When all is run, what does not hang on how device strings are translated is tested once: the simulator, programs under torchrun, the
# porter, builds, the wheel, start-up and status, the example, memory of several processes, and calls that are recorded, which is
# done by one mechanism alone.
once=()
for part in building distributed musasim porting \
    test_{benchmarks,cpp_ops,docs,engine,entry_points,example,faults,finder,nothing_to_do,packaging,report,run}.py \
    test_{settings,sharing,sitecustomize,status,telemetry}.py; do
    once+=(--deselect "tests/$part")
done

log=$(mktemp)
trap 'rm -f "$log"' EXIT
for native in ${TORCHADA_NATIVE:-0 1}; do
    echo "== tests with TORCHADA_NATIVE=$native"
    selection=("$@")
    if [[ $# -eq 0 && -z ${TORCHADA_NATIVE:-} && $native == 0 ]]; then
        selection=("${once[@]}")
    fi
    TORCHADA_NATIVE=$native python -m pytest -n 2 "${selection[@]}" | tee -a "$log"
done
echo "== all checks passed"
grep -E '[0-9]+ (passed|failed).* in [0-9.]+s' "$log"
