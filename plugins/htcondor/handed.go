package htcondor

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"gridbroker/batch"
	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// Handed is a pool of which an external scheduler starts the jobs that their
// owners hold (hold = true at submission, or condor_hold): the schedd leaves
// them alone until they are released. All others stay HTCondor's own affair and
// are shown as held. Commands act with the rights of the account that runs them.
// It is safe for concurrent use.
type Handed struct {
	site   *site
	others strangers

	mu        sync.Mutex
	suspended map[string]bool
}

// Handed opens the pool of a reader for an external scheduler.
func (q *Queue) Handed() plugins.QueueReader { return &Handed{site: q.site} }

// Attributes that a start writes into a job: what the job required before, where
// it is to run, and since when (Unix). The schedd keeps them; so they outlive
// this process.
const (
	attrRequired = "ExternalRequirements"
	attrNode     = "ExternalNode"
	attrStart    = "ExternalStart"
)

// Undivided tells that every job runs on one node: HTCondor gives it one slot.
func (h *Handed) Undivided() bool { return true }

// Queue implements plugins.QueueReader. A job that was started and has not yet
// found its slot, which takes HTCondor until its next negotiation, is shown as
// running there, so that nothing else is started in its place.
func (h *Handed) Queue(ctx context.Context) (batch.State, error) {
	s := h.site
	slots, jobs, err := s.readQueue(ctx, queueAttributes+","+attrNode+","+attrStart)
	if err != nil {
		return batch.State{}, err
	}
	ads, suspended := make(map[string]ad, len(jobs)), map[string]bool{}
	for _, j := range jobs {
		id := jobID(j)
		ads[id], suspended[id] = j, j.integer("JobStatus") == statusSuspended
	}
	h.mu.Lock()
	h.suspended = suspended
	h.mu.Unlock()
	st := state(s.Options.Now(), s.URL, slots, jobs, nil)
	for i := range st.Jobs {
		b := &st.Jobs[i]
		b.Array, b.ArrayLimit = "", 0 // those that a factory made may all be let go
		j, known := ads[b.ID]
		if !b.Started.IsZero() {
			continue
		}
		b.Held = !known || !waits(j)
		if started := j.time(attrStart); known && j.integer("JobStatus") == statusIdle && !started.IsZero() {
			b.Held, b.Started = false, started
			if node := j.text(attrNode); node != "" {
				b.Placed = []batch.Placement{{Node: node, Procs: b.Procs}}
			}
		}
	}
	h.others.fill(&st, slots)
	return st, nil
}

// waits tells whether a job waits for the external scheduler.
func waits(j ad) bool {
	code := j.integer("HoldReasonCode")
	return j.integer("JobStatus") == statusHeld && (code == holdByUser || code == holdAtSubmit)
}

// Suspended tells whether a job was suspended when the queue was last read.
func (h *Handed) Suspended(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.suspended[id]
}

// Start lets HTCondor start a job that waits for it, on the node that all its
// tasks name; none: anywhere. A job that does not wait is refused, so that
// nothing starts twice: to require the node and to release are two commands,
// and the schedd releases once.
func (h *Handed) Start(ctx context.Context, id string, tasks []string) error {
	j, err := h.look(ctx, "start", id)
	if err != nil {
		return err
	}
	if !waits(j) {
		return h.refuse("start", fmt.Errorf("job %s does not wait for a scheduler: it was not held by its owner", id))
	}
	node := ""
	for _, t := range tasks {
		if node == "" {
			node = t
		}
		if t != node {
			return h.refuse("start", fmt.Errorf("an HTCondor job runs in one slot, the tasks of job %s name %s and %s", id, node, t))
		}
	}
	required := j.text(attrRequired)
	if required == "" {
		required = expression(j["Requirements"])
	}
	wants := required
	if node != "" {
		pattern, ok := slotPattern(node)
		if !ok {
			return h.refuse("start", fmt.Errorf("%q is no slot", node))
		}
		wants = on(required, pattern)
	}
	err = h.schedd(ctx, "condor_qedit", id, attrRequired, strconv.Quote(required), attrNode, strconv.Quote(node),
		attrStart, strconv.FormatInt(h.site.Options.Now().Unix(), 10), "Requirements", wants)
	if err != nil {
		return err
	}
	return h.schedd(ctx, "condor_release", id)
}

// expression is the text of an expression as condor_q -json writes it.
func expression(v any) string {
	if b, ok := v.(bool); ok {
		return strconv.FormatBool(b)
	}
	text, _ := v.(string)
	if inner, ok := strings.CutPrefix(text, "/Expr("); ok {
		text = strings.TrimSuffix(inner, ")/")
	}
	return text
}

// on is an expression that also requires a slot.
func on(required, pattern string) string {
	mine := fmt.Sprintf("regexp(%q, TARGET.Name)", pattern)
	if required == "" {
		return mine
	}
	return "(" + required + ") && " + mine
}

// slotName is a name as HTCondor gives to slots.
var slotName = regexp.MustCompile(`^([A-Za-z0-9_-]+)(@[A-Za-z0-9@._-]+)$`)

// slotPattern matches a slot and what is cut from it: slot9@node and
// slot9_3@node.
func slotPattern(name string) (string, bool) {
	m := slotName.FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	return "^" + m[1] + "(_[0-9]+)?" + strings.ReplaceAll(m[2], ".", "[.]") + "$", true
}

// Cancel ends a job; why is not told to HTCondor.
func (h *Handed) Cancel(ctx context.Context, id, _ string) error {
	return h.do(ctx, "cancel", id, "condor_rm")
}

// Suspend stops a running job, which keeps its slot's memory.
func (h *Handed) Suspend(ctx context.Context, id string) error {
	return h.do(ctx, "suspend", id, "condor_suspend", statusRunning)
}

// Resume lets a suspended job go on.
func (h *Handed) Resume(ctx context.Context, id string) error {
	return h.do(ctx, "resume", id, "condor_continue", statusSuspended)
}

// Requeue takes a running job off its slot; it waits for the scheduler again.
func (h *Handed) Requeue(ctx context.Context, id string) error {
	return h.do(ctx, "requeue", id, "condor_hold", statusRunning, statusSuspended)
}

// do runs a command on a job that is in the queue, and in one of some states
// where any are named.
func (h *Handed) do(ctx context.Context, op, id, command string, states ...int64) error {
	j, err := h.look(ctx, op, id)
	if err != nil {
		return err
	}
	in := len(states) == 0
	for _, s := range states {
		in = in || j.integer("JobStatus") == s
	}
	if !in {
		return h.refuse(op, fmt.Errorf("job %s is %s", id, natives[j.integer("JobStatus")]))
	}
	return h.schedd(ctx, command, id)
}

// schedd runs a command; what the schedd itself says no to is a refusal.
func (h *Handed) schedd(ctx context.Context, command string, args ...string) error {
	_, err := h.site.schedd(ctx, command, args...)
	if x, ok := errors.AsType[*remote.ExitError](err); ok {
		for _, said := range []string{"not found", "not held", "ermission", "not authorized", "Couldn't find"} {
			if strings.Contains(x.Stderr, said) {
				return h.refuse(command, err)
			}
		}
	}
	return err
}

// look reads a job that is in the queue.
func (h *Handed) look(ctx context.Context, op, id string) (ad, error) {
	if !jobName.MatchString(id) {
		return nil, h.refuse(op, fmt.Errorf("%q is no job", id))
	}
	var found ad
	err := h.site.ads(ctx, func(a ad) {
		if found == nil && jobID(a) == id {
			found = a
		}
	}, "condor_q", "-allusers", "-json", "-attributes", "ClusterId,ProcId,JobStatus,HoldReasonCode,Requirements,"+attrRequired, id)
	if err != nil || found != nil {
		return found, err
	}
	return nil, h.refuse(op, fmt.Errorf("no such job: %s", id))
}

var jobName = regexp.MustCompile(`^[0-9]{1,18}\.[0-9]{1,18}$`)

func (h *Handed) refuse(op string, err error) error {
	return &plugins.Error{Kind: plugins.Refused, Op: op, Endpoint: h.site.URL, Err: err}
}
