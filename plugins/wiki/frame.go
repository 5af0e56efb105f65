package wiki

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// headerBytes are the eight digits and the separator.
const headerBytes = 9

// The largest bodies taken.
const (
	MaxRequest = 1 << 20  // of a scheduler
	MaxReply   = 64 << 20 // of a resource manager
)

// FrameError is a message that is not framed as it must be.
type FrameError struct {
	Code int // the status code it is answered with
	Why  string
	Err  error // of the connection; may be nil
}

func (e *FrameError) Error() string {
	if e.Err != nil {
		return "wiki frame: " + e.Why + ": " + e.Err.Error()
	}
	return "wiki frame: " + e.Why
}

// Unwrap returns the error of the connection.
func (e *FrameError) Unwrap() error { return e.Err }

// ReadFrame reads one message and returns its body without trailing NULs. A
// body above most bytes is refused before it is read; memory grows with what
// arrives, not with what is announced.
func ReadFrame(r io.Reader, most int) ([]byte, error) {
	var head [headerBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, &FrameError{CodeShortHeader, "short header", err}
	}
	size, err := frameSize(head[:headerBytes-1])
	if err != nil {
		return nil, err
	}
	if size > most {
		return nil, &FrameError{CodeBadHeader, fmt.Sprintf("a body of %d bytes, %d are the most", size, most), nil}
	}
	var body bytes.Buffer
	body.Grow(min(size, 64<<10))
	n, err := io.Copy(&body, io.LimitReader(r, int64(size)))
	if err == nil && n < int64(size) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, &FrameError{CodeShortBody, fmt.Sprintf("%d of %d bytes of the body", n, size), err}
	}
	return bytes.TrimRight(body.Bytes(), "\x00"), nil
}

// frameSize reads the digits; blanks before them are taken as zeros.
func frameSize(digits []byte) (int, error) {
	text := bytes.TrimLeft(digits, " ")
	size, err := strconv.ParseUint(string(text), 10, 31)
	if err != nil || len(text) == 0 || text[0] == '+' {
		return 0, &FrameError{CodeBadHeader, fmt.Sprintf("size %q is not a number", digits), nil}
	}
	return int(size), nil
}

// errTooLong is a body whose size does not fit eight digits.
var errTooLong = errors.New("wiki: a body has at most 99999999 bytes")

// AppendFrame appends a message with a separator (Maui sends a newline).
func AppendFrame(dst []byte, separator byte, body []byte) ([]byte, error) {
	if len(body) > 99999999 {
		return dst, errTooLong
	}
	dst = fmt.Appendf(dst, "%08d%c", len(body), separator)
	return append(dst, body...), nil
}
