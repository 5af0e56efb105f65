package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"gridbroker/forecast/managers/chart"
	"gridbroker/forecast/managers/daemon"
	"gridbroker/foreign"
)

// wayStep is what a manager did with a job.
type wayStep struct {
	Manager string     `json:"manager"`
	Broker  string     `json:"broker"` // whose job it is: brokers may give theirs one name
	At      time.Time  `json:"at"`     // by that manager's clock
	Did     daemon.Did `json:"did"`
	To      string     `json:"to,omitempty"` // to which neighbour it sent the job
	Hops    int        `json:"hops"`         // links that the job has gone over by then
	Attempt int        `json:"attempt"`      // which hand-in of its broker's that was
}

// readWay asks all managers what they did with the job: each remembers it for an hour at least. Of a broker, if one is named,
// the job alone counts.
func (t *managerTree) readWay(ctx context.Context, reader *managerReader, broker string) error {
	ways, failed := make([]daemon.Way, len(t.Managers)), make([]error, len(t.Managers))
	var group errgroup.Group
	group.SetLimit(16)
	for i, s := range t.Managers {
		group.Go(func() error {
			failed[i] = reader.ask(ctx, s.Name, "/v1/way?job="+url.QueryEscape(t.Job.ID), &ways[i])
			return nil
		})
	}
	group.Wait()
	for i, s := range t.Managers {
		if failed[i] != nil {
			t.Silent = append(t.Silent, silentManager{s.Name, strings.TrimPrefix(failed[i].Error(), s.Name+": ")})
		}
		for _, step := range ways[i].Steps {
			if broker != "" && step.Broker != broker {
				continue
			}
			t.Job.Way = append(t.Job.Way, wayStep{s.Name, step.Broker, step.At, step.Did, step.To, step.Hops, step.Attempt})
		}
	}
	slices.SortStableFunc(t.Job.Way, wayStep.compare)
	return ctx.Err()
}

// compare orders a way by what must be before what: clocks of managers differ.
func (s wayStep) compare(o wayStep) int {
	order := []daemon.Did{daemon.HandedIn, daemon.SentOn, daemon.Offered, daemon.Granted, daemon.Freed}
	return cmp.Or(cmp.Compare(s.Broker, o.Broker), cmp.Compare(s.Attempt, o.Attempt), cmp.Compare(s.Hops, o.Hops), cmp.Compare(slices.Index(order, s.Did), slices.Index(order, o.Did)), s.At.Compare(o.At))
}

// text tells the step, with managers as they are named.
func (s wayStep) text(named func(string) string) string {
	switch s.Did {
	case daemon.HandedIn:
		return "handed in"
	case daemon.SentOn:
		return "sent on to " + named(s.To)
	case daemon.Offered:
		return "its broker is offered a place"
	case daemon.Granted:
		return "its broker starts it there"
	case daemon.Freed:
		return "its place is free again"
	}
	return foreign.Text(fmt.Sprintf("%.40q", string(s.Did)))
}

// printWay prints a job's way, a line a step.
func printWay(d *deps, j *jobInTree) error {
	if len(j.Way) == 0 {
		return nil
	}
	var rows [][]string
	heads := []string{"when", "manager", "way of job " + j.ID}
	several := j.Way[0].Broker != j.Way[len(j.Way)-1].Broker
	if several {
		heads = append(heads, "broker")
	}
	for _, s := range j.Way {
		row := []string{s.At.Local().Format(time.DateTime), s.Manager, s.text(func(name string) string { return name })}
		if several {
			row = append(row, s.Broker)
		}
		rows = append(rows, row)
	}
	sayOut(d, "")
	return table(d, columns(heads...), rows)
}

// hops are the steps of a way by the numbers of managers, counted from 0.
func (j *jobInTree) hops(number map[string]int) (list []chart.Hop) {
	for _, s := range j.Way {
		h := chart.Hop{From: number[s.Manager] - 1, To: -1}
		if s.Did == daemon.SentOn {
			h.To = number[s.To] - 1
		}
		list = append(list, h)
	}
	return list
}

// pageStep is a step's line in the page.
type pageStep struct {
	Number         int
	At, Name, Text string
}

func (j *jobInTree) pageSteps(number map[string]int) (list []pageStep) {
	named := func(name string) string {
		if n := number[name]; n > 0 {
			return fmt.Sprintf("manager %d", n)
		}
		return foreign.Text(name)
	}
	for i, s := range j.Way {
		list = append(list, pageStep{i + 1, s.At.Local().Format(time.DateTime), foreign.Text(named(s.Manager)), s.text(named)})
	}
	return list
}

// passed tells whether a manager had the job, or was sent it.
func (j *jobInTree) passed(manager string) bool {
	return slices.ContainsFunc(j.Way, func(s wayStep) bool { return s.Manager == manager || s.To == manager })
}
