package plugins

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// closing is a back-end that does nothing but be closed.
type closing struct {
	Submitter
	closed *[]string
	name   string
	err    error
}

func (c closing) Close() error {
	*c.closed = append(*c.closed, c.name)
	return c.err
}

// backend is a description of one that opens as it says.
func backend(name string, closed *[]string, opens, closes error) Backend {
	return Backend{Name: name, Schemes: []string{name, name + "+ssh"}, Interfaces: []string{"org." + name},
		Open: func(Config) (Submitter, error) { return closing{closed: closed, name: name, err: closes}, opens }}
}

// TestRegistry: a back-end is found by what it speaks and by the scheme of a URL, in any
// case of letters; what only shows takes no jobs.
func TestRegistry(t *testing.T) {
	var closed []string
	shows := backend("shows", &closed, nil, nil)
	shows.ReadOnly = true
	r, err := Open([]Backend{backend("b", &closed, nil, nil), shows, backend("a", &closed, nil, nil)}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"a:": "a", "a://host/x": "a", "A+SSH://host": "a", "b+ssh://user@host:22": "b", "shows:x": "shows", "c:": "", "": "", "a": "a", ":a": "", "https://a/": "",
	} {
		if got, ok := r.ForURL(url); ok != (want != "") || got.Name != want {
			t.Errorf("%q: %q %v, want %q", url, got.Name, ok, want)
		}
	}
	if got := strings.Join(r.Interfaces(), " "); got != "org.a org.b" {
		t.Errorf("jobs can be sent by %s", got)
	}
	for name, want := range map[string][3]bool{"org.a": {true, true, false}, "org.shows": {true, false, true}, "org.c": {}} {
		_, known := r.For(name)
		if got := [3]bool{known, r.Takes(name), r.ReadOnly(name)}; got != want {
			t.Errorf("%s: known, takes, shows only: %v, want %v", name, got, want)
		}
	}
	all := r.All()
	all[0] = Opened{}
	if len(r.All()) != 3 || r.All()[0].Name != "b" {
		t.Error("the list of all is the registry's own")
	}
	if err := r.Close(); err != nil || strings.Join(closed, " ") != "b shows a" {
		t.Errorf("closed %v: %v", closed, err)
	}
}

// TestRegistryOfTwoForOne: two back-ends for one interface or one scheme are refused.
func TestRegistryOfTwoForOne(t *testing.T) {
	var closed []string
	for what, change := range map[string]func(*Backend){
		"interface org.a": func(b *Backend) { b.Interfaces = append(b.Interfaces, "org.a") },
		"scheme a":        func(b *Backend) { b.Schemes = append(b.Schemes, "a") },
	} {
		other := backend("b", &closed, nil, nil)
		change(&other)
		if _, err := Open([]Backend{backend("a", &closed, nil, nil), other}, Config{}); err == nil || !strings.Contains(err.Error(), "two back-ends for "+what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestBackendThatDoesNotOpen: where one does not open, those before it are closed, all of
// them whatever one says to that, and those behind it are not opened.
func TestBackendThatDoesNotOpen(t *testing.T) {
	var closed []string
	broken, stuck := errors.New("broken"), errors.New("stuck")
	behind := backend("c", &closed, nil, nil)
	behind.Open = func(Config) (Submitter, error) { t.Error("opened behind a broken one"); return nil, nil }
	_, err := Open([]Backend{backend("a", &closed, nil, stuck), backend("b", &closed, nil, nil), backend("x", &closed, broken, nil), behind}, Config{})
	if !errors.Is(err, broken) || !errors.Is(err, stuck) || !strings.Contains(err.Error(), "x: broken") || strings.Join(closed, " ") != "a b" {
		t.Errorf("%v, closed %v", err, closed)
	}
}

// TestErrors: a failure tells what was done where, and what was said, in one line without
// anything that moves a cursor; the cause below is found.
func TestErrors(t *testing.T) {
	for want, e := range map[string]*Error{
		"submit ce.example.org: no room":   {Kind: Refused, Op: "submit", Endpoint: "ce.example.org", Said: "no room"},
		"submit ce: no room (try another)": {Kind: Refused, Op: "submit", Endpoint: "ce", Said: "no room", Hint: "try another"},
		"ask ce: interrupted":              {Kind: Unavailable, Op: "ask", Endpoint: "ce", Err: context.Canceled},
		"ask ce: its words":                {Kind: Unavailable, Op: "ask", Endpoint: "ce", Said: "its words", Err: errors.New("a cause")},
		"ask ce: unavailable":              {Kind: Unavailable, Op: "ask", Endpoint: "ce"},
		"ask ce: uncertain":                {Kind: Uncertain, Op: "ask", Endpoint: "ce"},
		"ask ce: credential":               {Kind: Credential, Op: "ask", Endpoint: "ce"},
		"ask ce: invalid":                  {Kind: Invalid, Op: "ask", Endpoint: "ce"},
		"ask ce: refused":                  {Kind: Refused, Op: "ask", Endpoint: "ce"},
		"ask ce: unknown":                  {Op: "ask", Endpoint: "ce"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if e.Err != nil && !errors.Is(e, e.Err) {
			t.Errorf("%q hides its cause", want)
		}
	}
	hostile := (&Error{Kind: Refused, Op: "get \x1b[2J", Endpoint: "a\nb", Said: "\x1b]0;x\x07\u202e" + "word"}).Error()
	if strings.ContainsAny(hostile, "\x1b\x07\n\u202e") {
		t.Errorf("%q", hostile)
	}
}
