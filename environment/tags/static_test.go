package tags

import (
	"slices"
	"strings"
	"testing"
)

// A static file with the tags is read back by our own decoder, with the CE whose name says that it deploys environments.
func TestStaticFileReadBack(t *testing.T) {
	const dn = "GlueSubClusterUniqueID=ce, GlueClusterUniqueID=ce,mds-vo-name=resource,o=GRID"
	file := strings.Replace(site13, "dn: GlueSubClusterUniqueID=ce,GlueCluster", "dn: GlueSubClusterUniqueID=ce,Glue\n Cluster", 1) +
		"GlueHostApplicationSoftwareRunTimeEnvironment: vee-debian11\nGlueHostApplicationSoftwareRunTimeEnvironment: MPICH\n"
	list := append(published(), Tag{Name: "VEE-Broken", State: InstalledBroken})
	text, err := GLUE1Static(file, dn, list)
	if err != nil {
		t.Fatal(err)
	}
	r := decode(t, text)
	if want := []string{"vee-debian11", "MPICH", "VEE-CentOS-7"}; !slices.Equal(r.RuntimeEnvironments, want) {
		t.Errorf("%q, want %q\n%s", r.RuntimeEnvironments, want, text)
	}
	if r.CEID != "ce:2119/jobmanager-vres-q" {
		t.Errorf("the CE is %s", r.CEID)
	}
	if again, err := GLUE1Static(text, dn, list); err != nil || again != text {
		t.Errorf("a second time it changes, %v:\n%s", err, again)
	}
	if _, err := GLUE1Static(file, "GlueSubClusterUniqueID=other", list); err == nil {
		t.Error("an entry that is not there is no error")
	}
}
