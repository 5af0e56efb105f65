package arcrest

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"time"
)

// budget bounds an answer that is a list. An endpoint that exceeds it fails,
// and no other.
type budget struct {
	root  string // name of the outermost element; "": any
	items int    // children of the root
	room  *int64 // bytes that are left for it and others like it; nil: maxList for it alone
}

const (
	maxItem     = 1 << 20  // bytes of one child with all it holds
	maxList     = 64 << 20 // bytes of all of it: 100,000 jobs have some 15
	maxVersions = 100
	// maxListed is how many jobs of one user an endpoint may list beside
	// those that are asked about, and elementSlack what else may stand in
	// any list.
	maxListed    = 100_000
	elementSlack = 16
)

var errOverBudget = errors.New("the answer has more in it than was asked for")

// element is one child of an answer's root.
type element struct {
	name  string
	start xml.StartElement
	dec   *xml.Decoder
}

// decode reads the whole element.
func (e *element) decode(v any) error { return e.dec.DecodeElement(v, &e.start) }

// each makes the request and hands over the children of the answer's root one
// by one, as they arrive: never more than one of them is in memory. No text at
// all is an empty list.
func (c *client) each(ctx context.Context, ca *call, b budget, visit func(*element) error) error {
	resp, err := c.send(ctx, ca)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == ca.also {
		return nil
	}
	switch err := walk(resp.Body, b, visit); {
	case errors.Is(err, errOverBudget), err == nil:
		if err != nil {
			err = c.failed(ca, err, true)
		} else {
			finish(resp.Body)
		}
		return err
	case isSyntax(err):
		return c.failed(ca, fmt.Errorf("%w: %w", errMalformed, err), true)
	default:
		return c.failed(ca, err, true)
	}
}

const (
	finishMost = 4 << 10     // bytes
	finishTime = time.Second // for the longest
)

// finish reads what follows the last element of an answer: only a connection whose answer has been read to its end is used
// for the next request, and the end of one that came in chunks follows by itself.
func finish(answer io.ReadCloser) {
	late := time.AfterFunc(finishTime, func() { _ = answer.Close() })
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, answer, finishMost) // what the answer said is known
}

// isSyntax reports whether the answer is wrong, as opposed to the connection.
func isSyntax(err error) bool {
	if _, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return true
	}
	if _, ok := errors.AsType[xml.UnmarshalError](err); ok {
		return true
	}
	return errors.Is(err, errMalformed)
}

func walk(answer io.Reader, b budget, visit func(*element) error) error {
	room := b.room
	if room == nil {
		room = new(int64)
		*room = maxList
	}
	in := &allowance{r: answer, left: maxItem, room: room}
	dec := xml.NewDecoder(in)
	dec.Strict = false
	depth, items, seen := 0, 0, false
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) && (depth == 0 || !seen) {
			return nil
		}
		if err != nil {
			return err
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			if depth == 0 {
				if b.root != "" && tok.Name.Local != b.root {
					return fmt.Errorf("%w: <%s> instead of <%s>", errMalformed, tok.Name.Local, b.root)
				}
				depth, seen = 1, true
				continue
			}
			if items++; items > b.items {
				return errOverBudget
			}
			in.left = maxItem
			if err := visit(&element{tok.Name.Local, tok, dec}); err != nil {
				return err
			}
		case xml.EndElement:
			return nil // of the root
		}
	}
}

// allowance is a reader that ends when one item, or all together, have had
// their share.
type allowance struct {
	r    io.Reader
	left int64
	room *int64
}

func (a *allowance) Read(p []byte) (int, error) {
	most := min(a.left, *a.room)
	if most <= 0 {
		return 0, errOverBudget
	}
	n, err := a.r.Read(p[:min(int64(len(p)), most)])
	a.left -= int64(n)
	*a.room -= int64(n)
	return n, err
}

// eachJob is each for a list of jobs.
func (c *client) eachJob(ctx context.Context, ca *call, items int, visit func(*jobItem)) error {
	return c.each(ctx, ca, budget{root: "jobs", items: items}, func(e *element) error {
		var j jobItem
		if e.name != "job" {
			return e.dec.Skip()
		}
		if err := e.decode(&j); err != nil {
			return err
		}
		j.clean(c.redact)
		visit(&j)
		return nil
	})
}
