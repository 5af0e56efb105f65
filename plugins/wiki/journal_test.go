package wiki

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// FuzzJournal: whatever is asked of a server, it starts again from its journal, with the jobs that it had, and no job asks for a time
// that nobody can plan with.
func FuzzJournal(f *testing.F) {
	f.Add("CMD=STARTJOB ARG=j0 TASKLIST=n1:n1\nCMD=SUSPENDJOB ARG=j0\nCMD=RESUMEJOB ARG=j0\nCMD=CANCELJOB ARG=j0 TYPE=ADMIN\n")
	f.Add("CMD=MODIFYJOB ARG=j1 TIMELIMIT=1099511627776 NODES=99999999999\nCMD=MODIFYJOB ARG=j2 BANK=a\xff\nCMD=STARTJOB ARG=j1 TASKLIST=n[1-2]\nCMD=REQUEUEJOB ARG=j1\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "journal")
		now := time.Unix(1_795_000_000, 0)
		begin := func() *Cluster {
			c := NewCluster([]Node{node("n1", 2), node("n2", 2)}, func() time.Time { return now })
			if _, err := c.Journal(path); err != nil {
				t.Fatalf("%q: the server does not start: %v", text, err)
			}
			return c
		}
		had := func(c *Cluster) (list []string) {
			jobs, err := c.Jobs(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range jobs {
				if jobs[i].Limit > longest {
					t.Errorf("%q: %s asks for %d s", text, jobs[i].ID, jobs[i].Limit)
				}
				list = append(list, fmt.Sprint(jobs[i].record()))
			}
			return list
		}
		c := begin()
		for i := range 3 {
			j := job(fmt.Sprint("j", i), 2, 100)
			j.Queued = now.Unix()
			if err := c.Submit(j, 0); err != nil {
				t.Fatal(err)
			}
		}
		s := &Server{Manager: c, Now: c.Now}
		for line := range strings.Lines(text) {
			s.Answer(t.Context(), nil, []byte("DT="+line))
		}
		before := had(c)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		again := begin()
		defer again.Close()
		if after := had(again); !slices.Equal(before, after) {
			t.Errorf("%q: %q, and after it has started again %q", text, before, after)
		}
	})
}
