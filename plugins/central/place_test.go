package central_test

import (
	"io"
	"net/http"
	"testing"

	"gridbroker/plugins"
	"gridbroker/plugins/central"
)

// Of a job that waits, a status tells the place that it waits for; of one that has begun or is held, why.
func TestStatusTellsThePlace(t *testing.T) {
	for _, c := range []struct{ view, native, reason string }{
		{`"state": "booked", "plugins": "queued", "reason": "it did not start in its slot", "booking": {"cluster": "lyon", "from": 1700000000, "chance": 0.987}`,
			"booked", "booked at lyon from 22:13:20Z, chance 99 %"},
		{`"state": "sent", "native": "PENDING", "plugins": "queued", "booking": {"cluster": "lyon", "from": 1700000000, "turn": true}`,
			"sent PENDING", "booked at lyon, in its queue, turn expected at 22:13:20Z"},
		{`"state": "waiting", "plugins": "queued", "outlook": {"cluster": "lyon", "from": 1700000000, "chance": 0.5}`, "waiting", "likely at lyon from 22:13:20Z, chance 50 %"},
		{`"state": "waiting", "plugins": "queued", "reason": "it did not start in its slot"`, "waiting", "it did not start in its slot"},
		{`"state": "held", "plugins": "held", "reason": "the proxy has run out", "outlook": {"cluster": "lyon", "from": 1700000000}`, "held", "the proxy has run out"},
		{`"state": "running", "native": "RUNNING", "plugins": "running", "started": 1700000000, "booking": {"cluster": "lyon", "from": 1700000000}`, "running RUNNING", ""},
	} {
		back, url := against(t, func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"jobs": [{"id": "s1", `+c.view+`}]}`)
		})
		got := back.Status(t.Context(), []plugins.Handle{{ID: "s1", Endpoint: url, Interface: central.Interface}})
		if got[0].Native != c.native || got[0].Reason != c.reason || got[0].Err != nil {
			t.Errorf("%s: %q, %q, %v", c.view, got[0].Native, got[0].Reason, got[0].Err)
		}
	}
}
