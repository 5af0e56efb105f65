package predict

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Report says how good the forecasts were.
func (e *Evaluation) Report() Report {
	r := Report{Jobs: e.jobs, Waiting: e.waiting, MeanWait: e.wait / float64(max(e.jobs, 1)), Drifts: len(e.model.drift.Times)}
	r.Scores = append(r.Scores, e.scores[0].score("calibrated", e.jobs, e.wait))
	for i, p := range e.peers {
		r.Scores = append(r.Scores, e.scores[i+1].score(p.name(), e.jobs, e.wait))
	}
	for name, s := range e.classes {
		v := s.score("", len(s.widths), 0)
		r.Classes = append(r.Classes, Class{name, len(s.widths), v.Below, v.Above})
	}
	slices.SortFunc(r.Classes, func(a, b Class) int { return cmp.Or(byNumber(a.Name, b.Name), strings.Compare(a.Name, b.Name)) })
	return r
}

// byNumber orders names of one kind by the number they end with.
func byNumber(a, b string) int {
	kindA, numberA, _ := strings.Cut(a, " ")
	kindB, numberB, _ := strings.Cut(b, " ")
	x, err := strconv.Atoi(numberA)
	y, err2 := strconv.Atoi(numberB)
	if kindA != kindB || err != nil || err2 != nil {
		return strings.Compare(kindA, kindB)
	}
	return cmp.Compare(x, y)
}
