package remote

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/jdl"
)

// newName names a batch: 26 characters of crypto/rand.Text, lower-cased.
func newName() string { return strings.ToLower(rand.Text()) }

// copied is one line of the batch's copy list: a file that several jobs have
// is sent once and copied at the site.
type copied struct {
	from int
	id   string
	name string
}

// source is a file of this machine to be sent, and who wants it.
type source struct {
	file jdl.InputFile
	exec bool
	to   []copied
}

// upload sends the input files: one that a single job has to its place, one
// that several have to inputs/N. It returns the copy list.
func (ba *batch) upload(ctx context.Context) ([]copied, error) {
	order := ba.sources()
	if len(order) == 0 {
		return nil, nil
	}
	if err := ba.site.ready(ctx); err != nil {
		return nil, err
	}
	fs, err := ba.site.Machine.Files(ctx)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	var copies []copied
	for n, src := range order {
		to := ba.site.Dir("batches", ba.name, "new", src.to[0].id, "work", src.to[0].name)
		if len(src.to) > 1 {
			to = ba.site.Dir("batches", ba.name, "inputs", strconv.Itoa(n))
			for _, c := range src.to {
				copies = append(copies, copied{n, c.id, c.name})
			}
		}
		began := time.Now()
		err := send(ctx, fs, src, to)
		tellFile(ctx, ba.site, "put", to, began, err)
		if err != nil {
			return nil, err
		}
	}
	return copies, nil
}

// Sends reports whether files of this machine go with a job.
func Sends(job *jdl.Job) bool {
	return slices.ContainsFunc(job.InputSandbox, func(f jdl.InputFile) bool { return !f.IsURL() })
}

// sources lists the files to send, each once, in the order of the jobs.
func (ba *batch) sources() []*source {
	var order []*source
	seen := map[string]*source{}
	for _, i := range ba.jobs {
		job := ba.reqs[i].Job
		for _, f := range job.InputSandbox {
			if f.IsURL() {
				continue
			}
			exec := f.Executable || f.Name == job.Executable || f.Name == job.Prologue || f.Name == job.Epilogue
			file := f.Path()
			key := strconv.FormatBool(exec) + file + "\x00" + f.Text
			if seen[key] == nil {
				seen[key] = &source{file: f, exec: exec}
				order = append(order, seen[key])
			}
			seen[key].to = append(seen[key].to, copied{0, ba.reqs[i].ID, f.Name})
		}
	}
	return order
}

func send(ctx context.Context, fsys Files, src *source, to string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, _, err := src.file.Open()
	if err != nil {
		return fmt.Errorf("input file %w", err)
	}
	defer f.Close()
	mode := fs.FileMode(0o600)
	if src.exec {
		mode = 0o700
	}
	if err := fsys.Put(to, mode, f); err != nil {
		return fmt.Errorf("input file %s: %w", cmp.Or(src.file.Source, src.file.Name), err)
	}
	return nil
}

// tar packs the description of the batch; its last file, "end", proves that it
// arrived whole. Files of a line each are mostly blanks and heads in a tar: packed
// closer, a thousand jobs are 0.2 MB and not 6.
func (ba *batch) tar(copies []copied) ([]byte, error) {
	var buf bytes.Buffer
	packed, err := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	t := &packer{w: tar.NewWriter(packed)}
	var ids, plan, list []string
	for _, g := range ba.groups {
		plan = append(plan, g.Name)
		for _, suffix := range slices.Sorted(maps.Keys(g.Files)) {
			t.text(g.Name+"."+suffix, g.Files[suffix])
		}
		var members []string
		for n, i := range g.Jobs {
			id := ba.reqs[i].ID
			members = append(members, id)
			dir := "new/" + id
			t.dir(dir)
			if ba.site.System.Work == "work" || Sends(ba.reqs[i].Job) {
				t.dir(dir + "/work")
			}
			t.dirs(dir+"/work", copies, id)
			t.text(dir+"/at", ba.name+" "+g.Name+" "+strconv.Itoa(g.Line(n))+"\n"+ba.reqs[i].Job.Text())
			t.text(dir+"/words.sh", words(ba.reqs[i], ba.site.nodes))
		}
		t.lines(g.Name+".ids", members)
		ids = append(ids, members...)
	}
	for _, c := range copies {
		list = append(list, strconv.Itoa(c.from)+" "+c.id+" "+c.name)
	}
	t.program("job.sh", ba.site.jobText)
	t.lines("ids", ids)
	t.lines("plan", plan)
	t.lines("copy", list)
	t.text("end", "")
	if t.err == nil {
		t.err = errors.Join(t.w.Close(), packed.Close())
	}
	return buf.Bytes(), t.err
}

// packer writes small files to a tar and remembers the first error.
type packer struct {
	w   *tar.Writer
	err error
}

func (t *packer) entry(h *tar.Header, text string) {
	if t.err == nil {
		t.err = t.w.WriteHeader(h)
	}
	if t.err == nil {
		_, t.err = t.w.Write([]byte(text))
	}
}

func (t *packer) dir(name string) {
	t.entry(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o700}, "")
}

// dirs makes the directories that copied files of one job need.
func (t *packer) dirs(work string, copies []copied, id string) {
	for _, c := range copies {
		for d := path.Dir(path.Clean(c.name)); c.id == id && d != "."; d = path.Dir(d) {
			defer t.dir(work + "/" + d)
		}
	}
}

func (t *packer) text(name, text string) {
	t.entry(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(text))}, text)
}

func (t *packer) program(name, text string) {
	t.entry(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o700, Size: int64(len(text))}, text)
}

func (t *packer) lines(name string, lines []string) { t.text(name, Lines(lines)) }

// Lines makes a text of lines; of none an empty one.
func Lines(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
