package batch

// Whole is the forecast of all that waits in an engine, in memory of its own.
func Whole(e *Engine, f *Forecaster) *Forecast { return f.forecast(e.c) }

// Exactly is when jobs start, in seconds from a state on, by a Slurm all of whose
// passes are exact, as far ahead as the run goes.
func Exactly(f *Forecaster, s State) (map[string]int64, error) {
	c, err := newCluster(s, f.Policy, &f.users, false)
	if err != nil {
		return nil, err
	}
	run, starts := c.forward(f.belief(), nil), map[string]int64{}
	run.m.policy.(*slurm).near = never
	for j, ok := run.next(); ok; j, ok = run.next() {
		starts[c.state.Jobs[j.ID].ID] = j.start - c.now
	}
	return starts, nil
}
