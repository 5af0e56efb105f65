package broker

import (
	"gridbroker/glue"
	"gridbroker/jdl"
)

// movesFiles keeps what fetches a job's input files from where they are, and sends its output files where they are to go.
func movesFiles(r *Rules) func(*jdl.Job, *glue.Resource) *Reason {
	return func(job *jdl.Job, res *glue.Resource) *Reason {
		if r.Moves == nil {
			return nil
		}
		e, _ := r.endpoint(res)
		return unmovable(job, func(scheme string, out bool) bool { return r.Moves(e.Interface, scheme, out) })
	}
}

func unmovable(job *jdl.Job, moves func(scheme string, out bool) bool) *Reason {
	in, out := job.FileSchemes()
	for _, scheme := range in {
		if !moves(scheme, false) {
			return &Reason{Want: Fact{Kind: FilesFrom, Name: scheme}, Have: unmoved(scheme, FetchesNone)}
		}
	}
	for _, scheme := range out {
		if !moves(scheme, true) {
			return &Reason{Want: Fact{Kind: FilesTo, Name: scheme}, Have: unmoved(scheme, SendsNone)}
		}
	}
	return nil
}

// unmoved says why files stay where they are.
func unmoved(scheme string, otherwise FactKind) Fact {
	if jdl.IsLogical(scheme) {
		return Fact{Kind: NoCatalogue}
	}
	return Fact{Kind: otherwise}
}
