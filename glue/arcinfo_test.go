package glue

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func decodeInfo(t *testing.T, file string) []Resource {
	t.Helper()
	f, err := os.Open("../testdata/arc/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := NewDecoder("test")
	if strings.HasSuffix(file, ".json") {
		err = d.AddARCInfoJSON(f)
	} else {
		err = d.AddARCInfoXML(f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d.Resources(captured)
}

// outline is what must be the same however a CE publishes.
func outline(rs []Resource) []string {
	var out []string
	for _, r := range rs {
		urls := map[string]bool{}
		for _, e := range r.Endpoints {
			urls[e.Interface] = true
		}
		tags := slices.Sorted(slices.Values(r.RuntimeEnvironments))
		out = append(out, fmt.Sprintf("%s site=%s of=%q views=%v lrms=%s serving=%s access=%v wall=%s cpu=%s slots=%d maxrun=%d vmem=%d platform=%s os=%s-%s tags=%v bench=%v rest=%v",
			r.ID, r.Site, r.ViewOf, r.Views, r.LRMS, r.Serving, r.Access, r.MaxWallTime.V, r.MaxCPUTime.V,
			r.TotalSlots.V, r.MaxRunning.V, r.MaxVirtualMemory.V, r.Platform, r.OSName, r.OSVersion, tags, r.Benchmarks, urls[InterfaceARCREST]))
	}
	return out
}

// XML, JSON (lists of one collapsed or not) and LDAP say the same.
func TestARCInfo(t *testing.T) {
	for _, group := range [][]string{
		{"arex1.info.xml", "arex1.info.json", "arex1.glue2.ldif"},
		{"ce2.info.xml", "ce2.info.json", "ce2.glue2.ldif"},
		{"ce1-7.2.info.xml", "ce1-7.2.info.json"},
	} {
		var first []string
		for _, file := range group {
			var rs []Resource
			if strings.HasSuffix(file, ".ldif") {
				d := NewDecoder("test")
				addFile(t, d, "../testdata/arc/"+file)
				rs = d.Resources(captured)
			} else {
				rs = decodeInfo(t, file)
			}
			got := outline(rs)
			if first == nil {
				first = got
			}
			if len(got) != 4 || !slices.Equal(got, first) {
				t.Errorf("%s:\n%s\nwant as %s:\n%s", file, strings.Join(got, "\n"), group[0], strings.Join(first, "\n"))
			}
		}
	}
}

func TestARCInfoValues(t *testing.T) {
	rs := decodeInfo(t, "ce2.info.xml")
	want := `ce2.arc7.test:60011/nordugrid-fork-batch site=ARC7-TESTBED-ce2 of="" views=[testers.arc7.test] lrms=fork serving=production access=[] wall=48h0m0s cpu=48h0m0s slots=8 maxrun=8 vmem=8000 platform=amd64 os=debian-13.7 tags=[APPS/HEP/ATLAS-22.0.0 APPS/HEP/GEANT4-11.1 APPS/ML/PYTORCH-2.1 ENV/PROXY] bench=map[hep-spec06:11.26] rest=true`
	if got := outline(rs)[0]; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	whole, view := rs[0], rs[1]
	if view.ViewOf != "testers.arc7.test" || view.PreLRMSWaiting != whole.PreLRMSWaiting || whole.PreLRMSWaiting.V != 1 {
		t.Errorf("the view has %v jobs before the LRMS, the whole %v", view.PreLRMSWaiting, whole.PreLRMSWaiting)
	}
	if whole.MainMemory.OK || whole.Validity.Seconds() != 600 || whole.Created.IsZero() || whole.FreeFor[0].Slots != 8 {
		t.Errorf("memory %v, validity %s, created %s, free %v", whole.MainMemory, whole.Validity, whole.Created, whole.FreeFor)
	}
	if v := whole.Endpoints[0].Versions; len(v) != 1 || v[0] != "1.1" {
		t.Errorf("versions %v", v)
	}
}
