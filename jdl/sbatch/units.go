package sbatch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/jdl"
)

// parseTime reads a time as sbatch has it: minutes, minutes:seconds,
// hours:minutes:seconds, days-hours, days-hours:minutes and
// days-hours:minutes:seconds; "1-" is a day. 0 is no limit, and so is -1.
func parseTime(s string) (time.Duration, error) {
	wrong := fmt.Errorf("%q is no time: minutes, hours:minutes:seconds or days-hours", s)
	switch strings.ToLower(s) {
	case "unlimited", "infinite", "-1":
		return 0, nil
	}
	days, rest, ok := strings.Cut(s, "-")
	if !ok {
		days, rest = "0", s
	}
	if ok && rest == "" {
		rest = "0"
	}
	parts := strings.Split(rest, ":")
	units := []time.Duration{time.Hour, time.Minute, time.Second}
	switch {
	case len(parts) > 3:
		return 0, wrong
	case !ok && len(parts) < 3:
		units = units[1:]
	}
	sum, err := strconv.ParseUint(days, 10, 16)
	length := time.Duration(sum) * 24 * time.Hour
	for i, p := range parts {
		n, e := strconv.ParseUint(p, 10, 31)
		if err != nil || e != nil || n > 1<<24 {
			return 0, wrong
		}
		length += time.Duration(n) * units[i]
	}
	return length, nil
}

// parseMemory reads a size as sbatch has it, in MB: a whole number, or one with K, M,
// G or T, and a B behind it. 0 is all that the node has.
func parseMemory(s string) (mb int64, err error) {
	unit := strings.ToLower(strings.TrimLeft(s, "0123456789"))
	mb, ok := jdl.ParseSize(s)
	if !ok || unit != "" && !slices.Contains([]string{"k", "m", "g", "t"}, strings.TrimSuffix(unit, "b")) {
		return 0, fmt.Errorf("%q is no size: a number of MB, or one with K, M, G or T", s)
	}
	return mb, nil
}

// parseCount reads a whole number of at least 1.
func parseCount(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is no number", s)
	}
	return int64(n), nil
}

// parseNodes reads a number of nodes, or the least of a range; k and m stand for
// 1024 and its square.
func parseNodes(s string) (n int64, ranged bool, err error) {
	low, high, ranged := strings.Cut(s, "-")
	if n, err = manyNodes(low); err != nil || !ranged {
		return n, false, err
	}
	most, err := manyNodes(high)
	if err == nil && most < n {
		err = fmt.Errorf("%d nodes at least and %d at most", n, most)
	}
	return n, most != n, err
}

func manyNodes(s string) (int64, error) {
	digits, times := s, int64(1)
	switch last := len(s) - 1; {
	case last > 0 && (s[last] == 'k' || s[last] == 'K'):
		digits, times = s[:last], 1<<10
	case last > 0 && (s[last] == 'm' || s[last] == 'M'):
		digits, times = s[:last], 1<<20
	}
	n, err := parseCount(digits)
	return n * times, err
}

// gpuWish is how many GPUs an option asks for, and of which types.
type gpuWish struct {
	n     int64
	types []string
	alike bool // as many of each type, and no others
}

// gpus reads a number of GPUs: "2", "a100:2", "a100"; of several types their sum.
func gpus(s string) (w gpuWish, err error) {
	counts := map[string]int64{}
	for part := range strings.SplitSeq(s, ",") {
		at := strings.LastIndexByte(part, ':')
		name, count := part[:max(at, 0)], part[at+1:]
		if count != "" && (count[0] < '0' || count[0] > '9') {
			name, count = part, "1"
		}
		if count == "0" { // none, as sbatch has it
			continue
		}
		one, err := parseCount(count)
		if err != nil {
			return w, err
		}
		if counts[name] == 0 && name != "" {
			w.types = append(w.types, name)
		}
		counts[name] += one
		w.n += one
	}
	w.alike = counts[""] == 0
	for _, name := range w.types {
		w.alike = w.alike && counts[name] == counts[w.types[0]] && isDirectiveWord(name) && !strings.Contains(name, ":")
	}
	return w, nil
}

// generic parts --gres: the GPUs in it, as gpus reads them, and what else it names.
func generic(s string) (gpu, other []string) {
	for part := range strings.SplitSeq(s, ",") {
		name, rest, _ := strings.Cut(part, ":")
		switch {
		case strings.TrimPrefix(name, "gres/") != "gpu":
			other = append(other, part)
		case rest == "":
			gpu = append(gpu, "1")
		default:
			gpu = append(gpu, rest)
		}
	}
	return gpu, other
}

// maxTasks is how many tasks an array may have.
const maxTasks = 100_000

// tasks reads the indexes of an array: "0-15", "1,3,5-7", "0-15:4", with "%4"
// behind any part for how many run at once. As in Slurm they are in order, each
// once, and a part may be empty.
func tasks(s string) (list []int64, limit int64, err error) {
	wrong := fmt.Errorf("%q is no array of tasks: 0-15, 1,3,5-7 or 0-15:4", s)
	if within, ok := strings.CutPrefix(s, "["); ok && strings.HasSuffix(within, "]") {
		s = strings.TrimSuffix(within, "]")
	}
	for part := range strings.SplitSeq(s, ",") {
		part, most, limited := strings.Cut(part, "%")
		if limited {
			n, err := strconv.ParseUint(most, 10, 31)
			if err != nil {
				return nil, 0, fmt.Errorf("%q is no number of tasks that run at once", most)
			}
			limit = int64(n)
		}
		if part == "" {
			continue
		}
		span, by, stepped := strings.Cut(part, ":")
		low, high, ranged := strings.Cut(span, "-")
		a, err := strconv.ParseUint(low, 10, 31)
		b, c, step := a, error(nil), uint64(1)
		if ranged {
			b, c = strconv.ParseUint(high, 10, 31)
		}
		if stepped {
			if step, _ = strconv.ParseUint(by, 10, 31); step == 0 {
				return nil, 0, wrong
			}
		}
		if err != nil || c != nil || b < a {
			return nil, 0, wrong
		}
		if (b-a)/step >= maxTasks || len(list)+int((b-a)/step) >= maxTasks {
			return nil, 0, fmt.Errorf("%q has more than %d tasks", s, maxTasks)
		}
		for i := a; i <= b; i += step {
			list = append(list, int64(i))
		}
	}
	if len(list) == 0 {
		return nil, 0, wrong
	}
	slices.Sort(list)
	return slices.Compact(list), limit, nil
}
