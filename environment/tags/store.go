package tags

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"gridbroker/durable"
	"gridbroker/environment"
)

// A Store is the tags of a site, in a folder.
type Store struct {
	Dir string
	Now func() time.Time
}

// A Change is one line of a store's history.
type Change struct {
	At   time.Time `json:"at"`
	By   string    `json:"by"`
	VO   string    `json:"vo,omitempty"` // empty: the site
	Verb string    `json:"verb"`         // add, remove, state
	Tags []string  `json:"tags"`
}

// A DeniedError is a change that the store's writers.toml does not allow.
type DeniedError struct{ Who, VO string }

func (e *DeniedError) Error() string {
	whose := "the site"
	if e.VO != "" {
		whose = "VO " + e.VO
	}
	return fmt.Sprintf("%s may not change the tags of %s", e.Who, whose)
}

var voName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

func (s *Store) file(vo string) (string, error) {
	if vo == "" {
		return filepath.Join(s.Dir, "site.json"), nil
	}
	if !voName.MatchString(vo) {
		return "", &VOError{vo}
	}
	return filepath.Join(s.Dir, "vo-"+vo+".json"), nil
}

// Tags gives the tags of a VO, of the site where vo is empty, by name. Where
// there is no store it is a *MissingError, here as in All, Published and History.
func (s *Store) Tags(vo string) ([]Tag, error) {
	path, err := s.file(vo)
	if err == nil {
		err = s.there()
	}
	if err != nil {
		return nil, err
	}
	var list []Tag
	text, err := s.read(filepath.Base(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

func (s *Store) there() error {
	_, err := os.Stat(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &MissingError{s.Dir}
	}
	return err
}

// VOs are those that have tags here; the empty name is the site.
func (s *Store) VOs() ([]string, error) {
	files, err := durable.Named(s.Dir, "vo-*.json")
	vos := []string{""}
	for _, f := range files {
		vos = append(vos, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "vo-"), ".json"))
	}
	return vos, err
}

// All gives every tag of the store by name.
func (s *Store) All() ([]Tag, error) {
	vos, err := s.VOs()
	if err != nil {
		return nil, err
	}
	var all []Tag
	for _, vo := range vos {
		list, err := s.Tags(vo)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b Tag) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Add publishes tags of a VO: all of them or, where one is refused, none. One that is there already is replaced; one
// that differs from another in case alone is refused.
func (s *Store) Add(ctx context.Context, c Caller, vo string, add []Tag) error {
	if _, err := s.file(vo); err != nil {
		return err
	}
	for _, t := range add {
		if err := check(vo, t.Name); err != nil {
			return err
		}
		if !slices.Contains(States(), t.State) {
			return &StateError{t.State}
		}
	}
	return s.change(ctx, c, vo, "add", names(add), func(list []Tag) ([]Tag, error) {
		for _, t := range add {
			if err := s.ofAnother(vo, t.Name); err != nil {
				return nil, err
			}
			t.Added, t.By = s.Now().UTC().Truncate(time.Second), c.User
			i := find(list, t.Name)
			switch {
			case i < 0:
				list = append(list, t)
			case list[i].Name != t.Name:
				return nil, &environment.TagError{Tag: t.Name, Why: fmt.Sprintf("differs from %q in case alone", list[i].Name)}
			default:
				list[i] = t
			}
		}
		return list, nil
	})
}

// Remove takes tags back; one that is not there is an error, and none is removed.
func (s *Store) Remove(ctx context.Context, c Caller, vo string, remove []string) error {
	if err := s.there(); err != nil {
		return err
	}
	return s.change(ctx, c, vo, "remove", remove, func(list []Tag) ([]Tag, error) {
		for _, name := range remove {
			i := find(list, name)
			if i < 0 {
				return nil, &environment.TagError{Tag: name, Why: "is not published here"}
			}
			list = slices.Delete(list, i, i+1)
		}
		return list, nil
	})
}

// SetState records what a test of a tag showed.
func (s *Store) SetState(ctx context.Context, c Caller, vo, name string, to State) error {
	if err := s.there(); err != nil {
		return err
	}
	return s.change(ctx, c, vo, "state "+string(to), []string{name}, func(list []Tag) ([]Tag, error) {
		i := find(list, name)
		if i < 0 {
			return nil, &environment.TagError{Tag: name, Why: "is not published here"}
		}
		list[i].State = to
		return list, nil
	})
}

// change edits a list under the store's lock. Its history is on disk before the list takes its place.
func (s *Store) change(ctx context.Context, c Caller, vo, verb string, names []string, edit func([]Tag) ([]Tag, error)) error {
	path, err := s.file(vo)
	if err != nil {
		return err
	}
	lock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := s.allowed(c, vo); err != nil {
		return err
	}
	list, err := s.Tags(vo)
	if err != nil {
		return err
	}
	if list, err = edit(list); err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b Tag) int { return strings.Compare(a.Name, b.Name) })
	if err := s.record(Change{At: s.Now().UTC().Truncate(time.Second), By: c.User, VO: vo, Verb: verb, Tags: names}); err != nil {
		return err
	}
	return replace(path, list)
}

// lock keeps other writers out. Who cannot change tags cannot open the file
// either, and so cannot hold the lock.
func (s *Store) lock(ctx context.Context) (*os.File, error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, err
	}
	f, err := s.open(".lock", os.O_RDWR|os.O_CREATE, 0o660)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().Perm()&0o007 != 0 {
		f.Chmod(0o660) // fails for whom it does not belong to
	}
	if err := durable.Lock(ctx, f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// maxFile bounds a file of the folder, in bytes.
const maxFile = 64 << 20

// read reads a file of the folder.
func (s *Store) read(name string) ([]byte, error) {
	f, err := s.open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", f.Name(), maxFile)
	}
	return text, err
}

// open opens a file of the folder, which others may write to: it is no link to
// somewhere else, and no pipe that never opens.
func (s *Store) open(name string, how int, mode fs.FileMode) (*os.File, error) {
	return durable.OpenFile(filepath.Join(s.Dir, name), how|unix.O_NOFOLLOW, mode)
}

func (s *Store) record(c Change) error {
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := s.open("history.jsonl", os.O_APPEND|os.O_RDWR|os.O_CREATE, 0o664)
	if err != nil {
		return err
	}
	if torn, err := endsTorn(f); err != nil || torn {
		line = append([]byte("\n"), line...) // what a full disk or a crash has cut spoils itself alone
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// endsTorn tells whether a file's last line has no end.
func endsTorn(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, info.Size()-1)
	return last[0] != '\n', err
}

// History gives every change, the first one first. A last line that a crash cut is left out.
func (s *Store) History() ([]Change, error) {
	if err := s.there(); err != nil {
		return nil, err
	}
	text, err := s.read("history.jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []Change
	for line := range bytes.Lines(text) {
		var c Change
		if json.Unmarshal(line, &c) == nil {
			list = append(list, c)
		}
	}
	return list, err
}

func replace(path string, list []Tag) error {
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return durable.Replace(path, ".new-*", 0o664, append(text, '\n'))
}

func names(list []Tag) []string {
	var out []string
	for _, t := range list {
		out = append(out, t.Name)
	}
	return out
}
