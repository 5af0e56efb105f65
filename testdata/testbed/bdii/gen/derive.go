package main

import (
	"fmt"
	"time"
)

// id is the GlueCEUniqueID, in the form each kind of computing element has.
func (q *queue) id() string {
	c := q.ce
	switch c.style {
	case "ARC":
		return fmt.Sprintf("%s:%d/nordugrid-%s-%s", c.host, c.port, c.lrms, q.name)
	case "CREAM":
		return fmt.Sprintf("%s:%d/cream-%s-%s", c.host, c.port, c.lrms, q.name)
	}
	return fmt.Sprintf("%s:%d/%s-condor-%s", c.host, c.port, c.host, q.name)
}

// url is where jobs are handed in.
func (c *ce) url() string {
	switch c.style {
	case "ARC":
		return "https://" + c.host + ":443/arex"
	case "CREAM":
		return "https://" + c.host + ":8443/ce-cream/services"
	}
	return "https://" + c.host + ":9619/" + c.host
}

// implementation is what GLUE 1.3 and GLUE 2.0 call the software, and its
// version.
func (c *ce) implementation() (glue1, glue2, version string) {
	switch c.style {
	case "ARC":
		return "ARC-CE", "nordugrid-arc", "6.17.0"
	case "CREAM":
		return "CREAM", "CREAM", "1.16.4"
	}
	return "HTCondorCE", "HTCondor", "5.1.6"
}

// rules are the queue's access rules.
func (q *queue) rules(scheme string) []string {
	var out []string
	for _, vo := range q.vos {
		out = append(out, scheme+":"+vo)
	}
	if q.fqan != "" {
		out = append(out, q.fqan)
	}
	return out
}

func (c *ce) scheme() string {
	if c.lowerVO {
		return "vo"
	}
	return "VO"
}

// made is when the CE's GLUE 2.0 records were made.
func (c *ce) made(now time.Time) time.Time {
	if c.staleGlue2 {
		return now.Add(-48 * time.Hour)
	}
	return now.Add(-time.Duration(len(c.host)*7%300) * time.Second)
}

// The placeholders of a dead dynamic provider.
const (
	deadWaiting  = 444444
	deadResponse = 2146660842
)

// state is a queue's dynamic state as published: the whole of it (part 1), or
// a VO's share.
type state struct {
	run, wait, total, response, worst int64
	free, freeCPUs                    *int64
}

func (q *queue) state(part float64) state {
	if q.dead {
		zero := int64(0)
		return state{wait: deadWaiting, response: deadResponse, worst: deadResponse, free: &zero, freeCPUs: &zero}
	}
	scale := func(n int64) int64 { return int64(float64(n) * part) }
	s := state{run: scale(q.run), wait: scale(q.wait), response: q.response, worst: 2 * q.response}
	s.total = s.run + s.wait + q.wrongTotal
	free, cpus := scale(q.free), scale(q.free)
	if q.negative {
		cpus = -1 - free
	}
	s.freeCPUs = &cpus
	if !q.noFree {
		s.free = &free
	}
	return s
}
