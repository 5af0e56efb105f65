package credential

import (
	"errors"
	"net/http"
)

// maxHeaders bounds the headers of an answer over HTTP, in bytes.
const maxHeaders = 64 << 10

// A Transport is what Wary makes of another one.
type Transport struct{ *http.Transport }

// Wary makes a transport one for servers that may mean ill. Their headers
// are bounded. They speak HTTP/1.1: in HTTP/2 a server may send frames that bring nothing
// for as long as the connection stands, which no bound of an answer counts. What they
// send is not unpacked by the way: parts that unpack to nothing count nowhere either. And an answer that
// begins another protocol is an error: nobody asked for one, and no deadline ends the reading of what follows it.
func Wary(t *http.Transport) *Transport {
	t.MaxResponseHeaderBytes, t.DisableCompression = maxHeaders, true
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	if t.TLSClientConfig != nil {
		t.TLSClientConfig.NextProtos = nil // a clone of the default transport offers HTTP/2
	}
	return &Transport{t}
}

var errProtocol = errors.New("the answer begins another protocol, for which nobody asked")

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.Transport.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body.Close()
		return nil, errProtocol
	}
	return resp, err
}
