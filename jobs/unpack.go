package jobs

import (
	"database/sql"
	"sync"
)

// decoding reads many records at once, on all processors, while more come from the
// database. The zero decoding is ready.
type decoding struct {
	work   sync.WaitGroup
	chunks []*chunk
	next   *chunk
	size   int               // of the text of a chunk
	sums   map[string]string // takes in the checksums of the rows, by id; or nil
}

// chunkRows is how many rows one task reads: much less would cost more in handing
// over than it saves.
const chunkRows = 256

// chunk is some rows, and what became of them. All its texts and all its records
// lie in one piece each: making a hundred thousand of both takes a fifth of a list's time.
type chunk struct {
	rows []found
	text text
	read []Record
	errs []error
}

// found is a row whose text ends there.
type found struct {
	id, sum string
	end     int
}

// text gathers what is scanned into it, one behind the other.
type text []byte

// Scan implements sql.Scanner.
func (t *text) Scan(from any) error {
	switch from := from.(type) {
	case []byte:
		*t = append(*t, from...)
	case string: // an older program's
		*t = append(*t, from...)
	} // what else a damaged page may hold is no record: that is seen when it is decoded
	return nil
}

// scanRow reads the row of a record that a query stands at, whatever is in it.
func scanRow(rows *sql.Rows, id *string, body *text, sum *string) error {
	begin := len(*body)
	if rows.Scan(id, body, sum) == nil {
		return nil
	}
	*body = (*body)[:begin]
	var no, what sql.NullString // of a damaged page there may be nothing in the place of a text
	err := rows.Scan(&no, body, &what)
	*id, *sum = no.String, what.String
	return err
}

// take reads the row that a query stands at.
func (d *decoding) take(rows *sql.Rows) error {
	if d.next == nil {
		d.next = &chunk{rows: make([]found, 0, chunkRows), text: make(text, 0, d.size)}
		d.chunks = append(d.chunks, d.next)
	}
	c := d.next
	var f found
	if err := scanRow(rows, &f.id, &c.text, &f.sum); err != nil {
		return err
	}
	f.end = len(c.text)
	if d.sums != nil {
		d.sums[f.id] = f.sum
	}
	if c.rows = append(c.rows, f); len(c.rows) == chunkRows {
		d.next, d.size = nil, len(c.text)+len(c.text)/8 // the next is likely to be as large
		d.work.Go(c.decode)
	}
	return nil
}

func (c *chunk) decode() {
	c.read, c.errs = make([]Record, len(c.rows)), make([]error, len(c.rows))
	begin := 0
	for i, f := range c.rows {
		c.errs[i] = decodeRow(f.id, c.text[begin:f.end], f.sum, &c.read[i])
		begin = f.end
	}
	c.text = nil
}

// records are all that could be read, in the order they were added; the error
// names the others.
func (d *decoding) records() ([]*Record, error) {
	if d.next != nil {
		d.next.decode()
	}
	d.work.Wait()
	out := make([]*Record, 0, len(d.chunks)*chunkRows)
	var bad damage
	for _, c := range d.chunks {
		for i := range c.read {
			if c.errs[i] != nil {
				bad.add(c.rows[i].id, c.errs[i])
				continue
			}
			out = append(out, &c.read[i])
		}
	}
	return out, bad.err()
}
