package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// After an older copy of the database was brought back a job may be at a site by a request that the copy does not know
// of: it may have been booked any number of times since. So sites are asked for all that they have of ours.

// inventories are what sites were found to have, by whose credential asked. Only replicas that are gone could add to
// that, so it is asked for once in inventoryAge.
type inventories struct {
	mu sync.Mutex
	of map[holder]map[plugins.Handle]*inventory
}

const inventoryAge = time.Minute

// inventory is what one site has: the requests of each job, those with the greatest numbers first.
type inventory struct {
	mu sync.Mutex
	at time.Time
	of map[string][]numbered
}

// numbered is a request at a site, and its number among those of its job.
type numbered struct {
	number int
	handle plugins.Handle
}

// entry is that of a site, made if need be; those that nobody wants any more are dropped.
func (all *inventories) entry(by holder, at plugins.Handle) *inventory {
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.of) > holdersAtOnce {
		all.of = nil
	}
	if all.of == nil {
		all.of = map[holder]map[plugins.Handle]*inventory{}
	}
	if all.of[by] == nil {
		all.of[by] = map[plugins.Handle]*inventory{}
	}
	if all.of[by][at] == nil {
		all.of[by][at] = &inventory{}
	}
	return all.of[by][at]
}

// sentOtherwise looks for a job at a site by other requests than the one that it is booked for: the copy may be from before it was
// sent by one that it was booked for then, or by one of later. What was withdrawn, or gave way, was of no use and is not meant. most
// is the greatest number that is taken. A site that does not tell what it has is asked for the one request alone.
func sentOtherwise(ctx context.Context, s *Scheduler, j *Job, back plugins.Submitter, at glue.Endpoint) (h plugins.Handle, most int, err error) {
	return sentAs(ctx, s, j, back, at, func(number int) bool { return number != j.Tries })
}

// sentAs looks for a job at a site by those of its requests whose numbers are meant.
func sentAs(ctx context.Context, s *Scheduler, j *Job, back plugins.Submitter, at glue.Endpoint, meant func(number int) bool) (h plugins.Handle, most int, err error) {
	lists, can := back.(plugins.Inventory)
	if !can {
		return h, 0, nil
	}
	there, err := requests(ctx, s, j, lists, at)
	for _, n := range there {
		if most = max(most, n.number); !meant(n.number) {
			continue
		}
		st := back.Status(ctx, []plugins.Handle{n.handle})[0]
		switch {
		case st.State == plugins.Unknown:
			return h, most, fmt.Errorf("what has become of %s, as which it may have been sent, is not known: %w", n.handle.ID, st.Err)
		case st.State == plugins.Cancelled, st.State == plugins.Lost, preempted(*seenOf(j.ID, "", st)):
			continue
		}
		return n.handle, most, nil
	}
	return h, most, err
}

// requests are those of a job that a site has.
func requests(ctx context.Context, s *Scheduler, j *Job, lists plugins.Inventory, at glue.Endpoint) ([]numbered, error) {
	i := s.inventories.entry(j.holder(), plugins.Handle{Interface: at.Interface, Endpoint: at.URL})
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.of == nil || s.now().Sub(i.at).Abs() > inventoryAge {
		all, err := lists.Inventory(ctx, at)
		if err != nil {
			return nil, err
		}
		i.at, i.of = s.now(), byJob(all)
	}
	return i.of[j.ID], nil
}

// byJob tells the jobs of requests.
func byJob(all []plugins.Present) map[string][]numbered {
	of := map[string][]numbered{}
	for _, p := range all {
		at := strings.LastIndexByte(p.ID, '-')
		if at < 0 {
			continue
		}
		if n, err := strconv.Atoi(p.ID[at+1:]); err == nil && n > 0 {
			of[p.ID[:at]] = append(of[p.ID[:at]], numbered{n, p.Handle})
		}
	}
	for _, list := range of {
		slices.SortFunc(list, func(a, b numbered) int { return b.number - a.number })
	}
	return of
}
