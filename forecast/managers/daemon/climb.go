package daemon

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"gridbroker/forecast/managers"
)

// climb keeps a link upwards: to the parent; when that is gone for good, to
// whom the parent had named; with nobody there the manager is root, and goes on
// asking. Where it is elsewhere than at the parent it was configured with, it goes
// home when that is back.
func (d *climber) climb() {
	for d.ctx.Err() == nil {
		for _, name := range d.candidates() {
			began := time.Now()
			err := d.stay(name)
			if d.ctx.Err() != nil {
				return
			}
			d.config.Log.Info("no link to", "neighbour", name, "cause", err)
			if time.Since(began) > 2*d.config.Beat {
				break // it was up for a while: begin with the parent again
			}
		}
		select {
		case <-d.ctx.Done():
		case <-time.After(d.config.Beat / 2):
		}
	}
}

// candidates returns whom to ask, in order.
func (d *Daemon) candidates() []string {
	if d.config.Parent == "" {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	list := []string{d.config.Parent}
	for _, c := range d.manager.Shape().Candidates(d.config.Name) {
		if c != d.config.Parent && c != d.config.Name && checkAddress(c) == nil {
			list = append(list, c)
		}
	}
	return list
}

// linkUp links to a parent, if it is in that tree, and returns when the link is gone: since
// when it was there, which is zero where it never was. The context counts only until then.
func (d *climber) linkUp(ctx context.Context, name, tree string) (at time.Time, err error) {
	c := newConn(d.ctx, name)
	c.all = &d.incoming
	defer c.end()
	in, out := io.Pipe()
	defer in.Close()
	req, err := http.NewRequestWithContext(c.ctx, http.MethodPost, name+"/v1/link", in)
	if err != nil {
		return at, err
	}
	patience := time.AfterFunc(4*d.config.Beat, c.end)
	defer patience.Stop()
	waited := context.AfterFunc(ctx, c.end)
	defer waited()
	c.send(frame{Hello: d.config.Name, Tree: tree})
	d.work.Go(func() {
		c.write(out, func() {}, d.config.Beat)
		out.Close()
	})
	resp, err := d.config.Client.Do(req)
	if err != nil {
		return at, err
	}
	defer d.config.Client.CloseIdleConnections() // the certificates of this one may have run out
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.ProtoMajor < 2 {
		return at, fmt.Errorf("%s: answer %q over HTTP/%d", name, resp.Status, resp.ProtoMajor)
	}
	c.shows(resp.TLS, d.config.Authorities)
	welcomed := func() error {
		if patience.Stop(); !waited() {
			return ctx.Err()
		}
		return nil
	}
	return d.underParent(c, resp.Body, welcomed)
}

// underParent reads what a parent says until the link is gone, and returns since when it was there.
func (d *climber) underParent(c *conn, in io.Reader, welcomed func() error) (at time.Time, err error) {
	n := managers.Here
	err = readFrames(c.ctx, in, &d.incoming, c.who, func(f frame) error {
		switch {
		case !at.IsZero():
			return d.take(n, c, f)
		case f.Refused != "":
			return fmt.Errorf("%s refuses: %.200q", c.peer, f.Refused)
		case !f.Welcome:
			return errors.New("no welcome")
		}
		err := welcomed()
		if err == nil {
			n, err = d.attach(c, managers.Parent)
		}
		if err == nil {
			at = time.Now()
			d.up(n)
			leave(d.Daemon, n)
		}
		return err
	})
	if !at.IsZero() {
		d.detach(n, c, err)
	}
	return at, err
}

// serveLink is the parent's side of a link.
func (d *Daemon) serveLink(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor < 2 {
		http.Error(w, "links need HTTP/2", http.StatusHTTPVersionNotSupported)
		return
	}
	control := http.NewResponseController(w)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stop := context.AfterFunc(d.ctx, cancel)
	defer stop()
	var c *conn
	var n managers.Neighbour
	var ended <-chan struct{}
	written := make(chan struct{})
	close(written)
	in := greet(r, control)
	left := func() {}
	defer func() { left() }()
	err := readFrames(ctx, in, &d.incoming, askerOf(r), func(f frame) error {
		if c != nil {
			return d.take(n, c, f)
		}
		first, at, end, err := d.greet(ctx, f, in, r)
		if err != nil {
			json.NewEncoder(w).Encode(frame{Refused: err.Error()})
			return err
		}
		c, n, left = first, at, end
		c.send(frame{Welcome: true})
		d.up(n)
		ended = endWith(c.ctx, control)
		done := make(chan struct{})
		written = done
		d.work.Go(func() { defer close(done); c.write(w, func() { control.Flush() }, d.config.Beat) })
		return nil
	})
	if c != nil {
		d.detach(n, c, err)
		c.end()
		<-ended
	}
	<-written // the stream is not to be touched once this has returned
}

// greet takes a child in by its first line. end is to be called when the link is over.
func (d *Daemon) greet(ctx context.Context, f frame, in *greeting, r *http.Request) (c *conn, n managers.Neighbour, end func(), err error) {
	if err := checkAddress(f.Hello); err != nil {
		return nil, 0, nil, fmt.Errorf("no greeting: %w", err)
	}
	c = newConn(ctx, f.Hello)
	c.tree, c.all = f.Tree, &d.incoming
	c.shows(r.TLS, d.config.Authorities)
	if err = named(r.TLS, f.Hello); err != nil {
		return nil, 0, nil, err
	}
	if end, err = in.greeted(&d.askers, r); err != nil {
		return nil, 0, nil, err
	}
	if n, err = d.attach(c, managers.Child); err != nil {
		end()
		return nil, 0, nil, err
	}
	return c, n, end, nil
}

// endWith ends what waits to be read from a stream or written to it when ctx ends;
// the channel is closed after that.
func endWith(ctx context.Context, stream *http.ResponseController) <-chan struct{} {
	ended := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(ended)
		stream.SetReadDeadline(time.Unix(1, 0))
		stream.SetWriteDeadline(time.Unix(1, 0))
	})
	return ended
}

// named checks that a child has the certificate of the host in its name: what
// it says of what is free, and the jobs it is given, are that host's.
func named(state *tls.ConnectionState, name string) error {
	u, err := url.Parse(name)
	if err != nil || u.Hostname() == "" {
		return fmt.Errorf("the name %.80q is no address of a manager", name)
	}
	if state == nil || len(state.PeerCertificates) == 0 {
		return errors.New("no certificate was shown")
	}
	if err := state.PeerCertificates[0].VerifyHostname(u.Hostname()); err != nil {
		return fmt.Errorf("the certificate is not that of %s: %w", u.Hostname(), err)
	}
	return nil
}
