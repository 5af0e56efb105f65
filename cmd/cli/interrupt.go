package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"gridbroker/jobs"
)

// grace is how long a command may take to end after it was told to. What is
// under way then is in the records and is looked up later, as after a crash.
const grace = 700 * time.Millisecond

// oneSign is how far apart signals are that mean one thing: timeout(1) tells the command and then
// its process group, which the command is of.
const oneSign = 100 * time.Millisecond

// A terminated error is the cause of a context that SIGTERM or SIGHUP ended: not the
// user at the terminal, but whoever runs the command, a batch system or systemd for
// example, or a terminal that is no more. Nobody is there to be asked anything.
type terminated struct{ code int }

func (terminated) Error() string { return "terminated" }

// interruption is the exit code for a context that a signal has ended, as
// shells give it: 128 and the signal's number.
func interruption(ctx context.Context) int {
	if t, ok := errors.AsType[terminated](context.Cause(ctx)); ok {
		return t.code
	}
	return exitInterrupted
}

// untold reports whether an error is nothing but that a signal came, of which no verb has said more: a request that was under
// way fails with the signal for its reason, whatever it then says of servers and credentials.
func untold(ctx context.Context, err error) bool {
	if ctx.Err() == nil || err == nil {
		return false
	}
	_, told := errors.AsType[interrupted](err)
	return !told && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx)))
}

// inWords is an error as it is told: of one that is nothing but a signal, what that means for what was asked for.
func inWords(ctx context.Context, err error, code int) error {
	switch {
	case !untold(ctx, err):
		return err
	case code == interruption(ctx):
		return interrupted{"interrupted"}
	case jobs.IsUncertain(err) && !errors.Is(err, errReported):
		return interrupted{"interrupted before the answer came: it is not known whether what was asked for was done"}
	}
	return err
}

// Signals gives a context that SIGINT, SIGTERM and SIGHUP end; nohup(1) keeps the last
// away. A command that goes on
// regardless, or is told twice, is ended by exit; stop gives the signals back.
func Signals(exit func(code int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	told := make(chan os.Signal, 2)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(told, syscall.SIGHUP)
	}
	done := make(chan struct{})
	go func() {
		select {
		case sig := <-told:
			switch sig {
			case syscall.SIGTERM:
				cancel(terminated{exitTerminated})
			case syscall.SIGHUP:
				cancel(terminated{exitHungUp})
			default:
				cancel(nil)
			}
		case <-done:
			return
		}
		select {
		case <-time.After(oneSign):
		case <-done:
			return
		}
		for len(told) > 0 {
			<-told
		}
		select {
		case <-told:
		case <-time.After(grace - oneSign):
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

// outlive has a daemon go on where nobody reads any more what it writes: the pipe of its log ended.
// What it starts has the signal as ever.
func outlive() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// EndedAtOnce is what is said where a command did not end by itself in time after a
// signal: with the way on, where it may have been about jobs.
func EndedAtOnce(args []string) string {
	verb := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	aboutJobs := []string{"submit", "run", "watch", "follow", "cancel", "hold", "release", "restart", "resubmit", "refresh", "clean", "adopt", "probe", "status", "output"}
	if verb < 0 || !slices.Contains(aboutJobs, args[verb]) {
		return "grid: ended at once by a signal"
	}
	return "grid: ended at once by a signal; grid status looks up what was under way"
}
