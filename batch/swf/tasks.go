package swf

// Scale divides the times of submission by a load factor: 1.25 makes the jobs
// come in 1/1.25 of the time and so raises the load by a quarter. What the
// jobs are is not changed. Times are cut to whole seconds.
func Scale(submit int64, load float64) int64 {
	if load == 1 {
		return submit
	}
	return int64(float64(submit) / load)
}
