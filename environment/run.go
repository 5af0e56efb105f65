package environment

import (
	"os"
	"syscall"
	"time"
)

// RunOptions are what the supervisor of a job needs besides the job.
type RunOptions struct {
	Stdin          *os.File
	Stdout, Stderr *os.File // nil: /dev/null
	// Signals gets PassedSignals of this process, which are handed on to the job; nil: none are.
	Signals chan os.Signal
	// Grace is how long a job has after SIGTERM; 0: 10 s.
	Grace time.Duration
}

// PassedSignals are those that a supervisor hands on to its job.
func PassedSignals() []os.Signal {
	return []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}
}
