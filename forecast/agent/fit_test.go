package agent

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"gridbroker/forecast/wire"
	"gridbroker/plugins/forecast"
)

// An idle site whose nodes are booked from in five minutes on, for an hour: a job
// that ends before that starts at once, a longer one when the booked jobs have
// ended; what is booked is no slot any more.
func TestBookedFuture(t *testing.T) {
	b := newBench(t)
	a := b.agent()
	if err := a.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	start := func(wall float64) forecast.Start {
		answer, err := a.Answer(forecast.Question{Schema: forecast.Schema, Procs: 16, Nodes: 2, WallTime: wall, Queues: []string{"all"}})
		if err != nil || len(answer.Starts) != 1 || answer.Starts[0].Slot == nil {
			t.Fatal(answer, err)
		}
		return answer.Starts[0]
	}
	offered := func() (processors int64) {
		w := httptest.NewRecorder()
		a.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/slots", nil))
		var o Offer
		if err := json.Unmarshal(w.Body.Bytes(), &o); err != nil {
			t.Fatal(err)
		}
		at := b.now.Add(30 * time.Minute).Unix()
		for _, v := range o.Slots {
			if v.From <= at && (v.To == 0 || v.To > at) {
				processors += int64(v.CPUs)
			}
		}
		return processors
	}
	if s := start(600); s.Median != 0 || s.Slot.Wait != 0 || s.Slot.Chance != 0.99 || len(s.Quantiles) != 2 || s.Quantiles[0].Wait != 0 {
		t.Errorf("nothing is booked: %+v %+v", s, s.Slot)
	}
	if n := offered(); n != 32 {
		t.Errorf("%d processors are offered", n)
	}
	from := b.now.Add(5 * time.Minute).Unix()
	booking := wire.Booking{Job: "s1", Key: "s1-1", From: from, To: from + 3600, Procs: 24, Way: wire.Plain}
	for i := range 3 {
		booking.Slots = append(booking.Slots, wire.Part{Node: fmt.Sprint("n", i), CPUs: 8})
	}
	a.bookings([]wire.Booking{booking})
	if s := start(240); s.Median != 0 || s.Slot.Wait != 0 {
		t.Errorf("a short job: %+v %+v", s, s.Slot)
	}
	sure, _ := DefaultChances().at(3900 * time.Second)
	if s := start(600); s.Median != 3900 || s.Slot.Wait != 3900 || s.Slot.Chance > sure {
		t.Errorf("a job that does not fit before what is booked: %+v %+v", s, s.Slot)
	}
	if n := offered(); n != 8 {
		t.Errorf("%d processors are offered beside what is booked", n)
	}
}
