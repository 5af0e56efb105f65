package scheduler

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// taking is a scheduler that takes jobs in, and writes none down.
func taking() *Scheduler {
	return New(Config{}, nil, nil, time.Now, nil)
}

// taken is a job as it was taken in.
func taken(t *testing.T, s *Scheduler, who, text string, files ...File) *Job {
	t.Helper()
	j, err := s.accept(Person{Subject: who}, &Submission{Key: "k", JDL: text, Files: files}, time.Unix(1e9, 0))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// Jobs with one description share what it says; but not one with input files, as these are laid somewhere for each job.
func TestEqualDescriptionsAreReadOnce(t *testing.T) {
	s := taking()
	const plain = `[ Executable = "/bin/job"; CPUNumber = 3; WallTime = 60; ]`
	const brings = `[ Executable = "/bin/job"; InputSandbox = {"/a"}; ]`
	a, b := taken(t, s, "a", plain), taken(t, s, "b", strings.Clone(plain))
	if a.parsed == nil || a.parsed != b.parsed {
		t.Error("what an equal description says was read again")
	}
	if a.Match != b.Match || b.Procs != 3 || b.Wall != 60 || b.JDL != plain {
		t.Errorf("%+v, the first was %+v", b, a)
	}
	c, d := taken(t, s, "a", brings, File{Name: "a"}), taken(t, s, "a", brings, File{Name: "a"})
	of, err := c.description()
	if err != nil {
		t.Fatal(err)
	}
	of.InputSandbox[0].Source = "/elsewhere"
	if again, err := d.description(); err != nil || again.InputSandbox[0].Source == "/elsewhere" {
		t.Errorf("another job's file is read from where the first one's was laid: %v", err)
	}
	e := taken(t, s, "a", brings, File{Name: "a"})
	if again, err := e.description(); err != nil || again.InputSandbox[0].Source == "/elsewhere" {
		t.Errorf("a later job's file is read from where the first one's was laid: %v", err)
	}
	if _, err := s.accept(Person{}, &Submission{Key: "k", JDL: "[ Executable ="}, time.Now()); err == nil {
		t.Error("what is no description was taken")
	}
}

// Of ever new descriptions no more than the last are remembered, of long ones none; what comes again and again is.
func TestReadingsAreBounded(t *testing.T) {
	s := taking()
	text := func(n int) string {
		return fmt.Sprintf(`[ Executable = "/bin/job"; CPUNumber = %d; A = %q; ]`, n, strings.Repeat("a", longReading-1000))
	}
	often := taken(t, s, "a", text(1)).parsed
	for n := range 150 {
		taken(t, s, "a", text(n+2))
		if taken(t, s, "a", text(1)).parsed != often {
			t.Fatalf("the description that comes all the time was read again after %d others", n+1)
		}
	}
	size := 0
	for _, of := range []map[string]*reading{s.readings.recent, s.readings.before} {
		for text := range of {
			size += len(text)
		}
	}
	if size > 2*(maxReadings+longReading) {
		t.Errorf("%d bytes of descriptions are remembered", size)
	}
	if s.readings.recent[text(2)] != nil || s.readings.before[text(2)] != nil {
		t.Error("the first of 150 descriptions is still remembered")
	}
	long := text(1) + strings.Repeat(" ", 1000)
	if first := taken(t, s, "a", long).parsed; taken(t, s, "a", long).parsed == first {
		t.Error("a long description is remembered")
	}
}

// What a description says is read by many at once, who plan and send jobs that share it: it stays as it was.
func TestSharedDescriptionsStayAsTheyAre(t *testing.T) {
	s := taking()
	var texts []string
	for n := range 3 {
		texts = append(texts, fmt.Sprintf(`[ Executable = "/bin/job"; Arguments = "a b"; CPUNumber = %d; RunTimeEnvironment = {"APPS/X >= 1"}; Environment = {"A=1"};
			StdOutput = "d/out"; StdError = "err"; OutputSandbox = {"d/out", "err"}; Requirements = other.GlueCEPolicyMaxWallClockTime > 1 && member("APPS/X-1", other.GlueHostApplicationSoftwareRunTimeEnvironment);
			Rank = -other.GlueCEStateWaitingJobs; Own = [ A = { 1, 2 } ]; ]`, n+1))
	}
	r := &glue.Resource{Name: "c", RuntimeEnvironments: []string{"APPS/X-1", "APPS/X-2"}, MaxWallTime: glue.Some(time.Hour), TotalSlots: glue.Some[int64](4)}
	var all sync.WaitGroup
	for g := range 6 {
		all.Go(func() {
			filters := broker.DefaultFilters(broker.Rules{Now: time.Unix(1e9, 0), Unknown: broker.Keep})
			for n := range 8 {
				job := taken(t, s, fmt.Sprint("user", g), texts[n%len(texts)]).parsed
				rejected(filters, job, r)
				sent := plugins.WithBrokerInfo(job.InTags(r.RuntimeEnvironments), "info")
				sent.Texts()
				sent.Text()
				sent.BrokerOnly()
			}
		})
	}
	all.Wait()
	for _, text := range texts {
		fresh, err := jdl.LoadJob(text)
		if err != nil {
			t.Fatal(err)
		}
		if job := taken(t, s, "a", text).parsed; !reflect.DeepEqual(job, fresh) {
			t.Errorf("it says %+v now, and said %+v", job, fresh)
		}
	}
}
