package oidc

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lockWait is how often a lock that another process has is tried again, and lockPatience for
// how long: longer than one takes to ask an issuer that does not answer, and not for all who
// wait for the same.
const (
	lockWait     = 20 * time.Millisecond
	lockPatience = 45 * time.Second
)

var errBusy = errors.New("other processes are asking issuers for tokens, which do not answer")

// lock keeps other processes from the sessions until the returned function is
// called: an issuer that rotates refresh tokens ends the login of who uses one
// twice. The kernel frees the lock when the process ends.
func (st Store) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(st.Dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(st.Dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockPatience, errBusy)
	defer cancel()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, err
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, context.Cause(ctx)
		case <-time.After(lockWait):
		}
	}
}
