package jdl

import (
	"strings"
	"testing"
)

// As in gLite, where the site's limit of ten counts whatever the job says.
func TestRetriesAreLimited(t *testing.T) {
	for _, c := range []struct {
		text          string
		deep, shallow int
		warned        string // attribute, "" for none
	}{
		{`RetryCount = 10; ShallowRetryCount = -1;`, 10, -1, ""},
		{`RetryCount = 11;`, 10, 0, "RetryCount 11"},
		{`RetryCount = 0; ShallowRetryCount = 1000000;`, 0, 10, "ShallowRetryCount 1000000"},
	} {
		j, err := ParseJob("job.jdl", []byte(`Executable = "/bin/true"; `+c.text))
		if err != nil {
			t.Fatal(err)
		}
		if j.RetryCount != c.deep || j.ShallowRetry != c.shallow {
			t.Errorf("%s: %d and %d", c.text, j.RetryCount, j.ShallowRetry)
		}
		var said []string
		for _, w := range j.Warnings {
			said = append(said, w.Error())
		}
		all := strings.Join(said, "\n")
		if (c.warned != "") != strings.Contains(all, "no more than 10") || !strings.Contains(all, c.warned) {
			t.Errorf("%s: warnings %q", c.text, all)
		}
	}
}
