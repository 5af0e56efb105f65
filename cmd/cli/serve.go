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
// have asked. It is over before a command is ended that goes on after a signal (grace).
const drain = grace / 2

// mostConnections is how many a daemon has at once; fewer where it may open no more than
// twice as many files.
const mostConnections = 2048

// crowd bounds the connections of a daemon, and those of one address; 0: these are not.
func crowd(each int) func(net.Conn, http.ConnState) {
	c := &turns.Crowd{Most: mostConnections, Each: each}
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil && files.Cur/2 < mostConnections {
		c.Most = int(files.Cur / 2)
	}
	return c.State
}

// http2 bounds what one connection of HTTP/2 may hold of a daemon: by default each may leave a MiB there that nobody
// reads, and 250 requests at once, each of which takes some 20 KB. Large texts come by HTTP/1.1, which the program itself
// speaks; a browser has the 16 streams of events that a user may have, and asks beside them, through one connection.
func http2() *http.HTTP2Config {
	return &http.HTTP2Config{MaxConcurrentStreams: 20, MaxReceiveBufferPerConnection: 64 << 10, MaxReceiveBufferPerStream: 64 << 10,
		MaxReadFrameSize: 16 << 10, MaxDecoderHeaderTableSize: 4 << 10, MaxEncoderHeaderTableSize: 4 << 10}
}

// mostHTTP2 is how many connections of a daemon speak HTTP/2 at once.
const mostHTTP2 = 32

// So many requests of one address may be under way at a daemon that does not know who asks, and so many of them are worked
// on: a node of a site has many jobs.
const (
	addressAtOnce = 1024
	addressTurns  = 128
	addressWait   = 30 * time.Second
)

// perAddress bounds what one address has under way, so that others are served beside it.
func perAddress(next http.Handler) http.Handler {
	var all, worked turns.Turns
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := turns.Address(r.RemoteAddr)
		end := all.Try(from, addressAtOnce)
		if end == nil {
			comeAgain(w, r)
			return
		}
		defer end()
		ctx, cancel := context.WithTimeout(r.Context(), addressWait)
		turn := worked.Take(ctx, from, addressTurns)
		cancel()
		if turn == nil {
			comeAgain(w, r)
			return
		}
		defer turn()
		next.ServeHTTP(w, r)
	})
}

// comeAgain sends a request away, and its connection where that is for it alone: a hundred KiB that nobody uses meanwhile.
func comeAgain(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
	turns.Later(w, 1, "your address has as many requests under way as may be")
}

// serveOn serves until the context ends, with TLS where the server has a
// certificate, and until what was asked by then is answered or drain is over. One
// address has so many connections at most; 0: as many as all.
func serveOn(ctx context.Context, srv *http.Server, l net.Listener, each int) error {
	srv.ConnState = crowd(each)
	if srv.HTTP2 == nil {
		srv.HTTP2 = http2()
	}
	served := make(chan error, 1)
	go func() {
		if srv.TLSConfig != nil {
			srv.TLSConfig = briefly(srv.TLSConfig, &seats{most: mostHTTP2})
			served <- srv.ServeTLS(brief{l}, "", "")
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
