#!/usr/bin/env bash
# Run the tests on every version of torch and of Python that is at hand, each in an environment of its own, under both mechanisms.
#
#   scripts/matrix.sh [versions of torch]        default: 2.7.1 2.9.1 2.11.0 2.13.0 newest
#
# PYTHONS names the interpreters (default: those of python3.10 to python3.15 that are on PATH), and PYTEST_ADDOPTS narrows the tests
# (default: every test that is not slow). MATRIX names the folder of the environments and results (default .matrix); KEEP=1 keeps
# an environment after its cell, which needs 5 GB. The table goes to $MATRIX/cells.tsv: Python, torch, mechanism, passed or failed,
# pytest's last line.
# A cell that is there is not run again.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

matrix=$(realpath -m "${MATRIX:-.matrix}")
cells=$matrix/cells.tsv
mkdir -p "$matrix"
touch "$cells"

pythons() {
    if [[ -n ${PYTHONS:-} ]]; then
        printf '%s\n' $PYTHONS
    else
        for minor in 10 11 12 13 14 15; do command -v "python3.$minor" || true; done
    fi
}

environment() { # PYTHON TORCH FOLDER
    [[ -x $3/bin/python ]] && return
    local requirement="torch==$2"
    [[ $2 == newest ]] && requirement=torch
    "$1" -m venv "$3" &&
        "$3/bin/python" -m pip install --quiet --disable-pip-version-check "$requirement" ninja numpy pytest pytest-xdist hypothesis \
            scikit-learn build expecttest 'setuptools>=77' wheel argcomplete jsonschema mypy types-setuptools \
            wrapt packaging importlib_metadata &&
        "$3/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . &&
        "$3/bin/python" -m musasim build
}

cell() { # PYTHON TORCH MECHANISM FOLDER
    local log=$4.$3.log verdict=passed
    TORCHADA_NATIVE=$([[ $3 == native ]] && echo 1 || echo 0) "$4/bin/python" -m pytest -q -n "${WORKERS:-2}" >"$log" 2>&1 ||
        verdict=failed
    printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$verdict" "$(tail -n 1 "$log")" >>"$cells"
}

for python in $(pythons); do
    name=$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])') || continue
    for torch in "${@:-2.7.1 2.9.1 2.11.0 2.13.0 newest}"; do
        for version in $torch; do
            folder=$matrix/python$name-torch$version
            for mechanism in portable native; do
                grep -qP "^$name\t$version\t$mechanism\t" "$cells" && continue
                if environment "$python" "$version" "$folder" >"$folder.setup.log" 2>&1; then
                    cell "$name" "$version" "$mechanism" "$folder"
                else
                    printf '%s\t%s\t%s\tfailed\tcannot be installed: %s\n' "$name" "$version" "$mechanism" \
                        "$(tail -n 1 "$folder.setup.log")" >>"$cells"
                fi
            done
            [[ ${KEEP:-} == 1 ]] || rm -rf "$folder"
        done
    done
done
cat "$cells"
! grep -qP '\tfailed\t' "$cells"
