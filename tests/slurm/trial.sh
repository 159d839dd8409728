#!/bin/bash
# trial.sh PARAMILL [BASE] : two pipelines by jobs of the Slurm that up.sh has started with three nodes, against the same on one machine.
#   learned  generate and estimate as arrays, the model by one job with a (pretend) GPU, each after the one before
#   sweep    two cells like it, submitted together
#   physics  eight shards of estimate: one is killed, one is on a node that is lost, one is stopped with SIGTERM, one is run twice at once
# Every result must be that of one machine, byte for byte.
set -uo pipefail
paramill=$(realpath "$1"); base=${2:-/tmp/paramill-slurm}
here=$(cd "$(dirname "$0")" && pwd)
export SLURM_CONF=$base/slurm.conf
work=$(mktemp -d /tmp/paramill-trial.XXXX); mkdir "$work/alone" "$work/cluster"
fails=0
check() { if [ "$2" = "$3" ]; then echo "ok   $1: $2"; else echo "FAIL $1: got '$2', expected '$3'"; fails=$((fails + 1)); fi; }
same() { diff -rq "$work/alone/$1" "$work/cluster/$1" >"$work/diff" 2>&1 && echo same || { cat "$work/diff" >&2; echo different; }; }
field() { scontrol -o show job "$1" 2>/dev/null | tr ' ' '\n' | sed -n "s/^$2=//p" | head -1; }
id() { python3 -c 'import json,sys; print([j["id"] for j in json.load(open(sys.argv[1]))["jobs"] if j["name"] == sys.argv[2]][0])' "$1" "$2"; }
# Waits until a command succeeds, or says that it did not within so many seconds.
wait_for() { local seconds=$1; shift; for _ in $(seq $((seconds * 4))); do "$@" >/dev/null 2>&1 && return; sleep 0.25; done; echo "FAIL after $seconds s: $*"; fails=$((fails + 1)); }
ended() { [ -z "$(squeue --noheader --name="$1")" ]; }
# The processes of a shard, of this trial alone.
processes() { for p in $(pgrep -f "shard run runs/physics/shards/estimate.json $1\$"); do [ "$(readlink "/proc/$p/cwd")" = "$work/cluster" ] && echo "$p"; done; }
at_work() { [ -n "$(processes "$1")" ]; }
has_blocks() { ls runs/physics/blocks/estimate-*/*.block; }

cp "$here"/*.toml "$work/alone"; cp "$here"/*.toml "$work/cluster"
cd "$work/alone" || exit 1
for name in learned sweep physics; do
  "$paramill" run $name.toml --executor local --quiet >/dev/null || { echo "FAIL $name on one machine"; exit 1; }
done
cd "$work/cluster" || exit 1
begun=$(date +%s)

"$paramill" run learned.toml --dry-run > "$work/scripts"; check "learned: --dry-run" "$?, $(grep -c -- '--gres=gpu:1' "$work/scripts") job with a GPU" "8, 1 job with a GPU"
"$paramill" run learned.toml --quiet; check "learned is submitted" $? 0
"$paramill" run learned.toml --quiet 2>/dev/null; check "a second submission is refused" $? 6
for job in generate generate-merge train estimate-plan estimate estimate-merge; do names=${names:+$names,}paramill-learned-$job; done
wait_for 240 ended "$names"
check "learned: model" "$(same runs/learned/models/learned/weights.safetensors)" same
check "learned: estimates" "$(same runs/learned/estimates)" same
check "learned: dataset" "$(same datasets/learned)" same
"$paramill" run learned.toml --executor local --dry-run >/dev/null; check "learned: nothing is left to do" $? 0

"$paramill" run sweep.toml --quiet 2>/dev/null; check "sweep is submitted" $? 0
"$paramill" run sweep.toml --quiet 2>/dev/null; check "a second submission of its cells is refused" $? 6
all_done() { "$paramill" status sweep.toml | grep -q "2 of 2 cells done"; }
wait_for 480 all_done
for seed in 0 1; do check "sweep: estimates of seed $seed" "$(same runs/sweep/cells/seed-$seed/estimates)" same; done
"$paramill" report sweep.toml >/dev/null; check "sweep: its page" "$?, $(grep -c 'all 2 cells were run' runs/sweep/report/index.html)" "0, 1"

"$paramill" run physics.toml --executor local --stage generate --quiet >/dev/null; check "physics: dataset" "$(same datasets/physics)" same
"$paramill" run physics.toml --quiet; check "physics is submitted" $? 0
array=$(id runs/physics/slurm/jobs.json estimate)
for task in 0 1 2; do wait_for 60 at_work $task; done
# The same shard once more, at the same time.
"$paramill" shard run runs/physics/shards/estimate.json 0 --threads 1 --quiet >/dev/null & twice=$!
wait_for 60 has_blocks
kill -9 $(processes 1)   # one is killed
# One is told that its time is over. The command would ask again and again, of the job that is started anew too.
timeout 1 scancel --signal=TERM --batch "${array}_2" 2>/dev/null
# The node of one is lost.
lost=; for _ in $(seq 240); do for task in 3 4 5; do at_work $task && lost=$task && break 2; done; sleep 0.25; done
node=$(field "${array}_$lost" BatchHost)
program=$(processes "$lost" | tail -1)
shell=$(ps -o ppid= -p "$program" | tr -d ' '); step=$(ps -o ppid= -p "$shell" | tr -d ' ')
kill -9 "$(cat "$base/run/slurmd.$node.pid")" "$step" "$shell" "$program"
"$paramill" status physics.toml | sed -n 's/^shards/     shards/p'
wait $twice; check "physics: the shard that is run twice" $? 0
wait_for 240 ended paramill-physics-estimate
check "physics: the killed shard" "$(field "${array}_1" JobState)" FAILED
check "physics: the shard that was stopped is started anew" "$(field "${array}_2" Restarts),$(field "${array}_2" JobState)" 1,COMPLETED
check "physics: the shard of the lost node ($lost) is started anew" "$(field "${array}_$lost" Restarts),$(field "${array}_$lost" JobState)" 1,COMPLETED
wait_for 30 ended paramill-physics-estimate-merge
check "physics: nothing is put together while a shard is missing" "$([ -e runs/physics/estimates ] && echo yes || echo no)" no
wait_for 30 ended paramill-physics-failure
check "physics: who is to hear of it does, once" "$(wc -l < told), $(grep -c '^1 estimate: shard 1 of 8 missing' told)" "1, 1"
"$paramill" status physics.toml | sed -n 's/^\(shards\|repair\)/     \1/p'
check "physics: the shard to repair" "$("$paramill" status physics.toml --json | python3 -c 'import json,sys; it=json.load(sys.stdin)["pipelines"][0]["shards"][0]; print(len(it["done"]), it["missing"], it["repair"])')" "7 [1] paramill run physics.toml --executor slurm"
"$paramill" run physics.toml --quiet; check "physics is submitted again" $? 0
check "physics: only the missing shard is" "$(python3 -c 'import json; print([j["tasks"] for j in json.load(open("runs/physics/slurm/jobs.json"))["jobs"]])')" "[1, None, None]"
wait_for 120 ended paramill-physics-estimate,paramill-physics-estimate-merge,paramill-physics-failure
check "physics: nothing more is heard of it" "$(wc -l < told)" 1
check "physics: estimates" "$(same runs/physics/estimates)" same
check "physics: no block is left" "$([ -e runs/physics/blocks ] && echo yes || echo no)" no
echo "took $(($(date +%s) - begun)) s in $work"
if [ $fails = 0 ]; then echo "ALL OK"; else echo "$fails FAILED"; fi
exit $((fails > 0))
