#!/usr/bin/env bash
# Create a virtual environment, check style and types in it, compile the simulator, and run tests on it under both mechanisms for
# device strings: TORCHADA_NATIVE=0 is the portable one and 1 the native one.
#
#   scripts/test.sh                    the tests that take little, and one for every promise of the README
#   scripts/test.sh --all              all tests that are not slow, and the documentation
#   scripts/test.sh --slow [options]   the slow ones: scripts/slow_tail.py, which goes on where it was broken off
#   scripts/test.sh [pytest options]   those that the options choose
#
# VENV names the environment's folder (default .venv); TORCHADA_NATIVE=0 or 1 runs the tests under that mechanism only.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Thousands of interpreters import our modules, and each would compile them anew.
unset PYTHONDONTWRITEBYTECODE

venv=${VENV:-.venv}
if [[ $(realpath -m "$venv") == *[[:space:]]* ]]; then
    echo "$0: PyTorch's Inductor links to no torch in a folder with a space in its path: $(realpath -m "$venv"). VENV names another." >&2
    exit 2
fi
python3 -m venv "$venv"
export PATH="$(cd "$venv" && pwd)/bin:$PATH"
# Without an isolated build, which would download setuptools each time: with all packages there, no network is needed.
pip=(python -m pip install --quiet --disable-pip-version-check)
"${pip[@]}" 'setuptools>=77'
"${pip[@]}" --no-build-isolation --editable '.[test,dev]'

if [[ ${1:-} == --slow ]]; then
    python -m musasim build
    exec python scripts/slow_tail.py "${@:2}"
fi

log=$(mktemp)
trap 'rm -f "$log"; kill $(jobs -p) 2>/dev/null || true' EXIT

tests() { # MECHANISM [pytest options]
    [[ ${TORCHADA_NATIVE:-$1} == "$1" ]] || return 0
    # Both ends of what is supported: the portable mechanism on the oldest torch_musa, the native one on that which belongs to torch.
    local release=${MUSASIM_RELEASE:-}
    [[ $1 == 1 ]] || release=${release:-2.7.1}
    echo "== tests with TORCHADA_NATIVE=$1 on torch_musa ${release:-of this torch}, simulated"
    MUSASIM_RELEASE=$release TORCHADA_NATIVE=$1 python -m pytest -n 2 --dist worksteal --durations 10 "${@:2}" | tee -a "$log"
}

ruff check .
ruff format --check .
python -m musasim build & # which leaves a processor idle most of the time, as mypy does
build=$!
lint-imports
mypy src scripts/build_backend benchmarks
wait "$build"

case ${1:-} in
"")
    tests 0 -m "not once and not full and not slow"
    tests 1 -m "not full and not slow"
    ;;
--all)
    scripts/docs.sh
    tests 0 -m "not slow and not once" "${@:2}"
    tests 1 -m "not slow" "${@:2}"
    ;;
*)
    tests 0 "$@"
    tests 1 "$@"
    ;;
esac
echo "== all checks passed"
grep -E '[0-9]+ (passed|failed).* in [0-9.]+s' "$log"
