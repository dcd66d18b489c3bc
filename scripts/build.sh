#!/usr/bin/env bash
# Build the archives of a release in dist, and check them.
#
#   scripts/build.sh                          the source distribution, and the wheel for any processor (without the extension)
#   scripts/build.sh --manylinux PROCESSOR    the wheel for x86_64 or aarch64, by cibuildwheel, which needs Docker
#
# The date in the archives is that of the last commit, so that the same revision gives the same bytes. VENV names the folder of the
# virtual environment that the tools are installed into (default .venv).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ -z ${SOURCE_DATE_EPOCH:-} && -e .git ]]; then
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
    export SOURCE_DATE_EPOCH
fi
venv=${VENV:-.venv}
python3 -m venv "$venv"
export PATH="$(cd "$venv" && pwd)/bin:$PATH"
python -m pip install --quiet --disable-pip-version-check --upgrade build 'cibuildwheel>=4,<5' twine

case ${1:-} in
"")
    python -m build --sdist --outdir dist
    python -m build --wheel --config-setting pure=true --outdir dist
    ;;
--manylinux)
    python -m cibuildwheel --platform linux --archs "${2:?name a processor}" --output-dir dist
    ;;
*)
    echo "build.sh: unknown option $1" >&2
    exit 2
    ;;
esac
python -m twine check --strict dist/*
