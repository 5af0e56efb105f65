package cli_test

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/cmd/cli"
	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/plugins/all"
)

// bell is a back-end of one file: its jobs are done as soon as they are sent.
type bell struct{ rung map[string]bool }

const bellInterface = "org.example.bell"

func (b *bell) describe() plugins.Backend {
	return plugins.Backend{Name: "bell", Schemes: []string{"bell"}, URLs: []string{"bell:TOWER"}, Interfaces: []string{bellInterface},
		Open: func(plugins.Config) (plugins.Submitter, error) { return b, nil }}
}

func (b *bell) Submit(_ context.Context, reqs []plugins.Request, _ plugins.Progress) []plugins.Result {
	out := make([]plugins.Result, len(reqs))
	for i, r := range reqs {
		b.rung[r.ID] = true
		out[i] = plugins.Result{ID: r.ID, Handle: plugins.Handle{Interface: bellInterface, Endpoint: r.Endpoint.URL, ID: r.ID}}
	}
	return out
}

func (b *bell) Status(_ context.Context, hs []plugins.Handle) []plugins.Status {
	out := make([]plugins.Status, len(hs))
	for i, h := range hs {
		out[i] = plugins.Status{Handle: h, State: plugins.Lost, Native: "silence"}
		if b.rung[h.ID] {
			out[i].State, out[i].Native, out[i].ExitCode = plugins.Done, "dong", glue.Some(0)
		}
	}
	return out
}

func (b *bell) Cancel(_ context.Context, hs []plugins.Handle) []error { return make([]error, len(hs)) }

func (b *bell) Ping(_ context.Context, endpoint string) (plugins.Pong, error) {
	return plugins.Pong{Interface: bellInterface, Versions: []string{"1"}, LetIn: true}, nil
}

func (b *bell) Source(u *url.URL) (plugins.Source, error) { return tower(u.String()), nil }

func (b *bell) QueueReader(string) (plugins.QueueReader, error) { return tower("bell:one"), nil }

// tower is one of its endpoints: the URL.
type tower string

func (t tower) Name() string { return string(t) }

func (t tower) Owns(e glue.Endpoint) bool { return e.URL == string(t) }

func (t tower) Resources(context.Context) ([]glue.Resource, error) {
	return []glue.Resource{{ID: string(t), Name: "belfry", CE: "belfry", Site: "town", Queue: "ropes", Schema: "self", Source: string(t), Serving: glue.Production,
		Endpoints: []glue.Endpoint{{URL: string(t), Interface: bellInterface, Health: "ok"}}, FreeSlots: glue.Some[int64](1), TotalSlots: glue.Some[int64](1)}}, nil
}

func (t tower) Queue(context.Context) (batch.State, error) {
	return batch.State{Now: time.Now(), Queues: []batch.Queue{{Name: "ropes"}}, Jobs: []batch.Job{{ID: "1", Queue: "ropes", Procs: 1}}}, nil
}

// A back-end of one file, added to the list, is discovered, submitted to,
// followed, pinged, asked for queue lengths and completed in the shell.
func TestOneLinePerBackend(t *testing.T) {
	b := &bell{rung: map[string]bool{}}
	dir := t.TempDir()
	var out, errs syncBuffer
	env := cli.Env{In: strings.NewReader(""), Out: &out, Err: &errs, Dir: dir, Now: time.Now, UID: os.Getuid(), Exe: "/nonexistent",
		Getenv:   func(name string) string { return map[string]string{"HOME": dir}[name] },
		Backends: append(all.Backends(), b.describe())}
	run := func(want string, args ...string) string {
		t.Helper()
		out.Reset()
		errs.Reset()
		if code := cli.Main(t.Context(), env, args); code != 0 || !strings.Contains(out.String()+errs.String(), want) {
			t.Fatalf("grid %s: code %d\n%s%s", strings.Join(args, " "), code, &out, &errs)
		}
		return out.String()
	}
	if err := os.WriteFile(filepath.Join(dir, "j.jdl"), []byte(`Executable = "/bin/ring";`), 0o600); err != nil {
		t.Fatal(err)
	}
	run("belfry", "resources", "--info", "bell:one")
	run("belfry", "match", "--info", "bell:one", "j.jdl")
	run("done", "submit", "--wait", "--info", "bell:one", "j.jdl")
	run("done", "status", "--all")
	if len(b.rung) != 1 {
		t.Errorf("%d rings", len(b.rung))
	}
	run("let in", "ping", "bell:one")
	run("bell:TOWER", cobraComplete, "ping", "b")
	run("bell:TOWER", cobraComplete, "resources", "--info", "b")
	agent(t, env, &errs)
}

const cobraComplete = "__completeNoDesc"

// agent asks the queue-length service that stands before the back-end.
func agent(t *testing.T, env cli.Env, errs *syncBuffer) {
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan int, 1)
	errs.Reset()
	go func() {
		done <- cli.Main(ctx, env, []string{"agent", "queues", "--lrms", "bell:one", "--listen", "127.0.0.1:0"})
	}()
	defer func() { stop(); <-done }()
	address := regexp.MustCompile(`127\.0\.0\.1:[1-9]\d*`)
	var at string
	for range 100 {
		if at = address.FindString(errs.String()); at != "" {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	res, err := http.Get("http://" + at)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var body bytes.Buffer
	body.ReadFrom(res.Body)
	for _, want := range []string{`"lrms":"bell"`, `"name":"ropes"`, `"waiting":1`} {
		if !strings.Contains(strings.ReplaceAll(body.String(), `": `, `":`), want) {
			t.Errorf("queue lengths: %s, want %s", &body, want)
		}
	}
}

// syncBuffer is a buffer for several goroutines.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *syncBuffer) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buf.Reset()
}
