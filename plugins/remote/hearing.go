package remote

import (
	"io"
	"net"
	"sync/atomic"
)

// What a server may say over SSH in bytes: so much before it lets anybody in, banners included, and as much afterwards that
// is of no use, as are messages that SSH ignores, requests of the server's own and complaints of commands. Each channel and
// each question whether it is there still is worth some more, and each byte of an answer, or that is sent there, sixteen: it
// may come in packets of its own.
const (
	maxGreeting    = 1 << 20
	channelBytes   = 16 << 10
	keepAliveBytes = 256
	perUsefulByte  = 16
)

// hearing is a connection on which a server may say so much.
type hearing struct {
	net.Conn
	left atomic.Int64
	over atomic.Bool // it has said more
}

// Read implements net.Conn.
func (h *hearing) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	if h.left.Add(int64(-n)) < 0 {
		h.over.Store(true)
		return 0, errTooLong
	}
	return n, err
}

// useful tells that so many bytes were of use, or may be.
func (h *hearing) useful(n int) { h.left.Add(int64(n) * perUsefulByte) }

// usefulReader reads what is of use, to us or there.
type usefulReader struct {
	io.Reader
	heard *hearing
}

// Read implements io.Reader.
func (r *usefulReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.heard.useful(n)
	return n, err
}

// usefulWriter writes what is of use, to us or there.
type usefulWriter struct {
	io.Writer
	heard *hearing
}

// Write implements io.Writer.
func (w *usefulWriter) Write(p []byte) (int, error) {
	w.heard.useful(len(p))
	return w.Writer.Write(p)
}

// usefulPipe is what is sent there until it is closed.
type usefulPipe struct {
	io.Closer
	io.Writer
}
