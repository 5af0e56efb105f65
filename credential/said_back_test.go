package credential

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A token or a password that a server says back where HTTP has no place for it, in a status, a header, a length, a trailer or an
// address to go to, is in no error.
func TestSaidBackOutOfPlace(t *testing.T) {
	const secret = "eyJhbGciOiJub25lIn0.geheim.x"
	for _, said := range []string{
		"HTTP/1.1 SECRET\r\n\r\n", "SECRET\r\n\r\n", "HTTP/1.1 200 OK\r\nSECRET\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: SECRET\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: SECRET\r\n\r\n", "HTTP/1.1 302 Found\r\nLocation: http://[%SECRET\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: A\r\n\r\n0\r\nSECRET\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nSECRET\r\n",
	} {
		for _, show := range []func(*http.Request){
			func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret) },
			func(r *http.Request) { r.SetBasicAuth("client", secret) },
		} {
			addr, end := says(t, strings.ReplaceAll(said, "SECRET", secret))
			req, err := http.NewRequest(http.MethodGet, "http://"+addr, nil)
			if err != nil {
				t.Fatal(err)
			}
			show(req)
			resp, err := (&http.Client{Transport: Wary(&http.Transport{})}).Do(req)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			for ; err != nil; err = errors.Unwrap(err) {
				if strings.Contains(err.Error(), "geheim") {
					t.Errorf("of %q comes %v", said, err)
				}
			}
			end()
		}
	}
}
