package broker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/testdata/testbed"
)

// A job that names one resource, as others do, is told of ten that it could name in its place in time that grows with their number.
func TestRelaxAmongManyNames(t *testing.T) {
	testbed.Computes(t)
	sites := make([]*glue.Resource, 8_000)
	for i := range sites {
		sites[i] = site(fmt.Sprint("s", i))
	}
	b := newBroker()
	p := plan(t, b, sites, stored(t, `Executable = "/bin/true"; Requirements = other.GlueCEUniqueID == "gone";`))
	testbed.Within(t, 2*time.Second, 100<<20, func() {
		found := b.Relax(&p.Jobs[0])
		if len(found) != 10 || found[0].More != 1 || !strings.HasSuffix(found[0].Changes[0].To, `"`) || found[0].String() == found[1].String() {
			t.Errorf("%d: %v", len(found), found)
		}
	})
}
