package credential

import "net/http"

// maxHeaders bounds the headers of an answer over HTTP, in bytes.
const maxHeaders = 64 << 10

// Wary makes a transport one for servers that may mean ill, and returns it. Their headers
// are bounded. They speak HTTP/1.1: in HTTP/2 a server may send frames that bring nothing
// for as long as the connection stands, which no bound of an answer counts. And what they
// send is not unpacked by the way: parts that unpack to nothing count nowhere either.
func Wary(t *http.Transport) *http.Transport {
	t.MaxResponseHeaderBytes, t.DisableCompression = maxHeaders, true
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	if t.TLSClientConfig != nil {
		t.TLSClientConfig.NextProtos = nil // a clone of the default transport offers HTTP/2
	}
	return t
}
