package environment

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// processesInside are those that /proc shows, this one left out.
func processesInside() (list []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && pid != os.Getpid() {
			list = append(list, pid)
		}
	}
	return list
}

// waysBelow gives the way to find the processes that one has started, and theirs: the kernel tells of them (CONFIG_PROC_CHILDREN),
// or everybody's parents are looked at.
func waysBelow() func(pid int) []int {
	if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid())); err != nil {
		return processesByParents
	}
	return processesBelow
}

// processesBelow asks the kernel for the children of each.
func processesBelow(pid int) (list []int) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*/children", pid))
	for _, file := range threads {
		text, _ := os.ReadFile(file) // of a thread that has ended there is none
		for word := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				list = append(append(list, child), processesBelow(child)...)
			}
		}
	}
	return list
}

// processesByParents looks at every process of the node, which takes some 10 µs each. All that a job starts stays below its
// process 1, to which the kernel gives what has lost its parent.
func processesByParents(pid int) []int {
	children := map[int][]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		_, rest, _ := strings.Cut(string(text[bytes.LastIndexByte(text, ')')+1:]), " ") // the name may be anything
		words := strings.Fields(rest)
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || len(words) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(words[1]); err == nil {
			children[parent] = append(children[parent], child)
		}
	}
	var list []int
	for next := children[pid]; len(next) > 0; {
		list = append(list, next...)
		var further []int
		for _, child := range next {
			further = append(further, children[child]...)
		}
		next = further
	}
	return list
}

// residentBytes sums the proportional share of memory of processes. Of one that hides it, which any may do (prctl(2),
// PR_SET_DUMPABLE), all counts that it has, what it shares with others too.
func residentBytes(list []int) int64 {
	var sum int64
	for _, pid := range list {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			sum += residentPages(pid) * int64(os.Getpagesize())
			continue
		}
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
				kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
				sum += kb << 10
			}
		}
	}
	return sum
}

// residentPages is the second number of a file that everybody may read; 0 where the process has ended.
func residentPages(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	words := strings.Fields(string(text))
	if len(words) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(words[1], 10, 64)
	return pages
}
