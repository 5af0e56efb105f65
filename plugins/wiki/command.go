package wiki

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Requeuer, Signaller and Modifier are what some managers can do beyond
// Maui's six commands.
type (
	// Requeuer puts running jobs back in the queue.
	Requeuer interface {
		Requeue(ctx context.Context, id string) error
	}
	// Signaller sends signals, by name or number.
	Signaller interface {
		Signal(ctx context.Context, id, signal string) error
	}
	// Modifier changes attributes of waiting jobs.
	Modifier interface {
		Modify(ctx context.Context, id string, params []Param) error
	}
	// Foreteller says when a job could start.
	Foreteller interface {
		WillRun(ctx context.Context, id string, nodes []string, from time.Time) (start time.Time, tasks int64, on []string, err error)
	}
)

// carryOut does what a command says.
func (s *Server) carryOut(ctx context.Context, req *Request) (*Reply, error) {
	switch req.Verb {
	case GetNodes:
		return s.nodes(ctx, req.Arg)
	case GetJobs:
		return s.jobs(ctx, req.Arg)
	}
	id := req.Arg
	if id == "" && req.Verb != Initialize {
		return nil, &FormatError{CodeFormat, req.Verb + " names no job"}
	}
	switch req.Verb {
	case StartJob:
		tasks, err := taskList(req.Param("TASKLIST"))
		if err != nil {
			return nil, err
		}
		return done("job "+id+" started successfully", s.Manager.Start(ctx, id, tasks))
	case CancelJob:
		return done("job "+id+" cancelled successfully", s.Manager.Cancel(ctx, id, req.Param("TYPE")))
	case SuspendJob:
		return done("job suspended", s.Manager.Suspend(ctx, id))
	case ResumeJob:
		return done("job resumed", s.Manager.Resume(ctx, id))
	}
	return s.later(ctx, req)
}

func done(text string, err error) (*Reply, error) {
	if err != nil {
		return nil, err
	}
	return &Reply{Text: text}, nil
}

// later are the commands of later dialects.
func (s *Server) later(ctx context.Context, req *Request) (*Reply, error) {
	switch req.Verb {
	case RequeueJob:
		if m, ok := s.Manager.(Requeuer); ok {
			return done("job requeued", m.Requeue(ctx, req.Arg))
		}
	case SignalJob:
		if m, ok := s.Manager.(Signaller); ok {
			return done("job signalled", m.Signal(ctx, req.Arg, req.Param("VALUE")))
		}
	case ModifyJob:
		if m, ok := s.Manager.(Modifier); ok {
			return done("job modified", m.Modify(ctx, req.Arg, req.Params))
		}
	case WillRun:
		if m, ok := s.Manager.(Foreteller); ok {
			return willRun(ctx, m, req)
		}
	case Notify, Initialize:
		return &Reply{Text: "noted"}, nil
	}
	return nil, &StatusError{CodeFormat, req.Verb + " is not possible here"}
}

// willRun answers JOBWILLRUN ARG=<id> [STARTTIME=<t>] NODES=<list>, and its
// older form ARG=JOBID=<id>[@<time>],<nodes>.
func willRun(ctx context.Context, m Foreteller, req *Request) (*Reply, error) {
	id, old := strings.CutPrefix(req.Arg, "JOBID=")
	nodes, when := req.Param("NODES"), req.Param("STARTTIME")
	if old {
		id, nodes, _ = strings.Cut(id, ",")
		id, when, _ = strings.Cut(id, "@")
	}
	at, tasks, on, err := m.WillRun(ctx, id, colons(strings.ReplaceAll(nodes, ",", ":")), epoch(when))
	if err != nil {
		return nil, err
	}
	list := strings.Join(on, ",")
	text := fmt.Sprintf("%s TASKS=%d STARTTIME=%d NODES=%s", id, tasks, at.Unix(), list)
	if old {
		text = fmt.Sprintf("%s:%d@%d,%s", id, tasks, at.Unix(), list)
	}
	return &Reply{Text: text, Plain: true}, nil
}

// The most tasks of a list, and the most bytes of the names of its ranges.
const (
	maxTasks  = 1 << 20
	taskBytes = 16 << 20
)

// taskList reads n1:n1:n2, and n[0-3]*2:n9 of the later dialect.
func taskList(text string) (list []string, err error) {
	left := taskBytes
	for _, part := range colons(text) {
		name, factor, times := strings.Cut(part, "*")
		count := 1
		if times {
			if count, err = strconv.Atoi(factor); err != nil || count < 1 || count > maxTasks {
				return nil, &FormatError{CodeFormat, fmt.Sprintf("task list: %.40q", part)}
			}
		}
		names, err := expand(name, &left)
		if err != nil || (len(list)+len(names)*count) > maxTasks {
			return nil, &FormatError{CodeFormat, fmt.Sprintf("task list: %.40q", part)}
		}
		for _, n := range names {
			list = append(list, slices.Repeat([]string{n}, count)...)
		}
	}
	return list, nil
}

// expand reads n[0-3,7] into names of at most so many bytes in all, and takes
// these away from left.
func expand(name string, left *int) ([]string, error) {
	head, rest, ok := strings.Cut(name, "[")
	if !ok {
		return []string{name}, nil
	}
	ranges, tail, ok := strings.Cut(rest, "]")
	if !ok {
		return nil, errName
	}
	var list []string
	for r := range strings.SplitSeq(ranges, ",") {
		from, to, two := strings.Cut(r, "-")
		if !two {
			to = from
		}
		a, err1 := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || a < 0 || b < a || b-a >= maxTasks-len(list) {
			return nil, errName
		}
		if *left -= (len(head) + len(from) + len(tail)) * (b - a + 1); *left < 0 {
			return nil, errName
		}
		for n := a; n <= b; n++ {
			list = append(list, fmt.Sprintf("%s%0*d%s", head, len(from), n, tail))
		}
	}
	return list, nil
}

// selected reads <UPDATETIME>:<ID>[:<ID>...] or <UPDATETIME>:ALL.
func selected(arg string) (since int64, ids []string, err error) {
	head, rest, ok := strings.Cut(arg, ":")
	since, err = strconv.ParseInt(head, 10, 62)
	if err != nil || since < 0 || !ok || rest == "" {
		return 0, nil, &FormatError{CodeFormat, fmt.Sprintf("%.40q: want UPDATETIME:ALL or UPDATETIME:ID[:ID...]", arg)}
	}
	if rest == "ALL" {
		return since, nil, nil
	}
	return since, colons(rest), nil
}

func (s *Server) nodes(ctx context.Context, arg string) (*Reply, error) {
	since, ids, err := selected(arg)
	if err != nil {
		return nil, err
	}
	list, err := s.Manager.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	r := &Reply{Query: true, Records: make([]Record, 0, len(list))}
	for i := range list {
		if wanted(list[i].Name, list[i].Updated, since, ids) {
			r.Records = append(r.Records, list[i].record())
		}
	}
	return r, nil
}

func (s *Server) jobs(ctx context.Context, arg string) (*Reply, error) {
	since, ids, err := selected(arg)
	if err != nil {
		return nil, err
	}
	list, err := s.Manager.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	r := &Reply{Query: true, Records: make([]Record, 0, len(list))}
	for i := range list {
		if wanted(list[i].ID, list[i].Updated, since, ids) {
			r.Records = append(r.Records, list[i].record())
		}
	}
	return r, nil
}

// wanted tells whether a record is asked for: named, and changed since.
func wanted(id string, updated time.Time, since int64, ids []string) bool {
	return (ids == nil || slices.Contains(ids, id)) && (since == 0 || updated.IsZero() || updated.Unix() >= since)
}
