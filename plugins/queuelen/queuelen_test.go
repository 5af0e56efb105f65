package queuelen

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/glue"
	"gridbroker/plugins/ask"
)

// published is the answer the paper prints, whole.
const published = `<soap-env:Envelope xmlns:soap-env="http://schemas.xmlsoap.org/soap/envelope/" xmlns:e="http://www.nordugrid.org/schemas/echo">
<soap-env:Body><e:echoResponse><e:lrmstype>pbs</e:lrmstype><e:qlen>0</e:qlen></e:echoResponse></soap-env:Body></soap-env:Envelope>`

func TestParseEcho(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []int64
		err  string
	}{
		"published":       {published, []int64{0}, ""},
		"several queues":  {strings.Replace(published, "<e:qlen>0</e:qlen>", "<e:qlen> 3 </e:qlen><qlen>4</qlen>", 1), []int64{3, 4}, ""},
		"other namespace": {strings.Replace(published, "nordugrid.org/schemas/echo", "example.org/echo", 1), nil, "no echoResponse"},
		"negative":        {strings.Replace(published, ">0<", ">-1<", 1), nil, `qlen "-1" is no length`},
		"words":           {strings.Replace(published, ">0<", ">many<", 1), nil, "is no length"},
		"cut":             {published[:150], nil, "not a SOAP answer"},
		"html":            {"<html><body>hello</body></html>", nil, "no echoResponse"},
		"fault":           {`<Envelope><Body><Fault><faultstring> no LRMS </faultstring></Fault></Body></Envelope>`, nil, "SOAP fault: no LRMS"},
	} {
		a, err := parseEcho([]byte(c.text))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %s", name, err, c.err)
			}
			continue
		}
		if err != nil || a.LRMS != "pbs" || len(a.Queues) != len(c.want) {
			t.Errorf("%s: %+v %v", name, a, err)
			continue
		}
		for i, n := range c.want {
			if a.Queues[i].Waiting != n {
				t.Errorf("%s: queue %d is %d, want %d", name, i, a.Queues[i].Waiting, n)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(published))
	f.Add([]byte(`{"schema":"grid.queues/v1","lrms":"slurm","queues":[{"name":"a","waiting":2}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, parse := range []func([]byte) (Answer, error){parseEcho, parseJSON} {
			a, err := parse(text)
			if err != nil {
				continue
			}
			for _, n := range a.lengths() {
				if n < 0 || n > maxCount {
					t.Errorf("length %d", n)
				}
			}
		}
	})
}

// state has two jobs waiting in short, one in both queues, one held, one running.
func state() batch.State {
	return batch.State{Now: time.Unix(1_700_000_000, 0), Queues: []batch.Queue{{Name: "short"}, {Name: "long"}}, Jobs: []batch.Job{
		{Queue: "short"}, {Queue: "short"}, {Queue: "short,long"}, {Queue: "long", Held: true},
		{Queue: "long", Started: time.Unix(1_699_999_000, 0)},
	}}
}

func TestServerAndClient(t *testing.T) {
	var reads atomic.Int32
	srv := httptest.NewServer(&Server{Now: time.Now, Read: func(context.Context) (Answer, error) {
		reads.Add(1)
		a := FromState(state(), "slurm")
		a.CEWaiting = 5
		return a, nil
	}})
	defer srv.Close()
	var subjects []ask.Subject
	for _, entry := range []string{"json=" + srv.URL, "soap=soap+" + srv.URL} {
		s, err := ask.ParseSubject(entry, Schemes...)
		if err != nil {
			t.Fatal(err)
		}
		subjects = append(subjects, s)
	}
	c := &Client{Ask: &ask.Client{HTTP: http.DefaultClient}, Subjects: subjects, Now: time.Now}
	rs := []*glue.Resource{
		{ID: "1", Name: "json"}, {ID: "2", Name: "soap"}, {ID: "3", Name: "without"},
		{ID: "4", Name: "published", Services: []glue.Endpoint{{URL: srv.URL, Interface: glue.InterfaceEcho}}},
	}
	got, err := c.QueueLengths(t.Context(), rs)
	if err != nil || len(got) != 3 {
		t.Fatalf("%+v %v", got, err)
	}
	for id, q := range got {
		if q.Total() != 9 || q.LRMS != "slurm" { // 3 in short, 1 in long, 5 in the CE
			t.Errorf("%s: N = %d of %+v", id, q.Total(), q)
		}
	}
	if q := got["1"]; q.CE != 5 || len(q.Lengths) != 1 || q.Own.OK || !q.At.Equal(state().Now) {
		t.Errorf("JSON: %+v", q)
	}
	if n := reads.Load(); n != 1 {
		t.Errorf("%d questions to the LRMS for three askers", n)
	}
}

func TestServerRefuses(t *testing.T) {
	srv := httptest.NewServer(&Server{Now: time.Now, Read: func(context.Context) (Answer, error) {
		return Answer{}, errors.New("slurmctld is away")
	}})
	defer srv.Close()
	for _, c := range []struct {
		method, body string
		want         int
	}{{"GET", "", 503}, {"POST", "hello", 400}, {"POST", strings.Repeat("x", maxQuestion+1), 400}, {"DELETE", "", 405}, {"POST", echoQuestion, 503}} {
		req, _ := http.NewRequest(c.method, srv.URL, strings.NewReader(c.body))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s %.20q: %d %s, want %d", c.method, c.body, resp.StatusCode, text, c.want)
		}
	}
}

// memory is a breaker that opens after one failure.
type memory map[string]bool

func (m memory) Open(s string) error {
	if m[s] {
		return errors.New("silent a while ago")
	}
	return nil
}
func (m memory) Done(s string, err error) { m[s] = err != nil }

func TestSilentServiceCostsItsAnswerOnly(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	s, err := ask.ParseSubject("*="+silent.URL, Schemes...)
	if err != nil {
		t.Fatal(err)
	}
	b := memory{}
	c := &Client{Ask: &ask.Client{HTTP: http.DefaultClient, Timeout: 50 * time.Millisecond, Breaker: b, AtOnce: 1}, Subjects: []ask.Subject{s}, Now: time.Now}
	for _, want := range []string{"no answer within 50ms", "not asked: silent a while ago"} {
		got, err := c.QueueLengths(t.Context(), []*glue.Resource{{ID: "a"}})
		if len(got) != 0 || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v %v, want %s", got, err, want)
		}
	}
}
