package scheduler

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/broker"
	"gridbroker/forecast/scheduler/plan"
	"gridbroker/glue"
	"gridbroker/jdl"
)

// wish is where jobs of one kind may run, and its number among those of the plan for which it was last wanted.
type wish struct {
	plan.Wish
	unmet  string // why no cluster will do; "": there is one
	in     int    // that plan's
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
	if e.wish == nil || e.judged != m.judged || e.wished != key {
		e.wish, e.wished = m.wishes[key], key
	}
	e.judged, e.until = m.judged, until
	return e.wish != nil
}

// judge finds out where a job may run.
func (m *memory) judge(e *inLine, now int64) {
	key, _ := e.key(now)
	w, unmet := m.allowed(e.Job, now)
	e.wish = &wish{Wish: w, unmet: unmet}
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

// allowed finds the clusters and classes of nodes that will do for a job; where no cluster does, why not.
func (m *memory) allowed(j *Job, now int64) (w plan.Wish, unmet string) {
	w = plan.Wish{VO: j.VO, Classes: m.classesFor(j), Clusters: make([]uint64, len(m.order)/64+1)}
	job, err := j.read()
	if err != nil {
		return w, err.Error()
	}
	rules := broker.Rules{Now: time.Unix(now, 0), Identity: broker.Identity{Subject: j.Owner, VO: j.VO, FQANs: j.FQANs}, Unknown: broker.Keep}
	filters := broker.DefaultFilters(rules)
	var reasons refusals
	for i, name := range m.order {
		c := m.clusters[name]
		switch {
		case c.gone:
			continue
		case !lets(&c.site, j.Owner, j.VO, j.FQANs):
			reasons.add(name, "rights", "its owner does not let this user in")
		case c.formulaErr != nil:
			reasons.add(name, "function", "its owner's function is wrong")
		case j.Avoid[name] > now:
			reasons.add(name, "time", "it did not take this job, and is not tried again before "+time.Unix(j.Avoid[name], 0).UTC().Format("2006-01-02 15:04Z"))
		default:
			if r := rejected(filters, job, c.resource); r != nil {
				reasons.add(name, r.Want.String(), spoken(r))
				continue
			}
			w.Clusters[i/64] |= 1 << (i % 64)
			reasons.met = true
		}
	}
	return w, reasons.text()
}

// rejected is the first reason that filters have against a resource; nil: none.
func rejected(filters []broker.Filter, job *jdl.Job, r *glue.Resource) *broker.Reason {
	for i := range filters {
		if reason := filters[i].Reject(job, r); reason != nil {
			reason.Filter = filters[i].Name
			return reason
		}
	}
	return nil
}

// spoken is a reason in words; one of times alone would not tell what they are.
func spoken(r *broker.Reason) string {
	if r.Filter == broker.ByWallTime {
		return string(r.Filter) + ": " + r.String()
	}
	return r.String()
}

// refusals are why clusters will not do for a job.
type refusals struct {
	met  bool // one will
	list []rejection
}

// rejection is what some clusters have against a job, in the words of the first.
type rejection struct {
	want, why string
	at        []string
}

// add notes it of a cluster, with what is wanted and not had.
func (r *refusals) add(cluster, want, why string) {
	if r.met {
		return
	}
	i := slices.IndexFunc(r.list, func(f rejection) bool { return f.want == want })
	if i < 0 && len(r.list) < maxRefusals {
		i, r.list = len(r.list), append(r.list, rejection{want: want, why: why})
	}
	if i >= 0 {
		r.list[i].at = append(r.list[i].at, cluster)
	}
}

// How many reasons are told apart and told, and how much of each, in bytes.
const (
	maxRefusals  = 100
	toldRefusals = 3
	longRefusal  = 200
)

// text says it, what most clusters say first; "": there is one that will do, or none at all.
func (r *refusals) text() string {
	if r.met || len(r.list) == 0 {
		return ""
	}
	slices.SortStableFunc(r.list, func(a, b rejection) int { return len(b.at) - len(a.at) })
	var said []string
	for _, f := range r.list[:min(toldRefusals, len(r.list))] {
		at := f.at[0]
		if more := len(f.at) - 1; more > 0 {
			at = fmt.Sprintf("%s and %d more", at, more)
		}
		said = append(said, at+": "+strings.ToValidUTF8(f.why[:min(len(f.why), longRefusal)], ""))
	}
	return "no cluster will do; " + strings.Join(said, "; ")
}
