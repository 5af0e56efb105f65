package foreign

import (
	"fmt"
	"io"
)

// Parts is a document of others, of XML or JSON, each part of which (a tag with its attributes, a
// text, a comment) may have so many bytes, as they are written: a decoder keeps a part until it is
// whole. Next begins the next one.
type Parts struct {
	From io.Reader
	Most int

	left int
}

// Next lets the next part have its bytes.
func (p *Parts) Next() { p.left = p.Most }

// Read implements io.Reader.
func (p *Parts) Read(b []byte) (int, error) {
	if p.left <= 0 {
		return 0, fmt.Errorf("a tag, text or comment of more than %d bytes", p.Most)
	}
	n, err := p.From.Read(b[:min(len(b), p.left)])
	p.left -= n
	return n, err
}
