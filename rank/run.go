package rank

import (
	"net/url"
	"strings"

	"gridbroker/glue"
	"gridbroker/jdl"
)

// run is the expected run time on this hardware: as measured there before,
// else the usual share of what the job asks for, at the machine's published speed.
func (m *Model) run(sc *scene, c *Candidate) Term {
	t := Term{Name: TermRun, Weight: 1}
	if c.measured() {
		t.Raw, t.Source, t.OK = c.History.RunTime.V.Seconds(), "history", true
		t.Seconds, t.Unit = t.Raw, unitSeconds
	} else {
		speed, source := m.Speed(c.Resource)
		t.Raw, t.Source, t.OK = speed, source, source != "prior"
		t.Seconds, t.Unit = sc.expected(c)/speed, "times reference speed"
		t.Age = c.Age
	}
	t.Seconds = clamp(t.Seconds*m.RunWeight, 0, worst)
	t.Uncertainty = t.Seconds * m.RunError
	return t
}

// RunKnown tells whether anything says how long the job runs there: runs like it before, or what it
// asks for. Else the run time in the score is an assumption.
func (r *Ranked) RunKnown(job *jdl.Job) bool {
	return r.measured() || job.Demand.WallTime > 0 || job.Demand.CPUTime > 0
}

// measured tells whether it is known how long such jobs ran there.
func (c *Candidate) measured() bool {
	return c.History != nil && c.History.RunTime.OK && c.History.RunTime.V > 0
}

// expected is the run time at the reference speed of a job of a kind that was not
// seen before, in seconds: what it asks for, or as much of that as its user's jobs use.
func (sc *scene) expected(c *Candidate) float64 {
	if used, ok := sc.used(c); ok {
		return sc.runTime * used
	}
	return sc.runTime
}

// used is the part of the wall time asked for that counts as the run time, where
// history says one.
func (sc *scene) used(c *Candidate) (float64, bool) {
	if !sc.named || c.measured() || c.Usage.Jobs == 0 {
		return 1, false
	}
	return c.Usage.Share(), true
}

// own is how long jobs of this kind hold their slots at a candidate, in seconds:
// as measured there, else as expected.
func (sc *scene) own(c *Candidate) float64 {
	if c.measured() {
		return c.History.RunTime.V.Seconds()
	}
	return sc.expected(c)
}

// benchmark is a published one and what one unit of HEP-SPEC06 is in it. 4
// HEP-SPEC06 count as 1000 SI2K in grid accounting; HEPscore was scaled to
// equal HEP-SPEC06.
var benchmarks = []struct {
	name string
	unit float64
}{{"hepscore23", 1}, {"hep-spec06", 1}, {"specint2000", 250}, {"specfp2000", 250}}

// Speed compares a core of the resource with the reference machine, and says who
// published it. Published speeds beyond a factor of ten are taken as ten: they are
// mostly mistakes of unit.
func (m *Model) Speed(r *glue.Resource) (speed float64, source string) {
	for _, b := range benchmarks {
		if v := r.Benchmarks[b.name]; v > 0 {
			return clamp(v/b.unit/m.ReferenceHEPSPEC, 0.1, 10), r.Source
		}
	}
	if r.CPUClock.OK && r.CPUClock.V > 0 {
		return clamp(float64(r.CPUClock.V)/m.ReferenceMHz, 0.1, 10), r.Source
	}
	return 1, "prior"
}

// stageIn is the time to bring the job's remote input files to the resource.
func (m *Model) stageIn(sc *scene, c *Candidate) Term {
	near, far := sc.distance(c)
	seconds := float64(near)*m.NearFile.Seconds() + float64(far)*m.FarFile.Seconds()
	return Term{Name: TermStageIn, Raw: float64(far), Unit: "far files", Source: c.Resource.Source, Weight: 1,
		Seconds: clamp(seconds*m.StageInWeight, 0, worst), Age: c.Age, OK: near+far == 0 || len(c.Resource.CloseSEs) > 0}
}

// environment is the time to deploy the job's runtime environments that the resource has not cached; there is no such
// term for a job that asks for nothing that is deployed.
func (m *Model) environment(sc *scene, c *Candidate) Term {
	t := Term{Name: TermEnvironment, Unit: "to deploy", Source: c.Resource.Source, Weight: 1, Age: c.Age}
	for _, wish := range sc.wishes {
		tag, ok := wish.Best(c.Resource.RuntimeEnvironments)
		if !ok {
			continue
		}
		switch c.Resource.Deployment(tag) {
		case glue.Cached:
			t.OK = true
		case glue.Deployable:
			t.OK = true
			t.Raw++
		}
	}
	t.Seconds = clamp(t.Raw*m.Deploy.Seconds()*m.StageInWeight, 0, worst)
	return t
}

// distance counts the job's remote inputs that lie on a storage element
// close to the resource, and the others.
func (sc *scene) distance(c *Candidate) (near, far int) {
	for _, host := range sc.inputs {
		if host != "" && closeTo(c, host) {
			near++
		} else {
			far++
		}
	}
	return near, far
}

func closeTo(c *Candidate, host string) bool {
	for _, b := range c.Resource.CloseSEs {
		if strings.EqualFold(b.SE, host) {
			return true
		}
	}
	return strings.EqualFold(c.Resource.CE, host)
}

// hostOf is the host of a URL; "" for a logical name, whose place nobody
// knows without a catalogue.
func hostOf(name string) string {
	u, err := url.Parse(name)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
