#!/usr/bin/env bash
# Stops the BDII that up.sh started, by its pid files, and nothing else.
#
#   down.sh [--name NAME]
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
options "$@"
stop_all
