package managers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Resources is what a job needs of one system, or what a system has free.
type Resources struct {
	CPUs   int    `json:"cpus,omitempty"`
	GPUs   int    `json:"gpus,omitempty"`
	Memory int64  `json:"memory,omitempty"` // MiB in all
	Wall   int64  `json:"wall,omitempty"`   // of a job: asked for; of a system: the limit, 0 for none
	Tags   string `json:"tags,omitempty"`   // sorted, separated by commas; of a job: all wanted; see Tags
}

// Tags joins tags into the form that Resources holds.
func Tags(tags ...string) string {
	s := slices.Clone(tags)
	slices.Sort(s)
	return strings.Join(slices.Compact(s), ",")
}

// Has says whether need fits into r.
func (r *Resources) Has(need *Resources) bool {
	return r.CPUs >= need.CPUs && r.GPUs >= need.GPUs && r.Memory >= need.Memory &&
		(r.Wall == 0 || need.Wall <= r.Wall) && (need.Tags == "" || hasTags(r.Tags, need.Tags))
}

// hasTags says whether every one of the sorted tags in want is among have.
func hasTags(have, want string) bool {
	for tag := range strings.SplitSeq(want, ",") {
		next := ""
		for next < tag && have != "" {
			next, have, _ = strings.Cut(have, ",")
		}
		if next != tag {
			return false
		}
	}
	return true
}

// Less returns r without what need takes; limits and tags stay.
func (r Resources) Less(need Resources) Resources {
	r.CPUs -= need.CPUs
	r.GPUs -= need.GPUs
	r.Memory -= need.Memory
	return r
}

// Plus returns r with what need gives back.
func (r Resources) Plus(need Resources) Resources {
	r.CPUs += need.CPUs
	r.GPUs += need.GPUs
	r.Memory += need.Memory
	return r
}

// compare orders resources by amount: CPUs first.
func compare(a, b *Resources) int {
	if a.CPUs != b.CPUs {
		return cmp.Compare(a.CPUs, b.CPUs)
	}
	return cmp.Or(cmp.Compare(a.GPUs, b.GPUs), cmp.Compare(a.Memory, b.Memory),
		cmp.Compare(a.Wall, b.Wall), strings.Compare(a.Tags, b.Tags))
}

// String writes the amounts that are there, as in "8 cpus, 2 gpus, 4096 MiB".
func (r Resources) String() string {
	s := fmt.Sprintf("%d cpus", r.CPUs)
	if r.GPUs > 0 {
		s += fmt.Sprintf(", %d gpus", r.GPUs)
	}
	if r.Memory > 0 {
		s += fmt.Sprintf(", %d MiB", r.Memory)
	}
	if r.Wall > 0 {
		s += fmt.Sprintf(", wall %d s", r.Wall)
	}
	if r.Tags != "" {
		s += ", " + r.Tags
	}
	return s
}

// Check finds amounts that make no sense.
func (r Resources) Check() error {
	if r.CPUs < 0 || r.GPUs < 0 || r.Memory < 0 || r.Wall < 0 || r.CPUs > 1<<30 || r.GPUs > 1<<30 || r.Memory > 1<<50 {
		return fmt.Errorf("resources %.500v: an amount below nothing or beyond all bounds", r)
	}
	if r.Tags != "" && Tags(strings.Split(r.Tags, ",")...) != r.Tags {
		return fmt.Errorf("resources %.500v: tags must be sorted and different", r)
	}
	if strings.ContainsFunc(r.Tags, unicode.IsControl) {
		return fmt.Errorf("resources %.500q: tags with control characters", r)
	}
	return nil
}
