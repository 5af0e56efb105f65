package htcondor

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gridbroker/jdl/classad"
)

// The ad of the job of better-analyze-3.0.txt.
const asking = `[
  Requirements = ((OpSysAndVer == "AlmaLinux9") && (TARGET.HasSingularity is true) && (SiteName == "SITE-A" || SiteName == "SITE-C")) &&
    (TARGET.Arch == "X86_64") && (TARGET.Disk >= RequestDisk) && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus) &&
    (TARGET.GPUs >= RequestGPUs) && ((TARGET.FileSystemDomain == MY.FileSystemDomain) || (TARGET.HasFileTransfer));
  DiskUsage = 45; FileSystemDomain = "site-a"; RequestCpus = 4; RequestDisk = DiskUsage; RequestGPUs = 1; RequestMemory = 65536; JobUniverse = 5;
]`

func parseJob(t *testing.T, text string) *classad.Ad {
	t.Helper()
	job, err := classad.ParseAd("job", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// Every condition that condor_q -better-analyze counted is counted the same,
// and the summary has the same five numbers.
func TestAnalysisBesideHTCondors(t *testing.T) {
	slots, err := parseSlots(captured(t, "status-slots.json"))
	if err != nil {
		t.Fatal(err)
	}
	theirs := captured(t, "better-analyze-3.0.txt")
	job := parseJob(t, asking)
	steps := regexp.MustCompile(`(?m)^\[\d+\]\s+(\d+)\s+(.*)$`).FindAllStringSubmatch(theirs, -1)
	if len(steps) != 6 {
		t.Fatalf("%d steps in the capture", len(steps))
	}
	a := analyse(job, slots)
	var text bytes.Buffer
	if err := a.write(&text); err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		want, _ := strconv.Atoi(step[1])
		e, err := classad.ParseExpr("step", []byte(step[2]))
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, s := range slots {
			if holds(withFallback(job, s.record).Eval(e, s.record)) {
				got++
			}
		}
		if got != want {
			t.Errorf("%s: %d slots, HTCondor says %d", step[2], got, want)
		}
	}
	if len(a.clauses) != 9 || a.slots != 9 || a.byJob != 9 || a.able != 0 || !strings.Contains(theirs, "9 are rejected by your job's requirements") {
		t.Errorf("%+v", a)
	}
	// What HTCondor does not tell: what there is.
	for _, want := range []string{"OpSysAndVer is Debian13", "Memory is 1000 to 16000", "HasSingularity is undefined"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not said:\n%s", want, &text)
		}
	}
}

// With all cores taken HTCondor counts a partitionable slot without a core as
// able to run the job, for RequestCpus is not in its requirements.
func TestAnalysisSeesNoRoom(t *testing.T) {
	slots, err := parseSlots(captured(t, "status-slots.json"))
	if err != nil {
		t.Fatal(err)
	}
	job := parseJob(t, `[ Requirements = (TARGET.Arch == "X86_64") && (TARGET.Memory >= RequestMemory); RequestMemory = 100; RequestCpus = 1 ]`)
	if a := analyse(job, slots); a.able != 7 || a.noRoom != 2 { // two are being vacated
		t.Errorf("%+v", a)
	}
	for _, s := range slots {
		s.ad["State"] = "Claimed"
		if s.truth("PartitionableSlot") {
			s.ad["State"], s.ad["Cpus"] = "Unclaimed", 0.0
		}
	}
	if a := analyse(job, slots); a.able != 0 || a.noRoom != 9 {
		t.Errorf("%+v, want nine slots without room", a)
	}
}

// Conditions that each match some slots and together none: which one stands
// alone in the way of whom.
func TestAnalysisOfConflicts(t *testing.T) {
	slots, err := parseSlots(`[{"Name":"a","State":"Unclaimed","Cpus":4,"Memory":100,"TotalSlotCpus":4},
		{"Name":"b","State":"Unclaimed","Cpus":1,"Memory":9000,"Start":"/Expr(TARGET.Owner == \"x\")/"},
		{"Name":"c","State":"Unclaimed","Cpus":8,"Memory":9000,"Start":"/Expr(Owner != \"u\")/"}]`)
	if err != nil {
		t.Fatal(err)
	}
	job := parseJob(t, `[ Requirements = TARGET.Cpus >= 2 && TARGET.Memory >= 5000; Owner = "u" ]`)
	a := analyse(job, slots)
	if c := a.clauses; a.byJob != 2 || a.bySlot != 1 || a.able != 0 || c[0].alone != 2 || c[1].alone != 2 || c[1].together != 1 || c[0].onlyThis != 1 || c[1].onlyThis != 1 {
		t.Errorf("%+v", a)
	}
}
