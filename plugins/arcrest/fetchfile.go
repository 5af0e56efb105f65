package arcrest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"

	"gridbroker/plugins"
)

// fetchAttempts is how often a file is begun, or gone on with, when the
// connection breaks.
const fetchAttempts = 3

// overlap is how much of what is there already is asked for again and compared
// when a download is gone on with, and partSuffix the end of the name of the
// directory that tells what parts are of.
const (
	overlap    = 256
	partSuffix = "-parts"
)

// part is what a file that is not whole yet was when it was begun.
type part struct {
	Size      int64  `json:"size"`
	Validator string `json:"validator"` // see its function; "": nothing tells, and it is begun anew
}

// file brings one file to name below the root, going on where an earlier
// attempt ended, if it was one for the same file.
func (d *download) file(ctx context.Context, name string, f remote) error {
	if err := d.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return d.local(err)
	}
	out, err := d.root.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return d.local(err)
	}
	g := &getting{download: d, out: out, file: f, note: d.note(name)}
	for range fetchAttempts {
		if err = g.rest(ctx); err == nil || ctx.Err() != nil {
			break
		}
		if e, ok := errors.AsType[*plugins.Error](err); ok && e.Kind != plugins.Unavailable {
			break
		}
	}
	if err == nil {
		err = d.local(out.Sync())
	}
	return errors.Join(err, d.local(out.Close()))
}

// note is where the part of a file is described.
func (d *download) note(name string) string {
	staging := ".grid-" + d.id
	return staging + partSuffix + name[len(staging):]
}

// getting is one file on its way.
type getting struct {
	*download
	out  *os.File
	file remote
	note string
}

// rest gets what is missing.
func (g *getting) rest(ctx context.Context) error {
	have, err := g.out.Seek(0, io.SeekEnd)
	if err != nil {
		return g.local(err)
	}
	var was part
	if have > 0 {
		text, err := g.root.ReadFile(g.note)
		if err != nil || json.Unmarshal(text, &was) != nil || was.Size != g.file.Size || have > was.Size || was.Validator == "" {
			have, was = 0, part{} // a part of something else
		}
	}
	if g.file.Size == 0 {
		return g.local(g.out.Truncate(0))
	}
	return g.get(ctx, max(0, have-overlap), was)
}

// get asks for the file from an offset on. Only what is proven to be the same
// file's is gone on with.
func (g *getting) get(ctx context.Context, from int64, was part) error {
	op := "download " + g.file.Name
	resp, err := g.c.open(ctx, op, g.id, g.file.Name, from, g.condition(was))
	if err != nil {
		return err
	}
	if resp == nil { // it has no more than that, though it says so
		return g.broken(op, from, errShrunk)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusPartialContent {
		from = 0
	} else if from == 0 || !g.rangeFrom(from, resp.Header.Get("Content-Range")) {
		return g.broken(op, from, errOtherPart)
	}
	body := io.LimitReader(resp.Body, g.file.Size-from+1)
	if same, err := g.continues(resp, body, &from, was); err != nil || !same {
		return g.broken(op, from, cmpErr(err, errChanged))
	}
	if err := g.begin(from, part{g.file.Size, g.validator(resp.Header)}); err != nil {
		return g.local(err)
	}
	g.meter.step(from)
	n, err := io.Copy(&counted{g.out, g.meter}, body)
	switch have := from + n; {
	case err == nil && have == g.file.Size:
		return nil
	case have > g.file.Size:
		return errors.Join(g.local(g.out.Truncate(0)),
			g.c.fail(plugins.Refused, op, fmt.Sprintf("the server sends more than the %d bytes it lists", g.file.Size), errTooLong))
	default:
		g.meter.step(-have) // counted again when it is gone on with
		if isLocal(err) {
			return g.local(err)
		}
		return g.c.fail(plugins.Unavailable, op, fmt.Sprintf("ended after %d of %d bytes", have, g.file.Size), cmpErr(err, io.ErrUnexpectedEOF))
	}
}

// rangeFrom reports whether a Content-Range is that of the file from there to its end;
// several parts in one answer have none.
func (g *getting) rangeFrom(from int64, contentRange string) bool {
	part := fmt.Sprintf("bytes %d-%d/", from, g.file.Size-1)
	size, ok := strings.CutPrefix(contentRange, part)
	return ok && (size == "*" || size == strconv.FormatInt(g.file.Size, 10))
}

var (
	errChanged = errors.New("the file is another one than the one begun")
	errShrunk  = errors.New("the file is shorter than listed")

	errOtherPart = errors.New("the server gives another part of the file than it was asked for")
)

func cmpErr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// isLocal tells errors of this machine's disk from those of the connection.
func isLocal(err error) bool {
	_, ok := errors.AsType[*os.PathError](err)
	return ok
}

// continues compares the answer with what is there: its beginning with the end
// of the part. from moves to where new bytes begin.
func (g *getting) continues(resp *http.Response, body io.Reader, from *int64, was part) (bool, error) {
	if *from == 0 {
		return true, nil
	}
	if g.validator(resp.Header) != was.Validator {
		return false, nil
	}
	have, err := g.out.Seek(0, io.SeekEnd)
	if err != nil {
		return false, err
	}
	old, again := make([]byte, have-*from), make([]byte, have-*from)
	if _, err := g.out.ReadAt(old, *from); err != nil {
		return false, err
	}
	if _, err := io.ReadFull(body, again); err != nil {
		return false, err
	}
	*from = have
	return bytes.Equal(old, again), nil
}

// begin notes what the file is and goes to where it is written next.
func (g *getting) begin(from int64, p part) error {
	if from > 0 {
		_, err := g.out.Seek(from, io.SeekStart)
		return err
	}
	if err := g.out.Truncate(0); err != nil {
		return err
	}
	if _, err := g.out.Seek(0, io.SeekStart); err != nil {
		return err
	}
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := g.root.MkdirAll(path.Dir(g.note), 0o755); err != nil {
		return err
	}
	return g.root.WriteFile(g.note, text, 0o600)
}

// broken throws the part away, so that the next attempt starts anew.
func (g *getting) broken(op string, from int64, err error) error {
	if terr := g.out.Truncate(0); terr != nil {
		return g.local(terr)
	}
	return g.c.fail(plugins.Unavailable, op, fmt.Sprintf("cannot go on at byte %d", from), err)
}

// validator is what tells two states of a file apart: a strong ETag, else the
// time of the last change (RFC 9110 section 13.1.5), else, as A-REX gives neither,
// the version of the job's files.
func (g *getting) validator(h http.Header) string {
	if tag := h.Get("ETag"); len(tag) > 1 && tag[0] == '"' {
		return tag
	}
	return cmp.Or(h.Get("Last-Modified"), g.version)
}

// condition is the validator that the server knows; "" where it is our own.
func (g *getting) condition(was part) string {
	if was.Validator == g.version {
		return ""
	}
	return was.Validator
}

// counted tells the meter of every write.
type counted struct {
	w io.Writer
	m *meter
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.m.step(int64(n))
	return n, err
}
