#!/usr/bin/env bash
# Build the documentation as a site, strictly: a broken link or anchor, or a page that the navigation lacks, is an error.
#
#   scripts/docs.sh [folder [version]]
#
# The site is written to `folder` (default build/site); with a version, to its folder of that name, beside those of other versions, which
# a list in the pages leads to. VENV names the virtual environment's folder (default .venv).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=${VENV:-.venv}
python3 -m venv "$venv"
export PATH="$(cd "$venv" && pwd)/bin:$PATH"
# Without an isolated build, which would download setuptools each time: with all packages there, no network is needed.
pip=(python -m pip install --quiet --disable-pip-version-check)
"${pip[@]}" 'setuptools>=77'
"${pip[@]}" --no-build-isolation --editable '.[docs]'

# The theme announces its successor on every run otherwise.
export NO_MKDOCS_2_WARNING=1
# Not --quiet, which hides the warnings from --strict as well.
site=$(realpath -m "${1:-build/site}") # mkdocs begins at the configuration's folder
mkdocs build --strict --config-file scripts/mkdocs.yml --site-dir "$site${2:+/$2}"
[ -z "${2:-}" ] || python scripts/site_versions.py "$site" "$2"
