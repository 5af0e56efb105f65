package monitor

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins/ask"
	"gridbroker/testdata/testbed"
)

// An answer of a monitoring system is of no more values than one of other services: it takes up to a hundred times its bytes in memory.
func TestAnswersOfManyValues(t *testing.T) {
	var hosts strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&hosts, `"%x":{},`, i)
	}
	for scheme, text := range map[string]string{
		"nagios":     `{"data":{"hostlist":{` + hosts.String() + `"ce":{"status":4}},"servicelist":{}}}`,
		"prometheus": `{"status":"success","data":{"resultType":"vector","result":[` + strings.Repeat(`{},`, 1_300_000) + `{}]}}`,
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(text)) }))
		defer srv.Close()
		m, err := Open(scheme+"+"+srv.URL, Options{Ask: &ask.Client{HTTP: srv.Client(), Timeout: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		testbed.Within(t, 2*time.Second, 100<<20, func() {
			if got, err := m.Troubles(t.Context(), []*glue.Resource{{ID: "1", CE: "ce"}}); err == nil || !strings.Contains(err.Error(), "values") {
				t.Errorf("%s: %d troubles, %.300v", scheme, len(got), err)
			}
		})
	}
}

// Of hosts without end that Ganglia complains about no more are kept than there may be.
func TestGangliaOfManyHosts(t *testing.T) {
	testbed.Computes(t)
	testbed.Within(t, 4*time.Second, 100<<20, func() {
		in := io.MultiReader(strings.NewReader("<GANGLIA_XML>"), io.LimitReader(&again{text: `<HOST NAME="x" TN="9" TMAX="1"/>`}, 32<<20), strings.NewReader("</GANGLIA_XML>"))
		if rs, err := parseGanglia(in, 0, time.Now()); err == nil || !strings.Contains(err.Error(), "more than") {
			t.Errorf("%d hosts, %v", len(rs), err)
		}
	})
}
