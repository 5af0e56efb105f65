package slurm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gridbroker/batch"
	"gridbroker/plugins"
)

// handed is a cluster of which an external scheduler starts the jobs that were
// submitted with a hold of their owner's (sbatch --hold): Slurm leaves them
// alone until they are released. All others stay Slurm's own affair and are
// shown as held. Commands act with the rights of the account that runs them. It
// is safe for concurrent use.
type handed struct {
	site *site

	mu        sync.Mutex
	suspended map[string]bool
}

// Handed opens the cluster of a reader for an external scheduler.
func (q *Queue) Handed() plugins.QueueReader { return &handed{site: q.site} }

// ours is the reason of a job that waits for the external scheduler.
const ours = "JobHeldUser"

// Queue implements plugins.QueueReader.
func (h *handed) Queue(ctx context.Context) (batch.State, error) {
	c, err := h.site.read(ctx)
	if err != nil {
		return batch.State{}, err
	}
	waits, suspended := map[string]bool{}, map[string]bool{}
	for _, e := range c.jobs {
		waits[e.id], suspended[e.id] = e.reason == ours, e.state == "SUSPENDED"
	}
	h.mu.Lock()
	h.suspended = suspended
	h.mu.Unlock()
	s := c.state(h.site.Options.Now(), h.site.URL)
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.Started.IsZero() {
			j.Held = !waits[j.ID]
		}
	}
	return s, nil
}

// Suspended tells whether a job was suspended when the queue was last read.
func (h *handed) Suspended(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.suspended[id]
}

// Start lets Slurm start a job that waits for it, on nodes, of which each is
// named once for every task; none: anywhere. A job that does not wait for it is
// refused, so that nothing starts twice.
func (h *handed) Start(ctx context.Context, id string, tasks []string) error {
	reason, err := h.look(ctx, id, "%r")
	if err != nil {
		return err
	}
	if reason != ours {
		return h.refuse("start", fmt.Errorf("job %s does not wait for a scheduler", id))
	}
	nodes := slices.Compact(slices.Sorted(slices.Values(tasks)))
	for _, n := range nodes {
		if !name(n) {
			return h.refuse("start", fmt.Errorf("%q is no node", n))
		}
	}
	if len(nodes) > 0 {
		change := []string{"scontrol", "update", "JobId=" + id, "ReqNodeList=" + strings.Join(nodes, ",")}
		if len(nodes) > 1 {
			change = append(change, "NumNodes="+strconv.Itoa(len(nodes)))
		}
		if _, err := h.site.Command(ctx, change...); err != nil {
			return err
		}
	}
	_, err = h.site.Command(ctx, "scontrol", "release", id)
	return err
}

// Cancel ends a job; why is not told to Slurm.
func (h *handed) Cancel(ctx context.Context, id, _ string) error {
	return h.do(ctx, id, "scancel", id)
}

// Suspend stops a running job, which keeps its memory and gives up its processors.
func (h *handed) Suspend(ctx context.Context, id string) error {
	return h.do(ctx, id, "scontrol", "suspend", id)
}

// Resume lets a suspended job go on.
func (h *handed) Resume(ctx context.Context, id string) error {
	return h.do(ctx, id, "scontrol", "resume", id)
}

func (h *handed) do(ctx context.Context, id string, argv ...string) error {
	if _, err := h.look(ctx, id, "%T"); err != nil {
		return err
	}
	_, err := h.site.Command(ctx, argv...)
	return err
}

// look asks one thing about a job that is in the queue.
func (h *handed) look(ctx context.Context, id, what string) (string, error) {
	if id == "" || strings.Trim(id, "0123456789_") != "" {
		return "", h.refuse("look at", fmt.Errorf("%q is no job", id))
	}
	text, err := h.site.Command(ctx, "squeue", "--all", "--noheader", "--jobs="+id, "--format="+what)
	if err != nil {
		return "", err
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", h.refuse("look at", fmt.Errorf("no such job: %s", id))
	}
	return text, nil
}

func (h *handed) refuse(op string, err error) error {
	return &plugins.Error{Kind: plugins.Refused, Op: op, Endpoint: h.site.URL, Err: err}
}

// name tells whether a text can be the name of a node: of a list or a range it
// is not.
func name(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	})
}
