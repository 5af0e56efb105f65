package maui

import (
	"errors"
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

// mostOf bounds the numbers of a job, so that sums and products of what a
// resource manager says stay numbers.
const mostOf = 1 << 40

// SetField sets an attribute of a job by its name in the WIKI interface;
// false: the name does not bear on decisions, or the value is no number where it
// must be. Numbers below 0 count as 0, those above 2^40 as that.
func SetField(j *Job, name, value string) bool {
	if to := j.text(name); to != nil {
		*to = value
		return true
	}
	if to := j.number(name); to != nil {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return false
		}
		*to = min(max(0, n), mostOf)
		return true
	}
	if to := j.list(name); to != nil {
		*to = strings.FieldsFunc(value, func(r rune) bool { return r == ':' })
		return true
	}
	if name != "RCLASS" {
		return false
	}
	class, _, _ := strings.Cut(strings.TrimPrefix(value, "["), ":")
	j.Class = strings.TrimSuffix(class, "]")
	return true
}

// text is the attribute of a name that is a text; nil: none is.
func (j *Job) text(name string) *string {
	switch name {
	case "UNAME":
		return &j.User
	case "GNAME":
		return &j.Group
	case "ACCOUNT":
		return &j.Account
	case "QOS":
		return &j.QOS
	case "ROPSYS":
		return &j.OS
	case "RARCH":
		return &j.Arch
	case "RMEMCMP":
		return &j.NodeMemory.Compare
	case "RDISKCMP":
		return &j.NodeDisk.Compare
	case "RSWAPCMP":
		return &j.NodeSwap.Compare
	}
	return nil
}

// number is the attribute of a name that is a number; nil: none is.
func (j *Job) number(name string) *int64 {
	switch name {
	case "TASKS":
		return &j.Tasks
	case "WCLIMIT":
		return &j.Limit
	case "DPROCS":
		return &j.TaskProcs
	case "NODES":
		return &j.Nodes
	case "TASKPERNODE":
		return &j.TasksPerNode
	case "DMEM":
		return &j.Memory
	case "DDISK":
		return &j.Disk
	case "DSWAP":
		return &j.Swap
	case "RMEM":
		return &j.NodeMemory.Amount
	case "RDISK":
		return &j.NodeDisk.Amount
	case "RSWAP":
		return &j.NodeSwap.Amount
	case "QUEUETIME":
		return &j.Queued
	case "STARTTIME":
		return &j.Started
	case "STARTDATE":
		return &j.Begin
	}
	return nil
}

// list is the attribute of a name that is a list; nil: none is.
func (j *Job) list(name string) *[]string {
	switch name {
	case "HOSTLIST":
		return &j.Hosts
	case "RFEATURES":
		return &j.Features
	case "PARTITIONMASK":
		return &j.Partitions
	case "TASKLIST":
		return &j.TaskList
	}
	return nil
}
