#!/bin/bash
# run.sh PARAMILL : starts a Slurm of three nodes on this machine, puts the program to trial on it, and stops it, whatever comes of it.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
base=$(mktemp -d /tmp/paramill-slurm.XXXX)
trap '"$here/down.sh" "$base"' EXIT
"$here/install.sh" && "$here/up.sh" "$base" 3 && "$here/trial.sh" "$1" "$base"
