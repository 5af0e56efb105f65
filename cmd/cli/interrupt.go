package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// grace is how long a command may take to end after it was told to. What is
// under way then is in the records and is looked up later, as after a crash.
const grace = 700 * time.Millisecond

// Signals gives a context that SIGINT and SIGTERM end. A command that goes on
// regardless, or is told twice, is ended by exit; stop gives the signals back.
func Signals(exit func(code int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	told := make(chan os.Signal, 2)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case <-told:
		case <-done:
			return
		}
		cancel()
		select {
		case <-told:
		case <-time.After(grace):
		case <-done:
			return
		}
		exit(exitInterrupted)
	}()
	return ctx, func() {
		signal.Stop(told)
		close(done)
		cancel()
	}
}
