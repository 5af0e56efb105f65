package main_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// sharesOf is the information of a computing element with so many queues, q0 and on.
func sharesOf(n int) string {
	head, share, _ := strings.Cut(rogueLDIF, "dn: GLUE2ShareID")
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(head, "HERE", "https://ce.example.org/arex"))
	for i := range n {
		q := fmt.Sprint("q", i)
		b.WriteString("dn: GLUE2ShareID" + strings.NewReplacer("=q,", "="+q+",", "ID: q\n", "ID: "+q+"\n", "Queue: q\n", "Queue: "+q+"\n").Replace(share) + "\n")
	}
	return b.String()
}

// TestRogueServices: whatever a service of queue lengths or forecasts answers of however many queues costs bounded time and memory,
// and it is named; a question about many queues costs no more.
func TestRogueServices(t *testing.T) {
	t.Parallel()
	const (
		lengths = `{"schema":"grid.queues/v1","queues":[`
		starts  = `{"schema":"grid.forecast/v1","made":"2026-01-01T00:00:00Z","starts":[`
	)
	for name, c := range map[string]struct {
		kind, head, part, end string
		odd                   bool // it is believed
	}{
		"queues without a name":   {"queue_lengths", lengths, `{},`, `{}]}`, false},
		"queues of one name":      {"queue_lengths", lengths, `{"name":"q1","waiting":1},`, `{}]}`, false},
		"queues of long names":    {"queue_lengths", lengths, `{"name":"` + strings.Repeat("q", 50) + `"},`, `{}]}`, false},
		"values of no meaning":    {"queue_lengths", `{"schema":"grid.queues/v1","x":[`, `[],`, `[]]}`, false},
		"a long schema":           {"queue_lengths", `{"schema":"`, `gri`, `"}`, false},
		"starts of nothing":       {"forecasts", starts, `{},`, `{}]}`, false},
		"starts with slots":       {"forecasts", starts, `{"slot":{}},`, `{}]}`, false},
		"starts of one queue":     {"forecasts", starts, `{"queue":"q1","median":1},`, `{}]}`, true},
		"quantiles without end":   {"forecasts", starts + `{"queue":"q1","quantiles":[`, `{},`, `{}]}]}`, false},
		"lists in one another":    {"forecasts", `{"schema":"grid.forecast/v1","x":`, `[`, `}`, false},
		"no end":                  {"forecasts", starts, strings.Repeat(" ", 50), ``, false},
		"waits that are no waits": {"forecasts", starts, `{"queue":"q1","median":1e308,"low":-1e308},`, `{"queue":"q0","median":-0.0,"past_error":1e400}]}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, addr := newPlain(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, c.head+strings.Repeat(c.part, 4_100_000/len(c.part))+c.end)
			}))
			v.write("grid.toml", fmt.Sprintf("[services]\n%s = [\"*=http://%s/\"]\n", c.kind, addr))
			v.write("job.jdl", `Executable = "/bin/true";`)
			v.write("ce.ldif", sharesOf(3000))
			h := v.grid(0, "match", "--config", "grid.toml", "--info", "file:ce.ldif", "job.jdl")
			if h.code != 0 || !strings.Contains(h.out, "3000 of 3000 resources match") {
				t.Errorf("exit code %d, %.200s", h.code, h.out)
			}
			if c.odd {
				addr = ""
			}
			v.bounded(h, addr)
		})
	}
}
