#!/bin/bash
# up.sh [BASE] [NODES] : start munged, slurmctld and NODES slurmd on this machine, no systemd.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
BASE=${1:-/tmp/paramill-slurm}; N=${2:-3}; CPUS=${CPUS:-1}
CTLPORT=${CTLPORT:-26817}; NPORT0=${NPORT0:-26820}
HOST=$(hostname -s)
mkdir -p "$BASE"/{munge,state,run,log} ; for i in $(seq 0 $((N-1))); do mkdir -p "$BASE/spool/n$i"; done
chmod 755 "$BASE" "$BASE/munge"
getent hosts "$HOST" >/dev/null || echo "127.0.0.1 $HOST" >> /etc/hosts
sed -e "s|@BASE@|$BASE|g; s|@HOST@|$HOST|g; s|@USER@|$(id -un)|g; s|@CTLPORT@|$CTLPORT|g" \
    -e "s|@LAST@|$((N-1))|g; s|@NPORT0@|$NPORT0|g; s|@NPORTL@|$((NPORT0+N-1))|g; s|@CPUS@|$CPUS|g" \
    "$here/slurm.conf.in" > "$BASE/slurm.conf"
printf "NodeName=n[0-%d] Name=gpu File=/dev/null\n" $((N-1)) > "$BASE/gres.conf"
: > "$BASE/log/jobcomp.log"
[ -s "$BASE/munge/munge.key" ] || { head -c 1024 /dev/urandom > "$BASE/munge/munge.key"; chmod 600 "$BASE/munge/munge.key"; }
munged --force --key-file="$BASE/munge/munge.key" --socket="$BASE/munge/munge.socket" \
       --pid-file="$BASE/munge/munged.pid" --log-file="$BASE/munge/munged.log" --seed-file="$BASE/munge/munge.seed"
export SLURM_CONF="$BASE/slurm.conf"
slurmctld -f "$SLURM_CONF"
for i in $(seq 0 $((N-1))); do slurmd -f "$SLURM_CONF" -N "n$i"; done
for t in $(seq 1 240); do
  idle=$(sinfo -h -t idle -o %D 2>/dev/null || true)
  [ "${idle:-0}" = "$N" ] && break; sleep 0.5
done
sinfo -N
[ "${idle:-0}" = "$N" ] || { echo "cluster did not come up; see $BASE/log" >&2; exit 1; }
echo "export SLURM_CONF=$SLURM_CONF"
