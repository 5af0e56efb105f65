package maui

import (
	"strconv"
	"strings"
)

// Classes reads [NAME:COUNT][NAME:COUNT].
func Classes(text string) map[string]int64 {
	classes := map[string]int64{}
	for part := range strings.SplitSeq(text, "]") {
		name, count, ok := strings.Cut(strings.TrimPrefix(part, "["), ":")
		if n, err := strconv.ParseInt(count, 10, 32); ok && err == nil && n >= 0 {
			classes[name] = n
		}
	}
	return classes
}

// ParseNodeState reads the STATE of a node. Words that Maui does not know
// are a node that takes nothing.
func ParseNodeState(word string) NodeState {
	switch word {
	case "Idle", "Unknown":
		return NodeIdle
	case "Running":
		return NodeRunning
	case "Busy":
		return NodeBusy
	case "Drain", "Draining":
		return NodeDraining
	}
	return NodeDown
}

// SetField sets an attribute of a job by its name in the WIKI interface;
// false: the name does not bear on decisions.
func SetField(j *Job, name, value string) bool {
	texts := map[string]*string{"UNAME": &j.User, "GNAME": &j.Group, "ACCOUNT": &j.Account, "QOS": &j.QOS, "ROPSYS": &j.OS, "RARCH": &j.Arch,
		"RMEMCMP": &j.NodeMemory.Compare, "RDISKCMP": &j.NodeDisk.Compare, "RSWAPCMP": &j.NodeSwap.Compare}
	numbers := map[string]*int64{"TASKS": &j.Tasks, "WCLIMIT": &j.Limit, "DPROCS": &j.TaskProcs, "NODES": &j.Nodes, "TASKPERNODE": &j.TasksPerNode,
		"DMEM": &j.Memory, "DDISK": &j.Disk, "DSWAP": &j.Swap, "RMEM": &j.NodeMemory.Amount, "RDISK": &j.NodeDisk.Amount, "RSWAP": &j.NodeSwap.Amount,
		"QUEUETIME": &j.Queued, "STARTTIME": &j.Started, "STARTDATE": &j.Begin}
	lists := map[string]*[]string{"HOSTLIST": &j.Hosts, "RFEATURES": &j.Features, "PARTITIONMASK": &j.Partitions, "TASKLIST": &j.TaskList}
	switch {
	case texts[name] != nil:
		*texts[name] = value
	case numbers[name] != nil:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return false
		}
		*numbers[name] = n
	case lists[name] != nil:
		*lists[name] = strings.FieldsFunc(value, func(r rune) bool { return r == ':' })
	case name == "RCLASS":
		class, _, _ := strings.Cut(strings.TrimPrefix(value, "["), ":")
		j.Class = strings.TrimSuffix(class, "]")
	default:
		return false
	}
	return true
}
