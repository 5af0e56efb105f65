package scheduler

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"gridbroker/forecast/wire"
)

// asked is what the API answers to a request of a user whose body is as it stands.
func (f *front) asked(ctx context.Context, who, method, path string, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, path, bytes.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+who)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	f.server.Config.Handler.ServeHTTP(w, r)
	return w
}

// oddTexts are no names that a database need be able to hold.
var oddTexts = []string{"a\x00b", "\x00", "a\xffb", "\xed\xa0\x80", "\ufffe\U0010ffff", "' or 1=1 --", strings.Repeat("x", 10_000), "../../x", "\x1b[2J", "%"}

// Text that no name can be is the asker's mistake, with both databases: it is never
// told to try again, and nothing is said to be wrong with the database.
func TestOddTextsAtTheDoor(t *testing.T) {
	for name, dsn := range map[string]func(testing.TB) string{"sqlite": sqliteDSN, "postgres": postgresDSN} {
		t.Run(name, func(t *testing.T) {
			f := newFrontOn(t, dsn(t), nil)
			f.asked(t.Context(), "alice", "POST", "/v1/jobs", []byte(`{"jobs":[{"key":"mine","jdl":"[Executable=\"/bin/true\";]"}]}`))
			if w := f.asked(t.Context(), "alice", "POST", "/v1/jobs/status", []byte(`{"keys":["mine"]}`)); !strings.Contains(w.Body.String(), `"key":"mine"`) {
				t.Errorf("a job is not found by its submitter's name for it: %d %s", w.Code, w.Body)
			}
			for _, text := range oddTexts {
				for _, change := range []func(*wire.Delta){
					func(d *wire.Delta) { d.Site.Function = text }, func(d *wire.Delta) { d.Site.Queue = text }, func(d *wire.Delta) { d.Site.Users = []string{text} },
					func(d *wire.Delta) { d.Site.Nodes[0].Features = []string{text} }, func(d *wire.Delta) { d.Site.Endpoint = text }, func(d *wire.Delta) { d.Put[0].Node = text },
					func(d *wire.Delta) { d.Put[0].Task = text }, func(d *wire.Delta) { d.Queues = []wire.Queue{{Name: text}} },
					func(d *wire.Delta) { d.Jobs = []wire.Entry{{Task: "1", State: "running", User: text, Spread: text}} },
				} {
					if w := f.asked(t.Context(), "agent0", "POST", "/v1/clusters/c0/slots", f.delta("c0", 1, change)); w.Code >= http.StatusInternalServerError {
						t.Errorf("a delta: %q: %d %s", text, w.Code, strings.TrimSpace(w.Body.String()))
					}
				}
				quoted, _ := json.Marshal(text)
				q, p := string(quoted), url.PathEscape(text)
				for _, c := range []struct{ who, method, path, body string }{
					{"alice", "POST", "/v1/jobs", `{"jobs":[{"key":` + q + `,"jdl":"[Executable=\"/bin/true\";]"}]}`},
					{"alice", "POST", "/v1/jobs", `{"jobs":[{"key":"k","jdl":` + q + `}]}`},
					{"alice", "POST", "/v1/jobs", `{"jobs":[{"key":"f","jdl":"[Executable=\"/bin/true\";]","files":[{"name":` + q + `,"data":"aGk="}]}]}`},
					{"alice", "POST", "/v1/jobs/status", `{"ids":[` + q + `]}`},
					{"alice", "POST", "/v1/jobs/status", `{"keys":[` + q + `]}`},
					{"alice", "POST", "/v1/jobs/cancel", `{"ids":[` + q + `]}`},
					{"alice", "GET", "/v1/jobs/" + p, ""},
					{"alice", "GET", "/v1/jobs/" + p + "/log", ""},
					{"alice", "GET", "/v1/jobs/" + p + "/why", ""},
					{"alice", "GET", "/v1/jobs/" + p + "/files/x", ""},
					{"alice", "GET", "/v1/jobs/x/files/" + p, ""},
					{"alice", "DELETE", "/v1/jobs/" + p, ""},
					{"alice", "PATCH", "/v1/jobs/" + p, `{"priority":3}`},
					{"alice", "PATCH", "/v1/jobs/x", `{"jdl":` + q + `}`},
					{"alice", "PUT", "/v1/delegation", `{"id":` + q + `,"chain":` + q + `}`},
					{"agent0", "GET", "/v1/clusters/" + p + "/slots", ""},
					{"root", "POST", "/v1/clusters/" + p + "/drain", `{"drain":true}`},
					{"root", "PUT", "/v1/budgets", `{"user":` + q + `,"budget":5}`},
				} {
					w := f.asked(t.Context(), c.who, c.method, c.path, []byte(c.body))
					if w.Code >= http.StatusInternalServerError {
						t.Errorf("%s %.80s %.120s: %d %s", c.method, c.path, c.body, w.Code, strings.TrimSpace(w.Body.String()))
					}
				}
			}
		})
	}
}

// Whatever is sent to the API is answered, and what cannot be is the asker's mistake.
func FuzzAPI(f *testing.F) {
	operations := []string{"POST /v1/jobs", "POST /v1/jobs/status", "GET /v1/jobs", "POST /v1/jobs/cancel", "PATCH /v1/jobs/x", "DELETE /v1/jobs/x", "GET /v1/jobs/x/files/",
		"POST /v1/clusters/c0/slots", "GET /v1/clusters/c0/slots", "POST /v1/clusters/c0/drain", "PUT /v1/budgets", "POST /v1/delegation", "PUT /v1/delegation", "GET /", "GET /v1/budget"}
	for i := range operations {
		f.Add(uint8(i), "", []byte(`{"jobs":[{"key":"a","jdl":"[Executable=\"/bin/true\";]","priority":1,"files":[{"name":"in","data":"aGk="}]}]}`))
		f.Add(uint8(i), "?limit=-1&after=z", []byte(`{"ids":["a"],"keys":["b"],"drain":true,"user":"s","budget":1e308,"id":"x","chain":"y","priority":-1}`))
	}
	front := newFront(f, nil)
	f.Fuzz(func(t *testing.T, which uint8, more string, body []byte) {
		method, path, _ := strings.Cut(operations[int(which)%len(operations)], " ")
		u, err := url.Parse(path + more)
		if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(u.RequestURI(), "/") || strings.ContainsAny(u.RequestURI(), " \n") {
			return
		}
		who := map[string]string{"POST /v1/clusters/c0/slots": "agent0", "POST /v1/clusters/c0/drain": "root", "PUT /v1/budgets": "root"}[method+" "+path]
		if who == "" {
			who = "alice"
		}
		if w := front.asked(t.Context(), who, method, u.RequestURI(), body); w.Code >= http.StatusInternalServerError {
			t.Errorf("%s %s %q: %d %s", method, u, body, w.Code, w.Body)
		}
	})
}
