// Package httpfile reads files on HTTP servers by ranges, and serves files to
// readers of ranges: the two ends of a read-ahead cache that a site shares.
package httpfile

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ChangedError says that a file is no longer the one that was opened.
type ChangedError struct{ URL string }

func (e *ChangedError) Error() string { return e.URL + ": the file has changed since it was opened" }

// StatusError is an answer that is no file.
type StatusError struct {
	URL    string
	Status string
	Code   int // of HTTP; 0 where what came with it is wrong
}

// refused is an answer that has not the status that is wanted.
func refused(url string, resp *http.Response) error {
	e := &StatusError{url, resp.Status, resp.StatusCode}
	switch {
	case resp.StatusCode/100 == 3:
		e.Status += ", to a place under no origin of this cache, or again and again"
	case resp.StatusCode == http.StatusOK:
		e.Status += " to a request for a range: it serves no ranges"
	}
	return e
}

func (e *StatusError) Error() string { return fmt.Sprintf("%s: %q", e.URL, e.Status) }

// File is a file on a server that answers ranges. It is safe for many goroutines.
type File struct {
	client  *http.Client
	url     string
	size    int64
	stamp   stamp
	version string // names the content
	wait    time.Duration
}

// Open asks for a file's size and version. The client should follow redirects to places
// alone that the URL's owner may name, as [Server.Redirect] does; wait bounds each request.
func Open(ctx context.Context, client *http.Client, url string, wait time.Duration) (*File, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, refused(url, resp)
	}
	if err := packed(url, resp); err != nil {
		return nil, err
	}
	if resp.ContentLength < 0 || !strings.Contains(resp.Header.Get("Accept-Ranges"), "bytes") {
		return nil, &StatusError{URL: url, Status: "the server tells no size or serves no ranges"}
	}
	s := stampOf(resp)
	return &File{client: client, url: url, size: resp.ContentLength, stamp: s, version: s.version(resp.Header.Get("Date")), wait: wait}, nil
}

// packed says that an answer is not the bytes of a file, but these in another form.
func packed(url string, resp *http.Response) error {
	if form := resp.Header.Get("Content-Encoding"); form != "" && form != "identity" {
		return &StatusError{URL: url, Status: "the server sends the file as " + form}
	}
	return nil
}

// maxVersion bounds what a server may call a version, in bytes.
const maxVersion = 1024

// stamp is what a server says of a content: its strong ETag and the time of its last change, or "".
type stamp struct{ tag, modified string }

func stampOf(resp *http.Response) (s stamp) {
	if tag := resp.Header.Get("ETag"); !strings.HasPrefix(tag, "W/") && len(tag) <= maxVersion {
		s.tag = tag
	}
	if at := resp.Header.Get("Last-Modified"); len(at) <= maxVersion {
		s.modified = at
	}
	return s
}

// is tells whether an answer with the other stamp is of the same content. One with an ETag need
// not say when it changed, but if it does that must agree: some servers have one ETag for all.
func (s stamp) is(other stamp) bool {
	return s.tag == other.tag && (s.modified == other.modified || s.tag != "" && (s.modified == "" || other.modified == ""))
}

// settled is how long before the answer a file must have changed last for the time of that, in
// seconds, to name its content: until then it may change once more in the same second.
const settled = 2 * time.Second

// version names a content, by what the server said at a time; what it names too little of is
// called by a name of its own, as another content would look the same.
func (s stamp) version(date string) string {
	if s.tag != "" {
		return strings.TrimSpace(s.tag + " " + s.modified)
	}
	at, err := http.ParseTime(s.modified)
	now, err2 := http.ParseTime(date)
	if err != nil || err2 != nil || now.Sub(at) < settled {
		return rand.Text()
	}
	return s.modified
}

// Size returns the file's size in bytes.
func (f *File) Size() int64 { return f.size }

// Version names the content: as the server does, or, of one that names none, as what
// was there when it was opened.
func (f *File) Version() string { return f.version + " " + strconv.FormatInt(f.size, 10) }

// ReadAt fetches a range.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if off >= f.size {
		return 0, io.EOF
	}
	want := p[:min(int64(len(p)), f.size-off)]
	ctx, cancel := context.WithTimeout(context.Background(), f.wait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+int64(len(want))-1))
	resp, err := f.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusPartialContent {
		return 0, refused(f.url, resp)
	}
	if err := packed(f.url, resp); err != nil {
		return 0, err
	}
	if !f.stamp.is(stampOf(resp)) || !strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", off)) ||
		!strings.HasSuffix(resp.Header.Get("Content-Range"), fmt.Sprintf("/%d", f.size)) {
		return 0, &ChangedError{f.url}
	}
	n, err := io.ReadFull(resp.Body, want)
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}
