package arcrest

import (
	"io"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/plugins"
)

// Lists that a computing element sends are read to their end or refused: no id
// that is asked about leaves its path, no name its directory, no time or number
// is beyond all bounds.
func FuzzLists(f *testing.F) {
	f.Add("<jobs><job><id>abc</id><state>RUNNING</state></job></jobs>")
	f.Add(`<jobs><job><status-code>200</status-code><reason>OK</reason><id>abc</id><info_document><ComputingActivity><State>arcrest:FINISHED</State>` +
		`<ExitCode>7</ExitCode><UsedTotalWallTime>9</UsedTotalWallTime><EndTime>2026-01-01T00:00:00Z</EndTime><UsedMainMemory>1024</UsedMainMemory>` +
		`</ComputingActivity></info_document></job></jobs>`)
	f.Add(`<list><file size="1000">o</file><dir>d</dir><file size="-5">../x</file></list>`)
	f.Fuzz(func(t *testing.T, text string) {
		resp := func() io.Reader { return strings.NewReader(text) }
		walk(resp(), budget{root: "jobs", items: maxListed}, func(e *element) error {
			var j jobItem
			if err := e.decode(&j); err != nil {
				return err
			}
			st := plugins.Status{}
			j.Info.fill(&st)
			if st.WallTime < 0 || st.CPUTime < 0 || st.MaxMemory < 0 {
				t.Errorf("%+v", st)
			}
			if validID(j.ID) && strings.ContainsAny(j.ID, "/\\%?# \x00\n") {
				t.Errorf("id %q", j.ID)
			}
			return nil
		})
		walk(resp(), budget{items: maxFiles}, func(e *element) error {
			var r remote
			if err := e.decode(&r); err != nil {
				return err
			}
			if name := path.Join("dir", r.Name); (&download{}).inside("dir", r.Name) && (!filepath.IsLocal(name) || filepath.Dir(name) != "dir") {
				t.Errorf("%q is put at %q", r.Name, name)
			}
			return nil
		})
	})
}

// The diagnosis of a job is a job's own file as well: whatever it says, no figure is one that no job has.
func FuzzDiagnosis(f *testing.F) {
	f.Add("nodename=n1\nWallTime=10s\nKernelTime=1.2s\nUserTime=3.4s\nMaxResidentMemory=1024kB\nexitcode=0\nLRMSStartTime=20260101000000Z\n")
	f.Add(strings.Repeat("UserTime=1e9s\n", 12))
	f.Add("WallTime=NaNs\nUserTime=nan\nKernelTime=+Inf\nMaxResidentMemory=-1\n")
	f.Fuzz(func(t *testing.T, text string) {
		var st plugins.Status
		fillDiag(&st, []byte(text))
		if st.WallTime < 0 || st.CPUTime < 0 || st.MaxMemory < 0 || len(st.Node) > 4<<10 || st.Started.Year() > 8999 || st.Ended.Year() > 8999 {
			t.Errorf("%+v", st)
		}
	})
}
