#!/bin/sh
# slurm.sh PSIM SCENARIOS: the recipe for Slurm, as it is printed, on a Slurm of this test's own. A task is killed
# and another one requeued while it runs; the study is the one that one process makes, byte for byte.
psim=$1 scenarios=$2 package='slurm-wlm munge'
. "$(dirname "$0")/common.sh"
PATH=$PATH:/usr/sbin:/sbin
needs slurmctld slurmd sbatch scontrol munged
[ "$(id -u)" = 0 ] || skip "the daemons of Slurm need root"

run=$scratch/run
end_daemons() {
  # Tasks first: their processes would outlive slurmd.
  if [ -s "$run/slurmctld.pid" ]; then
    timeout 10 scancel --user=root 2>/dev/null
    for _ in $(seq 100); do
      [ -n "$(timeout 10 squeue --noheader 2>/dev/null)" ] || break
      sleep 0.1
    done
  fi
  for daemon in slurmd slurmctld munged; do
    process=$(cat "$run/$daemon.pid" 2>/dev/null) || continue
    kill "$process" 2>/dev/null
    for _ in $(seq 100); do
      kill -0 "$process" 2>/dev/null || break
      sleep 0.1
    done
    kill -9 "$process" 2>/dev/null
  done
}

free_ports() {
  python3 -c '
import socket
sockets = [socket.socket() for _ in range(2)]
for one in sockets: one.bind(("127.0.0.1", 0))
print(*(one.getsockname()[1] for one in sockets))'
}

package=python3 needs python3
read -r controller_port node_port <<END
$(free_ports)
END
host=$(hostname -s)
memory=$(awk '/^MemTotal/ {print int(0.9 * $2 / 1024)}' /proc/meminfo)  # MiB
mkdir "$run" "$scratch/state" "$scratch/spool"
chmod 755 "$run"
export SLURM_CONF=$scratch/slurm.conf
cat >"$SLURM_CONF" <<END
ClusterName=psim
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$run/munge.socket
CredType=cred/munge
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$run/slurmctld.pid
SlurmdPidFile=$run/slurmd.pid
SlurmctldLogFile=$run/slurmctld.log
SlurmdLogFile=$run/slurmd.log
SlurmctldPort=$controller_port
SlurmdPort=$node_port
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
ReturnToService=2
JobRequeue=1
MpiDefault=none
MaxArraySize=5
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$memory State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
head -c 1024 /dev/urandom >"$run/key"
chmod 600 "$run/key"
munged --force --key-file="$run/key" --socket="$run/munge.socket" --pid-file="$run/munged.pid" \
  --log-file="$run/munged.log" --seed-file="$run/seed" 2>"$run/munged.err" || fail "$(cat "$run/munged.err")"
slurmctld || fail "slurmctld does not start"
slurmd || fail "slurmd does not start"
is_idle() { sinfo -h -o %T 2>/dev/null | grep -qx idle; }
until_true 60 is_idle

awkward slurm
study=$folder/studies/study
expect 0 "$psim" compare "$scenario" --out "$study" --baseline asp --recipe slurm --slices 4
cp "$scratch/said" "$scratch/recipe.sh"
cd / || exit 3
expect 0 sh "$scratch/recipe.sh" --comment=none
said 'slices 1 to 4, round 1 of 1'
job=$(sed -n 's/^job \([0-9]*\): slices.*/\1/p' "$scratch/said")
merge=$(sed -n 's/^job \([0-9]*\): merge.*/\1/p' "$scratch/said")

state() { scontrol -o show job "$1" 2>/dev/null | sed -n 's/.* JobState=\([A-Z]*\).*/\1/p'; }
has_state() { [ "$(state "$1")" = "$2" ]; }
has_result() { [ "$(cat "$study"/results/*.jsonl 2>/dev/null | wc -l)" -ge 1 ]; }
# The oldest process of a slice's psim: the others are its runs.
psim_of() { pgrep -o -f -- "compare .*$scratch.*--slice $1/4\$"; }
at_once() { scontrol update jobid="$1" starttime=now; }  # else a task that is requeued waits for two minutes

echo "one task is killed, and requeued after its end"
until_true 120 has_result
process=$(psim_of 1) || fail "slice 1 does not run"
kill -9 "$process"
until_true 60 has_state "${job}_1" FAILED
scontrol requeue "${job}_1" || fail "the task is not requeued"
at_once "${job}_1"
echo "another one is requeued while it runs"
until_true 120 has_state "${job}_3" RUNNING
until_true 60 psim_of 3 >/dev/null
scontrol requeue "${job}_3" || fail "the task is not requeued"
until_true 60 has_state "${job}_3" PENDING
at_once "${job}_3"
for n in 1 2 3 4; do until_true 300 has_state "${job}_$n" COMPLETED; done
until_true 60 has_state "$merge" COMPLETED

echo "the study is that of one process"
expect 0 "$psim" merge "$study"
expect 0 "$psim" compare "$scenario" --out "$scratch/whole" --baseline asp
same "$scratch/whole" "$study"
for n in 1 2 3 4; do
  grep -q "^slice $n/4: 5 of 20 runs" "$study.slurm-$n.out" || fail "$study.slurm-$n.out does not say what was done"
done

echo "the script again: nothing is to be done, and the merge prints the table"
expect 0 sh "$scratch/recipe.sh"
merge=$(sed -n 's/^job \([0-9]*\): merge.*/\1/p' "$scratch/said")
until_true 300 has_state "$merge" COMPLETED
grep -q '5 of 20 runs are in this slice; 0 made now, 5 existed before' "$study.slurm-2.out" || fail "runs were made twice"
grep -q 'backup-workers' "$study.slurm-merge.out" || fail "the merge printed no table"
same "$scratch/whole" "$study"

echo "six slices are two arrays, which wait for a job of the user; the merge waits for all of them"
study=$study-2
expect 0 "$psim" compare "$scenario" --out "$study" --baseline asp --recipe slurm --slices 6
cp "$scratch/said" "$scratch/recipe.sh"
prepared=$(sbatch --parsable --hold --output=/dev/null --wrap true)
expect 0 sh "$scratch/recipe.sh" --dependency="afterok:$prepared"
first=$(sed -n 's/^job \([0-9]*\): slices 1 to 4.*/\1/p' "$scratch/said")
second=$(sed -n 's/^job \([0-9]*\): slices 5 to 6.*/\1/p' "$scratch/said")
merge=$(sed -n 's/^job \([0-9]*\): merge.*/\1/p' "$scratch/said")
waits_for() { scontrol -o show job "$1" | grep -q "Dependency=[^ ]*$2:$3" || fail "$1 does not wait for $3"; }
waits_for "$first" afterok "$prepared"
waits_for "$second" afterok "$prepared"
waits_for "$merge" afterok "$prepared"
waits_for "$merge" afterany "$first"
waits_for "$merge" afterany "$second"
[ ! -e "$study" ] || fail "a slice did not wait"
scontrol release "$prepared"
until_true 300 has_state "$merge" COMPLETED
grep -q 'backup-workers' "$study.slurm-merge.out" || fail "the merge printed no table"
same "$scratch/whole" "$study"

echo "a signal before the limit reaches psim, and the log has Slurm's reason at the limit"
study=$study-3
sed -i 's/^epochs = .*/epochs = 100000/' "$scenario"
expect 0 "$psim" compare "$scenario" --out "$study" --recipe slurm --slices 2
cp "$scratch/said" "$scratch/recipe.sh"
expect 0 sh "$scratch/recipe.sh" --array=1 --time=1 --signal=B:USR1@50
is_logged() { grep -q "$2" "$study.slurm-$1.out" 2>/dev/null; }
until_true 90 is_logged 1 'finished runs\|interrupted'
expect 0 sh "$scratch/recipe.sh" --array=2 --time=1
until_true 200 is_logged 2 'DUE TO TIME LIMIT'
expect 1 "$psim" merge "$study"
said 'DUE TO TIME LIMIT'
said '--time=MINUTES'
echo "done"
