package slurm

import (
	"strings"
	"time"

	"gridbroker/batch"
)

// preemption reads who gives way to whom, and returns what of it is not modelled:
// jobs that are suspended.
func (c settings) preemption(p *batch.Preemption) (unmodelled []string) {
	kind, ok := strings.CutPrefix(c["PreemptType"], "preempt/")
	if !ok || kind != "partition_prio" && kind != "qos" {
		return nil
	}
	p.Type = kind
	if exempt, ok := duration(c["PreemptExemptTime"]); ok && exempt > 0 {
		p.ExemptTime = exempt
	}
	for _, word := range list(c["PreemptParameters"]) {
		switch {
		case word == "youngest_first":
			p.YoungestFirst = true
		case word == "strict_order", strings.HasPrefix(word, "reorder_count="):
			unmodelled = append(unmodelled, "PreemptParameters="+word)
		}
	}
	if mode := c["PreemptMode"]; strings.Contains(strings.ToUpper(mode), "SUSPEND") || strings.Contains(strings.ToUpper(mode), "WITHIN") {
		unmodelled = append(unmodelled, "PreemptMode="+mode)
	}
	return unmodelled
}

// preemptMode is what becomes of jobs of a partition or QOS that give way; "" where
// they do not, or would be suspended.
func preemptMode(text string) batch.PreemptMode {
	for _, word := range strings.Split(strings.ToUpper(text), ",") {
		switch m := batch.PreemptMode(word); m {
		case batch.PreemptRequeue, batch.PreemptCancel:
			return m
		}
	}
	return ""
}

// preemptQOS reads sacctmgr's lines of name, priority, the QOS that give way to it,
// mode and grace; those that leave the mode to the cluster have its.
func preemptQOS(text, cluster string) map[string]batch.PreemptQOS {
	all := map[string]batch.PreemptQOS{}
	for _, f := range rows(text, "|", 5) {
		mode := f[3]
		if mode == "" || strings.EqualFold(mode, "cluster") {
			mode = cluster
		}
		grace, _ := duration(f[4])
		all[f[0]] = batch.PreemptQOS{Priority: atoi(f[1]), Over: list(f[2]), Mode: preemptMode(mode), GraceTime: max(0, grace).Truncate(time.Second)}
	}
	return all
}
