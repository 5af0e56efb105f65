package daemon

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"gridbroker/forecast/managers"
)

// Broker hands jobs to a manager and starts each of them where the first offer comes from.
type Broker struct {
	Name    string                                                           // the URL at which managers reach it
	Manager string                                                           // URL of the nearest manager
	Client  *http.Client                                                     // with the user's certificate
	Own     tls.Certificate                                                  // that certificate, whose key signs passports
	Start   func(ctx context.Context, job managers.Job, system string) error // starts a job and returns when it has ended
	Lease   time.Duration                                                    // a job of which nothing was heard for so long is handed in again; 0: 20 s
	Log     *slog.Logger

	mu   sync.Mutex
	jobs map[managers.ID]*brokered
	work sync.WaitGroup
}

// brokered is a job as its broker sees it.
type brokered struct {
	job     managers.Job
	place   int // among those that were given
	heard   time.Time
	taken   bool   // by a manager, at least once
	manager string // that was granted the job
	ended   bool
	err     error
}

// Run hands the jobs in and returns when all have ended, with the errors of those that failed.
// When the context ends those that have not started are withdrawn, and the others run to their end.
func (b *Broker) Run(ctx context.Context, jobs []managers.Job) map[managers.ID]error {
	b.init(jobs)
	tick := time.NewTicker(b.Lease / 8)
	defer tick.Stop()
	for ctx.Err() == nil && b.handIn(ctx) {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	b.withdraw(ctx.Err())
	b.work.Wait()
	failed := map[managers.ID]error{}
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, j := range b.jobs {
		if j.err != nil {
			failed[id] = j.err
		}
	}
	return failed
}

// withdraw ends the jobs that have not started: no offer for them is granted any more, and
// managers that report them are told to drop them.
func (b *Broker) withdraw(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.jobs {
		if j.manager == "" && !j.ended {
			j.ended, j.err = true, cause
		}
	}
}

func (b *Broker) init(jobs []managers.Job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Lease <= 0 {
		b.Lease = 20 * time.Second
	}
	if b.Log == nil {
		b.Log = slog.New(slog.DiscardHandler)
	}
	b.jobs = map[managers.ID]*brokered{}
	for i, j := range jobs {
		j.Broker, j.Submitted = b.Name, now()
		b.jobs[j.ID] = &brokered{job: j, place: i}
	}
}

// handIn hands in what no manager has, in the order in which the jobs were given. It returns whether jobs are left that have not ended.
func (b *Broker) handIn(ctx context.Context) (left bool) {
	var again []managers.Job
	b.mu.Lock()
	for _, j := range slices.SortedFunc(maps.Values(b.jobs), func(x, y *brokered) int { return cmp.Compare(x.place, y.place) }) {
		left = left || !j.ended
		if !j.ended && j.manager == "" && time.Since(j.heard) > b.Lease {
			j.job.Attempt++
			j.heard = time.Now()
			again = append(again, j.job)
		}
	}
	b.mu.Unlock()
	for some := range slices.Chunk(again, atOnce) {
		b.handOver(ctx, some)
	}
	return left
}

// atOnce is how many jobs a broker hands in by one request.
const atOnce = 10_000

// handOver signs some passports and gives the jobs to the manager.
func (b *Broker) handOver(ctx context.Context, again []managers.Job) {
	var err error
	for i := range again {
		err = cmp.Or(err, seal(&again[i], &b.Own))
	}
	if err == nil {
		err = call(ctx, b.Client, b.Manager+"/v1/jobs", again, &struct{}{}, callPatience)
	}
	if err != nil {
		b.Log.Warn("jobs not handed in", "jobs", len(again), "cause", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range again {
		switch j := b.jobs[a.ID]; {
		case err == nil:
			j.taken = true
		case forGood(err) && !j.taken && j.manager == "":
			j.ended, j.err = true, err
		default:
			j.heard = time.Now().Add(-b.Lease * 3 / 4)
		}
	}
}

// Handler returns what the broker answers to managers.
func (b *Broker) Handler() http.Handler { return BrokerHandler(b.answer, b.orders, nil) }

// BrokerHandler serves what managers ask a broker: its answer to an offer (/v1/offer), its orders upon a report (/v1/report).
// Both are told by a manager of the host that they name, which has to be one of those hosts; nil: whoever has a certificate that
// the server accepts.
func BrokerHandler(answer func(Offer) Answer, orders func(Report) Orders, of func(host string) bool) http.Handler {
	var asked askers
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/offer", func(w http.ResponseWriter, r *http.Request) {
		var o Offer
		if readBody(w, r, maxEnded, &o) && fromManager(w, r, o.Manager, of) {
			writeBody(w, answer(o))
		}
	})
	mux.HandleFunc("POST /v1/report", func(w http.ResponseWriter, r *http.Request) {
		turn := asked.longTurn(w, r)
		if turn == nil {
			return
		}
		defer turn()
		var rep Report
		if readBody(w, r, maxBody, &rep) && fromManager(w, r, rep.Manager, of) {
			writeBody(w, orders(rep))
		}
	})
	return asked.guard(mux)
}

// fromManager refuses what is not told by the manager's host, or by one that is not among those that are believed.
func fromManager(w http.ResponseWriter, r *http.Request, manager string, of func(host string) bool) bool {
	err := named(r.TLS, manager)
	if u, bad := url.Parse(manager); err == nil && of != nil && (bad != nil || !of(u.Hostname())) {
		err = errors.New("its host is none of those whose managers are believed here")
	}
	if err != nil {
		http.Error(w, fmt.Sprintf("manager %.200s: %v", manager, err), http.StatusForbidden)
	}
	return err == nil
}

// answer grants the first offer for a job, and the same again; every other is refused.
func (b *Broker) answer(o Offer) Answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	j := b.jobs[o.Job]
	switch {
	case j == nil:
		return Answer{Ended: true}
	case j.manager == "" && !j.ended:
		j.manager, j.heard = o.Manager, time.Now()
		b.work.Go(func() { b.start(j.job, o) })
		return Answer{Granted: true}
	}
	return Answer{Granted: j.manager == o.Manager, Ended: j.ended}
}

// start starts a job, waits for its end and tells the manager.
func (b *Broker) start(j managers.Job, o Offer) {
	err := b.Start(context.Background(), j, o.System)
	b.mu.Lock()
	b.jobs[j.ID].ended, b.jobs[j.ID].err = true, err
	b.mu.Unlock()
	TellEnded(context.Background(), b.Client, b.Log, o.Manager, j.Key())
}

// TellEnded tells a manager that a job of ours has ended. One that does not hear it learns it from the answer to its next report.
func TellEnded(ctx context.Context, client *http.Client, log *slog.Logger, manager string, job managers.Key) {
	if err := call(ctx, client, manager+"/v1/ended", Ended{Job: job.ID, Broker: job.Broker}, &struct{}{}, callPatience); err != nil {
		log.Info("manager not told of an end", "job", job.ID, "manager", manager, "cause", err)
	}
}

// orders takes a report in and says what the manager is to let go.
func (b *Broker) orders(r Report) (o Orders) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range r.Waiting {
		if j := b.jobs[id]; j == nil || j.ended || j.manager != "" {
			o.Drop = append(o.Drop, id)
		} else {
			j.heard = time.Now()
		}
	}
	for _, id := range r.Running {
		if j := b.jobs[id]; j == nil || j.ended || j.manager != r.Manager {
			o.Ended = append(o.Ended, id)
		}
	}
	return o
}
