package wiki

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/batch/maui"
)

// Job is a job as it goes over the wire.
type Job struct {
	maui.Job
	Word    string // STATE as sent; empty: made from State
	Updated time.Time
	Ended   time.Time
	Suspend int64 // SUSPENDTIME, seconds
	Comment string
	Gone    bool // Completed, Removed or Vacated
}

func sortedKeys(m map[string]int64) []string {
	if len(m) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}

// jobState is what a word says; known is false for words that no dialect has.
func jobState(word string) (state maui.JobState, gone, known bool) {
	switch word {
	case "Idle":
		return maui.JobIdle, false, true
	case "Starting", "Running":
		return maui.JobRunning, false, true
	case "Suspended":
		return maui.JobSuspended, false, true
	case "Completed", "Removed", "Vacated":
		return maui.JobHeld, true, true
	case "Hold", "BatchHold", "UserHold", "SystemHold", "Deferred", "NotQueued", "Staged", "Unknown":
		return maui.JobHeld, false, true
	}
	return maui.JobHeld, false, false
}

// jobOf reads a job's record; what no dialect knows of states is held.
func jobOf(r *Record) Job {
	j := Job{Job: maui.Job{ID: r.ID, Tasks: 1}}
	for _, f := range r.Fields {
		switch name := fieldName(f.Name, jobIndex); name {
		case "STATE":
			j.Word = f.Value
			j.State, j.Gone, _ = jobState(f.Value)
		case "UPDATETIME":
			j.Updated = epoch(f.Value)
		case "COMPLETETIME":
			j.Ended = epoch(f.Value)
		case "SUSPENDTIME":
			j.Suspend, _ = strconv.ParseInt(f.Value, 10, 62)
		case "WCLIMIT":
			j.Limit = clock(f.Value)
		case "COMMENT":
			j.Comment = f.Value
		case "GRES", "DGRES":
			j.GPUs = gpus(f.Value)
		default:
			maui.SetField(&j.Job, name, f.Value)
		}
	}
	j.bound()
	return j
}

// longest bounds a limit: a hundred years, in seconds.
const longest = 100 * 366 * 86400

// bound holds a job that asks for more processors than any cluster has, as Maui
// does, and keeps the rest in numbers that can be planned with.
func (j *Job) bound() {
	j.Tasks, j.Limit = max(1, j.Tasks), min(j.Limit, longest)
	if j.Tasks > maxTasks || j.TaskProcs > maxTasks || j.Tasks*max(1, j.TaskProcs) > maxTasks {
		j.Tasks, j.TaskProcs = min(j.Tasks, maxTasks), 1
		if j.State == maui.JobIdle {
			j.State = maui.JobHeld
		}
	}
}

// clock reads seconds or [[HH:]MM:]SS.
func clock(text string) int64 {
	sum := int64(0)
	for part := range strings.SplitSeq(text, ":") {
		n, err := strconv.ParseInt(part, 10, 40)
		if err != nil || n < 0 || sum > 1<<40 {
			return 0
		}
		sum = sum*60 + n
	}
	return sum
}

var jobWords = map[maui.JobState]string{
	maui.JobIdle: "Idle", maui.JobHeld: "Hold", maui.JobRunning: "Running", maui.JobSuspended: "Suspended",
}

// record writes a job. Maui reads WCLIMIT as seconds only and must never be
// sent a NAME.
func (j *Job) record() Record {
	r := Record{ID: j.ID, Fields: make([]Field, 0, 16)}
	r.add("UPDATETIME", stamp(j.Updated))
	r.add("STATE", cmp.Or(j.Word, jobWords[j.State]))
	r.add("QUEUETIME", positive(j.Queued))
	r.add("UNAME", j.User)
	r.add("GNAME", j.Group)
	r.add("TASKS", number(max(1, j.Tasks)))
	r.add("WCLIMIT", positive(j.Limit))
	if j.State == maui.JobRunning || j.State == maui.JobSuspended || j.Gone {
		r.add("STARTTIME", positive(j.Started))
		r.add("TASKLIST", strings.Join(j.TaskList, ":"))
	}
	r.add("COMPLETETIME", stamp(j.Ended))
	r.add("NODES", positive(j.Nodes))
	r.add("TASKPERNODE", positive(j.TasksPerNode))
	r.add("DPROCS", above(j.TaskProcs, 1))
	r.add("DMEM", positive(j.Memory))
	r.add("DDISK", positive(j.Disk))
	r.add("DSWAP", positive(j.Swap))
	r.add("GRES", gpuText(j.GPUs))
	r.demand("RMEM", j.NodeMemory)
	r.demand("RDISK", j.NodeDisk)
	r.add("HOSTLIST", strings.Join(j.Hosts, ":"))
	r.add("RFEATURES", strings.Join(j.Features, ":"))
	r.add("PARTITIONMASK", strings.Join(j.Partitions, ":"))
	r.add("ROPSYS", j.OS)
	r.add("RARCH", j.Arch)
	if j.Class != "" {
		r.add("RCLASS", "["+j.Class+":1]")
	}
	r.add("ACCOUNT", j.Account)
	r.add("QOS", j.QOS)
	r.add("STARTDATE", positive(j.Begin))
	r.add("SUSPENDTIME", positive(j.Suspend))
	r.add("COMMENT", j.Comment)
	return r
}

func (r *Record) demand(name string, d maui.Demand) {
	r.add(name, positive(d.Amount))
	r.add(name+"CMP", d.Compare)
}

func positive(n int64) string { return above(n, 0) }

func above(n, least int64) string {
	if n <= least {
		return ""
	}
	return number(n)
}
