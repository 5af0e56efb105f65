package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
	"gridbroker/plugins"
)

// reserves tells whether bookings are reserved here.
func reserves(a *Agent) bool { return a.Reserve != nil && a.Conf.Site.Start == wire.Reservation }

// reservedAtOnce is how many reservations are made at a time: where a command takes a
// second, ten of them one after the other would be there long after their start.
const reservedAtOnce = 4

// reservationPrefix is how the names of all our reservations begin.
const reservationPrefix = "gras_"

// rest waits for the next look; false: the context has ended. A batch system that is slow
// is looked at less often, but what is booked is reserved at once all the same.
func rest(ctx context.Context, a *Agent, wait time.Duration) bool {
	over := time.After(wait)
	for {
		var ask <-chan time.Time
		if reserves(a) && a.known != nil && a.doubt == nil {
			ask = time.After(a.Conf.Poll)
		}
		select {
		case <-ctx.Done():
			return false
		case <-over:
			return true
		case err := <-a.back:
			if a.cameBack(err) {
				return true
			}
		case <-ask:
			if err := renew(ctx, a); err != nil && ctx.Err() == nil {
				a.Log.Warn("not reserved", "error", err)
			}
		}
	}
}

// renew asks for bookings, and reserves what has come.
func renew(ctx context.Context, a *Agent) error {
	if a.Now().Before(a.retry) {
		return nil
	}
	if err := a.ask(ctx); err != nil {
		return err
	}
	if a.reserved != nil && maps.EqualFunc(a.reserved, toReserve(a), func(bool, wire.Booking) bool { return true }) {
		return nil
	}
	return a.reserve(ctx)
}

// toReserve is what is booked and not over, by the names of its reservations.
func toReserve(a *Agent) map[string]wire.Booking {
	now, want := a.Now().Unix(), map[string]wire.Booking{}
	for _, b := range a.booked {
		if b.To > now {
			want[reservationPrefix+b.Key] = b
		}
	}
	return want
}

// reserve makes the site's reservations those that are booked, where that is
// the way: none is left behind.
func (a *Agent) reserve(ctx context.Context) error {
	if !reserves(a) {
		return nil
	}
	a.reserved = nil
	have, err := a.Reserve.Reserved(ctx, reservationPrefix)
	if err != nil {
		return err
	}
	want := toReserve(a)
	var todo []func() error
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !slices.Contains(have, name) {
			todo = append(todo, func() error {
				if err := reservable(a, want[name]); err != nil {
					return err
				}
				return a.Reserve.Reserve(ctx, name, kept(want[name]))
			})
		}
	}
	for _, name := range have {
		if _, booked := want[name]; !booked {
			todo = append(todo, func() error { return a.Reserve.Release(ctx, name) })
		}
	}
	errs := make([]error, len(todo))
	var work errgroup.Group
	work.SetLimit(reservedAtOnce)
	for i, do := range todo {
		work.Go(func() error { errs[i] = do(); return nil })
	}
	work.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	a.reserved = map[string]bool{}
	for name := range want {
		a.reserved[name] = true
	}
	return nil
}

// kept is what a booking is to be given.
func kept(b wire.Booking) plugins.Kept {
	k := plugins.Kept{From: time.Unix(b.From, 0), To: time.Unix(b.To, 0), CPUs: map[string]int{}}
	for _, p := range b.Slots {
		k.CPUs[p.Node] += int(p.CPUs)
	}
	return k
}

// reservable is why nothing is reserved for a booking: a scheduler is given no nodes that guests are not let to, none for
// longer than a guest may run, and none later than slots are offered.
func reservable(a *Agent, b wire.Booking) error {
	if most := a.Conf.Site.MaxGuest; most > 0 && b.To-b.From > most {
		return fmt.Errorf("nothing is reserved for %d s: guests may run for %d s", b.To-b.From, most)
	}
	if ahead := b.From - a.Now().Unix(); ahead > int64(a.Conf.Horizon/time.Second) {
		return fmt.Errorf("nothing is reserved %d s ahead: slots are offered for %v", ahead, a.Conf.Horizon)
	}
	s, _ := a.State()
	for _, p := range b.Slots {
		if !slices.ContainsFunc(s.Nodes, func(n batch.Node) bool { return n.Name == p.Node && a.Conf.lets(&n) }) {
			return fmt.Errorf("nothing is reserved of node %s, which is not offered", p.Node)
		}
	}
	if len(b.Slots) == 0 {
		return errors.New("nothing is reserved for a booking of no node")
	}
	return nil
}
