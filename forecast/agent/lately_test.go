package agent

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
)

// away is a scheduler that is not there.
type away struct{}

func (away) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrServerClosed }

// A scheduler that is away for an hour is told of once a minute.
func TestSchedulerThatIsAwayIsToldOfSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		a := &Agent{Conf: Config{Cluster: "c", Scheduler: "http://127.0.0.1:1"}, Reader: &site{busy(2, 4, 2)}, HTTP: &http.Client{Transport: away{}},
			Forecast: &batch.Forecaster{Policy: batch.Policy{Name: "easy"}}, Now: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil))}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := a.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), "not published"); n < 30 || n > 61 {
			t.Errorf("it was said %d times in an hour", n)
		}
	})
}

// faulty is a batch system and the way to a scheduler; each is away in some minutes.
type faulty struct {
	*centre
	from     time.Time
	unseen   [2]time.Duration
	unspoken [2]time.Duration
}

func (f *faulty) is(when [2]time.Duration) bool {
	passed := time.Since(f.from)
	return passed >= when[0] && passed < when[1]
}

func (f *faulty) Queue(context.Context) (batch.State, error) {
	if f.is(f.unseen) {
		return batch.State{}, errors.New("unable to contact the controller")
	}
	s := busy(2, 4, 2)
	s.Now = time.Now()
	return s, nil
}

func (f *faulty) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.is(f.unspoken) {
		return nil, http.ErrServerClosed
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w.Result(), nil
}

// Who reads an agent's log hears when its batch system, and its scheduler, answer again, once each.
func TestWhatIsBackIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(1_800_000_000, 0))) // a bubble begins in a year that no schedule is made in
		var log bytes.Buffer
		f := &faulty{centre: &centre{t: t, jobs: map[string]wire.Entry{}}, from: time.Now(), unseen: [2]time.Duration{5 * time.Minute, 10 * time.Minute}, unspoken: [2]time.Duration{20 * time.Minute, 23 * time.Minute}}
		a := &Agent{Conf: Config{Cluster: "c", Scheduler: "http://127.0.0.1:1", Site: wire.Site{LRMS: "test"}}, Reader: f, HTTP: &http.Client{Transport: f},
			Forecast: &batch.Forecaster{Policy: batch.Policy{Name: "easy"}}, Now: time.Now, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := a.Run(ctx); err != nil {
			t.Fatal(err)
		}
		said := log.String()
		for _, want := range []string{`msg="the batch system answers again" after=5m`, `msg="the scheduler takes what is told again" after=`} {
			if strings.Count(said, want) != 1 {
				t.Errorf("it does not say once %s", want)
			}
		}
		if n := strings.Count(said, "unable to contact"); n < 4 || n > 6 || strings.Count(said, "again") != 2 {
			t.Errorf("it says:\n%s", said)
		}
	})
}
