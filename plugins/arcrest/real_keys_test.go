package arcrest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// A proxy with an elliptic key other than P-521 is refused by ARC 7 with a
// TLS alert that does not say why: we do. ARC 6 takes it.
func TestRealKindsOfKeys(t *testing.T) {
	bed := testbed.NeedARC(t)
	urls := bed.REST10[:1]
	if len(bed.REST11) > 0 {
		urls = append(urls[:1:1], bed.REST11[0])
	}
	for _, kind := range []string{"rsa2048", "ecdsa", "ecdsa384", "ecdsa521"} {
		for i, url := range urls {
			t.Run(kind+" "+url, func(t *testing.T) {
				t.Parallel()
				b := open(t, bed, credential.Options{Proxy: proxyOf(t, bed, kind), NoToken: true})
				pong, err := b.Ping(t.Context(), url)
				if strings.HasPrefix(kind, "rsa") || kind == "ecdsa521" || i == 0 {
					if err != nil || !pong.LetIn {
						t.Errorf("%+v, %v", pong, err)
					}
					return
				}
				err = b.Submit(t.Context(), at(url, shell("key", "exit 0")), nil)[0].Err
				if err == nil || kindOf(t, err) != plugins.Credential {
					t.Fatalf("%v", err)
				}
				for _, part := range []string{"does not support certificates of this kind", "illegal parameter", "--key rsa2048"} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%q is not in %v", part, err)
					}
				}
			})
		}
	}
}

// proxyOf makes a proxy of alice with a key of that kind.
func proxyOf(t *testing.T, bed *testbed.ARC, kind string) string {
	t.Helper()
	dir := filepath.Dir(bed.Proxy("alice"))
	set, err := credential.Discover(credential.Env{UID: os.Getuid()}, credential.Options{NoToken: true, CertDir: bed.CADir, CAs: credential.GridCA,
		Cert: filepath.Join(dir, "usercert.pem"), Key: filepath.Join(dir, "userkey.pem")})
	check(t, err)
	p, err := set.X509.NewProxy(credential.ProxyOptions{Key: kind, Lifetime: time.Hour})
	check(t, err)
	file := filepath.Join(t.TempDir(), "proxy.pem")
	check(t, p.Save(file))
	return file
}
