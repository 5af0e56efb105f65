package queuelen

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestFailuresAreAskedForOnce: those who ask while the batch system does not answer are told when it fails; they do not each ask it
// again.
func TestFailuresAreAskedForOnce(t *testing.T) {
	var reads atomic.Int32
	var come sync.WaitGroup
	come.Add(20)
	s := &Server{Now: time.Now, MaxAge: time.Minute, Read: func(context.Context) (Answer, error) {
		reads.Add(1)
		come.Wait()
		return Answer{}, errors.New("it does not answer")
	}}
	told := make(chan int)
	for range 20 {
		go func() {
			w := httptest.NewRecorder()
			come.Done()
			s.ServeHTTP(w, httptest.NewRequest("GET", "/queues", nil))
			told <- w.Code
		}()
	}
	for range 20 {
		if code := <-told; code != http.StatusServiceUnavailable {
			t.Errorf("told %d", code)
		}
	}
	if n := reads.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}
