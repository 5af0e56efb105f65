package credential

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

// handshakeTime bounds one TLS handshake.
const handshakeTime = 10 * time.Second

// DialTLS returns a function for http.Transport.DialTLSContext with which
// refusals of our certificate are seen as such: in TLS 1.3 the server refuses
// after our side is done, and what comes first is often a broken pipe. A
// handshake that breaks off without a word is tried once more, since A-REX
// spoils one now and then.
func DialTLS(cfg *tls.Config) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dialTLS(ctx, cfg, network, addr)
		if brokenOff(err) {
			c, err = dialTLS(ctx, cfg, network, addr)
		}
		if err != nil {
			return nil, err
		}
		return c, nil
	}
}

func dialTLS(ctx context.Context, cfg *tls.Config, network, addr string) (*refusable, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	cfg = cfg.Clone()
	if cfg.ServerName == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		cfg.ServerName = host
	}
	c, err := (&tls.Dialer{Config: cfg}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &refusable{c.(*tls.Conn)}, nil
}

func brokenOff(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}

// refusable is a connection whose failing writes give the server's reason.
type refusable struct{ *tls.Conn }

// Write implements net.Conn.
func (c *refusable) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		return n, err
	}
	// What the server sent before it closed the connection can still be read.
	if derr := c.SetReadDeadline(time.Now().Add(time.Second)); derr != nil {
		return n, err
	}
	if _, rerr := c.Read(make([]byte, 1)); rerr != nil {
		if _, ok := RemoteAlert(rerr); ok {
			return n, rerr
		}
	}
	return n, err
}
