package scheduler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"gridbroker/plugins"
)

// How often the output of a job is asked for where the site says that it cannot be had, and for
// how long, in seconds after its end, where the site does not answer.
const (
	collectTries = 5
	collectDay   = 24 * 3600
)

// collect brings the output of a job, as much as is allowed. What all was brought of
// the site is to forget, later.
func (o outbox) collect(ctx context.Context, a action, j *Job, back plugins.Submitter, r *result) time.Duration {
	f, can := back.(plugins.Fetcher)
	if !can || j.Started == 0 {
		return 0
	}
	dir, err := os.MkdirTemp(o.conf.Spool, "out-")
	if err != nil {
		r.Said = err.Error()
		return 10 * time.Second
	}
	defer os.RemoveAll(dir)
	got := f.Fetch(ctx, []plugins.FetchRequest{{Handle: j.Handle, Dir: dir, Version: "ended", Room: plugins.NewRoom(o.conf.MaxOutput)}}, nil)
	if len(got) != 1 {
		r.Said = fmt.Sprintf("%d answers for the output of one job", len(got))
		return time.Minute
	}
	if got[0].Err != nil {
		r.Said = got[0].Err.Error()
		if wait := o.collectAgain(a, j, got[0].Err); wait > 0 {
			return wait
		}
	}
	if err := o.keepOutput(ctx, j, dir, got[0].Files, r); err != nil {
		r.Said = err.Error()
		return 10 * time.Second
	}
	_, can = back.(plugins.Cleaner)
	r.cleanable = can && r.Said == "" // what else is left is the site's to remove
	return 0
}

// collectAgain is when output is asked for again that was not had; 0: never.
func (o outbox) collectAgain(a action, j *Job, err error) time.Duration {
	e, ok := errors.AsType[*plugins.Error](err)
	away := ok && (e.Kind == plugins.Unavailable || e.Kind == plugins.Uncertain) && o.now().Unix() < j.Ended+collectDay
	if !away && a.Attempts >= collectTries {
		return 0
	}
	return time.Duration(min(a.Attempts, 100)) * 3 * time.Second
}

// maxFileName bounds the name of a file that is kept, with the directories it lies in, in bytes: PostgreSQL finds nothing by
// names that are much longer, and has none that are no UTF-8.
const maxFileName = 2000

// keepOutput keeps files up to the bound; the others are named.
func (o outbox) keepOutput(ctx context.Context, j *Job, dir string, files []string, r *result) error {
	left := o.conf.MaxOutput
	for _, name := range files {
		if len(name) > maxFileName || !utf8.ValidString(name) {
			r.Said = fmt.Sprintf("%.200q was not brought: its name is no UTF-8, or has more than %d bytes", name, maxFileName)
			continue
		}
		body, err := readAtMost(filepath.Join(dir, filepath.FromSlash(name)), left)
		if err != nil {
			r.Said = fmt.Sprintf("%s was not brought: %v", name, err)
			continue
		}
		left -= int64(len(body))
		if err := o.store.tx(ctx, func(h handle) error { return o.store.keepFile(ctx, h, j.ID, "out", name, body) }); err != nil {
			return err
		}
		r.Output = append(r.Output, name)
	}
	return nil
}

func readAtMost(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(body)) > limit {
		err = fmt.Errorf("the output is larger than the scheduler keeps (%d bytes are left); send it to a URL", limit)
	}
	return body, err
}
