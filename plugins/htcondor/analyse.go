package htcondor

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"gridbroker/jdl/classad"
)

// analysis says why a job does or does not start, slot by slot summed up. It
// tells what "condor_q -better-analyze" tells, and besides how many slots pass
// each condition and all before it, what the slots offer, and the slots that
// fail in one condition only. A slot without room is not one that could run the
// job, whether or not the job's requirements speak of room.
type analysis struct {
	clauses []clause
	slots   int
	// The slots, each counted once: the job's requirements refuse it, its
	// START refuses the job, it has no room now, or it could start the job.
	byJob, bySlot, noRoom, able int
}

// clause is one condition of the requirements.
type clause struct {
	text     string
	alone    int    // slots that pass it
	together int    // slots that pass it and those before it
	onlyThis int    // slots that fail it and nothing else
	offer    string // what the slots have of the attribute it speaks of
}

// analyse matches a job's ad against slots.
func analyse(job *classad.Ad, slots []slot) analysis {
	a := analysis{slots: len(slots)}
	var exprs []classad.Expr
	if e, ok := job.Expr("Requirements"); ok {
		exprs = flatten(e)
	}
	a.clauses = make([]clause, len(exprs))
	for i, e := range exprs {
		a.clauses[i] = clause{text: classad.Unparse(e), offer: offered(e, slots)}
	}
	want := requestIn(job)
	for _, s := range slots {
		refused := a.judge(withFallback(job, s.record), exprs, s)
		switch {
		case refused:
			a.byJob++
		case !s.letsIn(job):
			a.bySlot++
		case s.roomFor(want) == 0:
			a.noRoom++
		default:
			a.able++
		}
	}
	return a
}

// flatten lists the conditions that are all needed.
func flatten(e classad.Expr) []classad.Expr {
	var out []classad.Expr
	for _, c := range classad.Conjuncts(e) {
		if inner := classad.Conjuncts(c); len(inner) > 1 {
			for _, i := range inner {
				out = append(out, flatten(i)...)
			}
			continue
		}
		out = append(out, c)
	}
	return out
}

// judge counts one slot at every condition and reports whether one refused it.
func (a *analysis) judge(job *classad.Ad, exprs []classad.Expr, s slot) (refused bool) {
	failed, last := 0, 0
	for i, e := range exprs {
		if holds(job.Eval(e, s.record)) {
			a.clauses[i].alone++
			if failed == 0 {
				a.clauses[i].together++
			}
			continue
		}
		failed, last = failed+1, i
	}
	if failed == 1 {
		a.clauses[last].onlyThis++
	}
	return failed > 0
}

// holds reads a condition as HTCondor does: true, or a number that is not 0.
func holds(v classad.Value) bool {
	if b, ok := v.Bool(); ok {
		return b
	}
	n, ok := v.Number()
	return ok && n != 0
}

// requestIn reads what a job's ad asks for.
func requestIn(job *classad.Ad) request {
	number := func(name string, unset int64) int64 {
		if n, ok := job.EvalAttr(name, nil).Number(); ok && n >= 0 && n < 1<<53 {
			return int64(n)
		}
		return unset
	}
	return request{cpus: number("RequestCpus", 1), memory: number("RequestMemory", 0), disk: number("RequestDisk", 0), gpus: number("RequestGPUs", 0)}
}

// offered is what the slots have of the first attribute of theirs that a
// condition speaks of: the range of numbers, or the most common words.
func offered(e classad.Expr, slots []slot) string {
	name := targetOf(e, slots)
	if name == "" {
		return ""
	}
	var numbers []float64
	words := map[string]int{}
	for _, s := range slots {
		switch v := s.ad[name].(type) {
		case float64:
			numbers = append(numbers, v)
		case nil:
			words["undefined"]++
		default:
			words[fmt.Sprint(v)]++
		}
	}
	if len(numbers) > 0 {
		return fmt.Sprintf("%s is %g to %g", name, slices.Min(numbers), slices.Max(numbers))
	}
	var list []string
	for w := range words {
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(words[b]-words[a], strings.Compare(a, b)) })
	return name + " is " + strings.Join(list[:min(3, len(list))], ", ")
}

// targetOf finds the first attribute in a condition that slots have, under the
// name they give it.
func targetOf(e classad.Expr, slots []slot) string {
	found := ""
	take := func(name string) {
		for _, s := range slots {
			if t, ok := s.record.Attr(name); ok && found == "" {
				found = t.Name
			}
		}
	}
	named := ""
	classad.Walk(e, func(x classad.Expr) bool {
		switch x := x.(type) {
		case *classad.Select:
			if ref, ok := x.X.(*classad.AttrRef); ok && classad.EqualFold(ref.Name, "TARGET") {
				named = cmp.Or(named, x.Name)
				take(x.Name)
			}
			return false
		case *classad.AttrRef:
			take(x.Name)
		}
		return found == ""
	})
	return cmp.Or(found, named)
}

// write prints the analysis for people.
func (a analysis) write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "of %d slots %d are refused by the job's requirements, %d refuse the job by START, %d have no room now, %d could start it now\n",
		a.slots, a.byJob, a.bySlot, a.noRoom, a.able)
	if len(a.clauses) > 0 {
		fmt.Fprintf(&b, "%6s %8s %6s  condition\n", "alone", "so far", "only")
	}
	for _, c := range a.clauses {
		fmt.Fprintf(&b, "%6d %8d %6d  %s", c.alone, c.together, c.onlyThis, c.text)
		if c.alone < a.slots && c.offer != "" {
			fmt.Fprintf(&b, "   (%s)", c.offer)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
