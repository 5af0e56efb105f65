package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/itchyny/gojq"

	"gridbroker/foreign"
)

// What the programs of --jq and --where may take: as long as nothing comes of them, and while they run.
const (
	programTime   = 30 * time.Second
	programMemory = 256 << 20 // bytes beyond what was in use before
	programLook   = 10 * time.Millisecond
)

// meter watches a program of the user's while something is waited for that it makes. Nothing in such a program can be
// told to stop, but between steps: who is at the end of his patience returns, and the command ends.
type meter struct {
	looks *time.Ticker
	left  int    // looks
	most  uint64 // bytes in use
}

func newMeter() *meter {
	return &meter{looks: time.NewTicker(programLook), left: int(programTime / programLook), most: inUse() + programMemory}
}

// inUse is how many bytes of memory hold something, stacks included.
func inUse() uint64 {
	used := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(used)
	return used[0].Value.Uint64() + used[1].Value.Uint64()
}

// look tells whether the program may go on.
func (m *meter) look() error {
	if m.left--; m.left <= 0 {
		return fmt.Errorf("nothing came of it for %s in all: given up", programTime)
	}
	if inUse() <= m.most {
		return nil
	}
	if runtime.GC(); inUse() > m.most { // what nothing holds any more does not count
		return fmt.Errorf("it takes more than %d MiB of memory: given up", programMemory>>20)
	}
	return nil
}

// await is the next of what comes; ok is false behind the last.
func await[T any](ctx context.Context, m *meter, from <-chan T) (next T, ok bool, err error) {
	for {
		select {
		case next, ok = <-from:
			return next, ok, nil
		case <-ctx.Done():
			return next, false, interrupted{"interrupted"}
		case <-m.looks.C:
			if err := m.look(); err != nil {
				return next, false, err
			}
		}
	}
}

// query is the program of --jq.
type query struct {
	code *gojq.Code
	ctx  context.Context // the command's: Ctrl-C ends the program
}

// newQuery reads a program, before anything is done of which it is to tell.
func newQuery(ctx context.Context, text string) (*query, error) {
	q, err := gojq.Parse(text)
	if err != nil {
		return nil, usageError(fmt.Errorf("--jq: %w", err))
	}
	code, err := gojq.Compile(q)
	if err != nil {
		return nil, usageError(fmt.Errorf("--jq: %w", err))
	}
	return &query{code, ctx}, nil
}

// made is a line that a program makes, or why it makes no more.
type made struct {
	line []byte
	err  error
}

// lineOf prints a value: a text as it is, anything else as JSON.
func lineOf(v any) made {
	switch v := v.(type) {
	case error:
		if h, ok := errors.AsType[*gojq.HaltError](v); ok && h.Value() == nil {
			return made{} // the program wants to end
		}
		return made{err: v}
	case string:
		return made{line: []byte(foreign.Lines(v) + "\n")}
	}
	text, err := gojq.Marshal(v)
	return made{append(foreign.JSON(text), '\n'), err}
}

// run makes the lines of a document, one after the other.
func (q *query) run(ctx context.Context, doc any, lines chan<- made) {
	defer close(lines)
	for it := q.code.RunWithContext(ctx, doc); ; {
		v, more := it.Next()
		if !more {
			return
		}
		select {
		case lines <- lineOf(v):
		case <-ctx.Done():
			return
		}
	}
}

// print prints what the program makes of a document.
func (q *query) print(d *deps, doc []byte) error {
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		return err
	}
	ctx := q.ctx
	if ctx.Err() != nil { // what was interrupted is told of as well
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines, m := make(chan made), newMeter()
	defer m.looks.Stop()
	go q.run(ctx, v, lines)
	for {
		l, more, err := await(ctx, m, lines)
		if err == nil {
			err = l.err
		}
		if errors.Is(err, context.Canceled) || !more && ctx.Err() != nil { // whichever of both is seen first
			return interrupted{"interrupted"}
		}
		if err != nil {
			return fmt.Errorf("--jq: %w (what this command did is done)", err)
		}
		if !more || l.line == nil {
			return nil
		}
		if _, err := d.env.Out.Write(l.line); err != nil {
			return err
		}
	}
}
