// Package ask puts questions to services over HTTP: with a deadline and a
// limit on the answer, many at once, and each service behind a breaker, so that
// one that is silent costs nothing but its answer.
package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Breaker remembers services that do not answer.
type Breaker interface {
	// Open returns why the service is not to be asked now; nil: ask.
	Open(service string) error
	// Done tells how asking went.
	Done(service string, err error)
}

// Client asks.
type Client struct {
	HTTP    *http.Client  // of Bound; nil: nothing is asked
	Breaker Breaker       // nil: none
	Timeout time.Duration // of one question; 0: 3 s
	Limit   int64         // on one answer, in bytes; 0: 4 MB
	AtOnce  int           // questions at the same time; 0: 16

	long sync.Mutex // held while a long answer is read
}

var errNoClient = errors.New("services are asked by a client that bounds where it connects to")

// errStatus is an answer other than 2xx.
type errStatus struct {
	status string
	said   string
}

func (e *errStatus) Error() string { return strings.TrimSpace(e.status + " " + e.said) }

// silentError is a question without an answer in its time.
type silentError time.Duration

func (e silentError) Error() string { return fmt.Sprintf("no answer within %s", time.Duration(e)) }

// Is tells that it is a deadline's error.
func (e silentError) Is(other error) bool { return other == context.DeadlineExceeded }

// Get asks by GET.
func (c *Client) Get(ctx context.Context, target, accept string) ([]byte, error) {
	return c.Do(ctx, http.MethodGet, target, map[string]string{"Accept": accept}, "")
}

// Do asks one question. Errors name the host and what it said.
func (c *Client) Do(ctx context.Context, method, target string, headers map[string]string, body string) ([]byte, error) {
	service := ServiceOf(target)
	if c.Breaker != nil {
		if err := c.Breaker.Open(service); err != nil {
			return nil, fmt.Errorf("%s: not asked: %w", service, err)
		}
	}
	timeout := c.Timeout
	if timeout == 0 {
		timeout = 3 * time.Second
	}
	asked, cancel := context.WithTimeoutCause(ctx, timeout, silentError(timeout))
	defer cancel()
	text, err := c.do(asked, method, target, headers, body)
	if err != nil {
		err = fmt.Errorf("%s: %w", service, briefly(trim(err)))
	}
	if c.Breaker != nil && !errors.Is(ctx.Err(), context.Canceled) {
		c.Breaker.Done(service, err)
	}
	return text, err
}

// ServiceOf is the URL of a service without what may be secret or differ by question.
func ServiceOf(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return "service"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// trim takes method and URL, which may hold secrets, off a client error.
func trim(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

func (c *Client) do(ctx context.Context, method, target string, headers map[string]string, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	if c.HTTP == nil {
		return nil, errNoClient
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	limit := c.Limit
	if limit == 0 {
		limit = 4 << 20
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(text)) > limit:
		return nil, fmt.Errorf("the answer is longer than %d bytes", limit)
	case resp.StatusCode/100 != 2:
		return text, &errStatus{resp.Status, firstLine(text)}
	}
	return text, nil
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text[:min(len(text), 200)])), "\n")
	if strings.HasPrefix(line, "<") {
		return ""
	}
	return line
}

// Each runs f for every key at once, AtOnce at a time, and joins the errors.
func (c *Client) Each(ctx context.Context, keys []string, f func(ctx context.Context, key string) error) error {
	atOnce := c.AtOnce
	if atOnce == 0 {
		atOnce = 16
	}
	room := make(chan struct{}, atOnce)
	errs := make([]error, len(keys))
	var all sync.WaitGroup
	for i, key := range keys {
		all.Go(func() {
			select {
			case room <- struct{}{}:
				defer func() { <-room }()
				errs[i] = f(ctx, key)
			case <-ctx.Done():
				errs[i] = fmt.Errorf("%s: %w", ServiceOf(key), ctx.Err())
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
