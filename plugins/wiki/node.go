package wiki

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"gridbroker/batch/maui"
)

// Node is a node as it goes over the wire.
type Node struct {
	maui.Node
	Word    string // STATE as sent; empty: made from State
	Updated time.Time
	Free    int64 // APROC; -1: not known
	Reason  string
}

// nodeIndex names the fields that may be written A1, A2...
var nodeIndex = []string{
	"UPDATETIME", "STATE", "OS", "ARCH", "CMEMORY", "AMEMORY", "CSWAP", "ASWAP", "CDISK", "ADISK", "CPROC", "APROC", "CNET", "ANET", "CRES", "ARES",
	"CPULOAD", "CCLASS", "ACLASS", "FEATURE", "PARTITION", "EVENT", "CURRENTTASK", "MAXTASK", "SPEED",
}

// jobIndex likewise of jobs.
var jobIndex = []string{
	"UPDATETIME", "STATE", "WCLIMIT", "TASKS", "NODES", "GEOMETRY", "QUEUETIME", "STARTDATE", "STARTTIME", "COMPLETETIME", "UNAME", "GNAME", "ACCOUNT",
	"RFEATURES", "RNETWORK", "DNETWORK", "RCLASS", "ROPSYS", "RARCH", "RMEM", "RMEMCMP", "DMEM", "RDISK", "RDISKCMP", "DDISK", "RSWAP", "RSWAPCMP",
	"DSWAP", "PARTITIONMASK", "EXEC", "ARGS", "IWD", "COMMENT",
}

// fieldName resolves A<n>.
func fieldName(name string, index []string) string {
	if rest, ok := strings.CutPrefix(name, "A"); ok {
		if n, err := strconv.Atoi(rest); err == nil && n >= 1 && n <= len(index) {
			return index[n-1]
		}
	}
	return name
}

// mostOfNode bounds the numbers of a node: processors, and MB of 1 EB.
const mostOfNode = 1 << 40

// nodeOf reads a node's record. What is missing has Maui's defaults: one
// processor, all of them free.
func nodeOf(r *Record) Node {
	n := Node{Node: maui.Node{Name: r.ID, Procs: 1, State: maui.NodeDown}, Free: -1}
	numbers := map[string]*int64{
		"CPROC": &n.Procs, "APROC": &n.Free, "CMEMORY": &n.Memory, "CDISK": &n.Disk, "CSWAP": &n.Swap,
	}
	for _, f := range r.Fields {
		name := fieldName(f.Name, nodeIndex)
		switch {
		case numbers[name] != nil:
			if v, err := strconv.ParseInt(f.Value, 10, 62); err == nil && v >= 0 {
				*numbers[name] = min(v, mostOfNode)
			}
		default:
			n.text(name, f.Value)
		}
	}
	return n
}

// text sets a field that is no number of units.
func (n *Node) text(name, value string) {
	switch name {
	case "STATE":
		n.Word = value
		n.State = maui.ParseNodeState(value)
	case "UPDATETIME":
		n.Updated = epoch(value)
	case "OS":
		n.OS = value
	case "ARCH":
		n.Arch = value
	case "CCLASS":
		n.Classes = maui.Classes(value)
	case "FEATURE", "FEATURES":
		n.Features = colons(value)
	case "PARTITION":
		n.Partition = value
	case "SPEED":
		n.Speed = real(value)
	case "CPULOAD":
		n.Load = real(value)
	case "CRES", "GRES":
		n.GPUs = gpus(value)
	case "CAT":
		n.Reason = value
	}
}

// real reads a number that something can be measured by; 0 where it is none.
func real(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0 && n < 1e12) {
		return 0
	}
	return n
}

// gpu is the generic resource that GPUs are, by Slurm's name for it.
const gpu = "gpu"

// gpus reads NAME:COUNT, several parted by commas; gpu:TYPE:COUNT too.
func gpus(text string) (n int64) {
	for part := range strings.SplitSeq(strings.ToLower(text), ",") {
		name, rest, ok := strings.Cut(part, ":")
		if name != gpu && name != gpu+"s" {
			continue
		}
		count := int64(1)
		if ok {
			var err error
			if count, err = strconv.ParseInt(rest[strings.LastIndexByte(rest, ':')+1:], 10, 20); err != nil || count < 0 {
				continue
			}
		}
		n = min(n+count, 1<<20)
	}
	return n
}

func gpuText(n int64) string {
	if n <= 0 {
		return ""
	}
	return gpu + ":" + number(n)
}

func colons(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ':' })
}

func epoch(text string) time.Time {
	n, err := strconv.ParseInt(text, 10, 62)
	if err != nil || n <= 0 {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}

// nodeWords are the states as they are written.
var nodeWords = map[maui.NodeState]string{
	maui.NodeIdle: "Idle", maui.NodeRunning: "Running", maui.NodeBusy: "Busy", maui.NodeDraining: "Draining", maui.NodeDown: "Down",
}

// record writes a node: STATE before anything that might hold the word.
func (n *Node) record() Record {
	word := n.Word
	if word == "" {
		word = nodeWords[n.State]
	}
	free := n.Free
	if free < 0 {
		free = n.Procs
	}
	r := Record{ID: n.Name, Fields: make([]Field, 0, 16)}
	r.add("UPDATETIME", stamp(n.Updated))
	r.add("STATE", word)
	r.add("CPROC", number(n.Procs))
	r.add("APROC", number(free))
	for _, pair := range []struct {
		name   string
		amount int64
	}{{"MEMORY", n.Memory}, {"DISK", n.Disk}, {"SWAP", n.Swap}} {
		if pair.amount > 0 {
			r.add("C"+pair.name, number(pair.amount))
			r.add("A"+pair.name, number(pair.amount))
		}
	}
	r.add("OS", n.OS)
	r.add("ARCH", n.Arch)
	r.add("CCLASS", classText(n.Classes))
	r.add("FEATURE", strings.Join(n.Features, ":"))
	r.add("PARTITION", n.Partition)
	r.add("CRES", gpuText(n.GPUs))
	if n.Speed > 0 {
		r.add("SPEED", strconv.FormatFloat(n.Speed, 'g', -1, 64))
	}
	if n.Load > 0 {
		r.add("CPULOAD", strconv.FormatFloat(n.Load, 'g', -1, 64))
	}
	return r
}

// partition is where Maui has a node that names none.
func (n *Node) partition() string { return cmp.Or(n.Partition, "DEFAULT") }

// add appends a field that has a value.
func (r *Record) add(name, value string) {
	if value != "" {
		r.Fields = append(r.Fields, Field{name, value})
	}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return number(t.Unix())
}

// classText writes [NAME:COUNT]..., sorted by name.
func classText(classes map[string]int64) string {
	var b strings.Builder
	for _, name := range sortedKeys(classes) {
		b.WriteString("[" + name + ":" + number(classes[name]) + "]")
	}
	return b.String()
}
