package cli

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/plugins"
)

// keeper makes reservations as a batch system that somebody interrupts.
type keeper struct {
	names     []string
	interrupt func()
	late      bool // the interruption comes before the answer
	refuses   error
}

func (k *keeper) Reserve(ctx context.Context, name string, _ plugins.Kept) error {
	if k.refuses != nil {
		return k.refuses
	}
	k.names = append(k.names, name)
	k.interrupt()
	if k.late {
		return ctx.Err()
	}
	return nil
}

func (k *keeper) Reserved(context.Context, string) ([]string, error) { return k.names, nil }

func (k *keeper) Release(ctx context.Context, name string) error {
	if ctx.Err() == nil {
		k.names = slices.DeleteFunc(k.names, func(n string) bool { return n == name })
	}
	return ctx.Err()
}

// TestTrialReservationIsRemoved: whoever interrupts the agent's doctor, when it has made its reservation or before it has heard that
// it has, leaves none behind; an account that may make none is told so.
func TestTrialReservationIsRemoved(t *testing.T) {
	t.Parallel()
	denied := errors.New("access denied")
	for name, c := range map[string]struct {
		interrupted, late bool
		refuses, want     error
	}{
		"well": {}, "interrupted": {interrupted: true}, "before the answer": {interrupted: true, late: true, want: context.Canceled}, "denied": {refuses: denied, want: denied},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		k := &keeper{interrupt: func() {}, late: c.late, refuses: c.refuses}
		if c.interrupted {
			k.interrupt = cancel
		}
		err := tryReservation(ctx, &deps{env: Env{Now: time.Now}}, k, []batch.Node{{Name: "n"}})
		if cancel(); len(k.names) > 0 || !errors.Is(err, c.want) {
			t.Errorf("%s: %v; %q is left", name, err, k.names)
		}
	}
}
