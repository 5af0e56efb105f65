package jdl

import (
	"strings"
	"testing"

	"gridbroker/jdl/classad"
)

// TestPlacesBesideGLite: what DIRAC's users say of where a job may run holds beside gLite's Rank and Requirements, said to
// nobody as unknown, once in the text and after it is read again; a name that the user's own expressions use is the user's.
func TestPlacesBesideGLite(t *testing.T) {
	const status = `other.GlueCEStateStatus == "Production"`
	for _, c := range []struct{ src, want string }{
		{`GridRequiredCEs = {"ce1.x.org"}; Rank = other.GlueCEStateFreeCPUs;`, `other.GlueCEInfoHostName == "ce1.x.org" && ` + status},
		{`GridRequiredCEs = "ce1.x.org, ce2.x.org"; Rank = other.GlueCEStateFreeCPUs;`, `member(other.GlueCEInfoHostName, { "ce1.x.org", "ce2.x.org" }) && ` + status},
		{`GridRequiredCEs = ce1.x.org;`, `other.GlueCEInfoHostName == "ce1.x.org"`},
		{`GridCE = "ce1.x.org"; Rank = other.GlueCEStateFreeCPUs;`, `other.GlueCEInfoHostName == "ce1.x.org" && ` + status},
		{`Site = "LCG.CERN.ch"; Rank = other.GlueCEStateFreeCPUs;`, `member(other.GlueSiteUniqueID, { "LCG.CERN.ch", "CERN" }) && ` + status},
		{`BannedSites = {"BAD"}; Requirements = other.GlueCEStateFreeCPUs > 2;`,
			`other.GlueCEStateFreeCPUs > 2 && member(other.GlueSiteUniqueID, { "BAD" }) isnt true && ` + status},
		{`GridRequiredCEs = "ANY"; Rank = other.GlueCEStateFreeCPUs;`, status},
		{`Site = "cern"; Requirements = regexp(Site, other.GlueCEUniqueID);`, `regexp(Site,other.GlueCEUniqueID) && ` + status},
	} {
		j, err := ParseJob("a.jdl", []byte(`Executable = "/bin/ls"; `+c.src))
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		again, err := LoadJob(j.Text())
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range []*Job{j, again} {
			if got := classad.Unparse(job.Requirements); strings.ReplaceAll(got, ", ", ",") != strings.ReplaceAll(c.want, ", ", ",") {
				t.Errorf("%s: %s, not %s", c.src, got, c.want)
			}
		}
		for _, w := range Lint("a.jdl", []byte(`Executable = "/bin/ls"; `+c.src)) {
			if w.Code == "unknown-attribute" || w.Code == "dialect" {
				t.Error(w)
			}
		}
	}
}
