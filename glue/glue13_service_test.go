package glue

import (
	"strings"
	"testing"
)

const services13 = `dn: GlueCEUniqueID=ce1.site.org:2119/jobmanager-pbs-short,Mds-Vo-name=SITE,Mds-Vo-name=local,o=grid
GlueCEUniqueID: ce1.site.org:2119/jobmanager-pbs-short
GlueCEInfoHostName: CE1.site.org
GlueForeignKey: GlueClusterUniqueID=ce1.site.org

dn: GlueVOViewLocalID=atlas,GlueCEUniqueID=ce1.site.org:2119/jobmanager-pbs-short,Mds-Vo-name=SITE,Mds-Vo-name=local,o=grid
GlueVOViewLocalID: atlas
GlueCEAccessControlBaseRule: VO:atlas
GlueChunkKey: GlueCEUniqueID=ce1.site.org:2119/jobmanager-pbs-short

dn: GlueCEUniqueID=ce2.site.org:2119/jobmanager-pbs-long,Mds-Vo-name=SITE,Mds-Vo-name=local,o=grid
GlueCEUniqueID: ce2.site.org:2119/jobmanager-pbs-long
GlueCEInfoHostName: ce2.site.org
GlueForeignKey: GlueClusterUniqueID=farm.site.org

dn: GlueCEUniqueID=ce1.site.org:2119/jobmanager-pbs-short,Mds-Vo-name=OTHER,Mds-Vo-name=local,o=grid
GlueCEUniqueID: ce1.site.org:2119/jobmanager-pbs-short
GlueCEInfoHostName: ce1.other.org

dn: GlueServiceUniqueID=a,Mds-Vo-name=SITE,Mds-Vo-name=local,o=grid
objectClass: GlueService
GlueServiceUniqueID: a
GlueServiceType: org.gridbroker.QUEUES
GlueServiceEndpoint: https://ce1.site.org:8443/queues
GlueServiceStatus: OK
GlueForeignKey: GlueSiteUniqueID=SITE

dn: GlueServiceUniqueID=b,Mds-Vo-name=SITE,Mds-Vo-name=local,o=grid
GlueServiceUniqueID: b
GlueServiceType: org.nordugrid.echo
GlueServiceAccessPointURL: http://monitor.site.org/echo
GlueForeignKey: GlueClusterUniqueID=farm.site.org

dn: GlueServiceUniqueID=c,Mds-Vo-name=SITE,Mds-Vo-name=local,o=grid
GlueServiceUniqueID: c
GlueServiceType: org.gridbroker.forecast
GlueServiceEndpoint: https://forecast.site.org/
GlueForeignKey: GlueCEUniqueID=ce1.site.org:2119/jobmanager-pbs-short
GlueForeignKey: GlueCEUniqueID=ce2.site.org:2119/jobmanager-pbs-long

dn: GlueServiceUniqueID=d,Mds-Vo-name=SITE,Mds-Vo-name=local,o=grid
GlueServiceUniqueID: d
GlueServiceType: srm
GlueServiceEndpoint: httpg://ce1.site.org:8446/srm

dn: GlueServiceUniqueID=e,Mds-Vo-name=SITE,Mds-Vo-name=local,o=grid
GlueServiceUniqueID: e
GlueServiceType: org.gridbroker.queues
`

func TestServicesOfGlue13(t *testing.T) {
	d := NewDecoder("test")
	if err := ReadLDIF(strings.NewReader(services13), "services.ldif", d.Add); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"SITE ce1.site.org:2119/jobmanager-pbs-short":       "org.gridbroker.forecast https://forecast.site.org/; org.gridbroker.queues https://ce1.site.org:8443/queues ok",
		"SITE ce1.site.org:2119/jobmanager-pbs-short#atlas": "org.gridbroker.forecast https://forecast.site.org/; org.gridbroker.queues https://ce1.site.org:8443/queues ok",
		"SITE ce2.site.org:2119/jobmanager-pbs-long":        "org.gridbroker.forecast https://forecast.site.org/; org.nordugrid.echo http://monitor.site.org/echo",
		"OTHER ce1.site.org:2119/jobmanager-pbs-short":      "",
	}
	rs := d.Resources(captured)
	if len(rs) != len(want) {
		t.Errorf("%d resources, want %d", len(rs), len(want))
	}
	for _, r := range rs {
		var got []string
		for _, e := range r.Services {
			got = append(got, strings.TrimSpace(e.Interface+" "+e.URL+" "+e.Health))
		}
		if s := strings.Join(got, "; "); s != want[r.Site+" "+r.ID] {
			t.Errorf("%s %s: %q, want %q", r.Site, r.ID, s, want[r.Site+" "+r.ID])
		}
	}
}
