package maui

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Trace files of Maui's simulation mode, version 230: one record a line, its
// fields separated by blanks, [NONE] where there is nothing to say.
const (
	traceVersion   = "VERSION 230"
	none           = "[NONE]"
	resourceFields = 21
	workloadFields = 44
	traceLine      = 1 << 20 // bytes
)

// TraceNode is a line of a resource trace.
type TraceNode struct {
	Node
	Availability       string // AVAILABLE, DEFINED or DRAINED
	At                 int64
	Manager            string // the resource manager's name
	Frame, Slot, Slots int64
	Networks, Generic  string
	Reserved           [3]string
}

// TraceJob is a line of a workload trace, or of the statistics that Maui
// writes: where it has run, Started, TaskList (one name per node) and what
// follows tell how.
type TraceJob struct {
	Job
	Outcome           string // Completed, Removed or NotRun
	Dispatched, Ended int64
	Network           string
	Eligible          int64 // since when Maui's queue time counts
	Allocated         int64 // tasks
	Delivered         string
	Flags             string
	Command, Comment  string
	Bypass            int64
	ProcSeconds       float64
	Partition         string // where it ran
	Latest            int64  // end at the latest
	Manager           string
	Reservation, Set  string
	Application, Rest string
}

// TraceError is a line of a trace that cannot be read.
type TraceError struct {
	Line int
	Why  string
}

func (e *TraceError) Error() string { return fmt.Sprintf("trace, line %d: %s", e.Line, e.Why) }

// ReadResources reads a resource trace.
func ReadResources(r io.Reader) ([]TraceNode, error) {
	var list []TraceNode
	err := readTrace(r, resourceFields, func(f *fields) {
		n := TraceNode{Node: Node{State: NodeIdle}, Availability: f.text(1), At: f.number(2), Manager: f.text(4)}
		n.Name, n.Swap, n.Memory, n.Disk, n.Procs = f.text(3), f.number(5), f.number(6), f.number(7), f.number(8)
		n.Frame, n.Slot, n.Slots, n.OS, n.Arch = f.number(9), f.number(10), f.number(11), f.text(12), f.text(13)
		n.Features, n.Classes, n.Networks, n.Generic = f.list(14), Classes(f.text(15)), f.text(16), f.text(17)
		n.Reserved = [3]string{f.text(18), f.text(19), f.text(20)}
		switch n.Availability {
		case "AVAILABLE":
		case "DRAINED":
			n.State = NodeDraining
		case "DEFINED":
			n.State = NodeDown
		default:
			f.fail(1, "AVAILABLE, DEFINED or DRAINED")
		}
		list = append(list, n)
	})
	return list, err
}

// ReadWorkload reads a workload trace, or statistics of jobs.
func ReadWorkload(r io.Reader) ([]TraceJob, error) {
	var list []TraceJob
	err := readTrace(r, workloadFields, func(f *fields) {
		j := TraceJob{Outcome: f.text(6), Dispatched: f.number(9), Ended: f.number(11), Network: f.text(12), Eligible: f.number(20)}
		f.asked(&j.Job)
		j.Allocated, j.Flags = f.number(21), f.text(24)
		_, j.Delivered, _ = strings.Cut(f.at[23], ":")
		if j.Delivered == none {
			j.Delivered = ""
		}
		j.Command, j.Comment, j.Bypass, j.ProcSeconds = f.text(26), f.text(27), f.number(28), f.float(29)
		j.Partition, j.Latest, j.Manager = f.text(30), f.number(36), f.text(38)
		j.Reservation, j.Set, j.Application, j.Rest = f.text(40), f.text(41), f.text(42), f.text(43)
		list = append(list, j)
	})
	return list, err
}

// asked takes in what a job asks for and where it ran.
func (f *fields) asked(j *Job) {
	j.ID, j.Nodes, j.Tasks, j.User, j.Group, j.Limit = f.at[0], f.number(1), f.number(2), f.text(3), f.text(4), f.number(5)
	for class := range Classes(f.text(7)) {
		j.Class = max(j.Class, class)
	}
	j.Queued, j.Started, j.Arch, j.OS = f.number(8), f.number(10), f.text(13), f.text(14)
	j.NodeMemory, j.NodeDisk = Demand{f.text(15), f.number(16)}, Demand{f.text(17), f.number(18)}
	j.Features = f.list(19)
	j.TasksPerNode = max(0, f.number(22))
	qos, _, _ := strings.Cut(f.at[23], ":")
	if qos != none {
		j.QOS = qos
	}
	j.Account = f.text(25)
	if partition := f.text(30); partition != "" && partition != "[ALL]" {
		j.Partitions = []string{partition}
	}
	j.TaskProcs, j.Memory, j.Disk, j.Swap, j.Begin = f.number(31), f.number(32), f.number(33), f.number(34), f.number(35)
	j.TaskList, j.Hosts = f.list(37), f.list(39)
}

// fields are those of a line; err is the first that cannot be.
type fields struct {
	at   []string
	line int
	err  error
}

func (f *fields) fail(i int, want string) {
	if f.err == nil {
		f.err = &TraceError{f.line, fmt.Sprintf("field %d is %.40q, want %s", i+1, f.at[i], want)}
	}
}

func (f *fields) text(i int) string {
	if f.at[i] == none {
		return ""
	}
	return f.at[i]
}

// number reads a whole number; sizes end in M.
func (f *fields) number(i int) int64 {
	text := strings.TrimSuffix(f.text(i), "M")
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 62)
	if err != nil {
		f.fail(i, "a number")
	}
	return n
}

func (f *fields) float(i int) float64 {
	n, err := strconv.ParseFloat(f.at[i], 64)
	if err != nil && f.text(i) != "" {
		f.fail(i, "a number")
	}
	return n
}

// list reads a:b or [a][b].
func (f *fields) list(i int) []string {
	return strings.FieldsFunc(f.text(i), func(r rune) bool { return strings.ContainsRune(":[],", r) })
}

// readTrace hands every record of a trace to take. Lines before the first
// VERSION and comments count for nothing.
func readTrace(r io.Reader, width int, take func(*fields)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, traceLine)
	n, versions := 0, 0
	for lines.Scan() {
		n++
		f := &fields{at: strings.Fields(lines.Text()), line: n}
		switch {
		case len(f.at) == 0 || f.at[0][0] == '#':
			continue
		case f.at[0] == "VERSION":
			if versions++; strings.Join(f.at, " ") != traceVersion {
				return &TraceError{n, "want " + traceVersion}
			}
			continue
		case versions == 0:
			return &TraceError{n, "the first line must be " + traceVersion}
		case len(f.at) != width:
			return &TraceError{n, fmt.Sprintf("%d fields, want %d", len(f.at), width)}
		}
		if take(f); f.err != nil {
			return f.err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return &TraceError{n + 1, "too long"}
	}
	return lines.Err()
}

// WriteWorkload writes a workload trace.
func WriteWorkload(w io.Writer, jobs []TraceJob) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, traceVersion)
	for i := range jobs {
		j := &jobs[i]
		class := none
		if j.Class != "" {
			class = "[" + textOr(j.Class) + ":1]"
		}
		fmt.Fprint(out, textOr(j.ID), " ", j.Nodes, " ", j.Tasks, " ", textOr(j.User), " ", textOr(j.Group), " ", j.Limit, " ", textOr(j.Outcome), " ", class, " ",
			j.Queued, " ", j.Dispatched, " ", j.Started, " ", j.Ended, " ", textOr(j.Network), " ", textOr(j.Arch), " ", textOr(j.OS), " ",
			demand(j.NodeMemory), " ", demand(j.NodeDisk), " ", brackets(j.Features), " ", j.Eligible, " ", j.Allocated, " ")
		fmt.Fprint(out, perNode(j.TasksPerNode), " ", textOr(j.QOS), ":", textOr(j.Delivered), " ", textOr(j.Flags), " ", textOr(j.Account), " ",
			textOr(j.Command), " ", textOr(j.Comment), " ", j.Bypass, " ", strconv.FormatFloat(j.ProcSeconds, 'f', 2, 64), " ", j.home(), " ",
			max(1, j.TaskProcs), " ", j.Memory, "M ", j.Disk, "M ", j.Swap, "M ", j.Begin, " ", j.Latest, " ", colons(j.TaskList), " ",
			textOr(j.Manager), " ", colons(j.Hosts), " ", textOr(j.Reservation), " ", textOr(j.Set), " ", textOr(j.Application), " ", textOr(j.Rest), "\n")
	}
	return out.Flush()
}

// home is the partition of a job, as a trace has it.
func (j *TraceJob) home() string {
	switch {
	case j.Partition != "":
		return textOr(j.Partition)
	case len(j.Partitions) > 0:
		return textOr(j.Partitions[0])
	}
	return "[ALL]"
}

// textOr is a text as one field.
func textOr(text string) string {
	text = strings.Join(strings.Fields(text), "_")
	if text == "" || text[0] == '#' {
		return none
	}
	return text
}

func demand(d Demand) string {
	if d.Compare == "" {
		d.Compare = ">="
	}
	return d.Compare + " " + strconv.FormatInt(d.Amount, 10) + "M"
}

func perNode(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}

func brackets(list []string) string {
	if len(list) == 0 {
		return none
	}
	return "[" + strings.Join(list, "][") + "]"
}

func colons(list []string) string {
	if len(list) == 0 {
		return none
	}
	return strings.Join(list, ":")
}

// classWords writes [NAME:COUNT][NAME:COUNT], by name.
func classWords(classes map[string]int64) string {
	var list []string
	for _, name := range sortedKeys(classes) {
		list = append(list, name+":"+strconv.FormatInt(classes[name], 10))
	}
	return brackets(list)
}

func sortedKeys(m map[string]int64) []string { return slices.Sorted(maps.Keys(m)) }
