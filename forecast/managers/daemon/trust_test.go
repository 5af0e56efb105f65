package daemon

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"gridbroker/forecast/managers"
)

// Whoever has a certificate may say that a job has ended; its resources are
// free when the job's own broker says so.
func TestEndsAreTheBrokersWord(t *testing.T) {
	var ended atomic.Bool
	var asked atomic.Int32
	broker := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var rep Report
		if r.URL.Path != "/v1/report" || !readBody(w, r, maxBody, &rep) {
			t.Errorf("%s", r.URL)
			return
		}
		asked.Add(1)
		o := Orders{}
		if ended.Load() {
			o.Ended = rep.Running
		}
		writeBody(w, o)
	}))
	defer broker.Close()
	total := managers.Resources{CPUs: 4}
	d, err := New(t.Context(), Config{Name: "https://m.example:1", System: "here", Total: total, Dir: t.TempDir(), Client: broker.Client()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.keep.close()
	need := managers.Resources{CPUs: 3}
	d.held[managers.Key{Broker: broker.URL, ID: "j"}] = &assignment{Job: managers.Job{ID: "j", Broker: broker.URL, Need: need}, Granted: true}
	d.manager.Resize(now(), total, total.Less(need))
	say := func(body string) {
		w := httptest.NewRecorder()
		if d.Handler().ServeHTTP(w, httptest.NewRequest("POST", "/v1/ended", strings.NewReader(body))); w.Code != 200 {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	job := fmt.Sprintf(`{"job": "j", "broker": %q}`, broker.URL)
	say(job)
	say(`{"job": "unknown", "broker": "` + broker.URL + `"}`)
	say(`{"job": "j", "broker": "https://ui.example"}`)
	say(`{"job": "j"}`) // whose, where no certificate is shown?
	if s := d.State(); asked.Load() != 1 || len(s.Running) != 1 || s.Free.CPUs != 1 {
		t.Fatalf("after a stranger's word: asked %d times, %+v", asked.Load(), s)
	}
	ended.Store(true)
	say(job)
	if s := d.State(); asked.Load() != 2 || len(s.Running) != 0 || s.Free.CPUs != 4 {
		t.Errorf("after its end: asked %d times, %+v", asked.Load(), s)
	}
}

// A child has the certificate of the host that it says it is.
func TestChildrenAreWhoTheySay(t *testing.T) {
	der, _ := newAuthority(t).issue(t) // of 127.0.0.1
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	shown := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}
	for name, want := range map[string]string{
		"https://127.0.0.1:7700": "", "https://127.0.0.2:7700": "not that of 127.0.0.2", "https://root.example.org:7700": "not that of root.example.org",
		"127.0.0.1:7700": "no address", "": "no address", "https://\x00": "no address", "https://:7700": "no address",
	} {
		if err := named(shown, name); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	for _, state := range []*tls.ConnectionState{nil, {}} {
		if err := named(state, "https://127.0.0.1:7700"); err == nil {
			t.Error("let in without a certificate")
		}
	}
}

func lines(t *testing.T, dir string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "assignments"))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

// What is held is there again after each way of ending, a line that was cut is
// left out, and the file does not grow with what has ended.
func TestKeeper(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	k, held, err := openKeeper(dir)
	if err != nil || len(held) != 0 {
		t.Fatal(held, err)
	}
	if _, _, err := openKeeper(dir); err == nil || !strings.Contains(err.Error(), "another manager") {
		t.Errorf("twice: %v", err)
	}
	put := func(id string) {
		a := &assignment{Job: managers.Job{ID: managers.ID(id)}}
		held[a.Job.Key()] = a
		if err := k.put(held, a); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"stays", "goes", "granted"} {
		put(id)
	}
	held[managers.Key{ID: "granted"}].Granted = true
	delete(held, managers.Key{ID: "goes"})
	if err := errors.Join(k.put(held, held[managers.Key{ID: "granted"}]), k.drop(managers.Key{ID: "goes"}, held), k.close()); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "assignments"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"put":{"job":{"id":"half`)
	f.Close()
	if k, held, err = openKeeper(dir); err != nil || len(held) != 2 || !held[managers.Key{ID: "granted"}].Granted || held[managers.Key{ID: "stays"}] == nil {
		t.Fatal(held, err)
	}
	for i := range 3 * slack {
		job := managers.Key{ID: managers.ID(fmt.Sprint(i))}
		put(string(job.ID))
		delete(held, job)
		if err := k.drop(job, held); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(lines(t, dir)); n > slack+10 {
		t.Errorf("%d lines for 2 jobs", n)
	}
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
	if k, held, err = openKeeper(dir); err != nil || len(held) != 2 {
		t.Fatal(held, err)
	}
	defer k.close()
	for _, line := range lines(t, dir) {
		if !json.Valid(line) {
			t.Errorf("line %q", line)
		}
	}
}

// After a file could not be written anew nothing is added to the one that there was, which may be nobody's any more: all that
// is held is written where that is possible again, and until then nothing is said to be kept.
func TestKeeperAfterAFailedRewrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "m")
	k, held, err := openKeeper(dir)
	if err != nil {
		t.Fatal(err)
	}
	put := func(id managers.ID) error {
		a := &assignment{Job: managers.Job{ID: id}}
		held[a.Job.Key()] = a
		return k.put(held, a)
	}
	if err := put("before"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	k.lines = 2*slack + 10 // of jobs that have ended
	if err := k.drop(managers.Key{ID: "ended"}, held); err == nil {
		t.Fatal("written anew where there is no directory")
	}
	if err := put("meanwhile"); err == nil {
		t.Error("kept in a file that has no name any more")
	}
	if err := os.Rename(dir+"-away", dir); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(put("after"), k.close()); err != nil {
		t.Fatal(err)
	}
	if k, held, err = openKeeper(dir); err != nil || len(held) != 3 {
		t.Fatal(held, err)
	}
	k.close()
}
