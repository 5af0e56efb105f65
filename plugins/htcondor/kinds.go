package htcondor

import (
	"context"
	"errors"
	"slices"

	"gridbroker/batch"
	"gridbroker/jdl/classad"
	"gridbroker/plugins/remote"
)

// jobKind is one of those that the schedd sorts its waiting jobs into for the negotiator (autoclusters): jobs that agree in all that slots
// and their own requirements look at.
type jobKind struct {
	id     int64 // AutoClusterId
	record *classad.Ad
}

// places are where jobs of each kind can run, by AutoClusterId; kinds that any slot takes, or of which that is not known, are left out.
type places map[int64]place

// place is where jobs of one kind can run: in these slots, or in none for a reason.
type place struct {
	slots []string
	unfit string
}

// bind confines a job to where those of its kind can run.
func (p places) bind(b *batch.Job, j ad) {
	if where, known := p[j.integer("AutoClusterId")]; known && b.Started.IsZero() {
		b.Within, b.Unfit = where.slots, where.unfit
	}
}

// places finds out where the jobs that wait can run. Schedds that do not tell their kinds let them run anywhere.
func (q *Queue) places(ctx context.Context, slots []slot, jobs []ad) (places, error) {
	sorted := func(j ad) bool { return j.integer("JobStatus") == statusIdle && j.integer("AutoClusterId") > 0 }
	if !slices.ContainsFunc(jobs, sorted) {
		return nil, nil
	}
	kinds, err := readKinds(ctx, q.site)
	if _, refused := errors.AsType[*remote.ExitError](err); refused {
		return nil, nil
	}
	return placesOf(kinds, slots), err
}

// readKinds asks the schedd for the kinds of its waiting jobs.
func readKinds(ctx context.Context, s *site) (kinds []jobKind, err error) {
	at, err := s.scheddArgs(ctx)
	if err != nil {
		return nil, err
	}
	err = records(ctx, s, func(object []byte) error {
		k, err := readKind(object)
		kinds = append(kinds, k)
		return err
	}, slices.Concat([]string{"condor_q"}, at, []string{"-allusers", "-autocluster", "-json"})...)
	return kinds, err
}

func readKind(object []byte) (jobKind, error) {
	values, err := readAd(object)
	if err != nil {
		return jobKind{}, err
	}
	records, err := classad.ReadJSON("kinds", object)
	if err != nil || len(records) != 1 {
		return jobKind{}, errors.Join(err, errors.New("a kind of jobs is one record"))
	}
	return jobKind{values.integer("AutoClusterId"), records[0]}, nil
}

// maxJudged bounds how often START is evaluated in one reading; kinds of jobs beyond are not judged. Nor are any after so many whose
// requirements take too long.
const (
	maxJudged = 500_000
	maxSlow   = 2
)

// placesOf judges kinds of jobs by the slots as if these were empty.
func placesOf(kinds []jobKind, slots []slot) places {
	judges := make([]*judge, len(kinds))
	var names []string
	for i, k := range kinds {
		judges[i] = newJudge(k.record)
		names = append(names, judges[i].names...)
	}
	all, p := sortSlots(slots, names), places{}
	for i, j := range judges {
		if all.judged > maxJudged || all.slow == maxSlow || len(slots) == 0 {
			break
		}
		if found, ok := all.place(j); ok {
			p[kinds[i].id] = found
		}
	}
	return p
}

// judge is one kind of jobs: what it requires.
type judge struct {
	record     *classad.Ad
	run        *classad.Evaluation
	conditions []classad.Expr
	names      []string // of all that is looked at
}

func newJudge(job *classad.Ad) *judge {
	r := lookingOver(job)
	j := &judge{record: r, run: classad.NewEvaluation(r), names: namesIn(r)}
	if e, ok := r.Expr("Requirements"); ok {
		j.conditions = slices.DeleteFunc(flatten(e), passing)
	}
	return j
}

// meeting are the slots that meet the requirements. A condition that cannot be evaluated here keeps none off.
func (j *judge) meeting(t *classad.Table) []int32 {
	rows := make([]int32, t.Len())
	for i := range rows {
		rows[i] = int32(i)
	}
	var plain classad.Expr = classad.NewLiteral(classad.BoolValue(true))
	for _, c := range j.conditions {
		p := j.run.Compile(c, t)
		switch p.Eval(0).Kind() {
		case classad.Error:
		case classad.Bool, classad.Undefined:
			plain = classad.And(plain, c)
		default: // numbers hold, too
			rows = slices.DeleteFunc(rows, func(r int32) bool { return !holds(p.Eval(int(r))) })
		}
	}
	return j.run.Compile(plain, t).Filter(rows)
}
