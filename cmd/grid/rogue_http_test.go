package main_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// wireTricks are answers that are tricks of HTTP/1.1 itself: each is what is said first, and what
// is said again and again until nobody listens any more.
func wireTricks() map[string][2]string {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	const another = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"
	chunked := head + "Transfer-Encoding: chunked\r\n\r\n"
	var empty bytes.Buffer
	z := gzip.NewWriter(&empty)
	z.Close()
	return map[string][2]string{
		"answers before the answer":    {"", "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"},
		"continuations":                {"", "HTTP/1.1 100 Continue\r\n\r\n"},
		"headers":                      {head, "X: y\r\n"},
		"a header":                     {head + "X: ", "xxxxxxxx"},
		"extensions of a chunk":        {chunked + "1;", "x=y;"},
		"chunks with extensions":       {chunked, "1;" + strings.Repeat("x", 200) + "\r\n \r\n"},
		"chunks of a byte":             {chunked, "1\r\n \r\n"},
		"trailers":                     {chunked + "0\r\n", "X: y\r\n"},
		"a length that is a lie":       {head + "Content-Length: 9223372036854775807\r\n\r\n", "        "},
		"two lengths":                  {head + "Content-Length: 5\r\nContent-Length: 50\r\n\r\n", "        "},
		"packed nothing":               {head + "Content-Encoding: gzip\r\n\r\n", empty.String()},
		"packed nothing in one part":   {head + "Content-Encoding: gzip\r\n\r\n" + empty.String()[:10], "\x00\x00\x00\xff\xff"},
		"a bomb that nobody asked for": {head + "Content-Encoding: gzip\r\n\r\n" + empty.String()[:10], packedBlanks()},
		"another protocol":             {another, "\x00\x00\x08\x06\x00\x00\x00\x00\x00xxxxxxxx"},
		"another protocol, in silence": {another, ""},
	}
}

// packedBlanks are a megabyte of blanks, packed so that more may come.
func packedBlanks() string {
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, 9)
	w.Write(bytes.Repeat([]byte(" "), 1<<20))
	w.Flush()
	return out.String()
}

// plays answers by a trick instead of HTTP.
func plays(trick [2]string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		pour(c, trick[0], trick[1])
	}
}

// pour says something, and then something else, or nothing more, for a minute at most.
func pour(c net.Conn, head, part string) {
	c.SetDeadline(time.Now().Add(time.Minute))
	gone := make(chan struct{})
	go func() { // who answers pings must not wait for us
		defer close(gone)
		io.Copy(io.Discard, c)
	}()
	_, err := io.WriteString(c, head)
	if part == "" {
		<-gone
		return
	}
	for block := strings.Repeat(part, max(1, 64<<10/len(part))); err == nil; {
		_, err = io.WriteString(c, block)
	}
}

// frameOf is a frame of HTTP/2 (RFC 9113 section 4.1).
func frameOf(kind, flags byte, stream uint32, body string) string {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(body))<<8|uint32(kind))
	return string(binary.BigEndian.AppendUint32(append(head, flags), stream)) + body
}

// secondTricks are those of HTTP/2.
func secondTricks() map[string][2]string {
	const settings, ping, data, headers, continuation, reset, goaway, window = 4, 6, 0, 1, 9, 3, 7, 8
	hello := frameOf(settings, 0, 0, "")
	begun := hello + frameOf(headers, 4, 1, "\x88") // :status 200
	return map[string][2]string{
		"pings":               {hello, frameOf(ping, 0, 0, "12345678")},
		"settings":            {hello, frameOf(settings, 0, 0, "\x00\x03\x00\x00\x00\x64")},
		"empty data":          {begun, frameOf(data, 0, 1, "")},
		"padding":             {begun, frameOf(data, 8, 1, "\xff"+strings.Repeat("\x00", 255))},
		"continuations":       {hello + frameOf(headers, 0, 1, "\x88"), frameOf(continuation, 0, 1, "")},
		"long continuations":  {hello + frameOf(headers, 0, 1, "\x88"), frameOf(continuation, 0, 1, "\x00\x01x\x01y")},
		"early hints":         {hello, frameOf(headers, 4, 1, "\x08\x03103")},
		"windows":             {hello, frameOf(window, 0, 0, "\x00\x00\x00\x00")},
		"unknown frames":      {hello, frameOf(99, 0, 0, "x")},
		"resets of strangers": {hello, frameOf(reset, 0, 3, "\x00\x00\x00\x08")},
		"going away":          {hello, frameOf(goaway, 0, 0, "\x7f\xff\xff\xff\x00\x00\x00\x00")},
	}
}

// newSecond is a server of TLS that speaks HTTP/2 to who does, and otherwise says nothing but a
// trick either.
func newSecond(t *testing.T, own tls.Certificate, trick [2]string) (address string) {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{own}, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				s := c.(*tls.Conn)
				if s.HandshakeContext(t.Context()) != nil {
					return
				}
				if s.ConnectionState().NegotiatedProtocol != "h2" {
					_, _ = s.Read(make([]byte, 4096))
					fmt.Fprint(s, "HTTP/1.1 500 Only in HTTP/2\r\nContent-Length: 0\r\n\r\n")
					return
				}
				pour(s, trick[0], trick[1])
			}()
		}
	}()
	return l.Addr().String()
}

// newPlain is a server without TLS on this machine, and somebody who uses it.
func newPlain(t *testing.T, h http.Handler) (*victim, string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return newVictim(t), s.Listener.Addr().String()
}

// write puts a file where the victim is.
func (v *victim) write(name, text string) {
	v.t.Helper()
	if err := os.WriteFile(filepath.Join(v.dir, name), []byte(text), 0o600); err != nil {
		v.t.Fatal(err)
	}
}

// askers are those who ask somebody over HTTP, who answers by a trick.
var askers = map[string]func(t *testing.T, trick [2]string) (v *victim, h harm, named string){
	"information": func(t *testing.T, trick [2]string) (*victim, harm, string) {
		ce := newRogueCE(t)
		ce.turns(func(w http.ResponseWriter, r *http.Request, _ string) bool { plays(trick)(w, r); return true })
		return ce.victim, ce.grid(0, "resources", "--no-cache", "--info", ce.url), ce.url
	},
	"states": func(t *testing.T, trick [2]string) (*victim, harm, string) {
		ce := newRogueCE(t)
		ce.submitted()
		ce.turns(func(w http.ResponseWriter, r *http.Request, _ string) bool { plays(trick)(w, r); return true })
		h := ce.grid(0, "status", "--all")
		h.errs += h.out // its remarks are in its cells
		return ce.victim, h, "127.0.0.1"
	},
	"issuer": func(t *testing.T, trick [2]string) (*victim, harm, string) {
		v, url := newIssuerLab(t, &oddPaths{do: map[string]http.HandlerFunc{discoveryPath: plays(trick)}})
		return v, v.grid(0, "auth", "login", "--issuer", url, "--client-id", "c"), url
	},
	"tokens": func(t *testing.T, trick [2]string) (*victim, harm, string) {
		v, url := newIssuerLab(t, &oddPaths{do: map[string]http.HandlerFunc{"/token": plays(trick)}})
		return v, v.grid(0, "auth", "login", "--issuer", url, "--client-id", "c"), url
	},
	"queue lengths": func(t *testing.T, trick [2]string) (*victim, harm, string) {
		v, addr := newPlain(t, plays(trick))
		v.write("grid.toml", fmt.Sprintf("[services]\nqueue_lengths = [\"*=http://%s/\"]\n", addr))
		v.write("job.jdl", `Executable = "/bin/true";`)
		v.write("ce.ldif", strings.ReplaceAll(rogueLDIF, "HERE", "https://ce.example.org/arex"))
		return v, v.grid(0, "match", "--config", "grid.toml", "--info", "file:ce.ldif", "job.jdl"), addr
	},
	"scheduler": func(t *testing.T, trick [2]string) (*victim, harm, string) {
		v, addr := newPlain(t, plays(trick))
		v.write("job.jdl", `Executable = "/bin/true";`)
		return v, v.grid(0, "submit", "--via", "grid+http://"+addr, "job.jdl"), addr
	},
}

// TestTricksOfHTTP: whoever is asked over HTTP and answers by a trick of the protocol is named and
// costs no more than was said.
func TestTricksOfHTTP(t *testing.T) {
	t.Parallel()
	for who, ask := range askers {
		for name, trick := range wireTricks() {
			t.Run(who+"/"+name, func(t *testing.T) {
				t.Parallel()
				v, h, named := ask(t, trick)
				v.bounded(h, named)
			})
		}
	}
}

// TestTricksOfHTTP2: nor does an issuer whose server speaks HTTP/2 keep anybody busy by it.
func TestTricksOfHTTP2(t *testing.T) {
	t.Parallel()
	ca := testbed.NewCA(t, "Public", time.Now(), nil)
	cert := filepath.Join(t.TempDir(), "ca.pem")
	testbed.WriteFile(t, cert, testbed.PEM(ca.Cert), 0o644)
	for name, trick := range secondTricks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := newSecond(t, ca.Server(nil), trick)
			d := newRogueScheduled(t, nil, []string{"SSL_CERT_FILE=" + cert}, "issuers = [\"https://"+addr+"\"]\naudience = \"grid\"\n")
			signer, err := testbed.OpenIssuer(t.TempDir(), "https://"+addr)
			if err != nil {
				t.Fatal(err)
			}
			token, err := signer.Token("mallory", time.Hour, map[string]any{"aud": "grid"})
			if err != nil {
				t.Fatal(err)
			}
			before, most := d.processor(), testbed.PacedBeside(t, harmTime)
			if subject, took, err := d.ping(token); subject != "" || err != nil {
				t.Errorf("%q after %v, %v", subject, took, err)
			}
			used := d.processor() - before
			if most = max(most, testbed.PacedBeside(t, harmTime)); used > most {
				t.Errorf("%v of processor time, and not %v", used, most)
			}
			if subject, took, err := d.ping("secret-a"); subject != "alice" || err != nil {
				t.Errorf("alice is %q after %v, %v", subject, took, err)
			}
		})
	}
}

// TestSilentServicesAreLeftAlone: a service that takes a question and answers nothing is named each time, and after some
// times no longer waited for.
func TestSilentServicesAreLeftAlone(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	v, addr := newPlain(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked.Add(1); <-r.Context().Done() }))
	v.write("grid.toml", fmt.Sprintf("deadline = \"4s\"\n[services]\nqueue_lengths = [\"*=http://%s/\"]\n", addr))
	v.write("job.jdl", `Executable = "/bin/true";`)
	v.write("ce.ldif", strings.ReplaceAll(rogueLDIF, "HERE", "https://ce.example.org/arex"))
	for range 4 {
		h := v.grid(0, "match", "--config", "grid.toml", "--info", "file:ce.ldif", "job.jdl")
		v.bounded(h, "http://"+addr+"/: ")
		if strings.Contains(h.errs, "not asked") {
			if asked.Load() < 2 {
				t.Errorf("asked %d times", asked.Load())
			}
			return
		}
		if !strings.Contains(h.errs, "no answer ") {
			t.Errorf("%s", h.errs)
		}
	}
	t.Errorf("asked %d times, and would be again", asked.Load())
}
