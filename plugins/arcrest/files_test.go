package arcrest

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/plugins"
)

// A job whose input cannot be uploaded would wait for it for ever.
func TestFailedUploadTakesJobBack(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/jobs/job2/") {
			status(w, "500 No space left on device")
			return true
		}
		return false
	})
	file := filepath.Join(t.TempDir(), "in")
	write(t, file, bytes.Repeat([]byte("x"), 1000))
	a, b := shell("j1", "x"), shell("j2", "x")
	a.Job.InputSandbox = []jdl.InputFile{{Source: file, Name: "in"}}
	b.Job.InputSandbox = a.Job.InputSandbox
	res := f.backend(t).Submit(t.Context(), at(f.url(), a, b), nil)
	if res[0].Err != nil || res[0].Handle.ID != "job1" {
		t.Errorf("%+v", res[0])
	}
	if res[1].Handle.ID != "" || kindOf(t, res[1].Err) != plugins.Refused || !strings.Contains(res[1].Err.Error(), "No space left") {
		t.Errorf("%+v", res[1])
	}
	if f.count("action=kill") != 1 || f.count("action=clean") != 1 {
		t.Errorf("not taken back: %v", f.seen)
	}
}

func TestServerNamesStayInside(t *testing.T) {
	for _, name := range []string{"../evil", "/etc/evil", "..", ".", "a/../../evil", "", strings.Repeat("n", 256)} {
		top := t.TempDir()
		r := fetchNamed(t, filepath.Join(top, "job"), name, "good")
		if r.Err == nil || !slices.Equal(r.Files, []string{"good"}) {
			t.Errorf("%.20q: %v, %v", name, r.Files, r.Err)
		}
		if all, _ := filepath.Glob(filepath.Join(top, "*")); len(all) != 1 {
			t.Errorf("%q wrote %v", name, all)
		}
		if all, _ := os.ReadDir(filepath.Join(top, "job")); len(all) != 1 {
			t.Errorf("%q wrote %v", name, all)
		}
	}
}

// Names that a job may give its files are taken, however odd, as those of local jobs are.
func TestOddNamesAreNames(t *testing.T) {
	for _, name := range []string{`a\b`, "x\ny", "--help", "\u009b31m", strings.Repeat("n", 255)} {
		if r := fetchNamed(t, t.TempDir(), name); r.Err != nil || !slices.Equal(r.Files, []string{name}) {
			t.Errorf("%.20q: %q, %v", name, r.Files, r.Err)
		}
	}
}

// A file that the server lists and does not give keeps none of the others back.
func TestRefusedFileKeepsNoOther(t *testing.T) {
	r := fetchNamed(t, t.TempDir(), "a", "forbidden", "gone", "z")
	if r.Err == nil || !strings.Contains(r.Err.Error(), "forbidden") || !strings.Contains(r.Err.Error(), "1 more") || !slices.Equal(r.Files, []string{"a", "z"}) {
		t.Errorf("%v, %v", r.Files, r.Err)
	}
}

// A server that lists a file twice, or a file and a directory of one name, keeps none of the others back.
func TestFilesOfOneName(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
		switch {
		case strings.HasSuffix(r.URL.Path, "/session"):
			fmt.Fprint(w, `<list><file size="4">a</file><file size="4">b</file><file size="4">a</file><dir>b</dir><dir>d</dir><dir>d</dir><file size="4">z</file></list>`)
		case r.Header.Get("Accept") == "application/xml" && strings.Contains(r.URL.Path, "/session/"):
			fmt.Fprint(w, `<list><file size="4">x</file></list>`)
		case strings.Contains(r.URL.Path, "/session/"):
			fmt.Fprint(w, "text")
		default:
			return false
		}
		return true
	})
	r := f.fetch(t, t.TempDir())
	if r.Err == nil || !strings.Contains(r.Err.Error(), `"a" twice`) || !strings.Contains(r.Err.Error(), "2 more") || !slices.Equal(r.Files, []string{"a", "b", "z", "d/x"}) {
		t.Errorf("%q, %v", r.Files, r.Err)
	}
}

// TestDeepSession: directories in each other without end keep none of a job's other files back.
func TestDeepSession(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
		switch {
		case !strings.Contains(r.URL.Path, "/session"):
			return false
		case strings.HasSuffix(r.URL.Path, "/f"):
			fmt.Fprint(w, "text")
		default:
			fmt.Fprint(w, `<list><dir>d</dir><file size="4">f</file></list>`)
		}
		return true
	})
	r := f.fetch(t, t.TempDir())
	if r.Err == nil || !strings.Contains(r.Err.Error(), "directories deep") || len(r.Files) != maxDepth+1 || !slices.Contains(r.Files, "f") {
		t.Errorf("brought %d, %v", len(r.Files), r.Err)
	}
}

// fetchNamed brings the output of a job that has left these files, of four bytes each.
func fetchNamed(t *testing.T, dir string, names ...string) plugins.FetchResult {
	t.Helper()
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
		switch {
		case strings.HasSuffix(r.URL.Path, "/session"):
			fmt.Fprint(w, "<list>")
			for _, name := range names {
				fmt.Fprintf(w, `<file size="4">%s</file>`, name)
			}
			fmt.Fprint(w, "</list>")
		case strings.HasSuffix(r.URL.Path, "/forbidden"):
			http.Error(w, "Permission denied", http.StatusInternalServerError)
		case strings.HasSuffix(r.URL.Path, "/gone"):
			http.NotFound(w, r)
		case strings.Contains(r.URL.Path, "/session/"):
			fmt.Fprint(w, "text")
		default:
			return false
		}
		return true
	})
	return f.fetch(t, dir)
}

// A download that breaks is gone on with, in the same call and in the next.
func TestResumeDownload(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 1000)
	var cuts atomic.Int32
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if strings.HasSuffix(r.URL.Path, "/session") {
			fmt.Fprintf(w, `<list><file size="%d">out</file></list>`, len(content))
			return true
		}
		if !strings.HasSuffix(r.URL.Path, "/session/out") {
			return false
		}
		if cuts.Add(1) <= fetchAttempts+1 {
			var from int
			_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
			w.Header().Set("Content-Length", fmt.Sprint(len(content)-from))
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
			if from > 0 {
				w.WriteHeader(http.StatusPartialContent)
			}
			_, _ = w.Write(content[from : from+1000])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		http.ServeContent(w, r, "out", time.Time{}, bytes.NewReader(content))
		return true
	})
	b, dir := f.backend(t), t.TempDir()
	c, err := b.client(t.Context(), "x", f.url(), "")
	check(t, err)
	req := []plugins.FetchRequest{{Handle: c.handle("job1"), Dir: dir, Version: "v"}}
	if r := b.Fetch(t.Context(), req, nil)[0]; kindOf(t, r.Err) != plugins.Unavailable {
		t.Fatalf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("half a file is in place")
	}
	if r := b.Fetch(t.Context(), req, nil)[0]; r.Err != nil {
		t.Fatal(r.Err)
	}
	same(t, filepath.Join(dir, "out"), content)
	if last := f.heads[len(f.heads)-1].Get("Range"); last != fmt.Sprintf("bytes=%d-", (fetchAttempts+1)*(1000-overlap)) {
		t.Errorf("the last part began at %q", last)
	}
}
