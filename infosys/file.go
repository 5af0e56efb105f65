package infosys

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"gridbroker/glue"
)

// maxFile bounds what is read of a file, unpacked.
const maxFile = 512 << 20

// File is a Source that reads LDIF, a snapshot saved by WriteSnapshot (or
// printed by grid resources --json), or ARC's information document in XML or
// JSON; all may be packed by gzip. What it is, the content tells.
type File struct {
	URL   string   // the name shown
	Path  string   // where it is
	Extra []string // attributes to keep besides those of glue's table
	Now   func() time.Time
}

// Name implements Source.
func (f *File) Name() string { return f.URL }

// Local implements Local.
func (f *File) Local() bool { return true }

// Resources implements Source.
func (f *File) Resources(ctx context.Context) ([]glue.Resource, error) {
	in, err := os.Open(f.Path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	r, err := unpacked(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	lim := &limited{ctx: ctx, r: r, left: maxFile}
	text := bufio.NewReaderSize(lim, 1<<16)
	head := opening(text)
	if strings.HasPrefix(head, "{") && strings.Contains(head, `"schema"`) {
		return f.snapshot(ctx, text)
	}
	d := glue.NewDecoder(f.URL, f.Extra...)
	lim.full = d.Err
	if err := f.decode(d, head, text); err != nil {
		return nil, err
	}
	return d.Resources(f.now()), d.Err()
}

// decode reads what does not come from this program.
func (f *File) decode(d *glue.Decoder, head string, text io.Reader) error {
	var err error
	switch {
	case strings.HasPrefix(head, "{"):
		err = d.AddARCInfoJSON(text)
	case strings.HasPrefix(head, "<"):
		err = d.AddARCInfoXML(text)
	default:
		return f.ldif(d, text)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	return nil
}

// NoQueuesError is that a directory's text has entries and no queue among them.
type NoQueuesError struct {
	Entries int
	Classes []string // what there is, most first: "12 GlueService"
}

// Error implements error.
func (e *NoQueuesError) Error() string {
	if e.Entries == 0 {
		return "no entries at all"
	}
	return fmt.Sprintf("%d entries, no queue (GlueCE, GLUE2ComputingShare, nordugrid-queue) among them: %s", e.Entries, strings.Join(e.Classes, ", "))
}

// maxClasses is how many kinds of entries a NoQueuesError names.
const maxClasses = 6

// ldif reads a directory's text; one without queues is an error that says what
// is there.
func (f *File) ldif(d *glue.Decoder, text io.Reader) error {
	entries, queues, classes := 0, 0, map[string]int{}
	err := glue.ReadLDIF(text, f.Path, func(e *glue.Entry) {
		entries++
		if e.IsQueue() {
			queues++
		} else if queues == 0 && len(classes) < 1000 {
			classes[e.Class()]++
		}
		d.Add(e)
	})
	if err != nil || queues > 0 {
		return err
	}
	none := &NoQueuesError{Entries: entries}
	names := slices.SortedFunc(maps.Keys(classes), func(a, b string) int {
		return cmp.Or(cmp.Compare(classes[b], classes[a]), cmp.Compare(a, b))
	})
	for _, name := range names[:min(len(names), maxClasses)] {
		none.Classes = append(none.Classes, fmt.Sprintf("%d %s", classes[name], name))
	}
	return fmt.Errorf("%s: %w", f.Path, none)
}

// Limits of a snapshot: resources, and bytes of one of them or of its head.
const (
	maxSnapshot = 30_000
	maxElement  = 1 << 20
	maxSkipped  = 1 << 20 // values that are passed over
)

// snapshot reads our own JSON, one resource at a time.
func (f *File) snapshot(ctx context.Context, r io.Reader) ([]glue.Resource, error) {
	in := &limited{ctx: ctx, r: r, left: maxElement}
	s := &snapshotText{in: in, dec: json.NewDecoder(in)}
	if err := s.read(); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	if s.schema != SnapshotSchema && s.schema != resourcesSchema {
		return nil, fmt.Errorf("%s: schema %q, want %q", f.Path, s.schema, SnapshotSchema)
	}
	return s.resources, nil
}

// snapshotText is a snapshot being read.
type snapshotText struct {
	in        *limited
	dec       *json.Decoder
	schema    string
	resources []glue.Resource
}

func (s *snapshotText) read() error {
	if _, err := s.dec.Token(); err != nil { // it begins with a brace: that was seen
		return err
	}
	for s.dec.More() {
		key, err := s.dec.Token()
		if err != nil {
			return err
		}
		switch key {
		case "schema":
			err = s.dec.Decode(&s.schema)
		case "resources":
			err = s.list()
		default:
			err = s.skip()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list reads the resources.
func (s *snapshotText) list() error {
	if tok, err := s.dec.Token(); err != nil || tok == nil {
		return err // null
	} else if tok != json.Delim('[') {
		return errors.New("resources is no list")
	}
	for s.dec.More() {
		if len(s.resources) == maxSnapshot {
			return fmt.Errorf("more than %d resources", maxSnapshot)
		}
		var r glue.Resource
		s.in.left = maxElement
		if err := s.dec.Decode(&r); err != nil {
			return err
		}
		if r.ID == "" {
			return errors.New("a resource without an id")
		}
		s.resources = append(s.resources, r)
	}
	s.in.left = maxElement
	_, err := s.dec.Token()
	return err
}

// skip passes over a value.
func (s *snapshotText) skip() error {
	for depth, n := 0, 0; ; n++ {
		if n > maxSkipped {
			return fmt.Errorf("more than %d values beside the resources", maxSkipped)
		}
		tok, err := s.dec.Token()
		if err != nil {
			return err
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		s.in.left = maxElement
		if depth == 0 {
			return nil
		}
	}
}

func (f *File) now() time.Time {
	if f.Now == nil {
		return time.Now()
	}
	return f.Now()
}

// unpacked undoes gzip when there is any.
func unpacked(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	if magic, _ := b.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return gzip.NewReader(b)
	}
	return b, nil
}

// opening is how the text begins, white space left out.
func opening(b *bufio.Reader) string {
	head, _ := b.Peek(512)
	return string(bytes.TrimLeft(head, " \t\r\n\ufeff"))
}

// limited is a reader that ends with an error at a size or with its context.
type limited struct {
	ctx  context.Context
	r    io.Reader
	left int64
	full func() error // not nil: an error once nothing more is taken
}

var errTooLong = errors.New("answer too long")

func (l *limited) Read(p []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	if l.left <= 0 {
		return 0, errTooLong
	}
	if l.full != nil {
		if err := l.full(); err != nil {
			return 0, err
		}
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// SnapshotSchema names the format of WriteSnapshot.
const SnapshotSchema = "grid.snapshot/v2"

// resourcesSchema is what grid resources --json prints, of the same form.
const resourcesSchema = "grid.resources/v2"

// WriteSnapshot saves a snapshot for a File source; packed when path ends in
// ".gz". The file is written whole or not at all, mode 0600; its directory must be
// there.
func WriteSnapshot(path string, s Snapshot) error {
	text, err := json.Marshal(struct {
		Schema string `json:"schema"`
		Snapshot
	}{SnapshotSchema, s})
	if err != nil {
		return err
	}
	if strings.HasSuffix(path, ".gz") {
		var buf bytes.Buffer
		z := gzip.NewWriter(&buf)
		if _, err := z.Write(text); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		text = buf.Bytes()
	}
	return replaceFile(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
