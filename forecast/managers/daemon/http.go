package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"gridbroker/forecast/managers"
	"gridbroker/forecast/turns"
	"gridbroker/foreign"
)

// Bounds of what is sent to a manager, in bytes.
const (
	maxBody  = 16 << 20
	maxEnded = 64 << 10 // of one job's end, or an offer for one
)

// Handler returns what the manager answers over HTTPS: links of children
// (/v1/link), jobs of brokers (/v1/jobs), ends of jobs (/v1/ended), its tables (/v1/state), what it did with a job (/v1/way).
// Whoever has a certificate that the server accepts may ask; a child and a broker are who their
// certificates say, and of an end that somebody tells the job's own broker is asked.
func (d *Daemon) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/link", d.serveLink)
	mux.HandleFunc("POST /v1/jobs", d.serveJobs)
	mux.HandleFunc("POST /v1/ended", func(w http.ResponseWriter, r *http.Request) {
		var e Ended
		if readBody(w, r, maxEnded, &e) {
			job := managers.Key{Broker: e.Broker, ID: e.Job}
			if e.Broker == "" {
				job = ownJob(d, e.Job, r.TLS)
			}
			d.ask(job)
			writeBody(w, struct{}{})
		}
	})
	mux.HandleFunc("GET /v1/state", func(w http.ResponseWriter, r *http.Request) {
		if turn := d.askers.longTurn(w, r); turn != nil {
			defer turn()
			writeBody(w, d.State())
		}
	})
	mux.HandleFunc("GET /v1/way", func(w http.ResponseWriter, r *http.Request) {
		if turn := d.askers.longTurn(w, r); turn != nil {
			defer turn()
			writeBody(w, WayOf(d, managers.ID(r.URL.Query().Get("job"))))
		}
	})
	return http.NewCrossOriginProtection().Handler(d.askers.guard(mux)) // browsers show their user's certificate to every page
}

// serveJobs takes in what a broker hands in.
func (d *Daemon) serveJobs(w http.ResponseWriter, r *http.Request) {
	turn := d.askers.longTurn(w, r)
	if turn == nil {
		return
	}
	defer turn()
	var jobs handed
	if !readBody(w, r, maxBody, &jobs) {
		return
	}
	chain := chainOf(r.TLS)
	for i := range jobs {
		if err := errors.Join(jobs[i].Check(), checkBroker(jobs[i].Broker)); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := named(r.TLS, jobs[i].Broker); err != nil {
			http.Error(w, fmt.Sprintf("broker %s: %v", jobs[i].Broker, err), http.StatusForbidden)
			return
		}
		jobs[i].Hops, jobs[i].Placed = 0, false
		if jobs[i].Papers != nil {
			jobs[i].Papers.Chain = chain
		}
		if err := d.papers.check(&jobs[i]); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		if jobs[i].Submitted > now()+maxAhead.Milliseconds() { // its age counts from then
			http.Error(w, fmt.Sprintf("job %.80q is submitted %v in the future: set the clocks", jobs[i].ID, time.Duration(jobs[i].Submitted-now())*time.Millisecond), http.StatusBadRequest)
			return
		}
	}
	if err := d.Submit(jobs); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	writeBody(w, struct{}{})
}

// maxAhead is by how much a broker's clock may be ahead.
const maxAhead = 10 * time.Minute

// maxBroker bounds the address of a broker, in bytes: it is kept and sent on with
// each of its jobs.
const maxBroker = 1024

// checkBroker wants https://HOST:PORT and nothing behind it: managers post to it
// with their own certificate.
func checkBroker(name string) error {
	if err := checkAddress(name); err != nil {
		return fmt.Errorf("broker %w", err)
	}
	return nil
}

// checkAddress wants https://HOST:PORT of a manager, too: others of the tree link to it.
func checkAddress(name string) error {
	u, err := url.Parse(name)
	if err != nil || len(name) > maxBroker || u.Scheme != "https" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return fmt.Errorf("%.80q: want https://HOST:PORT", name)
	}
	return nil
}

// maxHanded is how many jobs are handed in at once: as many as may wait.
const maxHanded = 200_000

// handed are jobs that a broker hands in.
type handed []managers.Job

// UnmarshalJSON implements json.Unmarshaler.
func (h *handed) UnmarshalJSON(text []byte) (err error) {
	switch *h, err = foreign.List[managers.Job](text, maxHanded); {
	case errors.Is(err, foreign.ErrNoList):
		return errors.New("want a list of jobs: this is a manager of a tree, to which brokers hand them (grid manager run)")
	case errors.Is(err, foreign.ErrMany):
		return fmt.Errorf("more than %d jobs", maxHanded)
	}
	return err
}

func readBody(w http.ResponseWriter, r *http.Request, most int64, into any) bool {
	if err := json.NewDecoder(http.MaxBytesReader(w, turns.Arrive(w, r.Body), most)).Decode(into); err != nil {
		http.Error(w, "no such document: "+err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func writeBody(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(body)
}

// call posts a document and reads the answer.
func call(ctx context.Context, client *http.Client, url string, body, answer any, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(resp.Body, maxWhy))
		return &refusal{url, resp.StatusCode, strings.TrimSpace(string(why))}
	}
	return json.NewDecoder(io.LimitReader(resp.Body, int64(maxEnded+6*len(text)))).Decode(answer) // who orders names what he was told of
}

// maxWhy bounds what is read of the reason of a refusal, in bytes.
const maxWhy = 500

// refusal is an answer that is none.
type refusal struct {
	url  string
	code int
	why  string
}

// Error implements error.
func (r *refusal) Error() string { return fmt.Sprintf("%s answers %d: %q", r.url, r.code, r.why) }

// forGood says whether it is in vain to ask again: the certificate will not do, or nobody there is a manager.
func forGood(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && (r.code == http.StatusForbidden || r.code == http.StatusNotFound)
}
