package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/forecast/managers"
	"gridbroker/testdata/testbed"
)

// lasting has a broker's jobs last until they are told to end.
func lasting(b *Broker) (begun chan managers.ID, end map[managers.ID]chan struct{}) {
	begun, end = make(chan managers.ID, 10), map[managers.ID]chan struct{}{"a": make(chan struct{}), "b": make(chan struct{})}
	b.Start = func(_ context.Context, j managers.Job, _ string) error {
		begun <- j.ID
		<-end[j.ID]
		return nil
	}
	return begun, end
}

// has waits until a manager has jobs that run and wait, and so many processors free.
func (f *trunk) has(running, waiting string, free int) {
	f.t.Helper()
	want, got := fmt.Sprintf("[%s] [%s] %d <nil>", running, waiting, free), ""
	for end := time.Now().Add(20 * time.Second); got != want; time.Sleep(20 * time.Millisecond) {
		s, err := f.state(0)
		got = fmt.Sprint(s.Running, " ", s.Waiting, " ", s.Free.CPUs, " ", err)
		if time.Now().After(end) {
			f.t.Fatalf("want %s, got %s", want, got)
		}
	}
}

// Jobs are their brokers': one that another broker has handed in by the same name, which whoever has a certificate can see in a
// manager's tables, is no copy of it. It neither keeps it out, nor gives its place back.
func TestNamesOfOtherBrokersJobs(t *testing.T) {
	ca := newAuthority(t)
	f := newForest(t, ca, []int{-1}, []int{3})
	f.start(0)
	f.settle(time.Minute)
	need := func(a, b int) []managers.Job {
		return []managers.Job{{ID: "a", Need: managers.Resources{CPUs: a}}, {ID: "b", Need: managers.Resources{CPUs: b}}}
	}
	rogue, _ := testBrokerAt(t, ca, strings.Replace(testbed.FreeAddress(t), "127.0.0.1", "127.0.0.2", 1), f.configs[0].Name)
	begun, end := lasting(rogue)
	go rogue.Run(t.Context(), need(1, 3))
	f.has("a", "b", 2)
	if <-begun != "a" {
		t.Fatal("the rogue's first job does not run")
	}

	victim, _ := testBroker(t, ca, f.configs[0].Name)
	own, endOwn := lasting(victim)
	over := make(chan map[managers.ID]error, 1)
	go func() { over <- victim.Run(t.Context(), need(1, 1)) }()
	var ran []managers.ID
	for len(ran) < 2 {
		select {
		case id := <-own:
			ran = append(ran, id)
		case <-time.After(20 * time.Second):
			s, err := f.state(0)
			t.Fatalf("of two jobs %v run, as another broker has jobs of these names: %+v, %v", ran, s, err)
		}
	}
	if slices.Sort(ran); fmt.Sprint(ran) != "[a b]" {
		t.Errorf("%v ran", ran)
	}
	f.has("a b a", "b", 0) // 127.0.0.1's before 127.0.0.2's
	s, err := f.state(0)
	if err != nil {
		t.Fatal(err)
	}
	waiting, running := s.Jobs()
	all := []managers.Key{{Broker: victim.Name, ID: "a"}, {Broker: victim.Name, ID: "b"}, {Broker: rogue.Name, ID: "a"}, {Broker: rogue.Name, ID: "b"}}
	if got, want := fmt.Sprint(waiting, running), fmt.Sprint(all[3:], all[:3]); got != want {
		t.Errorf("jobs of the names are told as %s, not %s", got, want)
	}
	f.kill(0)
	f.start(0)
	f.has("a b a", "b", 0)
	close(end["a"])
	f.has("a b", "b", 1)
	close(endOwn["a"])
	close(endOwn["b"])
	if failed := <-over; len(failed) > 0 {
		t.Error(failed)
	}
	f.has("b", "", 0) // the rogue's, which has room now
	close(end["b"])
	f.has("", "", 3)
}

// A directory of before, in which no two brokers' jobs have one name, says of ended ones no broker: they have ended all the same.
func TestAssignmentsOfBefore(t *testing.T) {
	dir := t.TempDir()
	text := `{"put":{"job":{"id":"a","broker":"https://one.example"},"granted":true}}
{"put":{"job":{"id":"b","broker":"https://two.example"},"granted":true}}
{"drop":"a"}
`
	if err := os.WriteFile(filepath.Join(dir, "assignments"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	k, held, err := openKeeper(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer k.close()
	if a := held[managers.Key{Broker: "https://two.example", ID: "b"}]; len(held) != 1 || a == nil || !a.Granted {
		t.Errorf("held: %v", held)
	}
}

// A broker of before tells an end without its name: it is its own job's, not another's of that name.
func TestEndsToldByBrokersOfBefore(t *testing.T) {
	d := lonely(t)
	asked := ""
	d.config.Client = &http.Client{Transport: answering(func(url string) (any, error) {
		asked += url + " "
		return Orders{Ended: []managers.ID{"j"}}, nil
	})}
	for _, host := range []string{"ui.example", "other.example"} {
		j := managers.Job{ID: "j", Broker: "https://" + host + ":1"}
		d.held[j.Key()] = &assignment{Job: j, Granted: true}
	}
	for _, host := range []string{"stranger.example", "ui.example"} {
		r := httptest.NewRequest("POST", "/v1/ended", strings.NewReader(`{"job": "j"}`))
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{DNSNames: []string{host}}}}
		d.Handler().ServeHTTP(httptest.NewRecorder(), r)
	}
	if left := d.held[managers.Key{Broker: "https://other.example:1", ID: "j"}]; asked != "https://ui.example:1/v1/report " || len(d.held) != 1 || left == nil {
		t.Errorf("asked are %s, %d have resources", asked, len(d.held))
	}
}

// What neighbours did with a job is not held against another broker's of that name.
func TestBouncesAreOfOneBrokersJob(t *testing.T) {
	var g guests
	theirs, own := jobOf("https://rogue.example", ""), jobOf("https://ui.example", "")
	for range maxBounces {
		g.goes(&theirs, "x")
		g.comes(&theirs, "x")
	}
	g.goes(&own, "x")
	if g.bounces(&theirs, "x") == nil || g.bounces(&own, "x") != nil {
		t.Errorf("theirs: %v, own: %v", g.bounces(&theirs, "x"), g.bounces(&own, "x"))
	}
	if g.comes(&own, "x"); own.Hops != 1 {
		t.Errorf("it has gone %d steps", own.Hops)
	}
}
