// Package layers reads and writes the compressed layers of images. It is apart from package environment so that the
// program which starts jobs does not carry the tables of compression, which it would set up at each start.
package layers

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// A Codec is an environment.Codec.
type Codec struct{}

// maxWindow bounds the memory of a zstd decoder in bytes: frames that want a larger window are refused.
const maxWindow = 128 << 20

// Reader tells zstd, gzip and plain tar apart by their first bytes.
func (Codec) Reader(r io.Reader) (io.ReadCloser, error) {
	head := make([]byte, 4)
	n, err := io.ReadFull(r, head)
	if err != nil && n == 0 {
		return nil, err
	}
	all := io.MultiReader(bytes.NewReader(head[:n]), r)
	switch {
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		d, err := zstd.NewReader(all, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(2))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return gzip.NewReader(all)
	}
	return io.NopCloser(all), nil
}

// Writer compresses by zstd.
func (Codec) Writer(w io.Writer) (io.WriteCloser, error) {
	return zstd.NewWriter(w, zstd.WithEncoderConcurrency(2))
}
