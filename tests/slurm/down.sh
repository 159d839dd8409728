#!/bin/bash
# down.sh [BASE] : stop exactly the daemons that up.sh started (by pid file), newest first.
BASE=${1:-/tmp/paramill-slurm}
export SLURM_CONF="$BASE/slurm.conf"
for p in "$BASE"/run/slurmd.*.pid "$BASE/run/slurmctld.pid" "$BASE/munge/munged.pid"; do
  [ -s "$p" ] && kill "$(cat "$p" 2>/dev/null)" 2>/dev/null
done
for t in $(seq 1 40); do
  alive=0; for p in "$BASE"/run/*.pid "$BASE/munge/munged.pid"; do [ -s "$p" ] && kill -0 "$(cat "$p" 2>/dev/null)" 2>/dev/null && alive=1; done
  [ $alive = 0 ] && break; sleep 0.25
done
exit $alive
