package desk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"gridbroker/credential"
	"gridbroker/forecast/managers"
	"gridbroker/forecast/turns"
)

// iface is the desk's, as it calls itself.
const iface = "org.gridbroker.tree"

// Bounds of what a user sends and has under way.
const (
	maxBody   = 4 << 20
	roomSize  = 16 * maxBody // of the bodies of all users together
	maxListed = 1000         // jobs of one request
	askAtOnce = 8
	askWait   = 10 * time.Second
)

// API serves users over HTTPS.
type API struct {
	Desk  *Desk
	Trust func() *credential.Trust // by whom users are believed now
	turns turns.Turns
	room  turns.Room // of what they send
}

// keys are the names of a user's jobs.
type keys struct {
	Keys some[string] `json:"keys"`
}

// askedJobs and toldJobs are lists of jobs, of users and for them.
type (
	askedJobs struct {
		Jobs some[managers.UserJob] `json:"jobs"`
	}
	toldJobs struct {
		Jobs []managers.UserTold `json:"jobs"`
	}
	greeting struct {
		Interface string   `json:"interface"`
		Versions  []string `json:"versions"`
		Subject   string   `json:"subject"`
		LetIn     bool     `json:"let_in"`
		Manager   string   `json:"manager"`
		Jobs      int      `json:"jobs"` // of this user that have not ended
	}
)

// Handler answers users.
func (a *API) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/ping", a.known(func(w http.ResponseWriter, _ *http.Request, who string) {
		write(w, greeting{iface, []string{"1"}, who, true, a.Desk.config.Manager, a.Desk.count(who)})
	}))
	mux.HandleFunc("POST /v1/jobs", a.known(func(w http.ResponseWriter, r *http.Request, who string) {
		var in askedJobs
		if a.read(w, r, &in) {
			jobs, err := a.Desk.submit(who, in.Jobs)
			answer(w, jobs, err)
		}
	}))
	about := func(path string, do func(who string, keys []string) ([]managers.UserTold, error)) {
		mux.HandleFunc("POST "+path, a.known(func(w http.ResponseWriter, r *http.Request, who string) {
			var in keys
			if a.read(w, r, &in) {
				jobs, err := do(who, in.Keys)
				answer(w, jobs, err)
			}
		}))
	}
	about("/v1/jobs/status", func(who string, keys []string) ([]managers.UserTold, error) { return a.Desk.states(who, keys), nil })
	about("/v1/jobs/claim", a.Desk.claim)
	about("/v1/jobs/end", func(who string, keys []string) ([]managers.UserTold, error) {
		return []managers.UserTold{}, a.Desk.end(who, keys)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "this is a tree of managers, to which users hand jobs by grid submit --via tree://HOST:PORT", http.StatusNotFound)
	})
	return http.NewCrossOriginProtection().Handler(mux) // browsers show their user's certificate to every page
}

// known finds out who asks, and lets him have his turn.
func (a *API) known(do func(w http.ResponseWriter, r *http.Request, who string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := a.who(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), askWait)
		end := a.turns.Take(ctx, who, askAtOnce)
		cancel()
		if end == nil {
			turns.Later(w, 1, "you have as many requests under way as may be")
			return
		}
		defer end()
		do(w, r, who)
	}
}

// errStranger is a request without a certificate that is good here.
var errStranger = errors.New("who are you? Show a grid certificate or a proxy of an authority that is believed here")

// who is the subject of the certificate that a request shows, whichever proxy of it that is.
func (a *API) who(r *http.Request) (string, error) {
	trust := a.Trust()
	if trust == nil || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return "", errStranger
	}
	x, err := trust.Peer(r.TLS.PeerCertificates)
	if err != nil {
		if until := r.TLS.PeerCertificates[0].NotAfter; until.Before(time.Now()) { // he can see that himself
			return "", fmt.Errorf("the certificate or proxy that you showed ran out at %s: renew it (grid auth status)", until.UTC().Format(time.RFC3339))
		}
		return "", errStranger
	}
	if x.Limited() {
		return "", errors.New("you showed a limited proxy, which may not start jobs: make a full one (grid auth proxy)")
	}
	return x.Identity(), nil
}

// read takes a document in. What all users send at once has its place in one room.
func (a *API) read(w http.ResponseWriter, r *http.Request, into any) bool {
	held := a.room.Hold(r.Context(), turns.Arrive(w, r.Body), roomSize)
	defer held.End()
	text, err := io.ReadAll(http.MaxBytesReader(w, held, maxBody))
	held.Whole()
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	switch {
	case errors.Is(err, turns.ErrNoRoom):
		turns.Later(w, 5, "there are as many bytes of requests under way as may be, and this one's came slowly")
	case errors.Is(err, errMany):
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
	case err != nil:
		http.Error(w, "no such document: "+err.Error(), http.StatusBadRequest)
	}
	return err == nil
}

func answer(w http.ResponseWriter, jobs []managers.UserTold, err error) {
	if err != nil { // of the disk, and it may have room again
		turns.Later(w, 5, err.Error())
		return
	}
	write(w, toldJobs{jobs})
}

func write(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(body)
}
