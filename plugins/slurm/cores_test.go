package slurm

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// asksWhole are jobs on four nodes of four cores with two threads each, of which 16000 MB, as squeue told them when they
// waited (CPUs, nodes asked for, MinMemory, MB in all, MinCPUs, tasks, per node, per core, threads), and how many processors
// and MB they had when they ran, alone, in a 22.05 and a 24.11 (CR_Core_Memory, DefMemPerCPU=100): equal in both, but for the node that
// squeue's nodes tell.
const asksWhole = `-n1 --mem-per-cpu=100; 1 1 100M 100 1 1 0 N/A *; 2 200
-n3 --mem-per-cpu=100; 3 1 100M 300 1 3 0 N/A *; 4 400
-n3 --mem=1000; 3 1 1000M 1000 1 3 0 N/A *; 4 1000
-n2 -c3; 6 1 100M 600 3 2 0 N/A *; 6 600
-n1 -c3; 3 1 100M 300 3 1 0 N/A *; 4 400
-n4 --ntasks-per-core=1; 4 1 100M 400 1 4 0 1 *; 8 800
-n4 --ntasks-per-core=1 -N1 --mem=1000; 4 1 1000M 1000 1 4 0 1 *; 8 1000
-n3 --ntasks-per-core=1 -N1; 3 1 100M 300 1 3 0 1 *; 6 600
-n4 --hint=nomultithread; 4 1 100M 400 1 4 0 N/A 1; 8 400
-n5 --hint=nomultithread; 5 1 100M 500 1 5 0 N/A 1; 10 500
-n2 --ntasks-per-core=1 -c2; 4 1 100M 400 2 2 0 1 *; 4 400
-n2 --ntasks-per-core=1 -c3; 6 1 100M 600 3 2 0 1 *; 8 800
-n2 --hint=nomultithread -c3; 6 1 100M 600 3 2 0 N/A 1; 12 600
-n2 --threads-per-core=1 -c2; 4 1 100M 400 2 2 0 N/A 1; 8 400
-n4 --ntasks-per-core=2; 4 1 100M 400 1 4 0 2 *; 4 400
-n4 --ntasks-per-core=2 -c2; 8 1 100M 800 2 4 0 2 *; 8 800
-n4 -N2 --ntasks-per-node=2; 4 2 100M 400 2 4 2 N/A *; 4 400
-n3 -N2; 3 2 100M 300 1 3 0 N/A *; 4 400
-n3 -N2 --mem=1000; 3 2 1000M 2000 1 3 0 N/A *; 4 2000
-n6 -N2 --ntasks-per-node=3; 6 2 100M 600 3 6 3 N/A *; 8 800
-N2; 2 2 100M 200 1 2 0 N/A *; 4 400
-n9; 9 1 100M 900 1 9 0 N/A *; 10 1000
-n3 --mem-per-cpu=5000; 3 1 5000M 15000 1 3 0 N/A *; 4 20000
-n1 --mem=3000; 1 1 3000M 3000 1 1 0 N/A *; 2 3000`

// TestWholeCoresAsked: processors and memory of jobs where Slurm gives whole cores. That of a single processor is the node's
// where it is not the usual one: with --mem-per-cpu=3000 it were 6000 MB.
func TestWholeCoresAsked(t *testing.T) {
	nodes := records(strings.Repeat("NodeName=n CPUTot=8 RealMemory=16000 ThreadsPerCore=2 State=IDLE Partitions=short\n", 4))
	for line := range strings.Lines(asksWhole) {
		parts := strings.Split(strings.TrimSpace(line), "; ")
		f := strings.Fields(parts[1])
		row := make([]string, len(demandColumns))
		for i := range row {
			row[i] = "N/A "
		}
		for i, v := range map[int]string{0: "cpu=" + f[0] + ",mem=" + f[3] + "M,node=" + f[1], 2: f[4], 3: f[5], 6: "0", 7: f[6], 14: f[8], 15: f[7]} {
			row[i] = v + " "
		}
		c := cluster{jobs: []*entry{entryWith(map[byte]string{'C': f[0], 'D': f[1], 'm': f[2]})}, asked: map[string]demand{"7": demanded(row)}, nodes: nodes, memory: 1}
		s := c.state(time.Unix(1795917763, 0), "c")
		c.widen(s.Jobs, 100)
		if got := fmt.Sprint(s.Jobs[0].Procs, " ", s.Jobs[0].Memory*int64(s.Jobs[0].Procs)); got != parts[2] {
			t.Errorf("%s: %s, want %s (each %d)", parts[0], got, parts[2], s.Jobs[0].Each)
		}
	}
}
