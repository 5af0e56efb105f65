package central

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"gridbroker/credential"
)

// Where a scheduler speaks no TLS, it is said, and by which address it may be spoken to.
func TestSchedulerInTheClear(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "http://")
	conf := steady
	conf.Credentials = func() (*credential.Set, error) { return &credential.Set{Trust: &credential.Trust{}}, nil }
	opened, err := Open(conf)
	if err != nil {
		t.Fatal(err)
	}
	_, err = opened.(*Backend).Ping(t.Context(), Scheme+"://"+host)
	for _, want := range []string{"HTTP in the clear", "; a scheduler without TLS is " + PlainScheme + "://" + host} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
	if err != nil {
		far := wayInTheClear(err, &url.URL{Scheme: "https", Host: "scheduler.example.org:6120"})
		if strings.Contains(far.Error(), PlainScheme+"://scheduler") || !strings.Contains(far.Error(), "on its own machine only") {
			t.Errorf("far away: %v", far)
		}
	}
}
