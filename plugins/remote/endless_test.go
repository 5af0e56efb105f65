package remote

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"testing"
	"time"

	"github.com/pkg/sftp"

	"gridbroker/testdata/testbed"
)

// endless is a server of files whose directories have no end: more files, or one
// more directory below.
type endless struct{ deep bool }

func (e endless) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	if r.Method == "List" {
		return lister(e), nil
	}
	return one{entry{path.Base(r.Filepath), true}}, nil
}

type lister struct{ deep bool }

func (l lister) ListAt(into []os.FileInfo, at int64) (int, error) {
	if l.deep {
		if at > 0 {
			return 0, io.EOF
		}
		return copy(into, []os.FileInfo{entry{"d", true}, entry{"e", true}}), nil
	}
	for i := range into {
		into[i] = entry{"file-of-a-name-that-is-rather-long-and-says-nothing", false}
	}
	return len(into), nil
}

type one struct{ entry }

func (o one) ListAt(into []os.FileInfo, at int64) (int, error) {
	if at > 0 {
		return 0, io.EOF
	}
	into[0] = o.entry
	return 1, io.EOF
}

type entry struct {
	name string
	dir  bool
}

func (e entry) Name() string       { return e.name }
func (e entry) Size() int64        { return 1 }
func (e entry) ModTime() time.Time { return time.Time{} }
func (e entry) IsDir() bool        { return e.dir }
func (e entry) Sys() any           { return nil }
func (e entry) Mode() fs.FileMode {
	if e.dir {
		return fs.ModeDir | 0o700
	}
	return 0o600
}

// A login host whose directories have no end is an error, and costs neither all
// memory nor all time.
func TestEndlessDirectories(t *testing.T) {
	for name, e := range map[string]endless{"files": {}, "directories": {deep: true}} {
		t.Run(name, func(t *testing.T) {
			fromClient, toServer := io.Pipe()
			fromServer, toClient := io.Pipe()
			server := sftp.NewRequestServer(struct {
				io.Reader
				io.WriteCloser
			}{fromClient, toClient}, sftp.Handlers{FileList: e})
			go server.Serve()
			end := func() error { return errors.Join(fromServer.Close(), fromClient.Close()) }
			files, err := newRemote(t.Context(), pipe{fromServer, toServer, end, func() { _ = end() }}, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			defer files.Close()
			testbed.Within(t, 4*time.Second, 200<<20, func() {
				if list, err := files.List("/job"); !errors.Is(err, errTooLong) || len(list) > 0 {
					t.Errorf("%d files, %v", len(list), err)
				}
			})
		})
	}
}
