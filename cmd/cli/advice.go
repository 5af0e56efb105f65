package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// adviser tells of jobs that are done what they could have asked for, and how
// many queues that would open. What resources there are it takes from the last
// answers of the sources, however old; those that have none are asked shortly.
type adviser struct {
	*deps
	session *session
	found   map[string][]*glue.Resource // by the sources
	left    int                         // jobs that get advice: more would take long
}

const (
	advised         = 20          // jobs
	adviserPatience = time.Second // for sources without an answer
)

func newAdviser(d *deps, s *session) *adviser {
	return &adviser{deps: d, session: s, found: map[string][]*glue.Resource{}, left: advised}
}

// wish is a demand of a job that was larger than what the job needed.
type wish struct {
	attribute           string
	value               int64 // that would have done, in the attribute's unit
	used, asked, enough string
}

// advice tells of a job that went well what it asked more than twice for.
func (a *adviser) advice(ctx context.Context, o *jobs.Outcome) []string {
	if o.State != plugins.Done || o.Failure() || a.left == 0 {
		return nil
	}
	job, err := o.Job()
	if err != nil {
		return nil
	}
	wishes := wishesOf(job, o)
	if len(wishes) == 0 {
		return nil
	}
	a.left--
	all := a.opens(ctx, o, job, wishes...)
	var out []string
	alone := 0
	for _, w := range wishes {
		if n := a.opens(ctx, o, job, w); n > 0 {
			out = append(out, saying(n, w))
			alone = max(alone, n)
		}
	}
	switch {
	case all < 0:
		return nil
	case all > alone || len(out) == 0:
		return []string{saying(all, wishes...)}
	}
	return out
}

// saying is the sentence on wishes that together open so many queues.
func saying(queues int, wishes ...wish) string {
	var used, enough []string
	for _, w := range wishes {
		used, enough = append(used, w.used+" of "+w.asked), append(enough, w.enough)
	}
	text := fmt.Sprintf("It %s: asking for %s ", strings.Join(used, " and "), strings.Join(enough, " and "))
	if queues == 0 {
		return text + "would have done."
	}
	return text + fmt.Sprintf("opens %s.", counted(queues, "more queue"))
}

// wishesOf are the demands of a job's own attributes of which a job used less than half, with a margin of a
// quarter for memory and a half for time.
func wishesOf(job *jdl.Job, o *jobs.Outcome) []wish {
	var out []wish
	own := func(name string) bool { _, is := job.Ad.Attr(name); return is } // and no clause of Requirements
	slots := int64(max(1, job.Demand.Slots))
	if asked, used := job.Demand.Memory, ceilTo(o.MaxMemory, 1024*slots)/(1024*slots); own("Memory") && asked > 0 && used > 0 {
		if enough := ceilTo(used+used/4, 100); 2*enough <= asked {
			out = append(out, wish{"Memory", enough, "used " + memoryText(used), memoryText(asked), memoryText(enough)})
		}
	}
	if asked, used := job.Demand.WallTime, ranFor(o); own("WallTime") && asked > 0 && used > 0 {
		unit := 10 * time.Minute
		if used > 6*time.Hour {
			unit = time.Hour
		}
		if enough := time.Duration(ceilTo(int64(used+used/2), int64(unit))); 2*enough <= asked {
			out = append(out, wish{"WallTime", int64(enough / time.Second), "ran " + span(max(used, time.Second)), span(asked), span(enough)})
		}
	}
	return out
}

// ceilTo rounds up to a multiple of unit.
func ceilTo(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

// ranFor is for how long a job ran; 0: nobody knows.
func ranFor(o *jobs.Outcome) time.Duration {
	if o.WallTime > 0 || o.Started.IsZero() || o.Ended.IsZero() {
		return o.WallTime
	}
	return o.Ended.Sub(o.Started)
}

// opens is how many queues a job would have besides if it asked for what is
// enough; -1 where that cannot be told.
func (a *adviser) opens(ctx context.Context, o *jobs.Outcome, job *jdl.Job, wishes ...wish) int {
	ad := job.Ad.Clone()
	for _, w := range wishes {
		ad.Set(w.attribute, classad.NewLiteral(classad.IntValue(w.value)))
	}
	less, err := jdl.LoadJob(classad.Unparse(ad))
	if err != nil {
		return -1
	}
	_, queues, err := a.session.jobs.Opened(ctx, job, less, a.resources(ctx, o.Origin))
	if err != nil {
		return -1
	}
	return queues
}

// resources are those of a job's sources, as they were last seen.
func (a *adviser) resources(ctx context.Context, from jobs.Origin) []*glue.Resource {
	key := strings.Join(from.Sources, "\n") + "\n\n" + strings.Join(from.Attributes, "\n")
	if rs, ok := a.found[key]; ok {
		return rs
	}
	const anyAge = 100 * 365 * 24 * time.Hour
	snap, err := discover(ctx, a.deps, a.session.conf, a.session.backends, discovery{info: from.Sources, extra: from.Attributes, maxAge: anyAge, deadline: adviserPatience})
	if err == nil {
		a.found[key] = references(snap)
	}
	return a.found[key]
}

// memoryText writes a size in MB of 2^20 bytes as descriptions have it.
func memoryText(mb int64) string {
	switch {
	case mb >= 1024 && mb%1024 == 0:
		return fmt.Sprintf("%d GB", mb/1024)
	case mb >= 10_000:
		return fmt.Sprintf("%.1f GB", float64(mb)/1024)
	}
	return fmt.Sprintf("%d MB", mb)
}
