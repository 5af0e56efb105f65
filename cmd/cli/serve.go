package cli

import (
	"context"
	"net"
	"net/http"
	"time"
)

// drain is how long a daemon that is told to end lets those have their answer who
// have asked: all its verbs end within a second.
const drain = 700 * time.Millisecond

// serveOn serves until the context ends, with TLS where the server has a
// certificate, and until what was asked by then is answered or drain is over.
func serveOn(ctx context.Context, srv *http.Server, l net.Listener) error {
	served := make(chan error, 1)
	go func() {
		if srv.TLSConfig != nil {
			served <- srv.ServeTLS(l, "", "")
		} else {
			served <- srv.Serve(l)
		}
	}()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	done, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if srv.Shutdown(done) != nil {
		srv.Close()
	}
	<-served
	return nil
}
