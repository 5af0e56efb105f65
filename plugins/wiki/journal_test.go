package wiki

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/batch/maui"
)

// failing is a file some of whose calls fail, in turns: a write after half of what it was given.
type failing struct {
	*os.File
	write, sync, truncate int // how many calls of each kind fail from now on
}

var errDisk = errors.New("the disk fails")

func (f *failing) Write(b []byte) (int, error) {
	if f.write == 0 {
		return f.File.Write(b)
	}
	f.write--
	n, _ := f.File.Write(b[:len(b)/2])
	return n, errDisk
}

func (f *failing) Sync() error {
	if f.sync == 0 {
		return f.File.Sync()
	}
	f.sync--
	return errDisk
}

func (f *failing) Truncate(size int64) error {
	if f.truncate == 0 {
		return f.File.Truncate(size)
	}
	f.truncate--
	return errDisk
}

// TestJournalOnAFailingDisk: whichever calls fail, what was refused is not done when the journal is read again, and what was
// answered is.
func TestJournalOnAFailingDisk(t *testing.T) {
	for write := range 2 {
		for sync := range 4 {
			for truncate := range 4 {
				t.Run(fmt.Sprintf("%d writes, %d syncs, %d cuts", write, sync, truncate), func(t *testing.T) {
					journalOnAFailingDisk(t, failing{write: write, sync: sync, truncate: truncate})
				})
			}
		}
	}
}

func journalOnAFailingDisk(t *testing.T, disk failing) {
	path := filepath.Join(t.TempDir(), "journal")
	c := NewCluster([]Node{node("n1", 99)}, time.Now)
	if _, err := c.Journal(path); err != nil {
		t.Fatal(err)
	}
	answered := map[string]bool{}
	for i := range 12 {
		if i == 2 {
			disk.File = c.journal.file.(*os.File)
			c.journal.file = &disk
		}
		id := fmt.Sprint("j", i)
		answered[id] = c.Submit(job(id, 1, 100), 0) == nil
	}
	if !answered["j11"] || !answered["j1"] {
		t.Error("refused where nothing fails")
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	again := NewCluster([]Node{node("n1", 99)}, time.Now)
	if _, err := again.Journal(path); err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	jobs, err := again.Jobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		if !answered[j.ID] || j.State != maui.JobIdle {
			t.Errorf("%s is there, answered %v", j.ID, answered[j.ID])
		}
		delete(answered, j.ID)
	}
	for id, was := range answered {
		if was {
			t.Errorf("%s was answered, and is lost", id)
		}
	}
}
