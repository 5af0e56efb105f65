package daemon

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/forecast/managers"
)

// What others put beside the certificates that a passport needs is not kept, each time other things; keys that take seconds are not used.
func TestPassportsWithMuchBeside(t *testing.T) {
	d, cfg := certified(t)
	own := &cfg.Certificates[0]
	beside := func(key any, name string) []byte {
		a := newAuthority(t)
		template := &x509.Certificate{SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour)}
		if key == nil {
			key = &a.key.PublicKey
		}
		der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key, a.key)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	job := func(more ...[]byte) *managers.Job {
		j := jobOf("https://127.0.0.1:1", "")
		if err := seal(&j, own); err != nil {
			t.Fatal(err)
		}
		j.Papers.Chain = append([][]byte{own.Certificate[0]}, more...)
		return &j
	}
	var kept *byte
	for i := range 20 {
		j := job(beside(nil, strings.Repeat("x", 60)+fmt.Sprint(i)))
		if err := d.papers.check(j); err != nil {
			t.Fatal(err)
		}
		if kept == nil {
			kept = &j.Papers.Chain[0][0]
		}
		if len(j.Papers.Chain) != 1 || &j.Papers.Chain[0][0] != kept {
			t.Fatalf("of job %d %d certificates are kept, a copy of its own: %v", i, len(j.Papers.Chain), &j.Papers.Chain[0][0] != kept)
		}
	}
	n := new(big.Int).Lsh(big.NewInt(1), 100_000)
	if err := d.papers.check(job(beside(&rsa.PublicKey{N: n.Sub(n, big.NewInt(1)), E: 65537}, "giant"))); err == nil || !strings.Contains(err.Error(), "RSA key of 100000 bits") {
		t.Errorf("a key of 100,000 bits: %v", err)
	}
}

// What a broker answers is no longer than what it can order of what it was told; and of those that answer so many are asked at once.
func TestAnswersOfBrokers(t *testing.T) {
	orders := Orders{Drop: make([]managers.ID, 100_000)}
	broker := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeBody(w, orders) }))
	defer broker.Close()
	var got Orders
	for told, ok := range map[int]bool{1: false, 100_000: true} {
		r := Report{Waiting: make([]managers.ID, told)}
		if err := call(t.Context(), broker.Client(), broker.URL+"/v1/report", r, &got, callPatience); (err == nil) != ok {
			t.Errorf("told of %d jobs, orders of %d: %v", told, len(orders.Drop), err)
		}
	}
	d := lonely(t)
	var list []managers.Job
	for i := range 3 * 1000 {
		list = append(list, managers.Job{ID: managers.ID(fmt.Sprint("j", i)), Broker: fmt.Sprintf("https://ui.example:%d", 1+i), Need: managers.Resources{CPUs: 1}})
		d.brokers[list[i].Broker] = &acquaintance{answers: true, heard: time.Now()}
	}
	if err := d.Submit(list); err != nil {
		t.Fatal(err)
	}
	if first, second := len(d.due()), len(d.due()); first != 1000 || second != 0 {
		t.Errorf("%d and %d are asked, want %d and 0", first, second, 1000)
	}
	for _, a := range d.brokers {
		a.asked = false
	}
	if again := len(d.due()); again != 1000 {
		t.Errorf("%d are asked when these have answered", again)
	}
}

// A broker takes two reports of one certificate at a time: others wait, and not in its memory.
func TestReportsAtOnce(t *testing.T) {
	var mu sync.Mutex
	under, most := 0, 0
	h := BrokerHandler(func(Offer) Answer { return Answer{} }, func(Report) (o Orders) {
		mu.Lock()
		under++
		most = max(most, under)
		mu.Unlock()
		time.Sleep(20 * time.Millisecond)
		mu.Lock()
		under--
		mu.Unlock()
		return o
	}, nil)
	_, cfg := certified(t)
	s := httptest.NewUnstartedServer(nil)
	s.Config = Server(cfg, h)
	s.TLS = s.Config.TLSConfig
	s.StartTLS()
	defer s.Close()
	var all sync.WaitGroup
	client := Client(cfg)
	for range 20 {
		all.Go(func() {
			var o Orders
			if err := call(t.Context(), client, s.URL+"/v1/report", Report{Manager: s.URL}, &o, time.Minute); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if most > longAtOnce {
		t.Errorf("%d at a time", most)
	}
}
