package batch

// A suspended job has no processors, and keeps what else it has of its nodes.

// occupies are the parts of nodes of which a job that runs has the processors.
func (j *Job) occupies() []Placement {
	if j.Suspended {
		return nil
	}
	return j.Placed
}

// keeps is what a suspended job has of the memory of each of its nodes.
func (j *Job) keeps() int64 {
	if !j.Suspended || len(j.Placed) == 0 {
		return 0
	}
	on := int64(len(j.Placed))
	return (j.Memory*int64(j.Procs) + on - 1) / on
}
