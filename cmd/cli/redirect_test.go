package cli

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// An agent shows its credential to its scheduler, and to nobody that the scheduler
// sends it on to.
func TestAgentsFollowNoRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("sent on with %q", r.Header.Get("Authorization"))
	}))
	defer other.Close()
	scheduler := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer scheduler.Close()
	client, base, err := agentClient(&deps{env: Env{Getenv: func(string) string { return "" }}}, scheduler.URL, true)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPut, base, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer secret")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusTemporaryRedirect {
		t.Error(resp.Status)
	}
}
