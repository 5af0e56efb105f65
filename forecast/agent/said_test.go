package agent

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What a scheduler says back of an agent's token is not told on.
func TestTokenIsNotSaidBack(t *testing.T) {
	for _, write := range []func(http.ResponseWriter, string){
		func(w http.ResponseWriter, token string) { http.Error(w, "no "+token, http.StatusForbidden) },
		func(w http.ResponseWriter, token string) {
			w.WriteHeader(http.StatusForbidden)
			json.NewEncoder(w).Encode(map[string]string{"detail": strings.Repeat("no ", 300) + token})
		},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			write(w, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		}))
		a := &Agent{Conf: Config{Scheduler: server.URL, Cluster: "c"}, HTTP: server.Client(), Token: func() (string, error) { return "secret", nil }}
		a.replicas.Bases = []string{server.URL}
		_, err := web{a}.call(t.Context(), http.MethodGet, aboutSlots, nil)
		if no, ok := errors.AsType[*RefusedError](err); !ok || strings.Contains(no.Said, "secret") || !strings.HasPrefix(no.Said, "no ") || len(no.Said) > 1000 {
			t.Error(err)
		}
		server.Close()
	}
}
