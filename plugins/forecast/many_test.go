package forecast

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins/ask"
	"gridbroker/testdata/testbed"
)

// Who publishes very many resources, each with a service of its own that answers as much as one may, or words without end, costs
// what one of them does, and little of what they say is kept.
func TestManyRogueServices(t *testing.T) {
	testbed.Computes(t) // one after the other
	const services = 16
	made := time.Now().UTC().Format(time.RFC3339)
	for name, c := range map[string]struct {
		text    string
		refused bool
	}{
		"starts of nothing":     {`{"schema":"grid.forecast/v1","made":"` + made + `","starts":[` + strings.Repeat(`{},`, 240_000) + `{}]}`, false},
		"starts of others":      {`{"schema":"grid.forecast/v1","made":"` + made + `","starts":[` + strings.Repeat(`{"queue":"x"},`, 120_000) + `{}]}`, false},
		"times of no time":      {`{"schema":"grid.forecast/v1","made":"` + strings.Repeat("\xc3\xa4", 500_000) + `"}`, true},
		"numbers that are none": {`{"schema":"grid.forecast/v1","starts":[{"queue":"q","median":` + strings.Repeat("9", 1_000_000) + `}]}`, true},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(c.text)) }))
		defer srv.Close()
		client := &Client{Ask: &ask.Client{HTTP: srv.Client(), Timeout: time.Minute}, Now: time.Now}
		var rs []*glue.Resource
		for i := range services {
			rs = append(rs, &glue.Resource{ID: fmt.Sprint(i), Queue: "q", Services: []glue.Endpoint{{Interface: glue.InterfaceForecast, URL: fmt.Sprint(srv.URL, "/", i)}}})
		}
		testbed.Within(t, services*400*time.Millisecond, 200<<20, func() {
			fs, err := client.Forecast(t.Context(), &jdl.Job{}, rs)
			words := fmt.Sprint(err)
			if len(fs) > 0 || c.refused != (err != nil) || len(words) > services*2<<10 {
				t.Errorf("%s: %d forecasts, %d bytes of words: %.300s", name, len(fs), len(words), words)
			}
		})
	}
}
