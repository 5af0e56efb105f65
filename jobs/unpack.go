package jobs

import "sync"

// decoding reads many records at once, on all processors, while more come from the
// database. The zero decoding is ready.
type decoding struct {
	work   sync.WaitGroup
	chunks []*chunk
	next   *chunk
}

// chunkRows is how many rows one task reads: much less would cost more in handing
// over than it saves.
const chunkRows = 256

// chunk is some rows, and what became of them.
type chunk struct {
	ids    []string
	bodies []row
	read   []*Record // nil: damaged
	errs   []error
}

// add takes one row; its bytes are the decoding's.
func (d *decoding) add(id string, body row) {
	if d.next == nil {
		d.next = &chunk{}
		d.chunks = append(d.chunks, d.next)
	}
	c := d.next
	c.ids, c.bodies = append(c.ids, id), append(c.bodies, body)
	if len(c.ids) == chunkRows {
		d.next = nil
		d.work.Go(c.decode)
	}
}

func (c *chunk) decode() {
	c.read, c.errs = make([]*Record, len(c.ids)), make([]error, len(c.ids))
	for i, b := range c.bodies {
		r := &Record{}
		if c.errs[i] = decode(b.body, b.sum, r); c.errs[i] == nil {
			c.read[i] = r
		}
	}
	c.bodies = nil
}

// records are all that could be read, in the order they were added; the error
// names the others.
func (d *decoding) records() ([]*Record, error) {
	if d.next != nil {
		d.next.decode()
	}
	d.work.Wait()
	var out []*Record
	var bad damage
	for _, c := range d.chunks {
		for i, r := range c.read {
			if r == nil {
				bad.add(c.ids[i], c.errs[i])
				continue
			}
			out = append(out, r)
		}
	}
	return out, bad.err()
}
