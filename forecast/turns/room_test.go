package turns

import (
	"bytes"
	"errors"
	"io"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stalled is a body that comes at once, and whose end never does.
type stalled struct {
	io.Reader
	over chan struct{}
}

func (s *stalled) Read(p []byte) (int, error) {
	if n, err := s.Reader.Read(p); err == nil {
		return n, nil
	}
	<-s.over
	return 0, io.ErrUnexpectedEOF
}

func (s *stalled) Close() error { return nil }

// deadlines is an answer to a request whose reading can be given up.
type deadlines struct {
	*httptest.ResponseRecorder
	over chan struct{}
	once sync.Once
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	if t.Before(time.Now()) {
		d.once.Do(func() { close(d.over) })
	}
	return nil
}

// Of bodies that do not end those that hold most for longest make room for who comes, and no more of them than have to; who has
// sent all of his, or has just begun, makes none.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var room Room
		const size = 1000
		begin := func(sent int) (done chan error) {
			d := &deadlines{ResponseRecorder: httptest.NewRecorder(), over: make(chan struct{})}
			h := room.Hold(t.Context(), Arrive(d, &stalled{Reader: bytes.NewReader(make([]byte, sent)), over: d.over}), size)
			done = make(chan error, 1)
			go func() {
				_, err := io.Copy(io.Discard, h)
				h.End()
				done <- err
			}()
			synctest.Wait()
			return done
		}
		worked := room.Hold(t.Context(), Arrive(httptest.NewRecorder(), io.NopCloser(bytes.NewReader(make([]byte, 400)))), size)
		if n, err := io.Copy(io.Discard, worked); n != 400 || err != nil {
			t.Fatal(n, err)
		}
		worked.Whole()
		time.Sleep(time.Minute)
		large := begin(400)
		small := begin(200)
		time.Sleep(2 * time.Second)
		began := time.Now()
		honest := room.Hold(t.Context(), Arrive(httptest.NewRecorder(), io.NopCloser(bytes.NewReader(make([]byte, 300)))), size)
		if n, err := io.Copy(io.Discard, honest); n != 300 || err != nil || time.Since(began) > slowRead || time.Since(began) < slowRead-3*time.Second {
			t.Errorf("who comes has %d bytes after %v, %v", n, time.Since(began), err)
		}
		honest.Whole()
		synctest.Wait()
		select {
		case <-large:
		default:
			t.Error("the largest has made no room")
		}
		time.Sleep(time.Minute)
		select {
		case err := <-small:
			t.Errorf("another had to go, too: %v", err)
		default:
		}
		worked.End()
		honest.End()
		honest.End()
		if room.taken != 200 {
			t.Errorf("%d bytes are taken", room.taken)
		}
		last := room.Hold(t.Context(), Arrive(httptest.NewRecorder(), io.NopCloser(bytes.NewReader(make([]byte, 900)))), size)
		if n, err := io.Copy(io.Discard, last); n != 900 || err != nil {
			t.Error(n, err)
		}
		last.Whole()
		if err := <-small; err == nil {
			t.Error("it came to an end")
		}
		time.Sleep(time.Minute)
		none := room.Hold(t.Context(), Arrive(httptest.NewRecorder(), io.NopCloser(bytes.NewReader(make([]byte, 200)))), size)
		began = time.Now()
		if _, err := io.Copy(io.Discard, none); !errors.Is(err, ErrNoRoom) || time.Since(began) > roomWait+time.Second {
			t.Errorf("where all is worked on: %v after %v", err, time.Since(began))
		}
	})
}
