package sbatch

import (
	"fmt"
	"strings"

	"gridbroker/jdl"
)

// Dependent is a shell script that submits the scripts of a DAG's jobs, in the
// same order as these and beside it, each after those it waits for have ended
// well (sbatch --dependency=afterok), the last one when all have ended (afterany).
func Dependent(set *jdl.JobSet, scripts []string) []byte {
	number := map[string]int{}
	for i, j := range set.Jobs {
		number[j.Node] = i
	}
	var b strings.Builder
	b.WriteString("#!/bin/sh\ncd \"$(dirname \"$0\")\" || exit\n")
	done := make([]bool, len(set.Jobs))
	var submit func(i int)
	submit = func(i int) {
		if done[i] {
			return
		}
		done[i] = true
		wait, how := "", "afterok"
		if set.Jobs[i].Final {
			how = "afterany"
		}
		for _, name := range set.Jobs[i].After {
			submit(number[name])
			wait += fmt.Sprintf(":$job%d", number[name])
		}
		if wait != "" {
			wait = " --dependency=" + how + wait + " --kill-on-invalid-dep=yes"
		}
		fmt.Fprintf(&b, "job%d=$(sbatch --parsable%s ./%s) || exit\njob%d=${job%d%%%%;*}\n", i, wait, scripts[i], i, i)
	}
	for i := range set.Jobs {
		submit(i)
	}
	return []byte(b.String())
}
