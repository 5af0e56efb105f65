package main_test

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pkg/sftp"
)

// fetched asks for the output and tells what came of it.
func (v *victim) fetched(args ...string) (h harm, files []string) {
	v.t.Helper()
	h = v.grid(0, append([]string{"output", "--all", "--dir", "out"}, args...)...)
	_ = filepath.WalkDir(filepath.Join(v.dir, "out"), func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, d.Name())
		}
		return nil
	})
	return h, files
}

// TestGiantOutput: a file that is listed with more than the disk has room for, or than the user lets in, is not even
// begun; the others come, the exit code is 5, and what to type is said.
func TestGiantOutput(t *testing.T) {
	t.Parallel()
	ce := newRogueCE(t)
	ce.submitted()
	asked := false
	ce.turns(func(w http.ResponseWriter, r *http.Request, _ string) bool {
		switch {
		case strings.HasSuffix(r.URL.Path, "/session") || strings.HasSuffix(r.URL.Path, "/session/"):
			fmt.Fprint(w, `<list><file size="900000000000000000">giant</file><file size="3">small</file><file size="2000000">middle</file></list>`)
		case strings.HasSuffix(r.URL.Path, "/giant"):
			asked = true
			for err := error(nil); err == nil; {
				_, err = w.Write(make([]byte, 1<<20))
			}
		case strings.HasSuffix(r.URL.Path, "/small"):
			fmt.Fprint(w, "abc")
		case strings.HasSuffix(r.URL.Path, "/middle"):
			_, _ = w.Write(make([]byte, 2_000_000))
		default:
			return false
		}
		return true
	})
	h, files := ce.fetched("--max-size", "1MB")
	if h.code != 5 || len(files) != 1 || files[0] != "small" || !strings.Contains(h.errs, "--max-size") {
		t.Errorf("with --max-size 1MB: %d %v\n%s", h.code, files, h.errs)
	}
	h, files = ce.fetched()
	if h.code != 5 || len(files) != 2 || !strings.Contains(h.errs, "giant") || !strings.Contains(h.errs, "is free in") || asked {
		t.Errorf("%d %v, asked for it: %v\n%s", h.code, files, asked, h.errs)
	}
}

// lyingFiles is a job's directory as a rogue SFTP server has it.
type lyingFiles struct{}

type lyingFile struct {
	name string
	size int64
	mode fs.FileMode
}

func (f lyingFile) Name() string       { return f.name }
func (f lyingFile) Size() int64        { return f.size }
func (f lyingFile) Mode() fs.FileMode  { return f.mode }
func (f lyingFile) ModTime() time.Time { return time.Unix(1<<40, 0) }
func (f lyingFile) IsDir() bool        { return f.mode.IsDir() }
func (f lyingFile) Sys() any           { return nil }

type lyingList []os.FileInfo

func (l lyingList) ListAt(into []os.FileInfo, at int64) (int, error) {
	if at >= int64(len(l)) {
		return 0, io.EOF
	}
	n := copy(into, l[at:])
	return n, nil
}

// Filelist implements sftp.FileLister.
func (l lyingFiles) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	of := func(name string) lyingFile {
		switch {
		case strings.Contains(name, "giant"):
			return lyingFile{path.Base(name), 9e17, 0o644}
		case strings.Contains(name, "endless"):
			return lyingFile{path.Base(name), 10, 0o644}
		case strings.HasSuffix(name, "work") || strings.HasSuffix(name, "jobs") || strings.HasSuffix(name, "base"):
			return lyingFile{path.Base(name), 0, fs.ModeDir | 0o700}
		}
		return lyingFile{path.Base(name), 3, 0o644}
	}
	if r.Method != "List" {
		return lyingList{of(r.Filepath)}, nil
	}
	var list lyingList
	for _, name := range []string{"good", "giant", "endless", "../../up", "/etc/passwd", "nul\x00byte", "good/below", strings.Repeat("n", 300), "bad\xff\x1b]0;x\a", "..", ".", "", "zgood"} {
		f := of(name)
		f.name = name
		list = append(list, f)
	}
	return append(list, lyingFile{"minus", -5, 0o644}, lyingFile{"pipe", 0, fs.ModeNamedPipe}, lyingFile{"link", 0, fs.ModeSymlink}), nil
}

// Fileread implements sftp.FileReader.
func (l lyingFiles) Fileread(r *sftp.Request) (io.ReaderAt, error) {
	if strings.HasSuffix(r.Filepath, "words.sh") {
		return strings.NewReader("#stdout \n#stderr \n#output *\n#output */*\n"), nil
	}
	if strings.Contains(r.Filepath, "endless") {
		return endlessFile{}, nil
	}
	return strings.NewReader("abc"), nil
}

type endlessFile struct{}

func (endlessFile) ReadAt(p []byte, _ int64) (int, error) { return len(p), nil }

// TestRogueFiles: what an SFTP server lists keeps no good file back, whatever names and sizes it gives, nothing is written
// beside the job's directory, and nothing reaches the terminal.
func TestRogueFiles(t *testing.T) {
	t.Parallel()
	r := newRogueLogin(t)
	if err := os.WriteFile(filepath.Join(r.dir, "job.jdl"), []byte(`Executable = "/bin/true"; OutputSandbox = {"*", "*/*"}; RetryCount = 0;`), 0o600); err != nil {
		t.Fatal(err)
	}
	if h := r.grid(0, "submit", "--info", r.url("slurm"), "job.jdl"); h.code != 0 {
		t.Fatalf("%d %s", h.code, h.errs)
	}
	lying := lyingFiles{}
	r.serves(sftp.Handlers{FileGet: lying, FileList: lying})
	h, files := r.fetched()
	all := " " + strings.Join(files, " ") + " "
	if h.code != 5 || !strings.Contains(all, " good ") || !strings.Contains(all, " zgood ") || strings.Contains(all, "giant") {
		t.Errorf("%d %q\n%s", h.code, files, h.errs)
	}
	r.bounded(h, r.addr)
	if strings.ContainsAny(h.out+h.errs, "\x1b\a\x00") {
		t.Errorf("control characters: %q %q", h.out, h.errs)
	}
	if up, _ := filepath.Glob(filepath.Join(r.dir, "*up*")); len(up) > 0 {
		t.Errorf("%q", up)
	}
}

// TestMillionOfFiles: a description that lists a million files is refused as its list grows, at the place where it
// is too long.
func TestMillionOfFiles(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	for _, attr := range []string{"InputSandbox", "OutputSandbox", "Arguments"} {
		text := `Executable = "/bin/true"; ` + attr + " = {" + strings.Repeat(`"a",`, 1_000_000) + `"b"};`
		if err := os.WriteFile(filepath.Join(v.dir, "job.jdl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		h := v.grid(0, "jdl", "check", "job.jdl")
		v.boundedBy(h, "", 60<<20)
		if h.code != 2 || !strings.Contains(h.out, "more than 100000 elements") {
			t.Errorf("%s: %d %.300s", attr, h.code, h.out)
		}
	}
}
