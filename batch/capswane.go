package batch

import "slices"

// wanes is how what running jobs have of caps becomes less: all of it is counted anew from time to time.
type wanes struct {
	every, since int64 // 0: of none
	counted      int64 // when that was last
	rates        []int64
	young        []int64 // of jobs that have started since, what they would have run off by then: they have not
}

func (w wanes) clone() wanes {
	w.rates, w.young = slices.Clone(w.rates), slices.Clone(w.young)
	return w
}

// rate is that of a Take, where it is counted anew.
func (w *wanes) rate(t *Take) int64 {
	if w.every == 0 {
		return 0
	}
	return int64(max(0, t.Rate))
}

// last is when jobs' parts were counted last by a time.
func (w *wanes) last(now int64) int64 {
	ago := (now - w.since) % w.every
	if ago < 0 {
		ago += w.every
	}
	return now - ago
}

// begun notes a job that runs since some time, and returns what it has run off; ended takes it out again.
func (w *wanes) begun(t take, start int64) int64 { return w.note(t, start, 1) }
func (w *wanes) ended(t take, start int64) int64 { return w.note(t, start, -1) }

func (w *wanes) note(t take, start, sign int64) int64 {
	if t.rate == 0 {
		return 0
	}
	w.rates[t.cap] += sign * t.rate
	if start > w.counted {
		w.young[t.cap] += sign * t.rate * (start - w.counted)
		return 0
	}
	return t.rate * (w.counted - start)
}

// count counts anew.
func (w *wanes) count(now int64, change func(cap int32, by int64)) {
	last := w.last(now)
	for i, rate := range w.rates {
		if by := rate*(last-w.counted) - w.young[i]; by != 0 {
			change(int32(i), by)
		}
		w.young[i] = 0
	}
	w.counted = last
}

// lets is when there is as much as jobs of a kind would have, who may not start now.
func (w *wanes) lets(left []int64, takes []take) int64 {
	times := int64(0)
	for _, t := range takes {
		short := t.amount - left[t.cap]
		if t.free || short <= 0 {
			continue
		}
		if w.rates[t.cap] <= 0 {
			return never
		}
		each := w.rates[t.cap] * w.every
		times = max(times, (short+w.young[t.cap]+each-1)/each)
	}
	if times == 0 {
		return never
	}
	return w.counted + times*w.every
}
