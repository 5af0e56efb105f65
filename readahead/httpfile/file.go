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
}

func (e *StatusError) Error() string { return fmt.Sprintf("%s: %q", e.URL, e.Status) }

// File is a file on a server that answers ranges. It is safe for many goroutines.
type File struct {
	client  *http.Client
	url     string
	size    int64
	version string // what the server says; "": nothing
	opened  string // names this opening where the server names no version
	wait    time.Duration
}

// Open asks for a file's size and version. The client should not follow
// redirects to places that the URL's owner may not name; wait bounds each request.
func Open(ctx context.Context, client *http.Client, url string, wait time.Duration) (*File, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, &StatusError{url, resp.Status}
	}
	if resp.ContentLength < 0 || !strings.Contains(resp.Header.Get("Accept-Ranges"), "bytes") {
		return nil, &StatusError{url, "the server tells no size or serves no ranges"}
	}
	f := &File{client: client, url: url, size: resp.ContentLength, version: version(resp), wait: wait}
	if f.version == "" { // another file of this size would look the same
		f.opened = rand.Text()
	}
	return f, nil
}

// maxVersion bounds what a server may call a version, in bytes.
const maxVersion = 1024

// version names the content: the strong ETag, else the time of the last change.
func version(resp *http.Response) string {
	if tag := resp.Header.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") && len(tag) <= maxVersion {
		return tag
	}
	if at := resp.Header.Get("Last-Modified"); len(at) <= maxVersion {
		return at
	}
	return ""
}

// Size returns the file's size in bytes.
func (f *File) Size() int64 { return f.size }

// Version names the content: as the server does, or, of one that names none, as what
// was there when it was opened.
func (f *File) Version() string { return f.version + f.opened + " " + strconv.FormatInt(f.size, 10) }

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
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+int64(len(want))-1))
	resp, err := f.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusPartialContent {
		return 0, &StatusError{f.url, resp.Status}
	}
	if version(resp) != f.version || !strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", off)) ||
		!strings.HasSuffix(resp.Header.Get("Content-Range"), fmt.Sprintf("/%d", f.size)) {
		return 0, &ChangedError{f.url}
	}
	n, err := io.ReadFull(resp.Body, want)
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}
