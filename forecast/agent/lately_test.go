package agent

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/batch"
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
