package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"gridbroker/batch"
	"gridbroker/batch/predict"
	"gridbroker/forecast/turns"
	"gridbroker/forecast/wire"
	"gridbroker/plugins/forecast"
	"gridbroker/plugins/queuelen"
)

// questionsAtOnce is how many questions of one address are worked on; further
// ones of it wait, and are dropped when their asker goes.
const questionsAtOnce = 2

// Offer is what an agent tells brokers of its slots, less what the scheduler has
// booked of them. They bear no names.
type Offer struct {
	Schema  string      `json:"schema"`
	Cluster string      `json:"cluster"`
	Made    int64       `json:"made"`
	TTL     int64       `json:"ttl"`
	Slots   []wire.Slot `json:"slots"`
}

// OfferSchema is that of an Offer.
const OfferSchema = "grid.agent-slots/v1"

var errNoLook = errors.New("the batch system has not answered yet")

// Handler serves brokers what the model says, at no cost to the batch system:
// forecasts (POST /forecast), queue lengths (/queues), slots (/slots), and
// figures (/metrics).
func (a *Agent) Handler() http.Handler {
	a.prepare()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /forecast", a.serveForecast)
	mux.HandleFunc("GET /slots", serveSlots(a))
	mux.Handle("/queues", &queuelen.Server{MaxAge: time.Second, Now: a.Now, Read: func(context.Context) (queuelen.Answer, error) {
		s, at := a.State()
		if at.IsZero() {
			return queuelen.Answer{}, errNoLook
		}
		return queuelen.FromState(s, a.Conf.Site.LRMS), nil
	}})
	mux.Handle("GET /metrics", a.Meter.Handler())
	return mux
}

// Offer is what the agent tells now; an error until it has looked once.
func (a *Agent) Offer() (Offer, error) {
	_, looked := a.State()
	if looked.IsZero() {
		return Offer{}, errNoLook
	}
	slots, _ := free(a, a.Now().Unix())
	return Offer{OfferSchema, a.Conf.Cluster, looked.Unix(), int64(a.Conf.TTL / time.Second), slots}, nil
}

func serveSlots(a *Agent) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		end := a.askers.Take(r.Context(), "slots "+turns.Address(r.RemoteAddr), questionsAtOnce) // all slots are in memory until they are read
		if end == nil {
			return
		}
		defer end()
		o, err := a.Offer()
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(o)
	}
}

// maxQuestion bounds a question, in bytes, and maxQueues how many queues one
// may name.
const (
	maxQuestion = 64 << 10
	maxQueues   = 200
)

// questionTime is how long a question is thought about, less what the run of the
// schedule takes that is under way then.
const questionTime = time.Second

func (a *Agent) serveForecast(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxQuestion))
	if err != nil {
		http.Error(w, "the question is too long", http.StatusRequestEntityTooLarge)
		return
	}
	var q forecast.Question
	err = json.Unmarshal(text, &q)
	if err == nil {
		err = q.Check()
	}
	if err == nil && len(q.Queues) > maxQueues {
		err = fmt.Errorf("more than %d queues", maxQueues)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	end := a.askers.Take(r.Context(), turns.Address(r.RemoteAddr), questionsAtOnce) // that the asker goes is seen once his question is read
	if end == nil {
		return
	}
	defer end()
	answer, err := a.Answer(q)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(answer)
}

// Answer says when a job would start in each queue, by the last look: the queue
// replayed under several beliefs about run times, quantiles learned from how
// local jobs started, and the slots that would serve, less what is booked. For as
// many beliefs and queues as questionTime is enough for.
func (a *Agent) Answer(q forecast.Question) (forecast.Answer, error) {
	answer := forecast.Answer{Schema: forecast.Schema}
	told := a.foretold.Load()
	if told == nil {
		return answer, errNoLook
	}
	f := told.forecast
	state, looked := a.State()
	answer.Made = f.At
	names := q.Queues
	if len(names) == 0 {
		for _, queue := range state.Queues {
			names = append(names, queue.Name)
		}
	}
	began := a.Now()
	for i, name := range names {
		share := questionTime * time.Duration(i+1) / time.Duration(len(names))
		if i > 0 && a.Now().Sub(began) >= questionTime {
			return answer, nil // nothing is known of the rest
		}
		j := asked(&q, name, f.At)
		odds, no := a.odds.Ask(f, j, func() bool { return a.Now().Sub(began) < share }, told.doubts...)
		if no.Cause == "" {
			start := startOf(a, name, odds, looked)
			if !f.Admitted(j) {
				bookedFuture(a, &start, state, j)
			}
			answer.Starts = append(answer.Starts, start)
		}
	}
	return answer, nil
}

// asked is the job of a question, submitted to a queue.
func asked(q *forecast.Question, queue string, at time.Time) batch.Job {
	return batch.Job{
		ID: "asked", User: q.User, Group: q.Group, Account: q.Account, Queue: queue, Procs: max(1, q.Procs), Nodes: q.Nodes, Memory: q.Memory,
		GPUs: q.GPUs, Features: q.Tags, Requested: time.Duration(q.WallTime * float64(time.Second)), Submitted: at,
	}
}

// startOf is a distribution in the terms of the protocol.
func startOf(a *Agent, queue string, odds predict.Distribution, looked time.Time) forecast.Start {
	at := func(p float64) float64 { return math.Round(odds.Quantile(p)) }
	s := forecast.Start{Queue: queue, Median: at(0.5), GoodUntil: looked.Add(a.Conf.TTL)}
	if s.Learned, _, _ = a.odds.Learned(); s.Learned < leastLearned {
		return s
	}
	low, high := at(0.1), at(0.9)
	s.Low, s.High = &low, &high
	for _, p := range [...]float64{0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95} {
		s.Quantiles = append(s.Quantiles, forecast.Quantile{Chance: p, Wait: at(p)})
	}
	return s
}

// leastLearned is how many starts must have been seen before odds are told: until
// then there is one number.
const leastLearned = 20
