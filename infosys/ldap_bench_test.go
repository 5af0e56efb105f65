package infosys

import (
	"net/url"
	"os"
	"testing"
)

// BenchmarkLDAP reads the BDII named by GRID_BDII (ldap://host:port/base).
func BenchmarkLDAP(b *testing.B) {
	addr := os.Getenv("GRID_BDII")
	if addr == "" {
		b.Skip("GRID_BDII is not set")
	}
	for _, base := range []string{"/o=grid", "/o=glue", ""} {
		b.Run(base, func(b *testing.B) {
			u, _ := url.Parse(addr + base)
			src, err := NewLDAP(u)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				rs, err := src.Resources(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(rs)), "resources")
			}
		})
	}
}
