#!/bin/bash
# install.sh : Slurm and munge, if they are not there. The packages try to start services and are denied or fail, which is harmless; nothing
# under /etc is used.
set -euo pipefail
for program in slurmctld slurmd sbatch munged; do
  command -v "$program" >/dev/null && continue
  echo "installing Slurm (about half a minute)"
  apt-get -qq update
  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends slurm-wlm slurmctld slurmd slurm-client munge >/dev/null
  break
done
