package htcondor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// seen are the slots of a pool as last read. It is safe for concurrent use.
type seen struct {
	mu    sync.Mutex
	slots []slot
	at    time.Time
}

// slotsFor is how long a reading of the slots serves submissions.
const slotsFor = time.Minute

// fresh is what was read of late.
func (p *seen) fresh(now time.Time) ([]slot, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slots, now.Sub(p.at) < slotsFor
}

func (p *seen) keep(slots []slot, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slots, p.at = slots, now
}

// any reports whether there are slots.
func (p *seen) any() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.slots) > 0
}

// need is the requirement for an environment.
func (p *seen) need(tag string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sl := range p.slots {
		for has, need := range sl.tags() {
			if strings.EqualFold(has, tag) {
				return need, true
			}
		}
	}
	return "", false
}

// poolSlots reads the slots of the pool, or takes what was read of late.
func (s *site) poolSlots(ctx context.Context) ([]slot, error) {
	if slots, ok := s.seen.fresh(s.Options.Now()); ok {
		return slots, nil
	}
	return s.readSlots(ctx)
}

// A pool has so many slots at most, those cut from others not counted, and these together so
// many attributes: ten thousand machines have 150 each.
const (
	maxSlots      = 100_000
	maxAttributes = 1_500_000
)

// readSlots reads the slots. Those cut from a partitionable one are left out:
// its own ad tells what is left over.
func (s *site) readSlots(ctx context.Context) ([]slot, error) {
	var slots []slot
	attributes := 0
	err := records(ctx, s, func(object []byte) error {
		sl, err := readSlot(object)
		if slots = append(slots, sl); err != nil {
			return err
		}
		if attributes += len(sl.record.Attrs()); attributes > maxAttributes || len(slots) > maxSlots {
			return errors.New("the pool has more slots, or attributes of slots, than any pool")
		}
		return nil
	}, slices.Concat([]string{"condor_status", "-json"}, s.pool, []string{"-constraint", "DynamicSlot =!= true"})...)
	if err != nil {
		return nil, err
	}
	s.seen.keep(slots, s.Options.Now())
	return slots, nil
}
