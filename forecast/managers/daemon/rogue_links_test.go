package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/forecast/managers"
	"gridbroker/testdata/testbed"
)

// rogueLinks opens many links with one certificate, each under a name of its own, says some lines over each, and reads little or nothing.
func rogueLinks(ctx context.Context, d *Daemon, client *http.Client, n int, say func(link int, out io.Writer)) (wait func()) {
	var done sync.WaitGroup
	for i := range n {
		in, out := io.Pipe()
		context.AfterFunc(ctx, func() { out.CloseWithError(ctx.Err()) })
		done.Go(func() {
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, d.config.Name+"/v1/link", in)
			resp, err := client.Do(req)
			if err != nil {
				in.CloseWithError(err)
				return
			}
			context.AfterFunc(ctx, func() { resp.Body.Close() })
		})
		done.Go(func() {
			if json.NewEncoder(out).Encode(frame{Hello: fmt.Sprintf("https://127.0.0.1:%d", 1000+i)}) == nil {
				say(i, out)
			}
		})
	}
	return done.Wait
}

// TestLinksOfOneRogue: who has one certificate costs a manager little, however much he says over however many links, and keeps
// nobody else from an answer.
func TestLinksOfOneRogue(t *testing.T) {
	many := func(before, one, after string) string {
		return before + one + strings.Repeat(","+one, (maxLine-100)/(len(one)+1)) + after
	}
	table := func(link, amounts int) string {
		var s managers.Set
		for i := range amounts {
			s = append(s, managers.Resources{CPUs: i + 1, GPUs: amounts - i, Memory: int64(link)})
		}
		text, _ := json.Marshal(frame{Message: &managers.Message{Rooms: s, Whole: s[:1]}})
		return string(text)
	}
	for name, c := range map[string]struct {
		links int
		text  string
		end   string
	}{
		"lines that do not end":  {40, strings.Repeat(" ", maxLine-10), ""},
		"amounts of nothing":     {40, many(`{"message":{"rooms":[`, "{}", "]}}"), "\n"},
		"names of nothing":       {40, many(`{"message":{"shape":{"path":[`, `""`, "]}}}"), "\n"},
		"certificates of naught": {40, many(`{"message":{"job":{"papers":{"chain":[`, `""`, "]}}}}"), "\n"},
		"tables without end":     {40, table(0, 30_000), "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			d, honest, rogue := servingTwo(t)
			text := []byte(c.text + c.end) // once for all links
			testbed.Within(t, 20*time.Second, 200<<20, func() {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				wait := rogueLinks(ctx, d, rogue, c.links, func(_ int, out io.Writer) { out.Write(text) })
				for range 3 {
					time.Sleep(200 * time.Millisecond)
					began := time.Now()
					var s State
					if err := getState(ctx, honest, d.config.Name, &s); err != nil {
						t.Errorf("after %v: %v", time.Since(began), err)
					}
				}
				wait()
			})
		})
	}
}

// getState asks a manager what it knows.
func getState(ctx context.Context, client *http.Client, name string, s *State) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, name+"/v1/state", nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(s)
}
