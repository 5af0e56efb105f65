package durable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Alone waits until no other process writes to a directory by the same rule, as two that bring the same files would
// spoil each other's. What it gives back is to be closed at the end. Where the file system locks no directories nobody is
// waited for.
func Alone(ctx context.Context, dir *os.Root) (*os.File, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	if err := locked(ctx, f); ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		f.Close()
		return nil, err
	}
	return f, nil
}

// locked waits for the lock of a file (flock(2)); the error is that of the context, or why there is none to be had.
func locked(ctx context.Context, f *os.File) error {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// lockWait is how long a lock is waited for that several users may take: nobody who writes keeps it for long, and who
// means ill could for ever.
const lockWait = 20 * time.Second

// Lock takes the lock of a file that several users may open (flock(2)), which closing it gives back. Where somebody else has it for
// twenty seconds, that is an error, and so is the end of the context.
func Lock(ctx context.Context, f *os.File) error {
	limited, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	err := locked(limited, f)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%s: somebody else has held the lock for %v", f.Name(), lockWait)
	}
	return err
}
