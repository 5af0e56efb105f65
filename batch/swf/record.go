package swf

// Record is one job of a trace: the 18 fields in their order. -1 means not
// known. Times and durations are in seconds, memory in kilobytes per processor.
type Record struct {
	Job           int64   // 1: number of the job
	Submit        int64   // 2: since the start of the trace
	Wait          int64   // 3
	Run           int64   // 4: wall-clock run time
	Procs         int64   // 5: processors allocated
	CPU           float64 // 6: mean CPU time used per processor
	Memory        float64 // 7: mean memory used
	ReqProcs      int64   // 8: processors asked for
	ReqTime       int64   // 9: run time asked for (wall clock, or CPU per processor)
	ReqMemory     int64   // 10
	Status        int64   // 11: 1 completed, 0 failed, 5 cancelled, 2-4 partial
	User          int64   // 12
	Group         int64   // 13
	Executable    int64   // 14
	Queue         int64   // 15
	Partition     int64   // 16
	PrecedingJob  int64   // 17
	ThinkTime     int64   // 18: between the end of the preceding job and this submission
	Line          int     // line of the file it was read from; 0: made, not read
	ExtraIgnored  bool    // the line had more than 18 fields
	DecimalsInInt bool    // a whole-number field had decimals, which were cut
}

// unknown is the record of which nothing is known.
func unknown() Record {
	return Record{
		Job: -1, Submit: -1, Wait: -1, Run: -1, Procs: -1, CPU: -1, Memory: -1,
		ReqProcs: -1, ReqTime: -1, ReqMemory: -1, Status: -1, User: -1, Group: -1,
		Executable: -1, Queue: -1, Partition: -1, PrecedingJob: -1, ThinkTime: -1,
	}
}

// wholes returns the whole-number fields by place; places 5 and 6 (CPU and
// memory) may have decimals and are nil.
func (r *Record) wholes() [18]*int64 {
	return [18]*int64{
		&r.Job, &r.Submit, &r.Wait, &r.Run, &r.Procs, nil, nil, &r.ReqProcs, &r.ReqTime,
		&r.ReqMemory, &r.Status, &r.User, &r.Group, &r.Executable, &r.Queue, &r.Partition,
		&r.PrecedingJob, &r.ThinkTime,
	}
}
