package voms

import (
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// answering speaks the protocol of VOMS 1 over a pipe: it reads one request,
// says what it is told in pieces, and ends the connection or keeps it.
func answering(t *testing.T, keep bool, pieces ...string) (conn net.Conn, asked func() string) {
	t.Helper()
	here, there := net.Pipe()
	request := make(chan string, 1)
	go func() {
		buf := make([]byte, 1<<16)
		n, _ := there.Read(buf)
		request <- string(buf[:n])
		for _, p := range pieces {
			if _, err := io.WriteString(there, p); err != nil {
				return
			}
		}
		if !keep {
			there.Close()
		}
	}()
	t.Cleanup(func() { here.Close(); there.Close() })
	return here, func() string { return <-request }
}

// TestLegacyRequest: groups and roles in the letters of the older protocol; the
// order has the same names without them, whatever letter a role begins with.
func TestLegacyRequest(t *testing.T) {
	for _, c := range []struct {
		fqans           []string
		life            time.Duration
		targets         []string
		commands, order string
		rest            string
	}{
		{[]string{"/vo"}, 0, nil, "G/vo", "/vo", "<lifetime>-1</lifetime>"},
		{[]string{"/vo/Role=production"}, time.Hour, nil, "B/vo:production", "/vo:production", "<lifetime>3600</lifetime>"},
		{[]string{"/vo/g/Role=NULL/Capability=NULL"}, 0, nil, "G/vo/g", "/vo/g", ""},
		{[]string{"/Role=Reader"}, 0, nil, "RReader", "Reader", ""},
		{[]string{"/Role=BigGroup", "/vo"}, 0, nil, "RBigGroup G/vo", "BigGroup,/vo", ""},
		{[]string{"/vo", "/vo/g/Role=R"}, 0, []string{"a.org", "b.org"}, "G/vo B/vo/g:R", "/vo,/vo/g:R", "<targets>a.org,b.org</targets>"},
		{[]string{"/vo/<&>"}, 0, nil, "G/vo/<&>", "/vo/<&>", ""},
	} {
		conn, asked := answering(t, false, "<vomsans/>")
		_, err := askLegacy(conn, Server{}, Request{FQANs: c.fqans, Lifetime: c.life, Targets: c.targets})
		if err == nil {
			t.Errorf("%q: an answer without attributes is taken", c.fqans)
		}
		text := asked()
		var doc struct {
			Commands []string `xml:"command"`
			Order    string   `xml:"order"`
		}
		dec := xml.NewDecoder(strings.NewReader(text))
		dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
		if err := dec.Decode(&doc); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if got := strings.Join(doc.Commands, " "); got != c.commands || doc.Order != c.order || !strings.Contains(text, c.rest) {
			t.Errorf("%q: commands %s in the order %s; want %s, %s, %s\n%s", c.fqans, got, doc.Order, c.commands, c.order, c.rest, text)
		}
	}
}

// TestLegacyAnswers: attributes in one piece or many, with a connection that is
// kept or cut; complaints in both forms; and what is no answer.
func TestLegacyAnswers(t *testing.T) {
	acs, err := parseSequence(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	ac := "<ac>" + base64.StdEncoding.EncodeToString(acs[0].Raw) + "</ac>"
	var pieces []string
	for _, c := range "<vomsans>" + ac + "</vomsans>" {
		pieces = append(pieces, string(c))
	}
	lines := strings.ReplaceAll(ac, "A", "A\n ")
	for _, c := range []struct {
		what   string
		keep   bool
		pieces []string
		want   string // of the error; "": the attributes
		notes  string
	}{
		{"whole", false, []string{`<?xml version="1.0" encoding="US-ASCII"?><vomsans>` + ac + "</vomsans>"}, "", ""},
		{"letter by letter, and the connection stays", true, pieces, "", ""},
		{"in lines", false, []string{"<vomsans>" + lines + "</vomsans>"}, "", ""},
		{"with a warning", false, []string{"<vomsans>" + ac + "<warning><item><number>7</number><message> shorter </message></item></warning></vomsans>"}, "", "shorter"},
		{"a refusal", false, []string{"<vomsans><error><item><number>1001</number><message>not a member</message></item></error></vomsans>"}, "not a member", ""},
		{"a refusal with a stump", false, []string{"<vomsans><ac>AAAA</ac><error><code>X</code><message>gone</message></error></vomsans>"}, "gone", ""},
		{"a stump", false, []string{"<vomsans><ac>AAAA</ac></vomsans>"}, "no attributes in the answer", ""},
		{"no base64", false, []string{"<vomsans><ac>%%%</ac></vomsans>"}, "no attributes in the answer", ""},
		{"cut in the middle", false, []string{"<vomsans>" + ac[:50]}, "not understood", ""},
		{"another protocol", false, []string{"220 mail ready\r\n"}, "not understood", ""},
		{"nothing", false, nil, "closed the connection without an answer", ""},
		{"no end", false, []string{strings.Repeat("x", maxAnswer)}, "too long", ""},
	} {
		conn, _ := answering(t, c.keep, c.pieces...)
		a, err := askLegacy(conn, Server{}, Request{FQANs: []string{"/vo"}})
		if c.want == "" {
			if err != nil || a.AC.VO != "edu.example.org" || strings.Join(a.Warnings, " ") != c.notes {
				t.Errorf("%s: %+v, %v", c.what, a, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.what, err, c.want)
		}
	}
}

// TestCharactersOfRequests: nothing of a request becomes a header or another
// parameter of the server's.
func TestCharactersOfRequests(t *testing.T) {
	for _, bad := range []string{"/vo x", "/vo\r\nHost: evil", "/vo\x00", "/vö", "/vo\t"} {
		for _, req := range []Request{{FQANs: []string{bad}}, {Targets: []string{bad}}} {
			here, there := net.Pipe()
			go io.Copy(io.Discard, there)
			if _, err := askREST(here, Server{Host: "h", Port: 1}, req); err == nil || !strings.Contains(err.Error(), "with character") {
				t.Errorf("%+v: %v", req, err)
			}
			here.Close()
			there.Close()
		}
	}
}

// TestLinesOfVomses: the forms of a line, and where one is wrong.
func TestLinesOfVomses(t *testing.T) {
	for text, want := range map[string]string{
		`"a" "h" "15000" "/CN=h x" "vo"`:                     "a h:15000 /CN=h x vo f 1",
		`'a' h 15000 '/CN=h' vo`:                             "a h:15000 /CN=h vo f 1",
		"\t\"a\"\t\"h\"\t\"1\"\t\"/CN=h\"\t\"vo\"\t\"24\"\n": "a h:1 /CN=h vo f 1",
		"# c\n\n \"a\" \"h\" \"65535\" \"/CN\" \"v\" # end":  "a h:65535 /CN v f 3",
		`"a""h""1""/CN""v"`:                                  "a h:1 /CN v f 1",
		"":                                                   "",
		`"a" "h" "65536" "/CN" "v"`:                          "!f:1: port \"65536\"",
		`"a" "h" "-1" "/CN" "v"`:                             "!f:1: port",
		`"a" "h" "1" "/CN"`:                                  "!f:1: 4 fields",
		"\n\n\"a":                                            "!f:3: quote",
		"\n" + strings.Repeat("x", 70_000):                   "!f:2: ",
	} {
		servers, err := parseVomses("f", strings.NewReader(text))
		if bad, no := strings.CutPrefix(want, "!"); no {
			if err == nil || !strings.HasPrefix(err.Error(), bad) || len(servers) > 0 {
				t.Errorf("%.40q: %v, want %s", text, err, bad)
			}
			continue
		}
		got := ""
		for _, s := range servers {
			got += strings.Join([]string{s.Alias, s.String(), s.DN, s.VO, s.File}, " ") + " " + string(rune('0'+s.Line))
		}
		if err != nil || got != want {
			t.Errorf("%q: %q %v, want %q", text, got, err, want)
		}
	}
}

// TestFilesOfVomses: directories and files, in which one that is wrong takes
// nothing from the others, and a server that stands twice is asked once.
func TestFilesOfVomses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one := `"one" "h1" "1" "/CN=1" "vo"` + "\n"
	write("d/a", one)
	write("d/b", `"broken`)
	write("d/c", `"vo" "h2" "2" "/CN=2" "other"`+"\n"+one)
	write("d/sub/e", `"sub" "h3" "3" "/CN" "vo"`)
	alone := write("alone", `"x" "h4" "4" "/CN" "vo"`)
	if err := os.Symlink(alone, filepath.Join(dir, "d", "link")); err != nil {
		t.Fatal(err)
	}
	servers, errs := ReadVomses(filepath.Join(dir, "d"), filepath.Join(dir, "nothing"), alone)
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "/b:1: quote") {
		t.Errorf("%v", errs)
	}
	var got []string
	for _, s := range ServersOf(servers, "vo") {
		got = append(got, s.String())
	}
	if text := strings.Join(got, " "); text != "h1:1 h2:2 h4:4" {
		t.Errorf("of the VO: %s", text)
	}
	if some := ServersOf(servers, "one"); len(some) != 1 || some[0].Host != "h1" {
		t.Errorf("by alias: %v", some)
	}
	if some := ServersOf(servers, "V"); len(some) != 0 {
		t.Errorf("of nobody: %v", some)
	}
}

// TestLSCFiles: chains, separators and comments; and files that vouch for nobody.
func TestLSCFiles(t *testing.T) {
	for text, want := range map[string]string{
		"/CN=h\n/CN=ca\n":            "/CN=h</CN=ca",
		"# c\n\n /CN=h \r\n/CN=ca\n": "/CN=h</CN=ca",
		"----- NEXT CHAIN -----\n/CN=h\n/CN=ca\n----- NEXT CHAIN -----\n":   "/CN=h</CN=ca",
		"/CN=h\n/CN=sub\n/CN=root\n------ NEXT CHAIN ------\n/CN=i\n/CN=ca": "/CN=h</CN=sub</CN=root | /CN=i</CN=ca",
		"":                                      "!f: it names nobody",
		"# only\n-----\n":                       "!f: it names nobody",
		"/CN=h\n":                               "!f: a chain with 1 names",
		"/CN=h\n/CN=ca\n-----\n/CN=x\n":         "!f: a chain with 1 names",
		"/CN=h\nCN=ca\n":                        "!f:2: \"CN=ca\" is no DN",
		"/CN=h\n" + strings.Repeat("/", 70_000): "!f:2: ",
	} {
		lsc, err := parseLSC("f", strings.NewReader(text))
		if bad, no := strings.CutPrefix(want, "!"); no {
			if err == nil || !strings.HasPrefix(err.Error(), bad) {
				t.Errorf("%.40q: %v, want %s", text, err, bad)
			}
			continue
		}
		var chains []string
		for _, c := range lsc {
			chains = append(chains, strings.Join(c, "<"))
		}
		if got := strings.Join(chains, " | "); err != nil || got != want {
			t.Errorf("%q: %s %v, want %s", text, got, err, want)
		}
	}
	dir := t.TempDir()
	for _, c := range [][2]string{{"../x", "h"}, {"vo", "../h"}, {"", "h"}, {"vo", ""}, {"..", "h"}, {"vo", "a/b"}, {"vo\x00", "h"}} {
		if _, _, err := lscFor(dir, c[0], c[1]); err == nil || !strings.Contains(err.Error(), "cannot be a file name") {
			t.Errorf("%q: %v", c, err)
		}
	}
	if _, file, err := lscFor(dir, "vo", "h"); !os.IsNotExist(err) || file != filepath.Join(dir, "vo", "h.lsc") {
		t.Errorf("%s: %v", file, err)
	}
}

// TestSameDN: spellings of two attributes, and no other, are one.
func TestSameDN(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"/DC=a/CN=b", "/DC=a/CN=b", true}, {"/CN=b/Email=x@y", "/CN=b/emailAddress=x@y", true}, {"/CN=b/E=x@y", "/CN=b/Email=x@y", true}, {"/USERID=u/CN=b", "/UID=u/CN=b", true},
		{"/CN=b", "/CN=B", false}, {"/DC=a/CN=b", "/CN=b/DC=a", false}, {"/CN=b", "/CN=b/CN=proxy", false}, {"/OU=E=x", "/OU=emailAddress=x", false},
	} {
		if SameDN(c.a, c.b) != c.want || SameDN(c.b, c.a) != c.want {
			t.Errorf("%s and %s: not %v", c.a, c.b, c.want)
		}
	}
}
