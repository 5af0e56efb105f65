package cli

import (
	"context"
	"net"
	"net/http"
	"time"

	"golang.org/x/sys/unix"

	"gridbroker/forecast/turns"
)

// drain is how long a daemon that is told to end lets those have their answer who
// have asked: all its verbs end within a second.
const drain = 700 * time.Millisecond

// mostConnections is how many a daemon has at once; fewer where it may open no more than
// twice as many files.
const mostConnections = 2048

// crowd bounds the connections of a daemon.
func crowd() func(net.Conn, http.ConnState) {
	c := &turns.Crowd{Most: mostConnections}
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil && files.Cur/2 < mostConnections {
		c.Most = int(files.Cur / 2)
	}
	return c.State
}

// serveOn serves until the context ends, with TLS where the server has a
// certificate, and until what was asked by then is answered or drain is over.
func serveOn(ctx context.Context, srv *http.Server, l net.Listener) error {
	srv.ConnState = crowd()
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
