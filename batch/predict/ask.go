package predict

import (
	"fmt"

	"gridbroker/batch"
)

// mostAsked bounds the answers remembered of one forecast.
const mostAsked = 1024

// Ask says how long a job would wait that were submitted at the time of a
// forecast, or why it would not start. It costs a run of the schedule for every
// member of the ensemble and every doubt, of which those after the first are left
// out as soon as it is not to go on: then the members that were run stand in for
// the others. What was asked about before of the same forecast costs nothing.
func (t *Tracker) Ask(f *batch.Forecast, j batch.Job, goOn func() bool, doubts ...Doubt) (Distribution, batch.Refusal) {
	o, why := t.ask(f, j, goOn, doubts)
	if why.Cause != "" {
		return Distribution{}, why
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.model.Foretell(o), batch.Refusal{}
}

func (t *Tracker) ask(f *batch.Forecast, j batch.Job, goOn func() bool, doubts []Doubt) (Outlook, batch.Refusal) {
	t.asking.Lock()
	defer t.asking.Unlock()
	if t.askedOf != f || len(t.asked) >= mostAsked {
		t.askedOf, t.asked = f, map[string]Outlook{}
	}
	key := fmt.Sprintf("%+v %v", j, doubts)
	if o, known := t.asked[key]; known {
		return o, batch.Refusal{}
	}
	asked, why := f.AskAbout(Members, j, goOn)
	if why.Cause != "" {
		return Outlook{}, why
	}
	whole := asked.Ran == members
	fillIn(&asked)
	o := outlook(f, &asked, len(f.Jobs)+1)
	for _, d := range doubts {
		if whole = whole && goOn(); !whole {
			break
		}
		other, err := f.Under(d.Policy)
		if err != nil {
			continue
		}
		if said, why := other.AskAbout(similar, j, goOn); why.Cause == "" {
			o.Others = append(o.Others, Other{said.Waits[0], d.Chance})
		}
	}
	if whole {
		t.asked[key] = o
	}
	return o, batch.Refusal{}
}

// fillIn has the members that were run stand in for those that were not: a draw
// for a draw, else the last for all.
func fillIn(f *batch.Foreseen) {
	for n := f.Ran; n < len(f.Waits); n++ {
		if f.Ran > firstDraw {
			f.Waits[n] = f.Waits[firstDraw+(n-f.Ran)%(f.Ran-firstDraw)]
		} else {
			f.Waits[n] = f.Waits[f.Ran-1]
		}
	}
}
