package wiki

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// data is the directory of recorded sessions with a real Maui 3.3.1.
func data(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("GRID_TESTDATA")
	if dir == "" {
		t.Skip("GRID_TESTDATA does not name a directory with wiki/")
	}
	return dir
}

// TestVectors compares with checksums made by Slurm's code and by Maui.
func TestVectors(t *testing.T) {
	for _, file := range []string{"wiki-vectors.tsv", "wiki/maui-vectors.tsv"} {
		text, err := os.ReadFile(filepath.Join(data(t), file))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.SplitSeq(strings.TrimRight(string(text), "\n"), "\n") {
			part := strings.SplitN(line, "\t", 3)
			if len(part) < 3 || strings.HasPrefix(line, "#") {
				continue
			}
			key, err := ParseKey(part[0])
			if err != nil {
				t.Errorf("%s: key %s: %v", file, part[0], err)
				continue
			}
			if got := "CK=" + key.Sum([]byte(part[2])); got != part[1] {
				t.Errorf("%s: key %s, %q: %s, want %s", file, part[0], part[2], got, part[1])
			}
			n++
		}
		if n == 0 {
			t.Errorf("%s: no vectors", file)
		}
	}
}

// exchange is a message of a session and the answer.
type exchange struct{ asked, answered []byte }

var quoted = regexp.MustCompile(`^([CS])> b(['"].*['"])$`)

// session reads a recorded session; messages that came in pieces have no answer.
func session(t testing.TB, file string) (list []exchange) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		m := quoted.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		inner := m[2][1 : len(m[2])-1]
		raw, err := strconv.Unquote(`"` + strings.NewReplacer(`"`, `\"`, `\'`, `'`).Replace(inner) + `"`)
		if err != nil {
			t.Fatalf("%s: %s: %v", file, line, err)
		}
		if m[1] == "C" {
			list = append(list, exchange{asked: []byte(raw)})
		} else if len(list) > 0 {
			list[len(list)-1].answered = []byte(raw)
		}
	}
	return list
}

// TestRequests builds every command that Maui sent anew, byte for byte.
func TestRequests(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(data(t), "wiki", "wire", "*.txt"))
	n := 0
	for _, file := range files {
		for _, e := range session(t, file) {
			body, err := ReadFrame(bytes.NewReader(e.asked), MaxRequest)
			if err != nil {
				t.Errorf("%s: %q: %v", filepath.Base(file), e.asked, err)
				continue
			}
			m, err := Rules{Key: keyOf(body), Now: time.Now}.Open(body)
			if err != nil {
				t.Errorf("%s: %q: %v", filepath.Base(file), e.asked, err)
				continue
			}
			req, err := ParseRequest(m.Data)
			if err != nil {
				t.Errorf("%s: %q: %v", filepath.Base(file), m.Data, err)
				continue
			}
			out := []byte(req.String())
			if m.Signed {
				out = NewKey(42).Sign(m.Time, m.Auth, req.String())
			}
			if again, _ := AppendFrame(nil, '\n', out); !bytes.Equal(again, e.asked) {
				t.Errorf("%s:\n%q\n%q", filepath.Base(file), again, e.asked)
			}
			n++
		}
	}
	t.Logf("%d commands", n)
	if n == 0 {
		t.Error("no command was compared")
	}
}

// keyOf is the sessions' key, where the message is signed.
func keyOf(body []byte) Key {
	if bytes.HasPrefix(body, []byte("CK=")) {
		return NewKey(42)
	}
	return Key{}
}

// verdicts are the sessions whose answers break a rule, and the rule: Maui
// dropped these answers, and so do we. Where it took what breaks a rule of
// the guide's, it is not here.
var verdicts = map[string]string{
	"ck-none": "checksum", "ck-upper": "checksum", "ck-wrong": "checksum", "bare": "checksum", "auth-none-bare": "", "ts-3610": "time",
	"ts-plus3610": "time", "size-3MB": "frame", "size-garbage": "frame", "size-long": "frame", "size-short": "checksum", "close": "frame",
}

// TestAnswers reads every answer that was recorded, with Maui's verdict, and
// writes it anew, byte for byte.
func TestAnswers(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(data(t), "wiki", "wire", "*.txt"))
	n := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		for _, e := range session(t, file) {
			if e.answered == nil {
				continue
			}
			n++
			m, err := openAnswer(e)
			if want := verdicts[name]; want != "" {
				if err == nil {
					t.Errorf("%s: %.80q was taken, Maui dropped it (%s)", name, e.answered, want)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %.80q: %v, Maui took it", name, e.answered, err)
				continue
			}
			again(t, name, e.answered, m)
		}
	}
	t.Logf("%d answers", n)
	if n == 0 {
		t.Error("no answer was compared")
	}
}

// openAnswer opens an answer as Maui does: with its hour, and 2 MiB at most.
func openAnswer(e exchange) (Message, error) {
	asked, err := ReadFrame(bytes.NewReader(e.asked), MaxRequest)
	if err != nil {
		return Message{}, err
	}
	at, _ := ParseMessage(asked)
	body, err := ReadFrame(bytes.NewReader(e.answered), 2<<20)
	if err != nil {
		return Message{}, err
	}
	if at.Time.IsZero() { // a bare command
		at, _ = ParseMessage(body)
	}
	now := func() time.Time { return at.Time }
	return Rules{Key: keyOf(asked), Window: time.Hour, Now: now}.Open(body)
}

// loose are sessions whose data is not in the canonical form: other
// separators, a missing last semicolon, the form of dialect 1.2...
var loose = []string{
	"v12-nodes", "node-noend", "node-state-last", "job-noend", "count-wrong", "count-large", "sc-100", "sc-missing", "sc-semicolon", "ok-nul",
	"size-spaces", "nodes-fail", "job-fields", "node-fields", "job-lead-colon", "job-word-state", "two-writes",
}

// again writes an answer from what was read of it.
func again(t *testing.T, name string, want []byte, m Message) {
	t.Helper()
	r, err := ParseReply(m.Data)
	if err != nil {
		if name != "sc-missing" {
			t.Errorf("%s: %.80q: %v", name, m.Data, err)
		}
		return
	}
	if slices.Contains(loose, name) {
		return
	}
	out := []byte(r.String())
	if m.Signed || bytes.Contains(want[:24], []byte("CK=")) {
		out = NewKey(42).Sign(m.Time, m.Auth, r.String())
	}
	if got, _ := AppendFrame(nil, want[8], out); !bytes.Equal(got, want) {
		t.Errorf("%s:\n%q\n%q", name, got, want)
	}
}

// timeStamps are what a played session cannot have equal.
var timeStamps = regexp.MustCompile(`(CK=[0-9a-f]{16}|(TS|UPDATETIME|QUEUETIME|STARTTIME|COMPLETETIME)=\d+)`)

// TestSessions plays whole sessions against a Server before a simulated
// cluster: every answer is the recorded one, byte for byte but for the time
// stamps and the checksum over them.
func TestSessions(t *testing.T) {
	for _, name := range []string{"ok-newline", "ok-space", "ok-X", "verbs", "jobs-none", "ts-301"} {
		t.Run(name, func(t *testing.T) {
			list := session(t, filepath.Join(data(t), "wiki", "wire", name+".txt"))
			clock := time.Unix(0, 0)
			c := stagedCluster(t, list, func() time.Time { return clock })
			for _, e := range list {
				if e.answered == nil {
					continue
				}
				s := &Server{Manager: c, Key: NewKey(42), Auth: "fakerm", Separator: e.answered[8], Now: func() time.Time { return clock }}
				body, err := ReadFrame(bytes.NewReader(e.asked), MaxRequest)
				if err != nil {
					t.Fatal(err)
				}
				m, _ := ParseMessage(body)
				clock = m.Time
				got, want := masked(s.Answer(context.Background(), nil, body)), masked(e.answered)
				if got != want {
					t.Errorf("%s\ngot  %s\nwant %s", m.Data, got, want)
				}
			}
		})
	}
}

func masked(b []byte) string { return timeStamps.ReplaceAllString(string(b), "*") }

// stagedCluster is the cluster that the first answers of a session show.
func stagedCluster(t *testing.T, list []exchange, now func() time.Time) *Cluster {
	t.Helper()
	var c *Cluster
	for _, e := range list {
		m, err := openAnswer(e)
		if err != nil {
			m, _ = ParseMessage(e.answered[headerBytes:])
		}
		r, err := ParseReply(m.Data)
		if err != nil {
			t.Fatal(err)
		}
		if c == nil {
			var nodes []Node
			for i := range r.Records {
				n := nodeOf(&r.Records[i])
				n.Word = ""
				nodes = append(nodes, n)
			}
			c = NewCluster(nodes, now)
			continue
		}
		for i := range r.Records {
			j := jobOf(&r.Records[i])
			j.Word = ""
			if err := c.Submit(j, 0); err != nil {
				t.Fatal(err)
			}
		}
		return c
	}
	t.Fatal("the session has no jobs")
	return nil
}
