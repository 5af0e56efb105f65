package durable

import (
	"context"
	"errors"
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
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return f, nil
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}
