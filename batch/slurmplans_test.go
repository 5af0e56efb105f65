package batch

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// TestSlurmPlansRecorded holds the plan of all jobs against Slurm's own, which squeue
// told in recordings of both versions (see TestAgreementRecorded of plugins/slurm): in
// each picture before which nothing had happened for three others. Slurm makes a plan when
// something has happened, and none until there is more: it is held against that of the first
// of the pictures that are alike. Ours is that of a slow Slurm, which TestSlurmPass holds the
// engine's to.
func TestSlurmPlansRecorded(t *testing.T) {
	testbed.Computes(t)
	for _, version := range []string{"22.05", "24.11"} {
		files, err := filepath.Glob("../plugins/slurm/testdata/agreement/" + version + "*.json.gz")
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		var sum recordedPlans
		for _, file := range files {
			sum.add(t, file)
		}
		t.Logf("%s: %d of %d plans (%d unlike ones), %d of %d jobs", version, sum.alike, sum.plans, sum.scenes, sum.right, sum.jobs)
		if sum.plans < 200 || sum.alike < sum.plans {
			t.Errorf("%s: some plans are not Slurm's, or there are too few", version)
		}
	}
}

// recordedPlans counts plans that are like Slurm's, and jobs whose start in them is.
type recordedPlans struct{ scenes, plans, alike, jobs, right int }

// add compares the plans of one recording.
func (sum *recordedPlans) add(t *testing.T, file string) {
	t.Helper()
	var r struct {
		Policy Policy
		Runs   map[string]time.Duration // of the jobs that squeue was asked about
		Seen   []State
		Said   []map[string]time.Time
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err == nil {
		err = json.NewDecoder(z).Decode(&r)
	}
	if err != nil {
		t.Fatal(file, err)
	}
	r.Policy.Slurm.Recent = strings.HasPrefix(filepath.Base(file), "24.11")
	first := 0 // of the pictures that are alike
	for i := range r.Seen {
		if stands(r.Seen[first]) != stands(r.Seen[i]) || said(r.Said[first]) != said(r.Said[i]) {
			first = i
		}
		if i < first+3 {
			continue
		}
		m := passing(t, r.Seen[first], r.Policy.Slurm, 0).m
		if !m.policy.(*slurm).charts() || m.wait == 0 {
			continue
		}
		slow := newSlowPass(m)
		slow.charted()
		if i == first+3 {
			sum.scenes++
		}
		asked := func(j *Job) bool { return r.Runs[cmp.Or(j.Array, j.ID)] > 0 }
		sum.compare(r.Seen[first], slow, r.Said[i], asked)
	}
}

// compare holds one plan against Slurm's, of the jobs that squeue was asked about. Of an
// array both have one start: 22.05 says that of the last of its jobs that has a place, 24.11
// that of the first.
func (sum *recordedPlans) compare(s State, slow *slowPass, says map[string]time.Time, asked func(*Job) bool) {
	ours, theirs := map[string]int64{}, map[string]int64{}
	for k, j := range s.Jobs {
		if !j.Started.IsZero() || !asked(&j) {
			continue
		}
		id := j.ID
		if j.Array != "" {
			id = j.Array
		}
		if at := slow.begins[int64(k)]; slow.p.Recent && ours[id] > 0 && at > 0 {
			ours[id] = min(ours[id], at)
		} else {
			ours[id] = max(ours[id], at)
		}
		theirs[id] = max(theirs[id], 0)
		if at, ok := says[j.ID]; ok && at.Unix() > slow.now && !at.Equal(j.Begin) {
			theirs[id] = max(theirs[id], at.Unix())
		}
	}
	alike := true
	for id, at := range theirs {
		right := max(at-ours[id], ours[id]-at) <= 1
		alike = alike && right
		if sum.jobs++; right {
			sum.right++
		}
	}
	if sum.plans++; alike {
		sum.alike++
	}
}

// stands tells who waits and who runs.
func stands(s State) string {
	var list []string
	for _, j := range s.Jobs {
		list = append(list, j.ID+j.Started.String())
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// said tells of the starts that squeue told.
func said(starts map[string]time.Time) string {
	var list []string
	for id, at := range starts {
		list = append(list, id+at.String())
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}
