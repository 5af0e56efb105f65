package infosys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gridbroker/glue"
)

// Limits on a registry, and on one branch of it: a registry that the first one
// names, with all below. Who has a branch can neither use up nor hold up what is
// the others'.
const (
	maxRegistries   = 1000
	maxEndpoints    = 5000
	maxRecords      = 1000 // of one name
	maxErrors       = 1000 // that are counted
	branchShare     = 4    // a branch has this part of each
	registryFanOut  = 64   // questions to DNS under way at once
	endpointFanOut  = 128  // endpoints that are asked at once
	maxRegistryName = 253  // of DNS
)

// walk goes through a registry, and asks each endpoint as soon as it is found.
type walk struct {
	ctx   context.Context
	a     *Archery
	root  *branch // what the first registry names itself, and the sum of all
	under sync.WaitGroup

	mu        sync.Mutex // of what follows, and of the branches' counts
	seen      map[string]bool
	full      bool // a limit was met, and told
	deep      bool
	endpoints int // asked
	found     [][]glue.Resource
	errs      []error
}

// branch counts what was found in a part of the registry and bounds what is
// under way for it.
type branch struct {
	of                    *branch // nil: the root
	registries, endpoints int
	lookups, asks         chan struct{}
	purse                 *glue.Purse
}

// walkPart is the part of the time that there is in which a registry is walked
// through: what was found is told before the time is up, whoever is silent.
const walkPart = 0.85

// within is the context of a walk.
func within(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return context.WithTimeout(ctx, time.Duration(walkPart*float64(time.Until(end))))
	}
	return context.WithCancel(ctx)
}

// wait ends when all have answered or the time is up, and tells what was found.
func (w *walk) wait() (found [][]glue.Resource, errs []error, of int) {
	done := make(chan struct{})
	go func() { w.under.Wait(); close(done) }()
	select {
	case <-done:
	case <-w.ctx.Done():
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-done: // most end with the context, and say so
		case <-timer.C:
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.found), slices.Clone(w.errs), w.endpoints
}

// patience is how long a walk waits for those who are to end.
const patience = 50 * time.Millisecond

func newWalk(ctx context.Context, a *Archery) *walk {
	return &walk{ctx: ctx, a: a, seen: map[string]bool{strings.ToLower(a.start): true},
		root: &branch{lookups: make(chan struct{}, registryFanOut), asks: make(chan struct{}, endpointFanOut), purse: glue.NewPurse(guestsMemory)}}
}

func (w *walk) branch() *branch {
	return &branch{of: w.root, lookups: make(chan struct{}, registryFanOut/branchShare), asks: make(chan struct{}, endpointFanOut/branchShare),
		purse: w.root.purse.Part(branchMemory)}
}

// visit reads the records of a name in the background.
func (w *walk) visit(name string, b *branch, depth int) {
	w.under.Go(func() {
		var texts []string
		err := w.turn(func(b *branch) chan struct{} { return b.lookups }, b, func() (err error) {
			texts, err = w.a.lookup(w.ctx, name)
			return err
		})
		if len(texts) > maxRecords {
			texts, err = texts[:maxRecords], fmt.Errorf("%s has more than %d records", name, maxRecords)
		}
		w.failed(err)
		for _, text := range texts {
			if rec, ok := parseArchery(text); ok {
				w.take(rec, b, depth)
			}
		}
	})
}

// turn does something when it is the branch's turn, and everybody's.
func (w *walk) turn(of func(*branch) chan struct{}, b *branch, do func() error) error {
	for at := b; at != nil; at = at.of {
		select {
		case of(at) <- struct{}{}:
			defer func() { <-of(at) }()
		case <-w.ctx.Done():
			return w.ctx.Err()
		}
	}
	return do()
}

// take goes where a record leads, once, as long as there is room.
func (w *walk) take(rec archeryRecord, b *branch, depth int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := strings.ToLower(rec.target)
	if w.seen[key] || len(rec.target) > maxRegistryName && rec.registry {
		return
	}
	if rec.registry && depth+1 == maxRegistryDepth {
		if !w.deep {
			w.deep = true
			w.errs = append(w.errs, fmt.Errorf("registries nested deeper than %d: %s left out", maxRegistryDepth, rec.target))
		}
		return
	}
	if rec.registry && depth == 0 {
		b = w.branch()
	}
	if !w.count(rec, b) {
		return
	}
	w.seen[key] = true
	if rec.registry {
		w.visit(rec.target, b, depth+1)
		return
	}
	w.endpoints++
	w.ask(rec.target, b)
}

// count makes room for a record in its branch and in all; false: there is none.
func (w *walk) count(rec archeryRecord, b *branch) bool {
	registries, endpoints := maxRegistries, maxEndpoints
	if b.of != nil {
		registries, endpoints = registries/branchShare, endpoints/branchShare
	}
	over := rec.registry && b.registries == registries || !rec.registry && b.endpoints == endpoints
	if over || b.of != nil && !w.count(rec, b.of) {
		if !w.full {
			w.full = true
			w.errs = append(w.errs, fmt.Errorf("more than %d registries or %d endpoints: %s and others left out", registries, endpoints, rec.target))
		}
		return false
	}
	if rec.registry {
		b.registries++
	} else {
		b.endpoints++
	}
	return true
}

// ask asks an endpoint in the background.
func (w *walk) ask(rawURL string, b *branch) {
	w.under.Go(func() {
		account := b.purse.Account(guestMemory)
		var rs []glue.Resource
		err := w.turn(func(b *branch) chan struct{} { return b.asks }, b, func() error {
			if err := account.Hear(0); err != nil { // others have said all that is due to the branch
				return fmt.Errorf("%s: not asked: %w", rawURL, err)
			}
			src, err := w.a.open(rawURL, account)
			if err == nil {
				rs, err = src.Resources(w.ctx)
			}
			return err
		})
		if errors.Is(err, glue.ErrPurse) {
			rs = nil
		}
		if errors.Is(err, w.ctx.Err()) && w.ctx.Err() != nil {
			err = fmt.Errorf("%s: %w", rawURL, contextError(w.ctx, err))
		}
		account.Settle(rs != nil)
		w.mu.Lock()
		w.found = append(w.found, rs)
		w.mu.Unlock()
		w.failed(err)
	})
}

func (w *walk) failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && len(w.errs) < maxErrors {
		w.errs = append(w.errs, err)
	}
}
