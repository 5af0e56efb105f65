package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// grace is how long a command may take to end after it was told to. What is
// under way then is in the records and is looked up later, as after a crash.
const grace = 700 * time.Millisecond

// A terminated error is the cause of a context that SIGTERM ended: not the
// user at the terminal, but whoever runs the command, a batch system or
// systemd for example.
type terminated struct{}

func (terminated) Error() string { return "terminated" }

// interruption is the exit code for a context that a signal has ended, as
// shells give it: 128 and the signal's number.
func interruption(ctx context.Context) int {
	if errors.Is(context.Cause(ctx), terminated{}) {
		return exitTerminated
	}
	return exitInterrupted
}

// Signals gives a context that SIGINT and SIGTERM end. A command that goes on
// regardless, or is told twice, is ended by exit; stop gives the signals back.
func Signals(exit func(code int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	told := make(chan os.Signal, 2)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case sig := <-told:
			if sig == syscall.SIGTERM {
				cancel(terminated{})
			}
			cancel(nil)
		case <-done:
			return
		}
		select {
		case <-told:
		case <-time.After(grace):
		case <-done:
			return
		}
		exit(interruption(ctx))
	}()
	return ctx, sync.OnceFunc(func() {
		signal.Stop(told)
		close(done)
		cancel(nil)
	})
}
