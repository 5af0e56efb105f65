package htcondor_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gridbroker/plugins"
)

// A schedd over the network tells HTCondor's tool where on this machine a job's output is to be written: nothing is written
// but below the directory of that job.
func TestScheddThatNamesAnotherDirectory(t *testing.T) {
	p := newPool(t)
	b, url := p.network(t)
	p.Backend = b
	hs, _ := p.run(t, url, sh("echo hello"))
	elsewhere := directory(t, p.env)
	if err := os.Chmod(elsewhere, 0o777); err != nil {
		t.Fatal(err)
	}
	jobID, _, _ := strings.Cut(hs[0].ID, "/")
	p.tool(t, "", "condor_qedit", jobID, "SUBMIT_Iwd", strconv.Quote(elsewhere))
	got := b.Fetch(t.Context(), []plugins.FetchRequest{{Handle: hs[0], Dir: t.TempDir()}}, nil)
	var there []string
	filepath.WalkDir(elsewhere, func(path string, _ os.DirEntry, _ error) error {
		there = append(there, path)
		return nil
	})
	if len(there) > 1 || got[0].Err == nil {
		t.Errorf("written are %v; %v", there, got[0].Err)
	}
}
