package slurm

import (
	"math"
	"strconv"
	"strings"
	"time"

	"gridbroker/plugins/remote"
)

// sep parts the columns of squeue and sinfo: the ASCII unit separator, which
// no name holds.
const sep = "\x1f"

// columns makes an output format of squeue from its letters.
func columns(letters string) string {
	return "%" + strings.Join(strings.Split(letters, ""), sep+"%")
}

// rows cuts a short output into lines of exactly n columns, as many as a cluster has nodes at most.
func rows(out, sep string, n int) [][]string {
	var rs [][]string
	for line := range strings.Lines(out) {
		if len(rs) == maxNodes {
			break
		}
		if f := make([]string, n); fields(f, strings.TrimRight(line, "\r\n"), sep) {
			rs = append(rs, f)
		}
	}
	return rs
}

// unix reads a time printed with SLURM_TIME_FORMAT=%s; "N/A", "Unknown",
// "None" and 0 are the zero time.
func unix(s string) time.Time {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return remote.Unix(n)
}

// duration reads Slurm's times: minutes, minutes:seconds, [days-]hours:minutes:seconds,
// days-hours, with fractions of a second in accounting (sbatch(1), --time). OK is
// false for UNLIMITED, INFINITE, NONE, NOT_SET, N/A and anything else.
func duration(s string) (time.Duration, bool) {
	days, rest, hasDays := strings.Cut(s, "-")
	if !hasDays {
		days, rest = "0", s
	}
	parts := strings.Split(rest, ":")
	units := []time.Duration{time.Minute}
	switch {
	case len(parts) > 3:
		return 0, false
	case hasDays:
		units = []time.Duration{time.Hour, time.Minute, time.Second}[:len(parts)]
	case len(parts) == 2:
		units = []time.Duration{time.Minute, time.Second}
	case len(parts) == 3:
		units = []time.Duration{time.Hour, time.Minute, time.Second}
	}
	d, err := strconv.Atoi(days)
	if err != nil || d < 0 || d > 100_000 {
		return 0, false
	}
	sum := time.Duration(d) * 24 * time.Hour
	for i, p := range parts {
		v, err := strconv.ParseFloat(p, 64)
		if err != nil || !(v >= 0 && v < 1e8) {
			return 0, false
		}
		sum += time.Duration(v * float64(units[i]))
	}
	return sum, sum >= 0
}

// finite reads a number; false: it is none, or one that nothing can be counted with.
func finite(s string) (n float64, ok bool) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, false
	}
	return n, true
}

// megabytes reads a memory size as squeue and sacct print it: 500M, 4G,
// 3148K, 1.5T, with the old suffixes c (per CPU) and n (per node), which
// perCPU reports. A number without a unit is in MB.
func megabytes(s string) (mb float64, perCPU, ok bool) {
	perCPU = strings.HasSuffix(s, "c")
	s = strings.TrimRight(s, "cn")
	unit := 1.0
	if s != "" {
		switch s[len(s)-1] {
		case 'K':
			unit = 1.0 / 1024
		case 'M':
		case 'G':
			unit = 1024
		case 'T':
			unit = 1024 * 1024
		case 'P':
			unit = 1024 * 1024 * 1024
		default:
			s += "M"
		}
		s = s[:len(s)-1]
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0 && v < 1e12) {
		return 0, false, false
	}
	return v * unit, perCPU, true
}

// gpus counts the GPUs of a GRES or TRES list: "gpu:2", "gpu:tesla:4(S:0-1)",
// "gres:gpu:1", "gres/gpu:a100=2".
func gpus(list string) int {
	n := 0
	for g := range strings.SplitSeq(list, ",") {
		g, _, _ = strings.Cut(g, "(")
		g = strings.TrimPrefix(strings.TrimPrefix(g, "gres:"), "gres/")
		if g == "gpu" {
			n++
		}
		if !strings.HasPrefix(g, "gpu:") && !strings.HasPrefix(g, "gpu=") {
			continue
		}
		count := g[strings.LastIndexAny(g, ":=")+1:]
		if v, err := strconv.Atoi(count); err == nil && v >= 0 && v < 1e6 {
			n += v
		} else {
			n++ // gpu:tesla
		}
	}
	return n
}

// gpuTypes are the types of a GRES list as features, "gpu:a100", so that a job
// that names a type is kept to the nodes that have it.
func gpuTypes(list string) []string {
	var types []string
	for g := range strings.SplitSeq(list, ",") {
		g, _, _ = strings.Cut(g, "(")
		g = strings.TrimPrefix(strings.TrimPrefix(g, "gres:"), "gres/")
		f := strings.FieldsFunc(g, func(c rune) bool { return c == ':' || c == '=' })
		if len(f) < 2 || f[0] != "gpu" {
			continue
		}
		if _, err := strconv.Atoi(f[1]); err != nil {
			types = append(types, "gpu:"+f[1])
		}
	}
	return types
}

// maxHosts bounds what one list of hosts may unfold to.
const maxHosts = 100_000

// hosts unfolds a list of hosts: "n[1-3,7],login,c[01-10]-ib".
func hosts(list string) []string { return hostsWithin(list, maxHosts) }

// hostsWithin unfolds so many at most.
func hostsWithin(list string, room int) []string {
	if list == "(null)" {
		return nil
	}
	var names []string
	for part := range splitList(list) {
		if len(names) >= room {
			break
		}
		names = append(names, unfold(part, room-len(names))...)
	}
	return names
}

// splitList cuts at commas outside of brackets.
func splitList(list string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		depth, start := 0, 0
		for i := 0; i <= len(list); i++ {
			switch {
			case i == len(list) || list[i] == ',' && depth == 0:
				if i > start && !yield(list[start:i]) {
					return
				}
				start = i + 1
			case list[i] == '[':
				depth++
			case list[i] == ']':
				depth--
			}
		}
	}
}

// What a name of a host may have: it is one of DNS, and systems have few dimensions.
const (
	maxHost   = 253
	maxDigits = 18
	maxRanges = 4
)

// unfold expands the brackets of one name, to at most so many names.
func unfold(name string, room int) []string {
	open := strings.IndexByte(name, '[')
	shut := strings.IndexByte(name, ']')
	if open < 0 || shut < open {
		if room <= 0 || len(name) > maxHost {
			return nil
		}
		return []string{name}
	}
	if open > maxHost || strings.Count(name, "[") > maxRanges {
		return nil
	}
	head, tails := name[:open], []string{""}
	if shut+1 < len(name) {
		tails = unfold(name[shut+1:], room)
	}
	if len(tails) == 0 {
		return nil // no number makes names of it
	}
	var names []string
	for r := range strings.SplitSeq(name[open+1:shut], ",") {
		lo, hi, ranged := strings.Cut(r, "-")
		if !ranged {
			hi = lo
		}
		a, errA := strconv.Atoi(lo)
		b, errB := strconv.Atoi(hi)
		if errA != nil || errB != nil || a < 0 || len(lo) > maxDigits || len(hi) > maxDigits {
			continue
		}
		for n := a; n <= b && len(names) < room; n++ {
			num := strconv.Itoa(n)
			num = strings.Repeat("0", max(0, len(lo)-len(num))) + num
			for _, tail := range tails[:min(len(tails), room-len(names))] {
				names = append(names, head+num+tail)
			}
		}
	}
	return names
}

// readPairs are the names of pairs that are read here: of nodes, partitions and reservations.
var readPairs = among(strings.Fields(`NodeName CPUEfctv CPUTot CPUAlloc RealMemory AllocMem TmpDisk Weight Gres ActiveFeatures AvailableFeatures Partitions State Arch Version OS
	PartitionName PriorityJobFactor PriorityTier MaxTime Default DefaultTime MaxNodes MaxCPUsPerNode MaxMemPerNode LLN PreemptMode GraceTime QoS
	AllowGroups AllowAccounts DenyAccounts AllowQos DenyQos Hidden ReservationName StartTime EndTime Nodes CoreCnt Flags Users Groups Accounts
	ThreadsPerCore MemSpecLimit GresUsed TRES Licenses`))

// pairs reads one line of "scontrol show ... -o": NAME=value parted by
// blanks, where values may hold blanks (OS=Linux 6.1 #1). A name starts with
// a letter and holds letters, digits, _ : and /. Those that nobody here reads are left out.
func pairs(line string) map[string]string {
	m := map[string]string{}
	last, from, to := "", 0, 0
	for word := range strings.FieldsSeq(line) {
		to += strings.Index(line[to:], word) + len(word)
		if name, value, ok := strings.Cut(word, "="); ok && pairName(name) {
			last, from = name, to-len(value)
		}
		if readPairs[last] {
			m[last] = line[from:to]
		}
	}
	return m
}

func pairName(s string) bool {
	for i, c := range []byte(s) {
		if letter := c|0x20 >= 'a' && c|0x20 <= 'z'; !letter && (i == 0 || !letterOrDigit(c) && c != '_' && c != ':' && c != '/') {
			return false
		}
	}
	return s != ""
}

func letterOrDigit(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
