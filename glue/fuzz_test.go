package glue

import (
	"bytes"
	"testing"
	"time"
)

func FuzzLDIF(f *testing.F) {
	f.Add([]byte("version: 1\n\ndn: GlueCEUniqueID=h:1/jobmanager-pbs-q,Mds-Vo-name=S,o=grid\nGlueCEUniqueID: h:1/jobmanager-pbs-q\nGlueCEState\n RunningJobs: 4\n"))
	f.Add([]byte("dn:: R0xVRTI=\nobjectClass: GLUE2ComputingShare\r\nGLUE2ShareID: a\nGLUE2ComputingShareMaxWallTime: 99999\n\n# end"))
	f.Add([]byte("dn: GlueVOViewLocalID=x,GlueCEUniqueID=y\\,z,o=grid\nGlueChunkKey: GlueCEUniqueID=y=z\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		d := NewDecoder("fuzz", "GlueCECapability")
		_ = ReadLDIF(bytes.NewReader(text), "fuzz", d.Add)
		ids := map[string]bool{}
		for _, r := range d.Resources(time.Unix(1e9, 0)) {
			for _, a := range attributeList {
				a.get(&r)
			}
			if ids[r.ID] {
				t.Errorf("two resources of ID %q", r.ID)
			}
			ids[r.ID] = true
		}
	})
}

func FuzzARCInfo(f *testing.F) {
	f.Add([]byte(`<InfoRoot><AdminDomain><ID>a</ID><ComputingService><ComputingShare><ID>s</ID><MaxWallTime>5</MaxWallTime></ComputingShare></ComputingService></AdminDomain></InfoRoot>`))
	f.Add([]byte(`{"Domains":{"AdminDomain":{"Services":{"ComputingService":[{"ID":"x","ComputingShare":{"ID":"s","_attributes":{"Validity":"5"}}}]}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		x, j := NewDecoder("fuzz"), NewDecoder("fuzz")
		_ = x.AddARCInfoXML(bytes.NewReader(text))
		_ = j.AddARCInfoJSON(bytes.NewReader(text))
		x.Resources(time.Unix(1e9, 0))
		j.Resources(time.Unix(1e9, 0))
	})
}
