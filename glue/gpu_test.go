package glue

import (
	"strings"
	"testing"
)

// GPUs of nodes are in free text, in both schemas.
func TestGPUs(t *testing.T) {
	for text, want := range map[string]Opt[int64]{
		"Cores=16,GPUs=4":               Some[int64](4),
		"gpu = 2":                       Some[int64](2),
		"InfoProvider=x, GPUsPerNode=0": Some[int64](0),
		"GPUModel=A100":                 {},
		"GPUs=many":                     {},
		"GPUs=-1":                       {},
		"":                              {},
	} {
		for schema, ldif := range map[string]string{
			"1.3": "dn: GlueCEUniqueID=h:1/jobmanager-pbs-q,Mds-Vo-name=S,o=grid\nobjectClass: GlueCE\nGlueForeignKey: GlueClusterUniqueID=c\n\n" +
				"dn: GlueSubClusterUniqueID=c,GlueClusterUniqueID=c,Mds-Vo-name=S,o=grid\nobjectClass: GlueSubCluster\nGlueHostProcessorOtherDescription: TEXT\n",
			"2.0": "dn: GLUE2ShareID=s,GLUE2DomainID=S,o=glue\nobjectClass: GLUE2ComputingShare\nGLUE2ShareID: s\nGLUE2ShareResourceForeignKey: n\n\n" +
				"dn: GLUE2ResourceID=n,GLUE2DomainID=S,o=glue\nobjectClass: GLUE2ExecutionEnvironment\nGLUE2ResourceID: n\nGLUE2EntityOtherInfo: TEXT\n",
		} {
			d := NewDecoder("test")
			if err := ReadLDIF(strings.NewReader(strings.ReplaceAll(ldif, "TEXT", text)), "test", d.Add); err != nil {
				t.Fatal(err)
			}
			if rs := d.Resources(captured); len(rs) != 1 || rs[0].GPUs != want {
				t.Errorf("%s: %q gives %v, want %v", schema, text, rs[0].GPUs, want)
			}
		}
	}
}
