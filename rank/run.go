package rank

import (
	"net/url"
	"strings"
)

// run is the expected run time on this hardware: as measured there before,
// else what the job asks for at the machine's published speed.
func (m *Model) run(sc *scene, c *Candidate) Term {
	t := Term{Name: TermRun, Weight: 1}
	if h := c.History; h != nil && h.RunTime.OK && h.RunTime.V > 0 {
		t.Raw, t.Source, t.OK = h.RunTime.V.Seconds(), "history", true
		t.Seconds, t.Unit = t.Raw, unitSeconds
	} else {
		speed, source := m.speed(c)
		t.Raw, t.Source, t.OK = speed, source, source != "prior"
		t.Seconds, t.Unit = sc.runTime/speed, "times reference speed"
		t.Age = c.Age
	}
	t.Seconds = clamp(t.Seconds*m.RunWeight, 0, worst)
	t.Uncertainty = sc.runTime * m.RunError * m.RunWeight
	return t
}

// benchmark is a published one and what one unit of HEP-SPEC06 is in it. 4
// HEP-SPEC06 count as 1000 SI2K in grid accounting; HEPscore was scaled to
// equal HEP-SPEC06.
var benchmarks = []struct {
	name string
	unit float64
}{{"hepscore23", 1}, {"hep-spec06", 1}, {"specint2000", 250}, {"specfp2000", 250}}

// speed compares a core of the resource with the reference machine. Published
// speeds beyond a factor of ten are taken as ten: they are mostly mistakes of
// unit.
func (m *Model) speed(c *Candidate) (speed float64, source string) {
	r := c.Resource
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
