package broker_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/testdata/testbed"
)

// Why nothing matches a job of very many conditions is told in time that grows with their number.
func TestManyClauses(t *testing.T) {
	testbed.Computes(t)
	var clauses []string
	for i := range 30_000 {
		clauses = append(clauses, fmt.Sprintf("other.A%d > 1", i))
	}
	job := stored(t, `Executable = "/bin/true"; Requirements = `+strings.Join(clauses, " && ")+";")
	testbed.Within(t, 2*time.Second, 200<<20, func() {
		p := plan(t, newBroker(), []*glue.Resource{site("a"), site("b")}, job)
		none, ok := errors.AsType[*broker.NoMatchError](p.Jobs[0].Err)
		if !ok || len(none.Explanation().Unpublished) != len(clauses) {
			t.Errorf("%.300v", p.Jobs[0].Err)
		}
	})
}

// Requirements that are made to waste time cost no more at very many resources, and in very many clauses, than at one.
func TestClausesThatWasteTime(t *testing.T) {
	testbed.Computes(t)
	var text strings.Builder
	text.WriteString(`Executable = "/bin/true"; Requirements = a0; `)
	for i := range 60 {
		fmt.Fprintf(&text, "a%d = a%d && a%d; ", i, i+1, i+1)
	}
	text.WriteString("a60 = other.GlueCEStateFreeCPUs >= 0;")
	job := stored(t, text.String())
	sites := make([]*glue.Resource, 2_000)
	for i := range sites {
		sites[i] = site(fmt.Sprint("s", i))
	}
	testbed.Within(t, 12*time.Second, 200<<20, func() {
		p := plan(t, newBroker(), sites, job)
		none, ok := errors.AsType[*broker.NoMatchError](p.Jobs[0].Err)
		if !ok || len(none.Explanation().Clauses) == 0 {
			t.Errorf("%.300v", p.Jobs[0].Err)
		}
	})
}
