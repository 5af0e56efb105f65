package main_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// elementLDIF is a computing element in GLUE 1.3, by its identifier, the host that it says it is and where its jobs go.
func elementLDIF(site, id, host, contact string) string {
	return strings.NewReplacer("SITE", site, "CE_ID", id, "HOST", host, "CONTACT", contact).Replace(`dn: GlueCEUniqueID=CE_ID,Mds-Vo-name=SITE,o=grid
objectClass: GlueCE
GlueCEUniqueID: CE_ID
GlueCEName: q
GlueCEInfoHostName: HOST
GlueCEInfoContactString: CONTACT
GlueCEStateStatus: Production
GlueCEStateFreeCPUs: 9

`)
}

// TestElementsOfOthers: who publishes a computing element by another's name has no jobs that are meant for that one sent to himself,
// in a source of his own, in one that both are in, and in either schema; the other stays where it is.
func TestElementsOfOthers(t *testing.T) {
	const id, theirs, ours = "ce.good.example:443/nordugrid-slurm-q", "https://ce.good.example:443/arex", "https://ce.rogue.test:443/arex"
	good := elementLDIF("GOOD", id, "ce.good.example", theirs)
	glue2 := strings.NewReplacer("HERE", ours, "GLUE2ComputingShareFreeSlots: 1000", "GLUE2ComputingShareFreeSlots: 1000\nGLUE2EntityOtherInfo: CREAMCEId="+id).Replace(rogueLDIF)
	for name, rogue := range map[string]string{
		"by its identifier":              elementLDIF("ROGUE", id, "ce.good.example", ours),
		"and a host of his own":          elementLDIF("ROGUE", id, "ce.rogue.test", ours),
		"by its host":                    elementLDIF("ROGUE", "ce.rogue.test:443/nordugrid-slurm-q", "ce.good.example", ours),
		"with a schedd":                  elementLDIF("ROGUE", "ce.good.example:9619/ce.good.example-condor", "ce.good.example", "condor ce.good.example ce.rogue.test:9619"),
		"in GLUE 2.0":                    glue2,
		"by a name that it begins with":  elementLDIF("ROGUE", id, "ce.good.example", "https://ce.good.example.rogue.test/arex"),
		"as of one domain, which is all": elementLDIF("ROGUE", id, "ce.good.example", "https://x.example/arex"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVictim(t)
			v.write("good.ldif", good)
			v.write("rogue.ldif", rogue)
			v.write("both.ldif", good+rogue)
			for _, sources := range [][]string{{"--info", "file:good.ldif", "--info", "file:rogue.ldif"}, {"--info", "file:both.ldif"}} {
				h := v.grid(0, append([]string{"resources", "--json"}, sources...)...)
				var told struct {
					Resources []struct {
						ID        string `json:"id"`
						Endpoints []struct {
							URL string `json:"url"`
						} `json:"endpoints"`
					} `json:"resources"`
				}
				if err := json.Unmarshal([]byte(h.out), &told); err != nil {
					t.Fatalf("%v: %v\n%.500s", sources, err, h.errs)
				}
				if len(told.Resources) != 1 || !strings.HasPrefix(told.Resources[0].ID, id) || len(told.Resources[0].Endpoints) != 1 || told.Resources[0].Endpoints[0].URL != theirs {
					t.Errorf("%v: %+v", sources, told)
				}
				if !strings.Contains(h.out, "it is at another host") {
					t.Errorf("%v: nothing is said of it: %.500s", sources, h.out)
				}
			}
		})
	}
}
