package infosys

import (
	"bytes"
	"io"
)

// hushed is an answer without a secret of ours that the server may say back: there are as many x in its place.
type hushed struct {
	in     io.Reader
	secret []byte // empty: none
	held   []byte // what was read and is not passed on yet
	clean  int    // bytes of held in which no secret begins
	err    error
}

// Read implements io.Reader.
func (h *hushed) Read(p []byte) (int, error) {
	for h.clean == 0 {
		if h.err != nil {
			return 0, h.err
		}
		h.fill(len(p))
	}
	n := copy(p, h.held[:h.clean])
	h.held, h.clean = h.held[n:], h.clean-n
	return n, nil
}

// fill reads on. A secret may end in what comes next.
func (h *hushed) fill(most int) {
	part := make([]byte, max(most, 4<<10))
	n, err := h.in.Read(part)
	h.held, h.err = append(h.held, part[:n]...), err
	if len(h.secret) > 0 {
		h.held = bytes.ReplaceAll(h.held, h.secret, bytes.Repeat([]byte("x"), len(h.secret)))
	}
	h.clean = len(h.held)
	if err == nil && len(h.secret) > 0 {
		h.clean = max(0, h.clean-len(h.secret)+1)
	}
}
