# cluster.sh - sourced: what the testbeds' Slurm clusters have in common, whatever their version.

# scheduling is how jobs are chosen and placed.
scheduling() {
  cat <<'C'
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=100
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=3,bf_continue,bf_max_job_test=5000,bf_window=20160,bf_resolution=60,default_queue_depth=1000
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightPartition=1000
C
}

# nodes are eight of eight processors, all on this machine, from a port on.
nodes() { # HOST PORT
  cat <<C
NodeName=n[1-7] NodeHostname=$1 NodeAddr=127.0.0.1 Port=[$2-$(($2 + 6))] CPUs=8 RealMemory=16000 TmpDisk=20000 Feature=debian12,VEE-Debian11 State=UNKNOWN
NodeName=n8 NodeHostname=$1 NodeAddr=127.0.0.1 Port=$(($2 + 7)) CPUs=8 RealMemory=32000 TmpDisk=20000 Feature=debian12,bigmem Gres=gpu:2 State=UNKNOWN
C
}

# partitions are the queues.
partitions() {
  cat <<'C'
PartitionName=short    Nodes=n[1-8] Default=YES MaxTime=01:00:00 DefaultTime=00:10:00 PriorityTier=10 State=UP
PartitionName=long     Nodes=n[1-4] MaxTime=3-00:00:00 DefaultTime=12:00:00 MaxNodes=2 State=UP
PartitionName=infinite Nodes=n8 MaxTime=INFINITE State=UP
PartitionName=closed   Nodes=n8 MaxTime=01:00:00 State=DOWN
PartitionName=drained  Nodes=n8 MaxTime=01:00:00 State=DRAIN
C
}
