package arcrest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"gridbroker/durable"
	"gridbroker/plugins"
)

// fetchTime is how many of its timeouts an endpoint may take for the files of one
// job, beside what their number and sizes allow (plugins.Pace).
const fetchTime = 5

// Limits of one job's session directory, in all: files, directories (each of
// them is a request), and how deep they lie.
const (
	maxFiles = 100_000
	maxDirs  = 5000
	maxDepth = 32
	maxName  = 255 // bytes: no file system has longer ones
)

// Fetch implements plugins.Fetcher. Files arrive in a hidden directory of the
// job's, which keeps what an interrupted download has got, and are moved into
// their place when all are there that the server gives.
func (b *Backend) Fetch(ctx context.Context, jobs []plugins.FetchRequest, p plugins.Progress) []plugins.FetchResult {
	out := make([]plugins.FetchResult, len(jobs))
	hs := make([]plugins.Handle, len(jobs))
	for i, j := range jobs {
		hs[i] = j.Handle
	}
	meter := &meter{progress: p}
	b.byEndpoint(ctx, "output", hs, func(c *client, at []int, err error) {
		var g errgroup.Group
		g.SetLimit(b.o.Connections)
		for _, i := range at {
			if err != nil {
				out[i].Err = err
				continue
			}
			g.Go(func() error {
				d := &download{c: c, id: jobs[i].Handle.ID, want: jobs[i].Want, outputs: jobs[i].Outputs, version: jobs[i].Version, meter: meter, room: jobs[i].Room, dir: jobs[i].Dir}
				out[i].Files, out[i].Err = d.run(ctx, jobs[i].Dir)
				return nil
			})
		}
		_ = g.Wait() // its functions return nil
	})
	return out
}

// meter adds up what is to be downloaded as it becomes known.
type meter struct {
	progress plugins.Progress
	mu       sync.Mutex
	total    int64
}

func (m *meter) expect(n int64) {
	m.mu.Lock()
	m.total += n
	m.mu.Unlock()
	m.step(0)
}

func (m *meter) step(n int64) {
	if m.progress == nil {
		return
	}
	m.mu.Lock()
	total := m.total
	m.mu.Unlock()
	m.progress.Step("output", n, total)
}

// download brings the files of one job.
type download struct {
	c       *client
	id      string
	want    []string
	outputs []string // declared by the job
	version string   // of all its files; "": they may change
	room    *plugins.Room
	dir     string // of the root
	meter   *meter
	root    *os.Root
	listing listing
	pace    plugins.Pace
	odd     []string // names that no file can have
	deep    []string // directories that are not looked into
}

// listing is how much of the session directory was seen so far.
type listing struct {
	files, dirs int
	room        int64 // bytes that further lists may have
}

// remote is one file of the session directory.
type remote struct {
	Name string `xml:",chardata"`
	Size int64  `xml:"size,attr"`
}

func (d *download) run(ctx context.Context, dir string) ([]string, error) {
	root, err := durable.OwnRoot(dir, 0o755)
	if err != nil {
		return nil, d.c.fail(plugins.Invalid, "output", "", err)
	}
	defer root.Close()
	alone, err := durable.Alone(ctx, root)
	if err != nil {
		return nil, d.c.fail(plugins.Invalid, "output", "", err)
	}
	defer alone.Close()
	d.root, d.pace.Grace = root, fetchTime*d.c.o.Timeout
	files, err := d.list(ctx, "", 0)
	if err != nil {
		return nil, err
	}
	files, missing := d.wanted(files)
	got, err := d.all(ctx, files)
	switch {
	case err != nil:
	case len(missing) > 0:
		err = d.c.fail(plugins.Refused, "output", "the job has no file "+strings.Join(missing, ", "), nil)
	default:
		err = d.oddNames()
	}
	return got, err
}

// oddNames tells of what was listed and is not taken.
func (d *download) oddNames() error {
	var parts []string
	for _, of := range []struct {
		why   string
		names []string
	}{{"no file can have such a name", d.odd}, {fmt.Sprintf("it lies more than %d directories deep", maxDepth), d.deep}} {
		if len(of.names) == 0 {
			continue
		}
		parts = append(parts, fmt.Sprintf("not brought, for %s: %s", of.why, plugins.Few(of.names)))
	}
	if parts == nil {
		return nil
	}
	return d.c.fail(plugins.Refused, "output", strings.Join(parts, "; "), nil)
}

// List implements plugins.Lister.
func (b *Backend) List(ctx context.Context, hs []plugins.Handle) []plugins.FetchResult {
	out := make([]plugins.FetchResult, len(hs))
	b.byEndpoint(ctx, "list the output", hs, func(c *client, at []int, err error) {
		for _, i := range at {
			if out[i].Err = err; err == nil {
				out[i].Files, out[i].Err = (&download{c: c, id: hs[i].ID, pace: plugins.Pace{Grace: fetchTime * c.o.Timeout}}).names(ctx)
			}
		}
	})
	return out
}

func (d *download) names(ctx context.Context) (names []string, err error) {
	files, err := d.list(ctx, "", 0)
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names, err
}

// list walks the session directory. What has a name that leads out of a
// directory is left out, and told when the rest is there.
func (d *download) list(ctx context.Context, dir string, depth int) ([]remote, error) {
	at := d.c.jobs("/" + d.id + "/session/" + escape(dir))
	files, dirs, err := d.entries(ctx, strings.TrimSuffix(at, "/"))
	if err != nil {
		return nil, err
	}
	if err := d.pace.Did(plugins.Named); err != nil {
		return nil, d.c.fail(plugins.Unavailable, "list the output", "", err)
	}
	if d.listing.dirs++; d.listing.dirs > maxDirs || d.listing.files > maxFiles {
		return nil, d.c.fail(plugins.Refused, "list the output", fmt.Sprintf("too many files or directories, at %q", dir), nil)
	}
	files = slices.DeleteFunc(files, func(f remote) bool { return !d.inside(dir, f.Name) })
	for i := range files {
		files[i].Name = path.Join(dir, files[i].Name)
	}
	for _, sub := range dirs {
		if !d.inside(dir, sub) || d.tooDeep(path.Join(dir, sub), depth) {
			continue
		}
		more, err := d.list(ctx, path.Join(dir, sub), depth+1)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

// entries reads one directory of the session.
func (d *download) entries(ctx context.Context, path string) (files []remote, dirs []string, err error) {
	ca := &call{op: "list the output", method: http.MethodGet, path: path, scope: scopeRead}
	if d.listing.dirs == 0 {
		d.listing.room = maxList
	}
	err = d.c.each(ctx, ca, budget{items: maxFiles, room: &d.listing.room}, func(e *element) error {
		var f remote
		if err := e.decode(&f); err != nil {
			return err
		}
		f.Name = d.c.redact(f.Name)
		switch e.name {
		case "file":
			d.listing.files++
			files = append(files, f)
		case "dir":
			dirs = append(dirs, f.Name)
		}
		return nil
	})
	return files, dirs, err
}

// inside tells whether a name is one of a file in its directory, and notes it
// where it is not.
func (d *download) inside(dir, name string) bool {
	plain := name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00") && len(name) <= maxName
	if !plain || !filepath.IsLocal(name) {
		d.odd = append(d.odd, path.Join(dir, name[:min(len(name), maxName)]))
		return false
	}
	return true
}

// tooDeep tells whether a directory lies deeper than is looked, and notes it where
// something in it was asked for.
func (d *download) tooDeep(dir string, depth int) bool {
	if depth < maxDepth {
		return false
	}
	if patterns := d.patterns(); len(patterns) == 0 || plugins.Wanted(dir, patterns) {
		d.deep = append(d.deep, dir)
	}
	return true
}

// patterns are what is to be brought; none: all.
func (d *download) patterns() []string {
	if len(d.want) > 0 {
		return d.want
	}
	return d.outputs
}

// wanted keeps the files that were asked for, and tells which plain names are
// not there.
func (d *download) wanted(files []remote) (keep []remote, missing []string) {
	patterns := d.patterns()
	if len(patterns) == 0 {
		return files, nil
	}
	for _, f := range files {
		if plugins.Wanted(f.Name, patterns) {
			keep = append(keep, f)
		}
	}
	for _, w := range d.want {
		if !slices.ContainsFunc(keep, func(f remote) bool { return plugins.Wanted(f.Name, []string{w}) }) {
			missing = append(missing, w)
		}
	}
	return keep, missing
}

// all downloads the files and, when every one is there, puts them into place.
func (d *download) all(ctx context.Context, files []remote) ([]string, error) {
	if len(files) == 0 {
		return nil, nil
	}
	staging := ".grid-" + d.id
	var bytes int64
	for _, f := range files {
		bytes += max(f.Size, 0)
	}
	d.meter.expect(bytes)
	var names []string
	var refused []error
	seen := map[string]bool{} // names; false: of directories
	for _, f := range files {
		err := d.once(seen, f.Name)
		if err == nil {
			err = d.room.Take(d.dir, d.c.host, f.Name, f.Size)
		}
		if err == nil {
			err = d.file(ctx, path.Join(staging, f.Name), f)
		}
		if late := d.pace.Did(plugins.Named + max(f.Size, 0)); err == nil && late != nil {
			err = d.c.fail(plugins.Unavailable, "output", "", late)
		}
		if e, ok := errors.AsType[*plugins.Error](err); ok && e.Kind == plugins.Refused && ctx.Err() == nil {
			refused = append(refused, e)
			continue
		}
		if err != nil {
			return nil, err
		}
		names = append(names, f.Name)
	}
	for _, name := range names {
		if err := d.place(path.Join(staging, name), name); err != nil {
			return nil, d.c.fail(plugins.Invalid, "output", "", err)
		}
	}
	if err := durable.SyncNames(d.root, names); err != nil {
		return nil, d.local(err)
	}
	if err := errors.Join(d.root.RemoveAll(staging), d.root.RemoveAll(staging+partSuffix)); err != nil {
		return names, d.local(err)
	}
	return names, d.few(refused)
}

// once notes a file, and refuses one whose name another has, or a directory.
func (d *download) once(seen map[string]bool, name string) error {
	_, known := seen[name]
	for dir := path.Dir(name); dir != "." && !known; dir = path.Dir(dir) {
		known = seen[dir]
	}
	if known {
		return d.c.fail(plugins.Refused, "output", fmt.Sprintf("the server lists %q twice, or as file and directory", name), nil)
	}
	seen[name] = true
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		seen[dir] = false
	}
	return nil
}

// few is the first of the errors about files that the server does not give,
// and how many more there are.
func (d *download) few(errs []error) error {
	if len(errs) < 2 {
		return errors.Join(errs...)
	}
	return d.c.fail(plugins.Refused, "output", fmt.Sprintf("%v; %d more are not brought", errs[0], len(errs)-1), errs[0])
}

func (d *download) place(from, to string) error {
	if dir := path.Dir(to); dir != "." {
		if err := d.root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return d.root.Rename(from, to)
}

// local wraps an error of this machine's.
func (d *download) local(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*plugins.Error](err); ok {
		return e
	}
	return d.c.fail(plugins.Invalid, "output", "", err)
}
