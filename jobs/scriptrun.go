package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"gridbroker/jdl"
)

const (
	// scriptTime is for how long a script may run.
	scriptTime = 24 * time.Hour
	// scriptGrace is the time between asking a script to end and killing it.
	scriptGrace = 5 * time.Second
	// mostScriptLog bounds what one run of a script adds to its Log, in bytes.
	mostScriptLog = 64 << 20
	// mostScriptLine bounds the line of its output that is kept.
	mostScriptLine = 300
)

// noScript is the exit code of a script that could not be started, as of a shell.
const noScript = 127

// runScript runs a script with these arguments to its end. stopped: ctx ended before it did. A script that was ended by a
// signal has the signal's number below 0 as its exit code.
func runScript(ctx context.Context, after func(time.Duration) <-chan time.Time, s *jdl.Script, args []string) (exit int, said string, stopped bool) {
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-after(scriptTime):
			cancel()
		case <-limited.Done():
		}
	}()
	command := s.Command
	if !filepath.IsAbs(command) {
		command = filepath.Join(s.Dir, command)
	}
	cmd := exec.CommandContext(limited, command, args...)
	cmd.Dir, cmd.Env = s.Dir, os.Environ()
	for _, v := range s.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C reaches us alone, and we all that it has started
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = scriptGrace
	out, end := scriptOutput(s, cmd)
	defer end()
	err := cmd.Run()
	if limited.Err() != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what is left of it
	}
	if ctx.Err() != nil {
		return 0, "", true
	}
	exit, said = scriptEnd(cmd, err), out.line()
	if limited.Err() != nil {
		said = fmt.Sprintf("it was ended after %v", scriptTime)
	} else if exit == noScript && cmd.ProcessState == nil {
		said = err.Error()
	}
	return exit, said, false
}

// scriptEnd is how a script ended.
func scriptEnd(cmd *exec.Cmd, err error) int {
	if cmd.ProcessState == nil {
		return noScript
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return -int(ws.Signal())
	}
	if errors.Is(err, exec.ErrWaitDelay) { // what it started holds its output open
		return 0
	}
	return cmd.ProcessState.ExitCode()
}

// scriptOutput directs the output of a script: its last line is kept, and its Log has what it says.
func scriptOutput(s *jdl.Script, cmd *exec.Cmd) (out *lastLine, end func()) {
	out = &lastLine{}
	cmd.Stdout, cmd.Stderr = out, out // one pipe for both
	if s.Log == "" {
		return out, func() {}
	}
	f, err := os.OpenFile(s.Log, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return out, func() {}
	}
	log := &limitedLog{f, mostScriptLog}
	both := &writers{out, log}
	switch {
	case s.LogOut && s.LogErr:
		cmd.Stdout, cmd.Stderr = both, both
	case s.LogOut:
		cmd.Stdout = both
	case s.LogErr:
		cmd.Stderr = both
	}
	return out, func() { f.Close() }
}

// writers is several, whose faults are nobody's.
type writers []io.Writer

func (w *writers) Write(p []byte) (int, error) {
	for _, one := range *w {
		_, _ = one.Write(p)
	}
	return len(p), nil
}

// limitedLog writes to a file until it has been given so many bytes.
type limitedLog struct {
	file *os.File
	left int
}

func (l *limitedLog) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	_, err := l.file.Write(p[:n])
	return len(p), err
}

// lastLine keeps the last line with anything in it of what is written, by several.
type lastLine struct {
	mu         sync.Mutex
	kept, last []byte
}

func (l *lastLine) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		l.kept = append(l.kept, line[:min(len(line), max(0, mostScriptLine-len(l.kept)))]...)
		if rest = after; whole {
			if len(bytes.TrimSpace(l.kept)) > 0 {
				l.last = append(l.last[:0], l.kept...)
			}
			l.kept = l.kept[:0]
		}
	}
	return len(p), nil
}

// line is that line, without what a terminal would act on.
func (l *lastLine) line() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.last
	if len(bytes.TrimSpace(l.kept)) > 0 {
		text = l.kept
	}
	clean := func(c rune) rune {
		if unicode.IsControl(c) || c == unicode.ReplacementChar {
			return -1
		}
		return c
	}
	return strings.TrimSpace(strings.Map(clean, strings.ToValidUTF8(string(text), "")))
}
