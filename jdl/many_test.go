package jdl_test

import (
	"testing"

	"gridbroker/jdl"
)

// TestManyJobsShareWhatIsFilledIn: what each of many jobs gets by itself, as its default Rank, is there once for all of them.
func TestManyJobsShareWhatIsFilledIn(t *testing.T) {
	set, err := jdl.ParseJobs("many.jdl", []byte(`JobType = "Parametric"; Parameters = 3; ParameterStart = 0; ParameterStep = 1; Executable = "/bin/echo"; Arguments = "_PARAM_";`))
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range set.Jobs[1:] {
		if j.DefaultRank != set.Jobs[0].DefaultRank || j.Requirements != set.Jobs[0].Requirements {
			t.Errorf("%s has a Rank or Requirements of its own", j.Node)
		}
	}
}
