package scheduler

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"gridbroker/forecast/wire"
)

// Numbers that nothing can be are the asker's mistake, with both databases: an agent is not told that the database does not
// answer, which has it come again for ever.
func TestOddNumbersAtTheDoor(t *testing.T) {
	for name, dsn := range map[string]func(testing.TB) string{"sqlite": sqliteDSN, "postgres": postgresDSN} {
		t.Run(name, func(t *testing.T) {
			f := newFrontOn(t, dsn(t), nil)
			full := f.delta("c0", 1, nil)
			if w := f.asked(t.Context(), "agent0", "POST", "/v1/clusters/c0/slots", full); w.Code != http.StatusOK {
				t.Fatalf("a full set: %d %s", w.Code, w.Body)
			}
			for _, n := range []string{"18446744073709551615", "9223372036854775808", "9223372036854775807", "9007199254740993", "-1", "1e400", "1.5", "null"} {
				for _, field := range []string{"seq", "made", "ttl", "drop", "jobs_gone"} {
					change := following(t, full, field, n)
					if w := f.asked(t.Context(), "agent0", "POST", "/v1/clusters/c0/slots", change); w.Code >= http.StatusInternalServerError {
						t.Errorf("%s of %s: %d %s", field, n, w.Code, strings.TrimSpace(w.Body.String()))
					}
				}
				for _, c := range []struct{ who, method, path, body string }{
					{"alice", "GET", "/v1/jobs?before=" + url.QueryEscape(n), ""},
					{"alice", "GET", "/v1/jobs?limit=" + url.QueryEscape(n), ""},
					{"alice", "GET", "/v1/jobs/x/log?after=" + url.QueryEscape(n), ""},
					{"alice", "POST", "/v1/jobs", `{"jobs":[{"key":"` + n + `","jdl":"[Executable=\"/bin/true\";]","priority":` + n + `}]}`},
					{"alice", "PATCH", "/v1/jobs/x", `{"priority":` + n + `}`},
					{"root", "PUT", "/v1/budgets", `{"user":"u","budget":` + n + `}`},
				} {
					if w := f.asked(t.Context(), c.who, c.method, c.path, []byte(c.body)); w.Code >= http.StatusInternalServerError {
						t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, w.Code, strings.TrimSpace(w.Body.String()))
					}
				}
			}
		})
	}
}

// following is the delta that follows a full set, with a number in one of its fields, or in the list that is there.
func following(t *testing.T, full []byte, field, number string) []byte {
	t.Helper()
	d, err := wire.DecodeDelta(full, wire.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]any{"schema": wire.DeltaSchema, "cluster": d.Cluster, "seq": d.Seq + 1, "made": d.Made, "ttl": 600, "base": d.Digest, "digest": d.Digest}
	if fields[field] == nil {
		number = "[" + number + "]"
	}
	fields[field] = json.RawMessage(number)
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
