package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gridbroker/durable"
	"gridbroker/durable/sqlite"
	"gridbroker/plugins"
)

// errEmptied is that a file of records has lost all that was in it.
var errEmptied = errors.New("the file is empty, and jobs have been submitted by it")

// emptied tells whether DIR/jobs.db was cut to nothing: one that is only just
// made has nothing beside it.
func emptied(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "jobs.db"))
	if err != nil || !info.Mode().IsRegular() || info.Size() > 0 {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, "leases"))
	return err == nil
}

// A RuinedError is that the file of the records is no database any more, or has
// pages that cannot be read: Rebuild is what is left then.
type RuinedError struct {
	File string
	Err  error
}

func (e *RuinedError) Error() string { return fmt.Sprintf("job records %s: %v", e.File, e.Err) }

// Unwrap is what SQLite says.
func (e *RuinedError) Unwrap() error { return e.Err }

// tell makes an error of SQLite that the file is ruined one of the records, and names the file
// where it could not be read or written.
func (s *SQLite) tell(err *error) {
	path := filepath.Join(s.dir, "jobs.db")
	_, ruined := errors.AsType[*RuinedError](*err)
	_, told := errors.AsType[*fileError](*err)
	switch {
	case ruined || told:
	case sqlite.Ruined(*err):
		*err = &RuinedError{path, *err}
	case sqlite.Unwritable(*err) || sqlite.Failed(*err):
		*err = &fileError{path, sqlite.Explain(path, *err)}
	}
}

// A fileError is that the records could not be opened or written where they are.
type fileError struct {
	path string
	err  error
}

func (e *fileError) Error() string { return fmt.Sprintf("job records %s: %v", e.path, e.err) }

func (e *fileError) Unwrap() error { return e.err }

// Rebuilt is what Rebuild has done.
type Rebuilt struct {
	Aside    string   // where the file is now that was damaged
	Salvaged int      // records that could be read in it
	Lost     []string // ids in it of which nothing else could be read
	Taken    int      // records of the backup alone
	Unsure   int      // of all these, those of jobs that had not been sent then
	Damaged  []Damage // records of the backup that cannot be read
}

// Rebuild makes new job records in DIR in the place of a file that is no
// database any more or has pages that cannot be read. It is set aside beside them;
// what can be read of it they have, and of a backup, "" where there is none, the
// rest. What neither knows may have happened since: the jobs are followed where
// they are, and none is sent again by itself. Nobody opens the records meanwhile.
func Rebuild(ctx context.Context, dir, backup string, now func() time.Time) (out *Rebuilt, err error) {
	done, err := oneAtATime(dir)
	if err != nil {
		return nil, fmt.Errorf("job records: %w", err)
	}
	defer done()
	temp, err := os.MkdirTemp(dir, rebuilding+"*")
	if err != nil {
		return nil, fmt.Errorf("job records: %w", err)
	}
	defer os.RemoveAll(temp)
	out = &Rebuilt{}
	if backup != "" {
		err = durable.CopyFile(backup, filepath.Join(temp, "jobs.db"))
	}
	if err == nil {
		err = out.take(ctx, temp, dir, now)
	}
	if err != nil && backup != "" {
		err = fmt.Errorf("backup %s: %w", backup, err)
	}
	if err == nil {
		err = durable.Rename(filepath.Join(temp, "jobs.db"), filepath.Join(dir, rebuilt))
	}
	if err != nil {
		return nil, err
	}
	out.Aside, err = finish(dir, now())
	return out, err
}

const (
	rebuilding = "rebuild-"    // begins the names of directories in which records are made anew
	rebuilt    = "jobs.db.new" // such records, when they are whole: from then on they are the records
)

// finish brings a Rebuild to its end, one that was killed, too: records that were made anew come to their place, and what
// is there gets another name, its log included. It is called by whoever is alone with the directory.
func finish(dir string, now time.Time) (aside string, err error) {
	left, _ := durable.Named(dir, rebuilding+"*")
	for _, temp := range left {
		os.RemoveAll(temp)
	}
	if _, err := os.Lstat(filepath.Join(dir, rebuilt)); err != nil {
		return "", nil
	}
	if aside, err = setAside(dir, now); err == nil {
		err = durable.Rename(filepath.Join(dir, rebuilt), filepath.Join(dir, "jobs.db"))
	}
	if err != nil {
		return "", fmt.Errorf("job records: %w", err)
	}
	return aside, nil
}

// take makes the records in TEMP, of a backup or new, fit to go on with, with what
// can be read in DIR.
func (b *Rebuilt) take(ctx context.Context, temp, dir string, now func() time.Time) (err error) {
	s, err := openFile(temp, now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }() // all is in the one file then
	if b.Damaged, err = s.Repair(ctx); err != nil {
		return err
	}
	if b.Salvaged, b.Lost, err = s.salvageCopy(ctx, dir, filepath.Join(temp, "damaged")); err != nil {
		return err
	}
	rs, err := s.Select(ctx, Query{})
	if err != nil {
		return err
	}
	b.Taken = len(rs) - b.Salvaged
	_, err = s.Update(ctx, rs, func(r *Record) (Change, error) {
		r.NoRetry = true
		if r.State != plugins.Intended {
			return Change{}, nil
		}
		b.Unsure++
		return r.Apply(Unsure{}, now())
	})
	return err
}

// setAside gives what lies in the place of the records another name.
func setAside(dir string, now time.Time) (aside string, err error) {
	for n := 0; ; n++ {
		aside = filepath.Join(dir, "jobs.db.damaged-"+now.UTC().Format("20060102T150405"))
		if n > 0 {
			aside += fmt.Sprintf("-%d", n)
		}
		if _, err := os.Lstat(aside); errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	for _, part := range []string{"", "-wal", "-shm"} {
		path := filepath.Join(dir, "jobs.db") + part
		if err := os.Rename(path, aside+part); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	return aside, nil
}
