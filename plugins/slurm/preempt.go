package slurm

import (
	"strings"
	"time"

	"gridbroker/batch"
)

// preemption reads who gives way to whom, and returns what of it is not modelled.
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
	if mode := strings.ToUpper(c["PreemptMode"]); strings.Contains(mode, "SUSPEND") && kind == "qos" || strings.Contains(mode, "WITHIN") {
		unmodelled = append(unmodelled, "PreemptMode="+c["PreemptMode"])
	}
	return unmodelled
}

// preemptMode is what becomes of jobs of a partition or QOS that give way; "" where
// they do not.
func preemptMode(text string) batch.PreemptMode {
	for _, word := range strings.Split(strings.ToUpper(text), ",") {
		switch m := batch.PreemptMode(word); m {
		case batch.PreemptRequeue, batch.PreemptCancel, batch.PreemptSuspend:
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
		how := preemptMode(mode)
		if how == batch.PreemptSuspend { // it goes by partitions
			how = ""
		}
		grace, _ := duration(f[4])
		all[f[0]] = batch.PreemptQOS{Priority: atoi(f[1]), Over: list(f[2]), Mode: how, GraceTime: max(0, grace).Truncate(time.Second)}
	}
	return all
}
