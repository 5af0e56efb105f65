package tree

import (
	"strings"
	"testing"
)

// A list of jobs is read, or refused; what is read can be simulated.
func FuzzJobs(f *testing.F) {
	f.Add("id,home,submit,run,width,priority\n1,0,0,5,1,2\n")
	f.Add("\uFEFF# c\nid, home ,submit,run,width\n\"1\",0,9,1,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ReadJobs(strings.NewReader(text))
		if err != nil {
			return
		}
		for i, j := range list {
			if j.Run < 1 || j.Width < 1 || j.Home < 0 || j.Submit < 0 || i > 0 && list[i-1].Submit > j.Submit {
				t.Errorf("%+v", j)
			}
		}
	})
}
