package arcrest

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"gridbroker/asked"
)

// A list makes A-REX read the files of every job of ours that it remembers, long
// after it has ended. Asking for one state by itself costs as much as that for
// this many of them.
const worthOne = 6

// listLife is how long the length of a list is believed: A-REX remembers jobs for at least a week where it is not told otherwise.
// Where fewer are left meanwhile, jobs that are asked for one by one cost at most worthOne times what a list of them does.
const listLife = 7 * 24 * time.Hour

// listLength is how many jobs of ours the CE had in its list.
type listLength struct {
	Jobs int       `json:"jobs"`
	Seen time.Time `json:"seen"`
}

// looker looks for the live states of jobs.
type looker struct{ *client }

// states are the live states of jobs: by the list of all, or one by one where
// these are few of those that the CE remembers.
func (c looker) states(ctx context.Context, ids []string) (map[string]string, error) {
	kept := c.listed()
	if kept.Jobs > worthOne*len(ids) {
		return c.oneByOne(ctx, ids)
	}
	live, jobs, err := c.live(ctx, setOf(ids))
	if err == nil && (jobs > worthOne*len(ids) || kept.Jobs > 0) {
		c.keepListing(ctx, kept, jobs)
	}
	return live, err
}

// live brings the states of jobs from the list of all that we have there, and how
// many these are.
func (c looker) live(ctx context.Context, asked map[string]bool) (states map[string]string, jobs int, err error) {
	states = make(map[string]string, len(asked))
	ca := &call{op: "status", method: http.MethodGet, path: c.jobs("?state=" + everyState), scope: scopeRead}
	err = c.eachJob(ctx, ca, maxListed, func(j *jobItem) {
		jobs++
		if asked[j.ID] {
			states[j.ID] = j.State
		}
	})
	if err != nil {
		return nil, 0, err
	}
	return states, jobs, nil
}

// listings is the kind of file in which the length of lists is kept.
const listings = "arc-lists"

// listed is the length of the last list, of this command or an earlier one;
// zero where it is not known or too long ago.
func (c looker) listed() (l listLength) {
	if p := c.listing.Load(); p != nil {
		l = *p
	} else if c.o.StateDir != "" {
		if text, err := os.ReadFile(file(c.client, listings)); err == nil && json.Unmarshal(text, &l) != nil {
			l = listLength{}
		}
	}
	if age := c.o.Now().Sub(l.Seen); age < 0 || age > listLife {
		return listLength{}
	}
	return l
}

// keepListing remembers the length, on disk where it is not about the same as the
// one that is known. Failing to only costs the longer way next time.
func (c looker) keepListing(ctx context.Context, was listLength, jobs int) {
	l := listLength{Jobs: jobs, Seen: c.o.Now()}
	c.listing.Store(&l)
	if c.o.StateDir == "" || 2*jobs > was.Jobs && jobs < 2*was.Jobs {
		return
	}
	if err := replace(file(c.client, listings), l); err != nil {
		asked.Tell(ctx, "keep the number of jobs at %s: %v", c.host, err)
	}
}

// perConnection is how many states are asked for one after the other: fewer are
// not worth another connection.
const perConnection = 25

// oneByOne asks for the states of jobs one by one; one that is not there has none.
func (c looker) oneByOne(ctx context.Context, ids []string) (map[string]string, error) {
	var mu sync.Mutex
	out := make(map[string]string, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(min(c.o.Connections, 1+len(ids)/perConnection))
	for _, id := range ids {
		g.Go(func() error {
			state, err := c.state(ctx, id)
			if err == nil && state != "" {
				mu.Lock()
				defer mu.Unlock()
				out[id] = state
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return out, nil
}

// internal are the grid manager's own words for states, as the list has them;
// behind "PENDING:" where there is another one.
var internal = map[string]struct{ state, pending string }{
	"ACCEPTED":  {"ACCEPTED", "ACCEPTED"},
	"PREPARING": {"PREPARING", "PREPARED"},
	"SUBMIT":    {"SUBMITTING", "SUBMITTING"},
	"INLRMS":    {"RUNNING", "EXITINGLRMS"},
	"FINISHING": {"FINISHING", "FINISHING"},
	"FINISHED":  {"FINISHED", "EXECUTED"},
	"CANCELING": {"KILLING", "KILLING"},
	"DELETED":   {"WIPED", "WIPED"},
}

// state is what the list would say of one job, or the grid manager's own word where that is none that is known;
// "" where there is none.
func (c looker) state(ctx context.Context, id string) (string, error) {
	text, err := c.diagnose(ctx, "status", id, "status", maxDiag)
	if err != nil {
		return "", err
	}
	word, pending := strings.CutPrefix(strings.TrimSpace(string(text)), "PENDING:")
	known, ok := internal[word]
	switch {
	case word == "":
		return "", nil
	case !ok: // this job's state alone is unknown, as one of the list is
		return short(word), nil
	case pending:
		return known.pending, nil
	case word != "FINISHED":
		return known.state, nil
	}
	failed, err := c.diagnose(ctx, "status", id, "failed", maxDiag)
	if err == nil && len(failed) > 0 {
		return "FAILED", nil
	}
	return known.state, err
}
