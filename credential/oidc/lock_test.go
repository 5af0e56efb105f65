package oidc

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Who waits for others that ask an issuer which does not answer gives up in time, and says why;
// who is interrupted meanwhile ends at once.
func TestLockIsNotWaitedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := Store{Dir: t.TempDir()}
		unlock, err := st.lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := st.lock(t.Context()); !errors.Is(err, errBusy) || time.Since(began) > time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := st.lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("interrupted: %v", err)
		}
		unlock()
		if again, err := st.lock(t.Context()); err != nil {
			t.Error(err)
		} else {
			again()
		}
	})
}
