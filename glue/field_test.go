package glue

import (
	"strings"
	"testing"
	"time"
)

// ce13Text is a GlueCE in LDIF with what a test adds to it.
func ce13Text(id, site string, lines ...string) string {
	return "dn: GlueCEUniqueID=" + id + ",Mds-Vo-name=" + site + ",Mds-Vo-name=local,o=grid\nobjectClass: GlueCE\nGlueCEUniqueID: " + id + "\n" +
		strings.Join(lines, "\n") + "\n\n"
}

// one decodes a text that holds one resource.
func one(t *testing.T, text string) *Resource {
	t.Helper()
	d := NewDecoder("test")
	if err := ReadLDIF(strings.NewReader(text), "text", d.Add); err != nil {
		t.Fatal(err)
	}
	rs := d.Resources(captured)
	if len(rs) != 1 {
		t.Fatalf("%d resources", len(rs))
	}
	return &rs[0]
}

// TestDeadEstimate: a response time of a dead provider beside live counts is
// dropped alone; beside nothing but zeros all of the state is.
func TestDeadEstimate(t *testing.T) {
	r := one(t, ce13Text("ce.a.org:2119/jobmanager-pbs-q", "A", "GlueCEStateEstimatedResponseTime: 2146660842",
		"GlueCEStateRunningJobs: 12", "GlueCEStateWaitingJobs: 3", "GlueCEStateFreeJobSlots: 4"))
	if r.StateIsPlaceholder || r.Running != Some[int64](12) || r.Waiting != Some[int64](3) || r.FreeSlots != Some[int64](4) || r.EstimatedWait.OK || !r.EstimatedWaitIsPlaceholder {
		t.Errorf("live: %+v", r)
	}
	r = one(t, ce13Text("ce.a.org:2119/jobmanager-pbs-q", "A", "GlueCEStateEstimatedResponseTime: 2146660842",
		"GlueCEStateRunningJobs: 0", "GlueCEStateWaitingJobs: 0", "GlueCEStateFreeJobSlots: 0"))
	if !r.StateIsPlaceholder || r.Running.OK {
		t.Errorf("dead: %+v", r)
	}
}

// TestOddNames: what providers print in place of host, queue and batch system.
func TestOddNames(t *testing.T) {
	r := one(t, ce13Text("cream.cern.ch:8443/cream-pbs-creamtest1", "A", "GlueCEInfoHostName: Cream.cern.ch/", "GlueCEName: /creamtest1",
		"GlueCEInfoLRMSType: pbs", "GlueCEInfoLRMSVersion: GlueCEInfoLRMSVersion: not defined"))
	if r.CE != "cream.cern.ch" || r.Queue != "creamtest1" || r.LRMSVersion != "" || r.LRMS != "pbs" {
		t.Errorf("%q %q %q %q", r.CE, r.Queue, r.LRMS, r.LRMSVersion)
	}
	for in, want := range map[string]string{
		"https://CE.site.org:8443/": "ce.site.org", "ce.site.org.": "ce.site.org", " ce.site.org ": "ce.site.org",
		"urn:ogf:ComputingService:ce.site.org:arex": "ce.site.org", "urn:glue2:x": "", "ce.site.org:2119/jobmanager": "ce.site.org",
	} {
		if got := hostIn(in); got != want {
			t.Errorf("hostIn(%q) = %q, want %q", in, got, want)
		}
	}
	r = one(t, `dn: GLUE2ShareID=urn:ogf:ComputingShare:ce.site.org:long,GLUE2ServiceID=urn:site:x:ce.site.org:ce,GLUE2GroupID=resource,GLUE2DomainID=S,o=glue
objectClass: GLUE2ComputingShare
GLUE2ShareID: urn:ogf:ComputingShare:ce.site.org:long
GLUE2ComputingShareComputingServiceForeignKey: urn:site:x:ce.site.org:ce
GLUE2ComputingShareMaxDiskSpace: 20
`)
	if r.CE != "ce.site.org" || r.Queue != "long" || r.MaxDisk != Some[int64](20*1024) {
		t.Errorf("%q %q %+v", r.CE, r.Queue, r.MaxDisk)
	}
}

// TestHTCondorCEByContact: in GLUE 1 its contact is what condor_submit -remote takes.
func TestHTCondorCEByContact(t *testing.T) {
	r := one(t, ce13Text("ce503.cern.ch:9619/ce503.cern.ch-condor-grid", "CERN-PROD", "GlueCEInfoContactString: condor ce503.cern.ch ce503.cern.ch:9620"))
	want := Endpoint{ID: "ce503.cern.ch:9619/ce503.cern.ch-condor-grid", URL: "https://ce503.cern.ch:9620", Interface: InterfaceHTCondorCE}
	if len(r.Endpoints) != 1 || r.Endpoints[0].URL != want.URL || r.Endpoints[0].Interface != want.Interface {
		t.Errorf("%+v, want %+v", r.Endpoints, want)
	}
}

// TestHTCondorCEByOtherInfo: the schedd's address stands among the free text.
func TestHTCondorCEByOtherInfo(t *testing.T) {
	r := one(t, `dn: GLUE2ShareID=ce503_ilc,GLUE2ServiceID=ce503.cern.ch,GLUE2GroupID=resource,GLUE2DomainID=CERN-PROD,o=glue
objectClass: GLUE2ComputingShare
GLUE2ShareID: ce503_ilc
GLUE2ComputingShareComputingServiceForeignKey: ce503.cern.ch
GLUE2EntityOtherInfo: HTCondorCEId=ce503.cern.ch:9619/ce503.cern.ch-condor
`)
	want := Endpoint{ID: "ce503.cern.ch:9619/ce503.cern.ch-condor", URL: "https://ce503.cern.ch:9619", Interface: InterfaceHTCondorCE}
	if len(r.Endpoints) != 1 || r.Endpoints[0].URL != want.URL || r.Endpoints[0].Interface != want.Interface || r.CE != "ce503.cern.ch" {
		t.Errorf("%+v", r.Endpoints)
	}
	r = one(t, ce13Text("ce503.cern.ch:9619/ce503.cern.ch-condor", "CERN-PROD", "GlueCECapability: HTCondorCEId=ce503.cern.ch:9619/x"))
	if r.Endpoints[0].URL != want.URL || r.Endpoints[0].Interface != want.Interface {
		t.Errorf("%+v", r.Endpoints)
	}
}

// TestTotalAtLeastRunning: a cluster has the slots of what runs in it.
func TestTotalAtLeastRunning(t *testing.T) {
	r := one(t, ce13Text("ce.a.org:2119/jobmanager-pbs-q", "A", "GlueCEInfoTotalCPUs: 8", "GlueCEStateRunningJobs: 40"))
	if r.TotalSlots != Some[int64](40) {
		t.Errorf("total %+v", r.TotalSlots)
	}
}

// TestClusterUnderAnotherSite: CE and cluster stand below two names of a site.
// Where two sites have a cluster of that name, neither is taken.
func TestClusterUnderAnotherSite(t *testing.T) {
	sub := func(site, memory string) string {
		return "dn: GlueSubClusterUniqueID=farm,GlueClusterUniqueID=farm,Mds-Vo-name=" + site + ",Mds-Vo-name=local,o=grid\nobjectClass: GlueSubCluster\n" +
			"GlueChunkKey: GlueClusterUniqueID=farm\nGlueHostMainMemoryRAMSize: " + memory + "\n\n"
	}
	ce := ce13Text("ce.a.org:2119/jobmanager-pbs-q", "A-NAME", "GlueForeignKey: GlueClusterUniqueID=farm")
	if r := one(t, ce+sub("A-OTHER", "2048")); r.MainMemory != Some[int64](2048) || r.Cluster != "farm" {
		t.Errorf("%+v %q", r.MainMemory, r.Cluster)
	}
	if r := one(t, ce+sub("A-OTHER", "2048")+sub("B", "4096")); r.MainMemory.OK {
		t.Errorf("of two: %+v", r.MainMemory)
	}
	if r := one(t, ce+sub("A-NAME", "1024")+sub("B", "4096")); r.MainMemory != Some[int64](1024) {
		t.Errorf("its own: %+v", r.MainMemory)
	}
}

// TestDoubts: limits in the wrong unit are noticed, short queues are not.
func TestDoubts(t *testing.T) {
	var rs []Resource
	add := func(ce string, d time.Duration) { rs = append(rs, Resource{CE: ce, MaxWallTime: Some(d)}) }
	for _, ce := range []string{"a", "b", "c", "d"} {
		add(ce, 48*time.Hour)
		add(ce, 30*time.Minute)
	}
	add("seconds-as-minutes", 60*48*time.Hour)
	add("minutes-as-seconds", 48*time.Minute)
	var got []string
	for _, d := range Doubts(rs) {
		got = append(got, d.CE+" "+d.Said[strings.LastIndex(d.Said, ": ")+2:])
	}
	if want := "minutes-as-seconds minutes published as seconds?, seconds-as-minutes seconds published as minutes?"; strings.Join(got, ", ") != want {
		t.Errorf("got %q", got)
	}
	if d := Doubts(rs[:4]); d != nil {
		t.Errorf("of two CEs: %v", d)
	}
}
