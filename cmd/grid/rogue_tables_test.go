package main_test

import (
	"crypto"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// rogueTables is a manager that anybody with a certificate may ask for its tables, and what shows them.
func rogueTables(t *testing.T, answer http.HandlerFunc) (v *victim, show []string, url string) {
	t.Helper()
	v = newVictim(t)
	ca := testbed.NewCA(t, "CA", time.Now(), nil)
	own := ca.Server(nil)
	srv := httptest.NewUnstartedServer(answer)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{own}}
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	testbed.WriteFile(t, filepath.Join(v.dir, "ca.pem"), testbed.PEM(ca.Cert), 0o644)
	testbed.WriteFile(t, filepath.Join(v.dir, "cert.pem"), testbed.PEM(own.Leaf), 0o644)
	testbed.WriteFile(t, filepath.Join(v.dir, "key.pem"), testbed.KeyPEM(t, own.PrivateKey.(crypto.Signer)), 0o600)
	url = strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
	return v, []string{"manager", "show", "--ca", "ca.pem", "--cert", "cert.pem", "--key", "key.pem"}, url
}

// TestTablesOfRogues: what a manager says of itself and of its neighbours, true or not, is shown at little cost, and by the name
// that it was asked under.
func TestTablesOfRogues(t *testing.T) {
	many := func(one func(i int) string, bytes int) string {
		var b strings.Builder
		for i := 0; b.Len() < bytes; i++ {
			b.WriteString(one(i) + ",")
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	same := func(text string) func(int) string { return func(int) string { return text } }
	const size = 23 << 20
	for name, c := range map[string]struct {
		fields string
		code   int
		says   string
	}{
		"rows of nothing":   {`"rows":[` + many(same("{}"), size) + `]`, 1, "localhost"},
		"amounts":           {`"rows":[{"neighbour":"n","up":true,"rooms":[` + many(func(i int) string { return fmt.Sprintf(`{"cpus":%d}`, 1<<20-i) }, 1_400_000) + `]}]`, 0, ""},
		"amounts of naught": {`"rows":[{"up":true,"rooms":[` + many(same("{}"), size) + `]}]`, 1, "localhost"},
		"jobs":              {`"waiting":[` + many(same(`""`), size) + `]`, 1, "localhost"},
		"a long text":       {`"parent":"` + strings.Repeat("x", 25<<20) + `"`, 1, "localhost"},
	} {
		t.Run(name, func(t *testing.T) {
			v, show, url := rogueTables(t, func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprintf(w, `{"name":%q,%s}`, "https://"+r.Host, c.fields)
			})
			for _, more := range [][]string{{url}, {url, "--tree"}} {
				h := v.grid(0, append(show, more...)...)
				if h.code != c.code || len(h.out) > 64<<10 {
					t.Errorf("%v: %d, %d bytes of output", more, h.code, len(h.out))
				}
				v.bounded(h, c.says)
			}
		})
	}
}

// TestTreeOfOneRogue: one manager that is a whole tree, by as many names as it has, is read as far as a tree may be large; who
// says that he is somebody else is not shown as that.
func TestTreeOfOneRogue(t *testing.T) {
	jobs := strings.TrimSuffix(strings.Repeat(`"0123456789012345678901234567890123456789",`, 16<<20/43), ",")
	for waiting, says := range map[string]string{jobs: "more than is read of", "": `says that it is "https://somebody.else.example:1"`} {
		v, show, url := rogueTables(t, func(w http.ResponseWriter, r *http.Request) {
			host, port, _ := strings.Cut(r.Host, ":")
			var rows []string
			for i := range host {
				name := host[:i] + strings.ToUpper(host[i:i+1]) + host[i+1:]
				rows = append(rows, fmt.Sprintf(`{"neighbour":"https://%s:%s","up":true,"role":"child"}`, name, port))
			}
			name := "https://" + r.Host
			if strings.HasPrefix(host, "L") {
				name = "https://somebody.else.example:1"
			}
			fmt.Fprintf(w, `{"name":%q,"rows":[%s],"waiting":[%s]}`, name, strings.Join(rows, ","), waiting)
		})
		h := v.grid(0, append(show, url, "--tree")...)
		if strings.Contains(h.out, "somebody") {
			t.Errorf("%d %.500s", h.code, h.out)
		}
		v.bounded(h, says)
	}
}

// TestJobsOfOneName: whose jobs are that a manager has is told, and of two of one name the one that was asked for.
func TestJobsOfOneName(t *testing.T) {
	t.Parallel()
	v, show, url := rogueTables(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/way" {
			fmt.Fprint(w, `{"steps":[{"broker":"https://theirs:1","did":"handed_in"},{"broker":"https://ours:1","did":"freed"}]}`)
			return
		}
		fmt.Fprintf(w, `{"name":%q,"waiting":["y","x"],"running":["x"],"rows":[],"brokers":[{"broker":"https://ours:1","waiting":1,"running":-7},{"broker":"https://theirs:1","waiting":1},{"broker":"https://third:1","running":1}]}`, "https://"+r.Host)
	})
	for want, more := range map[string][]string{
		"waiting: 2: y of https://ours:1, x of https://theirs:1\nrunning: 1: x of https://third:1\n": {url},
		"2 brokers have one of that name": {url, "--tree", "--job", "x"},
	} {
		if h := v.grid(0, append(show, more...)...); !strings.Contains(h.out+h.errs, want) || h.code != 0 {
			t.Errorf("%v: exit code %d, not %s\n%s%s", more, h.code, want, h.out, h.errs)
		}
	}
	for broker, want := range map[string]string{"https://theirs:1": "handed in", "https://ours:1": "no manager that answers has job x"} {
		h := v.grid(0, append(show, url, "--tree", "--job", "x", "--broker", broker)...)
		text := h.out + h.errs
		if !strings.Contains(text, want) || strings.Contains(text, "handed in") == strings.Contains(text, "its place is free again") || (h.code == 0) != strings.Contains(text, "waits here") {
			t.Errorf("%s: exit code %d\n%s", broker, h.code, text)
		}
	}
}
