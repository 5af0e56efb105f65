package arcrest

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// A-REX can leave out a job that it is just moving: about one look in four
// hundred did. Neither Find nor Status may take that for an answer.
func TestOneLookIsNotEnough(t *testing.T) {
	var lists, infos atomic.Int32
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		switch {
		case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/jobs"):
			if lists.Add(1)%2 == 0 {
				fmt.Fprint(w, "<jobs><job><id>job1</id><state>RUNNING</state></job></jobs>")
			}
		case r.URL.Query().Get("action") == "info" && infos.Add(1) == 1 && lists.Load() < 2:
			echo(w, body, "<status-code>404</status-code><reason>Job not found</reason>")
		case r.URL.Query().Get("action") == "info":
			echo(w, body, "<status-code>200</status-code><reason>OK</reason><info_document><ComputingActivity><Name>ours name</Name><State>arcrest:RUNNING</State></ComputingActivity></info_document>")
		default:
			return false
		}
		return true
	})
	b := f.backend(t)
	c, err := b.client("x", f.url(), "")
	check(t, err)
	if st := b.Status(t.Context(), []plugins.Handle{c.handle("job1")})[0]; st.State != plugins.Running || st.Err != nil {
		t.Errorf("%+v", st)
	}
	found, err := b.Find(t.Context(), glue.Endpoint{URL: f.url()}, []string{"ours"})
	if err != nil || found["ours"].ID != "job1" {
		t.Errorf("%v, %v", found, err)
	}
}
