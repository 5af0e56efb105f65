package batch

import "testing"

// TestCalendarOfGPUs: where jobs ask for GPUs a node that has none free, and processors, is not
// among those to look at for them; for the others it is.
func TestCalendarOfGPUs(t *testing.T) {
	p := newNodePlan(0, []amounts{{procs: 4, gpus: 2}, {procs: 4, gpus: 2}, {procs: 4}})
	plain, needs := &Need{}, &Need{GPUs: 1}
	for i := range int32(3) {
		plain.allow(i)
		if i < 2 {
			needs.allow(i)
		}
	}
	m := &Machine{plan: p}
	m.jobs = append(m.jobs, job{Task: Task{Need: plain}, limit: 6000, procs: 1, seq: 1}, job{Task: Task{Need: needs}, limit: 6000, procs: 1, seq: 2})
	var queue waiting
	for i := range int32(2) {
		queue.insert(m.jobs[i].entry(i))
	}
	p.survey(m, &queue)
	busy := job{Task: Task{Need: &Need{GPUs: 2}}, limit: 90000, procs: 1, seq: 3}
	p.hold(&busy, 0, 90000, []share{{0, 1}})
	for i, want := range []int{3, 1} {
		j := &m.jobs[i]
		s := p.begin(j, 0)
		if c := p.calendars.of(portion{s.each, int32(j.Need.GPUs)}); c.nodes(&s, 0) != want {
			t.Errorf("job %d: nodes to look at: %b, want %d of them", i, c.open, want)
		}
	}
}
