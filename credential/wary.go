package credential

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"gridbroker/asked"
)

// maxHeaders bounds the headers of an answer over HTTP, in bytes.
const maxHeaders = 64 << 10

// A Transport is what Wary makes of another one.
type Transport struct {
	*http.Transport
	begin sync.Once // the first request: how connections are made is settled by then
}

// Wary makes a transport one for servers that may mean ill. Their headers
// are bounded. They speak HTTP/1.1: in HTTP/2 a server may send frames that bring nothing
// for as long as the connection stands, which no bound of an answer counts. What they
// send is not unpacked by the way: parts that unpack to nothing count nowhere either. And an answer that
// begins another protocol is an error: nobody asked for one, and no deadline ends the reading of what follows it.
// Of what comes below TLS no more is read than a Dialer does.
func Wary(t *http.Transport) *Transport {
	t.MaxResponseHeaderBytes, t.DisableCompression = maxHeaders, true
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	if t.TLSClientConfig != nil {
		t.TLSClientConfig.NextProtos = nil // a clone of the default transport offers HTTP/2
	}
	return &Transport{Transport: t}
}

var errProtocol = errors.New("the answer begins another protocol, for which nobody asked")

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.begin.Do(func() { t.DialContext = leanDial(t.DialContext) })
	var below *lean
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		if below = leanBelow(got.Conn); below != nil {
			below.again()
		}
	}})
	began := time.Now()
	resp, err := t.Transport.RoundTrip(r.WithContext(ctx))
	if asked.Wanted(ctx) {
		tell(r, resp, err, time.Since(began))
	}
	if err != nil {
		return nil, hushed(r, err)
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body.Close()
		return nil, errProtocol
	}
	if _, err := resp.Location(); err != nil {
		resp.Header.Del("Location") // nobody can go there, and http.Client would say it
	}
	if below != nil {
		resp.Body = &counted{resp.Body, below}
	}
	if r.Header.Get("Authorization") != "" {
		resp.Body = &hushing{resp.Body, r}
	}
	return resp, nil
}

// hushed takes out of an error what the request has shown: what is no HTTP is told in the server's words, which may be our own.
func hushed(r *http.Request, err error) error {
	_, shown, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	_, password, _ := r.BasicAuth()
	plain, _ := url.QueryUnescape(password)
	text := err.Error()
	said := text
	for _, secret := range []string{shown, password, plain} {
		if secret != "" {
			said = strings.ReplaceAll(said, secret, "[our token]")
		}
	}
	if said == text {
		return err
	}
	return errors.New(said) // what it was made of would tell
}

// hushing is the body of an answer to who has shown something: its end may be in the server's words, too.
type hushing struct {
	io.ReadCloser
	asked *http.Request
}

// Read implements io.Reader.
func (h *hushing) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = hushed(h.asked, err)
	}
	return n, err
}

// tell says what was asked and what came of it, in no words of the server's: they
// may have the secrets in them that it was shown.
func tell(r *http.Request, resp *http.Response, err error, took time.Duration) {
	var came string
	switch _, below := errors.AsType[*net.OpError](err); {
	case err == nil:
		came = strings.TrimSpace(strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode))
	case below:
		came = "no answer: " + err.Error()
	case r.Context().Err() != nil: // err may have come from the server just before
		came = "no answer: " + r.Context().Err().Error()
	default:
		came = "no answer"
	}
	asked.Tell(r.Context(), "%s %s: %s (%v)", r.Method, asked.URL(r.URL), came, took.Round(time.Millisecond))
}

// counted is the body of an answer that tells what came.
type counted struct {
	io.ReadCloser
	below *lean
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.below.brought.Add(int64(n))
	return n, err
}
