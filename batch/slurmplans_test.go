package batch

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSlurmPlansRecorded holds the plan of all jobs against Slurm's own, which squeue
// told in recordings of both versions (see TestAgreementRecorded of plugins/slurm): in
// each picture before which nothing had happened for three others. It is that of a
// slow Slurm, which TestSlurmPass holds the engine's to.
func TestSlurmPlansRecorded(t *testing.T) {
	least := map[string]struct{ plans, jobs int }{"22.05": {90, 98}, "24.11": {70, 92}}
	for version, least := range least {
		files, err := filepath.Glob("../plugins/slurm/testdata/agreement/" + version + "*.json.gz")
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		var sum recordedPlans
		for _, file := range files {
			sum.add(t, file)
		}
		t.Logf("%s: %d of %d plans, %d of %d jobs", version, sum.alike, sum.plans, sum.right, sum.jobs)
		if sum.plans < 50 || 100*sum.alike < least.plans*sum.plans || 100*sum.right < least.jobs*sum.jobs {
			t.Errorf("%s: less than %d %% of the plans and %d %% of the jobs", version, least.plans, least.jobs)
		}
	}
}

// recordedPlans counts plans that are like Slurm's, and jobs whose start in them is.
type recordedPlans struct{ plans, alike, jobs, right int }

// add compares the plans of one recording.
func (sum *recordedPlans) add(t *testing.T, file string) {
	t.Helper()
	var r struct {
		Policy Policy
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
	r.Policy.Slurm.ArrayLimits = r.Policy.Slurm.RoundsUp // not known when they were recorded
	for i := 3; i < len(r.Seen); i++ {
		quiet := true
		for k := i - 3; k < i; k++ {
			quiet = quiet && stands(r.Seen[k]) == stands(r.Seen[i]) && said(r.Said[k]) == said(r.Said[i])
		}
		if !quiet {
			continue
		}
		m := passing(t, r.Seen[i], r.Policy.Slurm, 0).m
		if !m.policy.(*slurm).charts() || m.wait == 0 {
			continue
		}
		slow := newSlowPass(m)
		slow.charted()
		sum.compare(r.Seen[i], slow, r.Said[i], r.Policy.Slurm.ArrayLimits)
	}
}

// compare holds one plan against Slurm's. Of an array both have one start: 22.05 says
// that of the last of its jobs that has a place, 24.11 that of the first.
func (sum *recordedPlans) compare(s State, slow *slowPass, says map[string]time.Time, first bool) {
	ours, theirs := map[string]int64{}, map[string]int64{}
	for k, j := range s.Jobs {
		if !j.Started.IsZero() {
			continue
		}
		id := j.ID
		if j.Array != "" {
			id = j.Array
		}
		if at := slow.begins[int64(k)]; first && ours[id] > 0 && at > 0 {
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
