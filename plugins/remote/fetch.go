package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"gridbroker/durable"
	"gridbroker/plugins"
)

// Where finds a job: its site, and our id, which names its directory.
type Where func(plugins.Handle) (s *Site, id string, err error)

// sessions are the file sessions that one call has opened, one per site.
type sessions map[*Site]Files

func (open sessions) of(ctx context.Context, s *Site) (Files, error) {
	if open[s] == nil {
		fsys, err := s.Machine.Files(ctx)
		if err != nil {
			return nil, s.Fail("fetch", err)
		}
		open[s] = fsys
	}
	return open[s], nil
}

func (open sessions) close() {
	for _, fsys := range open {
		fsys.Close()
	}
}

// Fetch brings the files of the jobs' directories, over one session per site.
func Fetch(ctx context.Context, jobs []plugins.FetchRequest, where Where, p plugins.Progress) []plugins.FetchResult {
	out := make([]plugins.FetchResult, len(jobs))
	open := sessions{}
	defer open.close()
	for i, job := range jobs {
		s, id, err := where(job.Handle)
		if err == nil {
			var fsys Files
			if fsys, err = open.of(ctx, s); err == nil {
				out[i].Files, err = s.fetch(ctx, fsys, id, job, p)
			}
		}
		out[i].Err = err
	}
	return out
}

func (s *Site) fetch(ctx context.Context, fsys Files, id string, job plugins.FetchRequest, p plugins.Progress) ([]string, error) {
	root, err := durable.OwnRoot(job.Dir, 0o700)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	alone, err := durable.Alone(ctx, root)
	if err != nil {
		return nil, err
	}
	defer alone.Close()
	want := job.Want
	if len(want) == 0 {
		names, err := s.fileNames(fsys, id)
		if err != nil {
			return nil, notHad(s, "fetch", err)
		}
		want = names.outputs
	}
	all, err := fsys.List(s.work(id))
	if err != nil {
		return nil, notHad(s, "fetch", err)
	}
	// A file is brought before one of the name that it has while it is brought.
	slices.SortFunc(all, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	all = slices.DeleteFunc(slices.Clone(all), func(f File) bool { return !plugins.Wanted(f.Name, want) })
	got, err := s.bring(ctx, all, func(f File) error {
		if f.Err != nil {
			return f.Err
		}
		if err := job.Room.Take(job.Dir, s.URL, f.Name, f.Size); err != nil {
			return err
		}
		d := download{fsys: fsys, dir: s.Dir("jobs", id), name: path.Join(s.System.Work, f.Name), root: root, file: f, progress: p}
		began := time.Now()
		err := d.run(ctx)
		tellFile(ctx, s, "get", d.name, began, err)
		return err
	})
	if err := errors.Join(err, durable.SyncNames(root, got)); err != nil {
		return got, err
	}
	for _, name := range job.Want {
		if !slices.ContainsFunc(got, func(f string) bool { return plugins.Wanted(f, []string{name}) }) {
			return got, notHad(s, "fetch "+name, fs.ErrNotExist)
		}
	}
	return got, nil
}

// notHad is Fail for files. A site that says that one is not there has answered, and says so however often it is asked.
func notHad(s *Site, op string, err error) error {
	failed := s.Fail(op, err)
	if e, ok := errors.AsType[*plugins.Error](failed); ok && errors.Is(err, fs.ErrNotExist) {
		e.Kind = plugins.Refused
	}
	return failed
}

// bring brings files one after the other. One that cannot be brought keeps none of
// the others back; which it was is told at the end.
func (s *Site) bring(ctx context.Context, files []File, one func(File) error) (got []string, first error) {
	more := 0
	pace := plugins.Pace{Grace: listTime * s.Options.Command}
	for _, f := range files {
		err := one(f)
		if late := pace.Did(plugins.Named + f.Size); err == nil && late != nil {
			err = late
		}
		switch {
		case err == nil:
			got = append(got, f.Name)
		case ctx.Err() != nil || !ofOneFile(err):
			return got, s.Fail("fetch "+f.Name, err)
		case first == nil:
			first = notHad(s, "fetch "+f.Name, err)
		default:
			more++
		}
	}
	if more > 0 {
		first = fmt.Errorf("%w, and %d more files", first, more)
	}
	return got, first
}

func (s *Site) work(id string) string { return s.Dir("jobs", id, s.System.Work) }

// List names the files in the jobs' directories, over one session per site.
func List(ctx context.Context, hs []plugins.Handle, where Where) []plugins.FetchResult {
	out := make([]plugins.FetchResult, len(hs))
	open := sessions{}
	defer open.close()
	for i, h := range hs {
		out[i].Files, out[i].Err = list(ctx, open, h, where)
	}
	return out
}

func list(ctx context.Context, open sessions, h plugins.Handle, where Where) ([]string, error) {
	s, id, err := where(h)
	if err != nil {
		return nil, err
	}
	fsys, err := open.of(ctx, s)
	if err != nil {
		return nil, err
	}
	all, err := fsys.List(s.work(id))
	if err != nil {
		return nil, s.Fail("list", err)
	}
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.Name
	}
	return names, nil
}

// fileNames reads the names the job was submitted with: at the head of words.sh,
// or in files of their own, as older programs sent them.
func (s *Site) fileNames(fsys Files, id string) (fileNames, error) {
	text, err := s.head(fsys, id, "words.sh")
	names, ok := parseNames(text)
	if err != nil || ok {
		return names, err
	}
	list, err := s.head(fsys, id, "outputs")
	if err != nil {
		return names, err
	}
	streams, err := s.head(fsys, id, "streams")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return names, err
	}
	names.outputs = strings.FieldsFunc(list, func(c rune) bool { return c == '\n' })
	names.stdout, names.stderr, _ = strings.Cut(strings.TrimSuffix(streams, "\n"), "\n")
	return names, nil
}

// head reads the first megabyte of a file of a job.
func (s *Site) head(fsys Files, id, name string) (string, error) {
	r, _, err := fsys.Get(s.Dir("jobs", id), name, 0)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, 1<<20))
	return string(text), err
}

// Streams are the names of a job's standard output and standard error, "" for none.
func (s *Site) Streams(ctx context.Context, id string) (stdout, stderr string, err error) {
	open := sessions{}
	defer open.close()
	fsys, err := open.of(ctx, s)
	if err != nil {
		return "", "", err
	}
	names, err := s.fileNames(fsys, id)
	if err != nil {
		return "", "", s.Fail("read the names of streams", err)
	}
	return names.stdout, names.stderr, nil
}

// Read copies a file of a job from an offset on.
func (s *Site) Read(ctx context.Context, id, name string, offset int64, w io.Writer) (int64, error) {
	open := sessions{}
	defer open.close()
	fsys, err := open.of(ctx, s)
	if err != nil {
		return 0, err
	}
	r, _, err := fsys.Get(s.Dir("jobs", id), name, offset)
	if err != nil {
		return 0, s.Fail("read "+name, err)
	}
	defer r.Close()
	n, err := io.Copy(w, r)
	if err != nil {
		return n, s.Fail("read "+name, err)
	}
	return n, nil
}

// NoJob is the error about a handle that the back-end never gave out.
func NoJob(op string, h plugins.Handle) error {
	return &plugins.Error{Kind: plugins.Refused, Op: op, Endpoint: h.Endpoint, Said: fmt.Sprintf("no such job: %s", h.ID)}
}
