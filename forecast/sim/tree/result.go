package tree

// Start tells where and when a job started; System is -1 if it did not by the horizon.
type Start struct {
	System int
	At     int64
}

// Result is the outcome of one run.
type Result struct {
	Starts      []Start // by job
	Submitted   int
	Started     int
	Done        int
	Ratio       float64 // done / submitted
	MeanWait    float64 // units, of the jobs started
	Utilisation float64 // node time used by the horizon
	Away        float64 // share of the started jobs that ran away from home

	ChangesPerJob  float64
	RequestsPerJob float64
	Busiest        float64 // messages taken in by the busiest manager, per job
	BusiestLoad    float64 // share of the time it was busy
	MaxInbox       int
	MaxHops        int
	Lost           int // jobs that nobody has any more
	Resubmitted    int
	WrongRows      int // rows that differ from what is free, where the run came to rest
	Rows           int
}

// Metrics returns the figures by the names that results files use.
func (r *Result) Metrics() map[string]float64 {
	return map[string]float64{
		"submitted": float64(r.Submitted), "done": float64(r.Done), "ratio": r.Ratio, "mean_wait": r.MeanWait,
		"utilisation": r.Utilisation, "away": r.Away, "changes_per_job": r.ChangesPerJob,
		"requests_per_job": r.RequestsPerJob, "busiest_messages_per_job": r.Busiest, "busiest_load": r.BusiestLoad,
		"busiest_inbox": float64(r.MaxInbox), "max_hops": float64(r.MaxHops), "lost_jobs": float64(r.Lost),
		"resubmitted": float64(r.Resubmitted),
	}
}
