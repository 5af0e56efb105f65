package queuelen

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins/ask"
	"gridbroker/testdata/testbed"
)

// answering is a client of a service that answers so.
func answering(t *testing.T, text string) *Client {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(text)) }))
	t.Cleanup(srv.Close)
	all, err := ask.ParseSubject("*="+srv.URL, Schemes...)
	if err != nil {
		t.Fatal(err)
	}
	return &Client{Ask: &ask.Client{HTTP: srv.Client(), Timeout: time.Minute}, Subjects: []ask.Subject{all}, Now: time.Now}
}

// What a service tells of as many queues as there may be is added up once, not for each resource that is ranked.
func TestManyQueues(t *testing.T) {
	testbed.Computes(t)
	c := answering(t, `{"schema":"grid.queues/v1","queues":[`+strings.Repeat(`{"waiting":3},`, maxQueues-1)+`{"name":"q","waiting":1000000000}]}`)
	got, err := c.QueueLengths(t.Context(), []*glue.Resource{{ID: "1", Queue: "q"}})
	if err != nil {
		t.Fatal(err)
	}
	q := got["1"]
	testbed.Within(t, 2*time.Second, 50<<20, func() {
		for range 1_000_000 {
			if n := q.Total(); n != 1_000_000_000+3*(maxQueues-1) || q.Own != glue.Some[int64](1_000_000_000) {
				t.Fatalf("%d jobs wait, of the own queue %v", n, q.Own)
			}
		}
	})
}

// Words and names that a service gives at length are not kept: there may be thousands of such services.
func TestLongWordsOfAService(t *testing.T) {
	long := strings.Repeat("x", 1_000_000)
	for name, text := range map[string]string{
		"a kind of batch system": `{"schema":"grid.queues/v1","lrms":"` + long + `","queues":[]}`,
		"a time":                 `{"schema":"grid.queues/v1","at":"` + long + `"}`,
	} {
		got, err := answering(t, text).QueueLengths(t.Context(), []*glue.Resource{{ID: "1"}})
		if err == nil || len(got) > 0 || len(err.Error()) > 2<<10 {
			t.Errorf("%s: %d answers, %.300v", name, len(got), err)
		}
	}
}
