package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"gridbroker/plugins"
)

// byByte is what a server says, a byte at a time once it has said so many.
type byByte struct {
	io.ReadWriteCloser
	whole int
}

func (b *byByte) Write(p []byte) (int, error) {
	for i := range p {
		if b.whole--; b.whole < 0 {
			time.Sleep(20 * time.Millisecond)
		}
		if _, err := b.ReadWriteCloser.Write(p[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(p), nil
}

// few is a file that comes in pieces of so many bytes.
type few int

func (n few) ReadAt(p []byte, _ int64) (int, error) {
	time.Sleep(10 * time.Millisecond)
	return min(int(n), len(p)), nil
}

func (few) Filelist(*sftp.Request) (sftp.ListerAt, error) { return one{entry{"f", false}}, nil }
func (n few) Fileread(*sftp.Request) (io.ReaderAt, error) { return n, nil }

// TestFilesThatDrip: a server of files that says nothing, a byte at a time or nothing in many
// answers, or takes nothing, keeps nobody for long, and Ctrl-C ends it at once.
func TestFilesThatDrip(t *testing.T) {
	version := func(ch ssh.Channel) {
		_, _ = io.ReadFull(ch, make([]byte, 9))
		_, _ = ch.Write([]byte{0, 0, 0, 5, 2, 0, 0, 0, 3})
	}
	get := func(files Files) error {
		r, _, err := files.Get("/etc", "hostname", 0)
		if err == nil {
			_, err = io.Copy(io.Discard, r)
			_ = r.Close()
		}
		return err
	}
	list := func(files Files) error { _, err := files.List("/etc"); return err }
	put := func(files Files) error {
		return files.Put(t.TempDir()+"/x", 0o600, io.LimitReader(strings.NewReader(strings.Repeat("x", 8<<20)), 8<<20))
	}
	for name, c := range map[string]struct {
		serve func(ch ssh.Channel)
		do    func(Files) error
	}{
		"no version":    {func(ch ssh.Channel) { _, _ = io.Copy(io.Discard, ch) }, get},
		"silent":        {func(ch ssh.Channel) { version(ch); _, _ = io.Copy(io.Discard, ch) }, get},
		"takes nothing": {version, put},
		"by the byte":   {func(ch ssh.Channel) { drips(&byByte{ch, 60}) }, get},
		"list":          {func(ch ssh.Channel) { drips(&byByte{ch, 60}) }, list},
		"byte by answer": {func(ch ssh.Channel) {
			_ = sftp.NewRequestServer(ch, sftp.Handlers{FileList: few(1), FileGet: few(1)}).Serve()
		}, get},
		"empty answers": {func(ch ssh.Channel) {
			_ = sftp.NewRequestServer(ch, sftp.Handlers{FileList: few(0), FileGet: few(0)}).Serve()
		}, get},
	} {
		for _, interrupted := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				d := newSSHD(t)
				s := d.open(d.home())
				d.tell(func() { d.files = c.serve })
				if s.Options.Command = 150 * time.Millisecond; interrupted {
					s.Options.Command = time.Minute
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if interrupted {
					time.AfterFunc(200*time.Millisecond, cancel)
				}
				done := make(chan error, 1)
				go func() {
					files, err := s.Machine.Files(ctx)
					if err == nil {
						err = c.do(files)
						_ = files.Close()
					}
					done <- err
				}()
				select {
				case err := <-done:
					if err == nil || !interrupted && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, plugins.ErrSlow) {
						t.Errorf("%v", err)
					}
				case <-time.After(15 * time.Second):
					t.Error("waited for without end")
				}
			})
		}
	}
}

func drips(ch io.ReadWriteCloser) {
	if s, err := sftp.NewServer(ch); err == nil {
		_ = s.Serve()
	}
}

// TestSubmissionThatDrips: an answer to a submission that has no end is given up, and the jobs are
// looked up then; so is a server that opens no channel.
func TestSubmissionThatDrips(t *testing.T) {
	d := newSSHD(t)
	c := counter{site: d.open(d.home())}
	c.base = c.site.Base
	d.answers(func(line string, ch ssh.Channel) bool {
		for err := error(nil); err == nil && strings.Contains(line, "submit"); time.Sleep(10 * time.Millisecond) {
			_, err = ch.Write([]byte("."))
		}
		return false
	})
	c.site.Options.Command = 20 * time.Millisecond
	if r := Submit(t.Context(), c.requests("a"), c.check, nil)[0]; kindOf(r.Err) != "uncertain" || !errors.Is(r.Err, os.ErrDeadlineExceeded) {
		t.Errorf("%+v", r)
	}
	d.tell(func() { d.deaf = true })
	c.site.Options.Command, c.site.Options.Dial = time.Minute, 500*time.Millisecond
	done := make(chan error, 1)
	go func() { _, err := c.site.Command(t.Context(), "true"); done <- err }()
	select {
	case err := <-done:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("no channel: %v", err)
		}
	case <-time.After(15 * time.Second):
		t.Error("no channel: waited for without end")
	}
}

// A login node that gives each of a hundred thousand files late is given up, and what came is kept.
func TestFilesThatComeOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Site{Options: &Options{Command: 30 * time.Second}}
		files := make([]File, maxFiles)
		for i := range files {
			files[i] = File{Name: fmt.Sprint("f", i), Size: 1}
		}
		began := time.Now()
		got, err := s.bring(t.Context(), files, func(File) error { time.Sleep(59 * time.Second); return nil })
		if took := time.Since(began); !errors.Is(err, plugins.ErrSlow) || took > 15*time.Minute || len(got) == 0 {
			t.Errorf("%v after %v, %d files", err, took, len(got))
		}
	})
}
