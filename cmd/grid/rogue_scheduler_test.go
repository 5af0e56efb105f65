package main_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// TestRogueScheduler: whatever a scheduler answers in well-formed documents costs bounded time and
// memory, and it is named.
func TestRogueScheduler(t *testing.T) {
	t.Parallel()
	many := func(head, part, end string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, head)
			block := strings.Repeat(","+part, (1<<20)/(len(part)+1))
			io.WriteString(w, part)
			for range 30 {
				if _, err := io.WriteString(w, block); err != nil {
					return
				}
			}
			io.WriteString(w, end)
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"empty jobs":      many(`{"jobs":[`, `{}`, `]}`),
		"nulls":           many(`{"jobs":[`, `null`, `]}`),
		"outputs":         many(`{"jobs":[{"id":"1","plugins":"done","output":[`, `""`, `]}]}`),
		"bookings":        many(`{"jobs":[`, `{"booking":{},"outlook":{}}`, `]}`),
		"unknown members": many(`{"jobs":[],"x":[`, `{"a":[]}`, `]}`),
		"escapes":         many(`{"jobs":[],"\u0041":[`, `0`, `]}`),
		"versions":        many(`{"interface":"x","versions":[`, `""`, `]}`),
	} {
		t.Run(name, func(t *testing.T) {
			var rogue atomic.Bool
			v, addr := newPlain(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !rogue.Load() {
					io.WriteString(w, `{"jobs":[{"key":"`+keyOf(r)+`","id":"1"}]}`)
					return
				}
				answer(w, r)
			}))
			v.env = append(v.env, "BEARER_TOKEN=some-token")
			v.write("job.jdl", `Executable = "/bin/true";`)
			if h := v.grid(0, "submit", "--via", "grid+http://"+addr, "job.jdl"); h.code != 0 {
				t.Fatalf("%d %s", h.code, h.errs)
			}
			rogue.Store(true)
			for _, args := range [][]string{{"status", "--all"}, {"ping", "grid+http://" + addr}, {"output", "--all"}, {"submit", "--via", "grid+http://" + addr, "job.jdl"}} {
				h := v.grid(0, args...)
				h.errs += h.out
				v.bounded(h, "")
			}
		})
	}
}

// keyOf is the name of the job that is submitted.
func keyOf(r *http.Request) string {
	text, _ := io.ReadAll(r.Body)
	_, rest, _ := strings.Cut(string(text), `"key":"`)
	key, _, _ := strings.Cut(rest, `"`)
	return key
}
