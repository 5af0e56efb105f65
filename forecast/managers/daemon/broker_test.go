package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/forecast/managers"
)

// Jobs that a manager refuses for good, before any manager has taken them, end with its reason; nobody waits for them for ever.
func TestRefusedForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := newAuthority(t)
		f := newGrove(t, ca, []int{-1}, []int{4})
		f.start(0)
		b, _ := f.broker(ca, 0)
		b.Name = "https://ui.example:7600"
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := b.Run(ctx, jobsOf(2))["j1"]
		if err == nil || !strings.Contains(err.Error(), "/v1/jobs answers 403") || !strings.Contains(err.Error(), "the certificate is not that of ui.example") {
			t.Errorf("a job for another host's broker: %v", err)
		}
		b.Name, b.Manager = "https://127.0.0.1:7600", f.configs[0].Name+"/other"
		if err := b.Run(ctx, jobsOf(1))["j0"]; err == nil || !strings.Contains(err.Error(), "answers 404") {
			t.Errorf("a job for whom there is no manager: %v", err)
		}
	})
}

func jobsOf(n int) (jobs []managers.Job) {
	for i := range n {
		jobs = append(jobs, managers.Job{ID: managers.ID(fmt.Sprint("j", i)), Need: managers.Resources{CPUs: 1}})
	}
	return jobs
}

// An interrupted broker's jobs that wait are withdrawn at once, from the managers too; those that have started run to their end.
func TestInterruptedBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := newAuthority(t)
		f := newGrove(t, ca, []int{-1, 0}, []int{0, 2})
		f.start(0)
		f.start(1)
		f.become([]int{-1, 0}, time.Minute)
		b, _ := f.broker(ca, 1)
		var started atomic.Int32
		end := make(chan struct{})
		b.Start = func(context.Context, managers.Job, string) error {
			started.Add(1)
			<-end
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan map[managers.ID]error, 1)
		go func() { failed <- b.Run(ctx, jobsOf(6)) }()
		time.Sleep(time.Minute)
		cancel()
		time.Sleep(time.Minute)
		for i := range f.configs {
			if s, err := f.state(i); err != nil || len(s.Waiting) > 0 || len(s.Running) != 2*i {
				t.Errorf("a minute after the interrupt %v wait and %v run at manager %d: %v", s.Waiting, s.Running, i, err)
			}
		}
		close(end)
		errs := <-failed
		for id, err := range errs {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", id, err)
			}
		}
		time.Sleep(time.Minute)
		if s, _ := f.state(1); len(errs) != 4 || started.Load() != 2 || s.Free.CPUs != 2 {
			t.Errorf("%d jobs were withdrawn and %d started, %v are free", len(errs), started.Load(), s.Free)
		}
	})
}

// Who offers and reports is the manager that he says, by the host of his certificate, and one of those that are believed.
func TestOffersAreTheManagers(t *testing.T) {
	der, _ := newAuthority(t).issue(t) // of 127.0.0.1
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(manager string, of func(string) bool, want int) {
		h := BrokerHandler(func(Offer) Answer { return Answer{Granted: true} }, func(Report) Orders { return Orders{} }, of)
		for _, path := range []string{"/v1/offer", "/v1/report"} {
			r := httptest.NewRequest("POST", path, strings.NewReader(fmt.Sprintf(`{"manager": %q}`, manager)))
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != want {
				t.Errorf("%s of %q: %d, want %d", path, manager, w.Code, want)
			}
		}
	}
	for manager, want := range map[string]int{"https://127.0.0.1:7700": 200, "https://ce.example:7700": 403, "": 403} {
		ask(manager, nil, want)
		ask(manager, func(host string) bool { return host == "127.0.0.1" }, want)
		ask(manager, func(host string) bool { return host != "127.0.0.1" }, 403)
	}
}
