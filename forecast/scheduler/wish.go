package scheduler

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/broker"
	"gridbroker/forecast/scheduler/plan"
)

// wish is where jobs of one kind may run, and its number among those of the plan for which it was last wanted.
type wish struct {
	plan.Wish
	in     int // that plan's
	number int32
}

// judgeAnew forgets where jobs may run: something has changed that sites publish of themselves, or which sites there are.
func (m *memory) judgeAnew() {
	clear(m.wishes)
	m.judged++
}

// knows tells whether it is known where a job may run; then its entry has it. What was found holds until the job changes
// (line.changed), what sites publish does (judgeAnew), or it avoids a cluster no more.
func (m *memory) knows(e *inLine, now int64) bool {
	if e.wish != nil && e.judged == m.judged && now < e.until {
		return true
	}
	key, until := e.key(now)
	e.wish, e.judged, e.until = m.wishes[key], m.judged, until
	return e.wish != nil
}

// judge finds out where a job may run.
func (m *memory) judge(e *inLine, now int64) {
	key, _ := e.key(now)
	e.wish = &wish{Wish: m.allowed(e.Job, now)}
	m.wishes[key] = e.wish
}

// key is all that decides where a job may run, besides times and sizes, and until when it is that. What it
// is of a job that avoids no cluster is remembered.
func (j *Job) key(now int64) (key string, until int64) {
	var avoid []string
	until = math.MaxInt64
	for name, end := range j.Avoid {
		if end > now {
			avoid, until = append(avoid, name), min(until, end)
		}
	}
	if avoid != nil {
		slices.Sort(avoid)
		return j.keyBut(avoid), until
	}
	if j.wishes == "" {
		j.wishes = j.keyBut(nil)
	}
	return j.wishes, until
}

// keyBut is a job's where it avoids some clusters.
func (j *Job) keyBut(avoid []string) string {
	return strings.Join([]string{j.Owner, j.VO, strings.Join(j.FQANs, "\x01"), strings.Join(j.Tags, "\x01"), strconv.Itoa(int(j.GPUs)),
		strings.Join(avoid, "\x01"), j.Match}, "\x00")
}

// allowed finds the clusters and classes of nodes that will do for a job.
func (m *memory) allowed(j *Job, now int64) plan.Wish {
	w := plan.Wish{VO: j.VO, Classes: m.classesFor(j), Clusters: make([]uint64, len(m.order)/64+1)}
	job, err := j.read()
	if err != nil {
		return w
	}
	rules := broker.Rules{Now: time.Unix(now, 0), Identity: broker.Identity{Subject: j.Owner, VO: j.VO, FQANs: j.FQANs}, Unknown: broker.Keep}
	filters := broker.DefaultFilters(rules)
	for i, name := range m.order {
		c := m.clusters[name]
		if j.Avoid[name] > now || !lets(&c.site, j.Owner, j.VO, j.FQANs) || c.formulaErr != nil {
			continue
		}
		if !slices.ContainsFunc(filters, func(f broker.Filter) bool { return f.Reject(job, c.resource) != nil }) {
			w.Clusters[i/64] |= 1 << (i % 64)
		}
	}
	return w
}
